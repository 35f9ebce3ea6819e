"""Scans: what their options leave, what their verbs give, and what they say of damage."""

import datetime as dt
import pickle
import random
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch, message
from workbench.errors import CorruptDataWarning
from workbench.loaders.scan import rows
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import RECORD_FIELDS, SCAN_FIELDS
from workbench.log_directory import LogDirectory
from workbench.tables.records import RecordBatchRow

Golden = Callable[[str], Case]
LOG = "00000000000000000000.log"
ALL = list(SCAN_FIELDS)

REAL = (
    ("4.2.0-plain-timestamps", "data"),
    ("4.2.0-txn", "data"),
    ("4.2.0-compact-codecs", "after2"),
    ("k2.3-message-format", "after"),
    ("k0.10.0-mixed-wrapper", "after"),
    ("upgrade-chain", "s9-3.9.1"),
)


@pytest.fixture
def orders(tmp_path: Path) -> LogDirectory:
    """Two partitions of orders and one of others, with nulls and headers."""
    headers = ((b"a", b"1"), (b"a", None))
    records = [
        Record(0, 1000, b"k0", b"v0", headers),
        Record(1, 2000, None, b"v1"),
        Record(2, 1500, b"k2", None),
        Record(3, -1, b"", b""),
    ]
    for name, data in (
        ("orders-0", batch(records) + message(0, Record(4, 0, b"k4", b"v4"))),
        ("orders-1", batch([Record(0, 5000, b"other")])),
        ("others-0", batch([Record(0, 9000, b"x")], leader_epoch=5)),
    ):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / LOG).write_bytes(data)
    return workbench.open_log_directory(tmp_path / "logs")


def test_a_scan_has_these_columns_and_types(orders: LogDirectory) -> None:
    table = orders.scan().to_arrow()
    assert table.schema == pa.schema(list(RECORD_FIELDS.values()))
    assert str(table.schema.field("timestamp").type) == "timestamp[ms, tz=UTC]"
    assert str(table.schema.field("value").type) == "large_binary"
    assert table.slice(0, 5).to_pylist() == [
        row(0, 1000, b"k0", b"v0", [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]),
        row(1, 2000, None, b"v1"),
        row(2, 1500, b"k2", None),
        row(3, None, b"", b""),
        {**row(4, None, b"k4", b"v4"), "timestamp_type": None},
    ]


def row(
    offset: int,
    time: int | None,
    key: bytes | None,
    value: bytes | None,
    headers: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a record of orders-0 as Arrow gives it to Python."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return {
        "topic": "orders",
        "partition": 0,
        "offset": offset,
        "timestamp": None if time is None else epoch + dt.timedelta(milliseconds=time),
        "timestamp_type": "CreateTime",
        "key": key,
        "value": value,
        "headers": headers or [],
    }


