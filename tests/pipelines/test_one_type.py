"""One rule for the type of values: the same records are the same on every road that reads them."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.cli.program import run
from tests.naive import Record, batch
from workbench.errors import CorruptDataWarning, SchemaError
from workbench.pipelines import to_table

LOG = "00000000000000000000.log"
MANY = 1500  # more than a sample has

PLANTED: dict[str, tuple[list[Any], Any, Any]] = {
    "late": ([{"a": 1}] * MANY + [{"a": 2, "late": 3}], pa.int64(), {0: None, MANY: 3}),
    "fraction": ([{"a": 10}] * MANY + [{"a": 10.5}], pa.float64(), {0: 10.0, MANY: 10.5}),
    "null": ([{"a": None}] * MANY + [{"a": 7}], pa.int64(), {0: None, MANY: 7}),
    "empty": ([{"a": []}] * MANY + [{"a": [1]}], pa.list_(pa.int64()), {0: [], MANY: [1]}),
    "large": (
        [{"a": 1}] * MANY + [{"a": 2**63}],
        pa.decimal128(38, 0),
        {0: Decimal(1), MANY: Decimal(2**63)},
    ),
    "text": ([{"a": 1}, {"a": "2"}] * MANY, pa.string(), {0: "1", 1: "2", 2 * MANY - 2: "1"}),
    "truth": ([{"a": True}] * MANY + [{"a": 1}], pa.string(), {0: "true", MANY: "1"}),
    "object": (
        [{"a": 1}] * MANY + [{"a": {"b": [1]}}],
        pa.string(),
        {0: "1", MANY: '{"b": [1]}'},
    ),
    "lists": (
        [{"a": [1]}] * MANY + [{"a": ["x", None]}],
        pa.list_(pa.string()),
        {0: ["1"], MANY: ["x", None]},
    ),
}
"""By topic: the values, the type of the field that changes, and what it is in some records."""


def field_of(topic: str) -> str:
    """Return the field that changes."""
    return "late" if topic == "late" else "a"


def planted(path: Path, values: dict[str, list[bytes | None]], keys: bytes = b"k%d") -> Path:
    for topic, given in values.items():
        folder = path / f"{topic}-0"
        folder.mkdir(parents=True)
        records = [Record(at, 1, keys % at, value) for at, value in enumerate(given)]
        parts = [records[at : at + 500] for at in range(0, len(records), 500)]
        (folder / LOG).write_bytes(b"".join(map(batch, parts)))
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values: dict[str, list[bytes | None]] = {
        topic: [json.dumps(each).encode() for each in given]
        for topic, (given, *_) in PLANTED.items()
    }
    return planted(tmp_path_factory.mktemp("one") / "logs", values)


@pytest.mark.parametrize("topic", PLANTED)
def test_every_road_gives_the_same_values_and_loses_none(
    topic: str, logs: Path, tmp_path: Path
) -> None:
    values, kind, wanted = PLANTED[topic]
    field = field_of(topic)
    scan = wb.open_log_directory(logs).scan(topic, columns=["offset", "value"], decode="json")
    of_scan = scan.to_arrow()["value"].combine_chunks().field(field)
    assert (of_scan.type, scan.findings) == (kind, [])
    assert {at: of_scan[at].as_py() for at in wanted} == wanted
    found = of_scan.to_pylist()

    relation = wb.open_log_directory(logs).sql(
        f'select value.{field} from "{topic}" order by "offset"',  # noqa: S608 - ours
        decode={"value": "json"},
    )
    assert [row[0] for row in relation.fetchall()] == found

    done = run("export", logs, "-t", topic, tmp_path / "x.parquet", "--value-format", "json",
               "--strict")  # fmt: skip
    assert (done.code, done.err.count("\n")) == (0, 1)
    exported = pq.read_table(tmp_path / "x.parquet")["value"].combine_chunks().field(field)
    assert exported.to_pylist() == found

    to_table(logs, tmp_path / "t", topics=topic, decode="json")
    table = ds.dataset(tmp_path / "t", partitioning="hive", format="parquet").to_table()
    rows = table.sort_by("offset")
    assert rows[field].to_pylist() == found
    assert rows["_rescued"].null_count == len(values)
    assert len(scan.tail(3)) == 3


@pytest.mark.parametrize("topic", PLANTED)
def test_messagepack_has_the_same_rule(topic: str, tmp_path: Path) -> None:
    values, kind, wanted = PLANTED[topic]
    logs = planted(tmp_path / "logs", {topic: [msgpack.packb(each) for each in values]})
    scan = wb.open_log_directory(logs).scan(topic, columns=["value"], decode="msgpack")
    found = scan.to_arrow()["value"].combine_chunks().field(field_of(topic))
    assert (found.type, {at: found[at].as_py() for at in wanted}) == (kind, wanted)


def test_a_time_that_no_nanoseconds_hold_is_text_and_a_field_that_comes_twice_is_refused(
    tmp_path: Path,
) -> None:
    far = msgpack.packb({"a": msgpack.Timestamp(2**40, 5)})
    near = msgpack.packb({"a": msgpack.Timestamp(1, 0)})
    logs = planted(tmp_path / "logs", {"t": [far, near, b"\x82\xa1a\x01\xa1a\x02"]})
    scan = wb.open_log_directory(logs).scan(decode="msgpack")
    with pytest.warns(CorruptDataWarning, match="offset 2"):
        found = scan.to_arrow()["value"].to_pylist()
    assert found == [
        {"a": "36812-02-20T00:36:16.000000005"}, {"a": "1970-01-01T00:00:01.000000000"}, None,
    ]  # fmt: skip


def test_values_of_another_type_than_the_tables_do_not_stop_it(tmp_path: Path) -> None:
    logs = planted(tmp_path / "logs", {"t": [msgpack.packb(1)]})
    to_table(logs, tmp_path / "lake", decode="msgpack")
    more = [Record(n, 1, b"k", msgpack.packb(each)) for n, each in enumerate((1, "x"))]
    (logs / "t-0" / LOG).write_bytes(batch(more))
    to_table(logs, tmp_path / "lake", decode="msgpack")
    rows = pq.ParquetDataset(tmp_path / "lake").read().sort_by("offset").to_pylist()
    assert [(row["value"], row["_rescued"]) for row in rows] == [
        (1, None),
        (None, '{"value": "x"}'),
    ]


def test_what_does_not_fit_a_table_is_rescued_counted_and_fails_a_strict_run(
    tmp_path: Path,
) -> None:
    logs = planted(tmp_path / "logs", {"t": [b'{"a":1,"b":"k"}']})
    to_table(logs, tmp_path / "lake", decode="json")
    more = [b'{"a":1,"b":"k"}', b'{"a":"x","b":"m"}', b"nope", b'{"a":18446744073709551616}', None]
    (logs / "t-0" / LOG).write_bytes(batch([Record(n, 1, b"k", v) for n, v in enumerate(more)]))
    done = run("to-table", logs, "--to", tmp_path / "lake", "--value-format", "json", "--strict")
    assert done.code == 2
    assert "3 keys and values null or incomplete; the first: " in done.err
    rows = pq.ParquetDataset(tmp_path / "lake").read().sort_by("offset").to_pylist()
    assert [(row["a"], row["b"], row["_rescued"]) for row in rows] == [
        (1, "k", None),
        (None, "m", '{"value.a": "x"}'),
        (None, None, '{"value": "nope"}'),
        (None, None, '{"value.a": "18446744073709551616"}'),
        (None, None, None),
    ]


def test_a_mask_keeps_what_is_rescued_private(tmp_path: Path) -> None:
    logs = planted(tmp_path / "logs", {"t": [b'{"a":1,"mail":"m"}', b"a@example.org"]})
    told: list[str] = []
    to_table(logs, tmp_path / "lake", decode="json", mask="t value.mail drop", tell=told.append)
    rows = pq.ParquetDataset(tmp_path / "lake").read().sort_by("offset").to_pylist()
    assert [row["_rescued"] for row in rows] == [None, '{"value": null}']
    assert "example.org" not in told[0]


def test_an_upsert_leaves_the_row_of_a_value_that_cannot_be_decoded(tmp_path: Path) -> None:
    logs = planted(tmp_path / "logs", {"t": [b'{"a":1}']}, b"k%.0d")
    options: dict[str, Any] = {"decode": {"key": "utf8", "value": "json"}, "mode": "upsert"}
    to_table(logs, tmp_path / "lake", **options)
    (logs / "t-0" / LOG).write_bytes(
        batch([Record(0, 1, b"k", b'{"a":1}'), Record(1, 1, b"k", b"not json")])
    )
    (row,) = to_table(logs, tmp_path / "lake", **options, tell=print).to_pylist()
    assert (row["records"], row["undecoded"], row["log_end_offset"]) == (0, 1, 2)
    (kept,) = pq.ParquetDataset(tmp_path / "lake").read().to_pylist()
    assert (kept["a"], kept["offset"]) == (1, 0)


def test_an_upsert_by_keys_that_cannot_be_decoded_is_refused(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "t-0").mkdir(parents=True)
    records = [Record(0, 1, b"\xff\xfe", b'{"a":0}'), Record(1, 1, b"\xff\xfd", None)]
    (logs / "t-0" / LOG).write_bytes(batch(records))
    decode = {"key": "utf8", "value": "json"}
    with pytest.raises(SchemaError, match=r"offset 0 cannot be decoded.*load keys as bytes"):
        to_table(logs, tmp_path / "lake", decode=decode, mode="upsert")
    done = to_table(logs, tmp_path / "lake", decode="json", mode="upsert").to_pylist()
    assert (done[0]["records"], done[0]["tombstones"]) == (1, 1)


@pytest.mark.parametrize("order", ["as given", "turned"])
def test_no_field_is_lost_by_its_name(order: str, tmp_path: Path) -> None:
    """In whatever order the fields come, and in the second run as in the first."""
    given = {"value_day": "x", "day": "y", "Topic": "z", "id": 1, "ID": 2}
    value = dict(reversed(given.items())) if order == "turned" else given
    logs = planted(tmp_path / "logs", {"t": [json.dumps(value).encode()]})
    to_table(logs, tmp_path / "lake", decode="json")
    (logs / "t-0" / LOG).write_bytes(
        batch([Record(n, 1, b"k", json.dumps(v).encode()) for n, v in enumerate((value, given))])
    )
    to_table(logs, tmp_path / "lake", decode="json")
    table = pq.ParquetDataset(tmp_path / "lake").read().sort_by("offset")
    folded = [name.casefold() for name in table.schema.names]
    assert len(folded) == len(set(folded))
    first, second = table.to_pylist()
    ids = {"ID": 2, "value_id": 1} if order == "turned" else {"id": 1, "value_ID": 2}
    assert {
        "value_day": "y",
        "value_value_day": "x",
        "value_Topic": "z",
        **ids,
    }.items() <= first.items()
    own = ("value_day", "value_value_day", "value_Topic", *ids)
    assert [first[name] for name in own] == [second[name] for name in own]


def test_a_key_and_a_value_may_have_the_same_fields(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "t-0").mkdir(parents=True)
    (logs / "t-0" / LOG).write_bytes(batch([Record(0, 1, b'{"a":1,"value_a":9}', b'{"a":2}')]))
    to_table(logs, tmp_path / "lake", decode={"key": "json", "value": "json"})
    (row,) = pq.ParquetDataset(tmp_path / "lake").read().to_pylist()
    assert (row["a"], row["value_a"], row["value_a_2"]) == (1, 9, 2)


def test_the_end_of_a_scan_reports_the_damage_of_every_partition(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for partition in (0, 1):
        (logs / f"t-{partition}").mkdir(parents=True)
        crc = {"crc": 7} if partition == 0 else {}
        (logs / f"t-{partition}" / LOG).write_bytes(
            batch([Record(0, 1, b"k", b"{}")]) + batch([Record(1, 1, b"k", b'{"a":1}')], **crc)
        )
    scan = wb.open_log_directory(logs).scan(decode="json")
    with pytest.warns(CorruptDataWarning, match="^1 damaged place left out"):
        table = scan.tail(3)
    assert [*zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)] == [
        (0, 0), (1, 0), (1, 1)]  # fmt: skip
    assert [each.kind for each in scan.findings] == ["crc"]