def test_the_batch_s_columns_come_on_request(golden: Golden) -> None:
    logs = workbench.open_log_directory(golden("4.2.0-txn").directory("data"))
    table = logs.scan(columns=ALL, include_control=True, topics="txn-a").to_arrow()
    assert table.schema == pa.schema(list(SCAN_FIELDS.values()))
    batches = logs.inspect.batches(topics="txn-a")
    told = {
        (b["partition"], b["segment"], b["position"]): b for b in batches.to_pylist()
    }  # fmt: skip
    for found in table.to_pylist():
        of = told[found["partition"], found["segment"], found["batch_position"]]
        assert found["batch_base_offset"] == of["base_offset"]
        for name in RecordBatchRow._fields:
            if name in of and name != "segment":
                assert found[name] == of[name]
        assert found["sequence"] == (
            None
            if of["base_sequence"] is None
            else of["base_sequence"] + found["offset"] - of["base_offset"]
        )


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return a table's rows, times as ms: those of Kafka reach further than Python's."""
    plain = [
        pa.field(f.name, pa.int64() if pa.types.is_timestamp(f.type) else f.type)
        for f in table.schema
    ]
    return table.cast(pa.schema(plain)).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "label"), REAL)
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_every_option_gives_what_filtering_everything_gives(
    name: str, label: str, isolation: Any, golden: Golden
) -> None:
    """However much of the files is skipped by names, indexes and headers."""
    randomly = random.Random(name + isolation)
    logs = workbench.open_log_directory(golden(name).directory(label))
    every = logs.scan(isolation_level=isolation, columns=ALL, include_internal=True)
    everything = rows_of(every.to_arrow())
    times = [r["timestamp"] for r in everything if r["timestamp"] is not None]
    offsets = [r["offset"] for r in everything]
    for _ in range(25):
        low, high = sorted(randomly.choices([*offsets, 0, 10**6], k=2))
        first, last = sorted(randomly.choices(times, k=2)) if times else (None, None)
        topics = randomly.sample(logs.topics, randomly.randint(1, len(logs.topics)))
        limit = randomly.choice([None, 0, 1, 7, 100])
        columns = randomly.sample(ALL, randomly.randint(1, len(ALL)))
        by_time = bool(times) and randomly.random() < 0.5
        wanted = [
            {name: r[name] for name in columns}
            for r in everything
            if r["topic"] in topics
            and low <= r["offset"] < high
            and (not by_time or (r["timestamp"] is not None and first <= r["timestamp"] < last))
        ][:limit]
        scan = logs.scan(
            topics=topics,
            offsets=(low, high),
            timestamps=(first, last) if by_time else None,
            columns=columns,
            limit=limit,
            isolation_level=isolation,
        )
        assert rows_of(scan.to_arrow()) == wanted
        assert scan.count() == len(wanted)


def test_offsets_may_differ_from_partition_to_partition(orders: LogDirectory) -> None:
    scan = orders.scan(offsets={"orders-0": (1, 3), "others-0": (5, None)}, columns=["offset"])
    assert scan.to_arrow()["offset"].to_pylist() == [1, 2, 0]


def test_times_may_be_datetimes_and_records_without_one_never_match(orders: LogDirectory) -> None:
    second = dt.datetime(1970, 1, 1, 0, 0, 1)  # noqa: DTZ001 - taken as UTC
    scan = orders.scan(timestamps=(second, None), topics="orders")
    assert scan.to_arrow()["offset"].to_pylist() == [0, 1, 2, 0]
    assert orders.scan(timestamps=(None, 1501), columns=["offset"]).count() == 2


def test_verbs_give_the_same_records(orders: LogDirectory, tmp_path: Path) -> None:
    scan = orders.scan()
    table = scan.to_arrow()
    assert scan.to_arrow_batch_reader().read_all().equals(table)
    assert pa.table(scan).equals(table)
    assert [record["offset"] for record in scan] == table["offset"].to_pylist()
    assert scan.count() == table.num_rows == 7
    assert scan.head(2).equals(table.slice(0, 2))
    assert scan.to_parquet(tmp_path / "orders.parquet") == 7
    assert pq.read_table(tmp_path / "orders.parquet").to_pylist() == table.to_pylist()
    assert list(tmp_path.glob("*.unfinished*")) == []


def test_pandas_keeps_integers_and_tells_null_from_empty(orders: LogDirectory) -> None:
    frame = orders.scan(columns=ALL).to_pandas()
    assert str(frame["offset"].dtype) == "int64"
    assert str(frame["partition"].dtype) == "int32"
    assert str(frame["producer_id"].dtype) in {"Int64", "int64"}
    assert "float" not in " ".join(str(kind) for kind in frame.dtypes)
    assert frame["value"].isna().tolist()[:5] == [False, False, True, False, False]
    assert frame["value"].tolist()[3] == b""
    for backend in ("pyarrow", "numpy_nullable"):
        again = orders.scan(columns=ALL).to_pandas(dtype_backend=backend)
        assert "float" not in " ".join(str(kind) for kind in again.dtypes)
        assert again["offset"].tolist() == frame["offset"].tolist()


def test_polars_and_duckdb_take_the_same_records(orders: LogDirectory) -> None:
    scan = orders.scan()
    offsets = scan.to_arrow()["offset"].to_pylist()
    assert scan.to_polars()["offset"].to_list() == offsets
    assert pl.DataFrame(scan.to_arrow()).height == 7
    connection = scan.to_duckdb("orders")
    assert isinstance(connection, duckdb.DuckDBPyConnection)
    query = "select count(*), count(value), min(octet_length(value)) from orders"
    assert connection.sql(query).fetchall() == [(7, 4, 0)]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"topics": "order"}, LookupError, "did you mean orders"),
        ({"partitions": "orders-7"}, LookupError, "unknown partition orders-7"),
        ({"partitions": 9}, LookupError, "unknown partition 9"),
        ({"columns": ["vlaue"]}, LookupError, "unknown column vlaue"),
        ({"isolation_level": "committed"}, ValueError, "isolation_level"),
        ({"limit": -1}, ValueError, "below 0"),
        ({"on_corrupt": "ignore"}, ValueError, "on_corrupt"),
        ({"topic": "orders"}, TypeError, "unknown option 'topic'"),
    ],
)
def test_options_without_meaning_are_refused_at_once(
    options: dict[str, Any], error: type[Exception], words: str, orders: LogDirectory
) -> None:
    with pytest.raises(error, match=words):
        orders.scan(**options)


def damaged(tmp_path: Path, *entries: bytes, base: int = 0) -> LogDirectory:
    folder = tmp_path / "damaged" / "t-0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(b"".join(entries))
    return workbench.open_log_directory(folder.parent)


def test_damage_is_left_out_warned_of_and_listed(tmp_path: Path) -> None:
    """DB-7: with its position; reading continues after it."""
    first = batch([Record(0)])
    logs = damaged(tmp_path, first, batch([Record(1)], crc=7), batch([Record(2)]))
    scan = logs.scan()
    with pytest.warns(CorruptDataWarning, match="^1 damaged place left out; the first: "):
        table = scan.to_arrow()
    assert table["offset"].to_pylist() == [0, 2]
    (finding,) = scan.findings
    assert (finding.kind, finding.position, finding.offset) == ("crc", len(first), 1)
    with pytest.warns(CorruptDataWarning):
        assert scan.count() == 2
    assert len(scan.findings) == 1


@pytest.mark.parametrize("most", [rows.MOST_KEPT, 0])
def test_a_list_of_a_scan_reads_the_records_once(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``list`` asks for the length first; each reading warns of the damage."""
    monkeypatch.setattr(rows, "MOST_KEPT", most)
    damaged(tmp_path, batch([Record(0)]), batch([Record(1)], crc=7), batch([Record(2)]))
    scan = damaged(tmp_path, batch([Record(3)]), base=3).scan(columns=["offset"])
    for many in (list, lambda scan: [*scan], Scan.to_pylist):
        with pytest.warns(CorruptDataWarning) as told:
            found = many(scan)
        assert found == [{"offset": n} for n in (0, 2, 3)]
        assert len(told) == (1 if most or many is Scan.to_pylist else 2)


def test_a_length_takes_nothing_away_from_an_iteration(orders: LogDirectory) -> None:
    scan = orders.scan(columns=["offset"])
    wanted = scan.to_pylist()
    begun = iter(scan)
    assert [len(scan), len(scan)] == [len(wanted)] * 2
    assert next(begun) == wanted[0]
    assert len(scan) == len(wanted)
    assert list(begun) == wanted[1:]
    pending = iter(scan)
    assert len(pickle.loads(pickle.dumps(scan))) == len(wanted)  # noqa: S301 - it is ours
    with ThreadPoolExecutor(1) as other:
        assert other.submit(len, scan).result() == len(wanted)
    assert list(pending) == wanted


def test_damage_may_stop_a_scan_instead(tmp_path: Path) -> None:
    logs = damaged(tmp_path, batch([Record(0)]), batch([Record(1)], crc=7))
    for read in (Scan.to_arrow, list, len):
        with pytest.raises(workbench.CorruptRecordError, match="CRC"):
            read(logs.scan(on_corrupt="raise"))


def test_a_batch_with_an_invalid_crc_is_rescued(tmp_path: Path) -> None:
    scan = damaged(tmp_path, batch([Record(0)], crc=7)).scan(rescue=True)
    with pytest.warns(workbench.CorruptDataWarning, match="rescued 1 of the 1 records"):
        assert scan.to_arrow()["offset"].to_pylist() == [0]


def test_a_torn_segment_is_damage_only_when_another_follows(tmp_path: Path) -> None:
    data = batch([Record(0)]) + batch([Record(1)])[:-5]
    assert damaged(tmp_path, data).scan().to_arrow()["offset"].to_pylist() == [0]
    scan = damaged(tmp_path, batch([Record(2)]), base=2).scan()
    with pytest.warns(CorruptDataWarning):
        assert scan.to_arrow()["offset"].to_pylist() == [0, 2]
    assert [finding.kind for finding in scan.findings] == ["torn-tail"]


def test_no_offset_comes_twice(tmp_path: Path) -> None:
    """A copied segment, one that reaches into the next, an old batch at the end."""
    one, two = batch([Record(at) for at in range(4)]), batch([Record(at) for at in range(4, 6)])
    damaged(tmp_path, one, two)
    scan = damaged(tmp_path, two, one, base=4).scan(columns=["offset"])
    with pytest.warns(CorruptDataWarning):
        assert scan.to_arrow()["offset"].to_pylist() == list(range(6))
    assert {finding.kind for finding in scan.findings} == {"offset-range"}


@pytest.mark.parametrize(
    ("base", "there"),
    [(-5, []), (-2, [0, 1]), (2**63 - 3, [2**63 - 3, 2**63 - 2]), (2**63 - 1, []), (-(2**63), [])],
)
def test_offsets_beyond_64_bits_are_told(base: int, there: list[int], tmp_path: Path) -> None:
    scan = damaged(tmp_path, moved(four_records(), base)).scan(columns=["offset"])
    with pytest.warns(CorruptDataWarning, match="offset-range"):
        assert scan.to_arrow()["offset"].to_pylist() == there


def test_batches_with_the_largest_offset_do_not_end_a_scan(tmp_path: Path) -> None:
    beyond = moved(four_records(), 2**63 - 1)
    scan = damaged(tmp_path, beyond, beyond, four_records()).scan(columns=["offset"])
    with pytest.warns(CorruptDataWarning, match="offset-range"):
        assert scan.to_arrow()["offset"].to_pylist() == [0, 1, 2, 3]


def four_records() -> bytes:
    return batch([Record(at) for at in range(4)])


def moved(data: bytes, base: int) -> bytes:
    """Return a batch with another base offset, which the CRC does not cover."""
    return (base % 2**64).to_bytes(8) + data[8:]


@pytest.mark.parametrize("size", [10, 1_500_000])  # many to a window that is read, and two
@pytest.mark.parametrize("shift", [2**54, 5, 1, -4])
def test_a_batch_under_a_wrong_offset_takes_no_other_away(
    shift: int, size: int, tmp_path: Path
) -> None:
    """A base offset is outside the CRC."""
    batches = [batch([Record(2 * n), Record(2 * n + 1, value=bytes(size))]) for n in range(7)]
    first = 2 if shift < 0 else 0  # below the log start offset none is wanted
    for changed in range(first, 6):  # after the last none would contradict
        wrong = (2 * changed + shift).to_bytes(8, signed=True)
        data = [*batches[:changed], wrong + batches[changed][8:], *batches[changed + 1 :]]
        scan = damaged(tmp_path, *data).scan(columns=["offset"])
        with pytest.warns(CorruptDataWarning):
            given = scan.to_arrow()["offset"].to_pylist()
        others = [offset for offset in range(14) if offset // 2 != changed]
        assert set(given) >= set(others)
        assert len(scan.findings) == 1
        (finding,) = scan.findings
        assert finding.position == sum(map(len, batches[:changed]))
        if size == 10:  # a window that ends with the batch gave it before the next was met
            assert given == others
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorruptDataWarning)  # or it is not among the wanted
            ranged = damaged(tmp_path, *data).scan(columns=["offset"], offsets=(4, 12)).to_arrow()
        assert set(ranged["offset"].to_pylist()) >= set(others) & set(range(4, 12))


def test_a_segment_whose_name_is_too_high_gives_what_it_holds(tmp_path: Path) -> None:
    damaged(tmp_path, batch([Record(0), Record(1)]))
    scan = damaged(tmp_path, batch([Record(2), Record(3)]), base=3).scan(columns=["offset"])
    assert scan.to_arrow()["offset"].to_pylist() == [0, 1, 2, 3]


def test_header_keys_that_are_not_utf_8_are_shown_with_replacements(tmp_path: Path) -> None:
    logs = damaged(tmp_path, batch([Record(0, 1, None, None, ((b"\xffkey", b"\xff"),))]))
    (record,) = logs.scan().to_arrow().to_pylist()
    assert record["headers"] == [{"key": "\N{REPLACEMENT CHARACTER}key", "value": b"\xff"}]


def test_nothing_is_read_before_a_verb(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = workbench.open_log_directory(golden("4.2.0-txn").directory("data"))

    def refuse(*_: Any) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("workbench.file_system.source.os.open", refuse)
    scan = logs.scan(isolation_level="read_committed", topics="txn-a", offsets=(3, 9))
    assert scan.columns == list(RECORD_FIELDS)
    assert scan.schema.names == scan.columns
    assert "txn-a-0" in repr(scan)
