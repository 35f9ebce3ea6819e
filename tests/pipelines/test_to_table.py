"""A table has every record once, whatever the moment at which a run dies."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import LocalFileSystem, PyFileSystem

from tests.at_open import AT_OPEN
from tests.naive import Record, batch, marker, read
from tests.pipelines.planted import (
    AGAIN,
    IDS,
    Death,
    DiedError,
    Disk,
    DyingFiles,
    PythonChanges,
    orders,
    rows_of,
)
from workbench.errors import CorruptDataWarning, LogDirectoryError, OutputError
from workbench.pipelines import to_table
from workbench.pipelines.lake.parquet_table import ParquetTable
from workbench.pipelines.lake.table import LoadedUpTo
from workbench.tables.lake import LoadedRow

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
COUNTED = LoadedRow._fields[2:-4]
"""The columns of a row that add up to ``log_end_offset``."""


def load(logs: Any, table: Path | str, **options: Any) -> dict[str, dict[str, Any]]:
    """Load, check that the numbers add up, and return the rows by partition."""
    rows = to_table(logs, table, **options).to_pylist()
    for row in rows:
        assert sum(row[name] for name in COUNTED) == row["log_end_offset"]
    return {f"{row['topic']}-{row['partition']}": row for row in rows}


def stored(log: Path) -> set[tuple[str, int, int]]:
    """Return topic, partition and offset of the records of a log, by the plain parser."""
    topic, _, number = log.name.rpartition("-")
    data = b"".join(path.read_bytes() for path in sorted(log.glob("*.log")))
    return {(topic, int(number), record.offset) for record in read(data)}


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path / "broker")
    made.append("orders-0", orders(0, 20))
    made.append("orders-1", orders(0, 13))
    made.append("people-0", orders(0, 9))
    return made


def test_a_table_has_what_a_plain_parser_reads(tmp_path: Path) -> None:
    rows = load(SHOP, tmp_path / "t", topics=["orders", "customers"])
    wanted = set().union(*(stored(SHOP / name) for name in rows))
    assert rows_of(tmp_path / "t") == sorted(wanted)
    assert sum(row["records"] for row in rows.values()) == len(wanted)


def test_a_second_run_takes_only_what_is_new(disk: Disk, tmp_path: Path) -> None:
    table = tmp_path / "t"
    load(disk.path, table)
    before = {path: path.stat().st_mtime_ns for path in table.rglob("*.parquet")}
    assert {row["records"] for row in load(disk.path, table).values()} == {0}
    disk.append("orders-1", orders(13, 31))
    rows = load(disk.path, table)
    assert {name: (row["before"], row["records"]) for name, row in rows.items()} == {
        "orders-0": (20, 0),
        "orders-1": (13, 18),
        "people-0": (9, 0),
    }
    assert before.items() <= {p: p.stat().st_mtime_ns for p in table.rglob("*.parquet")}.items()
    logs = ("orders-0", "orders-1", "people-0")
    wanted = set().union(*(stored(disk.path / log) for log in logs))
    assert rows_of(table) == sorted(wanted)


def test_a_run_that_dies_at_any_change_of_the_disk_leaves_an_exact_table(
    disk: Disk, tmp_path: Path
) -> None:
    def run(table: Path, death: Death) -> None:
        files = PyFileSystem(DyingFiles(death))
        load(disk.path, str(table), filesystem=files, commit_bytes=1200, workers=1)

    whole = Death()
    run(tmp_path / "whole", whole)
    wanted = rows_of(tmp_path / "whole")
    assert whole.changes > 30
    for at in range(whole.changes):
        table = tmp_path / f"died-{at}"
        with pytest.raises(DiedError):
            run(table, Death(at))
        seen = rows_of(table)  # between death and the next run a reader may lack records
        assert len(seen) == len(set(seen))
        assert set(seen) <= set(wanted)
        run(table, Death())
        assert rows_of(table) == wanted, at
        assert not list(table.joinpath("_unfinished").iterdir())
        shutil.rmtree(table)


def test_the_local_manifest_dies_at_any_call_and_is_whole_or_not_there(
    disk: Disk, tmp_path: Path
) -> None:
    python = PythonChanges()

    def run(table: Path, death: Death) -> None:
        python.dying(table, death, lambda: load(disk.path, table, commit_bytes=1200, workers=1))

    whole = Death()
    run(tmp_path / "whole", whole)
    wanted = rows_of(tmp_path / "whole")
    assert whole.changes >= 6  # open, link and unlink of two manifests
    for at in range(whole.changes):
        table = tmp_path / f"died-{at}"
        death = Death(at)
        with contextlib.suppress(OSError):  # after the last link, nothing is lost
            run(table, death)
        assert death.is_dead
        run(table, Death())
        assert rows_of(table) == wanted, at


def test_of_two_writers_at_a_time_one_is_refused(disk: Disk, tmp_path: Path) -> None:
    schema = pa.schema([("topic", pa.string()), ("day", pa.date32()), ("offset", pa.int64())])
    late = ParquetTable(LocalFileSystem(), str(tmp_path / "t"), "late")
    load(disk.path, tmp_path / "t")
    table = rows_of(tmp_path / "t")
    rows = pa.RecordBatch.from_pylist([{"topic": "orders", "day": None, "offset": 0}], schema)
    with pytest.raises(OutputError, match="another process has written to the table meanwhile"):
        late.commit(iter([rows]), schema, {("orders", 0): LoadedUpTo(1, None)}, upsert=False)
    load(disk.path, tmp_path / "t")
    assert rows_of(tmp_path / "t") == table


def test_the_replica_that_is_ahead_is_read_and_told(disk: Disk, tmp_path: Path) -> None:
    ahead = Disk(tmp_path / "broker2", node_id=2)
    ahead.append("orders-0", orders(0, 25))
    told: list[str] = []
    rows = load([disk.path, ahead.path], tmp_path / "t", tell=told.append)
    assert rows["orders-0"]["records"] == 25
    assert rows["orders-0"]["replica"] == str(ahead.path / "orders-0")
    assert len(told) == 1
    assert "the replica of broker 2 (epoch 0, log end offset 25) is read" in told[0]


def test_both_isolation_levels(disk: Disk, tmp_path: Path) -> None:
    def transaction(first: int, end: int) -> bytes:
        return batch(orders(first, end), attributes=0x10, producer_id=7, producer_epoch=0)

    disk.append_bytes("orders-0", transaction(20, 22) + marker(22, 7, commit=False))
    disk.append_bytes("orders-0", transaction(23, 25) + marker(25, 7, commit=True))
    disk.append_bytes("orders-0", transaction(26, 29))
    row = load(disk.path, tmp_path / "t")["orders-0"]
    assert {k: row[k] for k in ("records", "aborted", "control", "waiting")} == {
        "records": 22,
        "aborted": 2,
        "control": 2,
        "waiting": 3,
    }
    every = load(disk.path, tmp_path / "all", isolation_level="read_uncommitted")["orders-0"]
    assert (every["records"], every["control"], every["waiting"]) == (27, 2, 0)
    # The transaction ends: the next run goes on where the last stable offset was.
    disk.append_bytes("orders-0", marker(29, 7, commit=True))
    assert load(disk.path, tmp_path / "t")["orders-0"]["records"] == 3
    offsets = [row[2] for row in rows_of(tmp_path / "t") if row[:2] == ("orders", 0)]
    assert offsets == [*range(20), 23, 24, 26, 27, 28]


def made_again(disk: Disk, count: int) -> None:
    """Delete topic people, and make it again."""
    shutil.rmtree(disk.path / "people-0")
    disk.append("people-0", orders(0, count), topic_id=AGAIN)


@pytest.mark.parametrize("count", [4, 40])
def test_a_topic_that_was_made_again_is_loaded_beside_the_one_before(
    disk: Disk, tmp_path: Path, count: int
) -> None:
    load(disk.path, tmp_path / "t")
    stale = Disk(tmp_path / "stale")
    shutil.copytree(disk.path, stale.path, dirs_exist_ok=True)
    made_again(disk, count)
    told: list[str] = []
    row = load(disk.path, tmp_path / "t", tell=told.append)["people-0"]
    assert (row["before"], row["records"]) == (0, count)
    assert len(told) == 1
    assert told[0].startswith(f"people-0: the topic was deleted and made again: its id is {AGAIN}")

    found = [
        row for row in rows_of(tmp_path / "t", 'topic, topic_id, "offset"') if row[0] == "people"
    ]
    both = [("people", IDS["people"], at) for at in range(9)]
    both += [("people", AGAIN, at) for at in range(count)]
    assert found == sorted(both)
    # Each goes on where it ended, also that of a disk that was away meanwhile.
    disk.append("people-0", orders(count, count + 3), topic_id=AGAIN)
    stale.append("people-0", orders(9, 11))
    assert load(disk.path, tmp_path / "t")["people-0"]["records"] == 3
    assert load(stale.path, tmp_path / "t")["people-0"]["records"] == 2
    assert load(disk.path, tmp_path / "t")["people-0"]["records"] == 0
    assert len(set(rows_of(tmp_path / "t", 'topic_id, partition, "offset"'))) == 33 + 11 + count + 3


@pytest.mark.parametrize("most", [12, pytest.param(1000, marks=pytest.mark.long)])
def test_a_topic_that_is_made_again_while_it_is_read_is_not_mixed_with_the_one_before(
    tmp_path: Path, most: int
) -> None:
    opening = 0
    while opening < most:
        disk = Disk(tmp_path / f"broker{opening}")
        disk.append("people-0", orders(0, 9))
        table = tmp_path / f"t{opening}"

        def make_again(disk: Disk = disk) -> None:
            shutil.rmtree(disk.path / "people-0")
            disk.append("people-0", orders(0, 12), topic_id=AGAIN)

        def run(disk: Disk = disk, table: Path = table) -> None:
            with contextlib.suppress(LogDirectoryError):
                load(disk.path, table, workers=1)

        if not AT_OPEN.run(disk.path / "people-0", opening, make_again, run):
            break
        load(disk.path, table, tell=print)
        found = rows_of(table, 'topic_id, "offset"')
        assert [at for id_, at in found if id_ == AGAIN] == list(range(12)), opening
        assert [at for id_, at in found if id_ != AGAIN] in ([], list(range(9))), opening
        opening += 1
    assert opening >= 3


def test_a_log_that_ends_below_what_was_loaded_is_refused(disk: Disk, tmp_path: Path) -> None:
    load(disk.path, tmp_path / "t")
    shutil.rmtree(disk.path / "people-0")
    disk.append("people-0", orders(0, 4))
    with pytest.raises(LogDirectoryError, match="people-0 ends at offset 4, and the table has it"):
        load(disk.path, tmp_path / "t")


def test_records_that_were_deleted_before_they_were_loaded_are_told(
    disk: Disk, tmp_path: Path
) -> None:
    load(disk.path, tmp_path / "t")
    disk.append("orders-0", orders(20, 40))
    disk.path.joinpath("log-start-offset-checkpoint").write_text("0\n1\norders 0 30\n")
    told: list[str] = []
    row = load(disk.path, tmp_path / "t", tell=told.append)["orders-0"]
    assert (row["before"], row["deleted"], row["records"]) == (20, 10, 10)
    sentence = "orders-0: the offsets from 20 to 30 were deleted before they were loaded"
    assert told == [f"{sentence}: the log starts at 30"]


def test_damage_is_counted_and_passed(tmp_path: Path) -> None:
    damaged = SAMPLES / "damaged"
    with pytest.warns(CorruptDataWarning):
        rows = load(damaged, tmp_path / "t")
    assert rows["healthy-0"]["damaged"] == 0
    assert rows["flipped-byte-0"]["damaged"] > 0
    there: dict[str, int] = {}
    for topic, number, _ in rows_of(tmp_path / "t"):
        there[f"{topic}-{number}"] = there.get(f"{topic}-{number}", 0) + 1
    assert there == {name: row["records"] for name, row in rows.items() if row["records"]}


def test_internal_topics_are_loaded_only_when_they_are_named(tmp_path: Path) -> None:
    assert not [name for name in load(SHOP, tmp_path / "t", topics=None) if name.startswith("__")]
    named = load(SHOP, tmp_path / "u", topics="__consumer_offsets")
    assert {row["topic"] for row in named.values()} == {"__consumer_offsets"}


def test_each_topic_may_have_its_own_table(disk: Disk, tmp_path: Path) -> None:
    load(disk.path, tmp_path / "lake" / "{topic}")
    assert {row[0] for row in rows_of(tmp_path / "lake" / "people")} == {"people"}
    assert len(rows_of(tmp_path / "lake" / "orders")) == 33


def test_values_are_decoded_and_masked_and_new_fields_become_columns(
    disk: Disk, tmp_path: Path
) -> None:
    options = {"topics": "orders", "decode": {"key": "utf8", "value": "json"}}
    options |= {"mask": "orders value.mail drop"}
    disk.append("orders-0", orders(20, 22, mail="a@example.org"))
    load(disk.path, tmp_path / "t", **options)
    # A field that only the last of many records has is not lost.
    disk.append("orders-0", [*orders(22, 1600), *orders(1600, 1601, late={"deep": 1.5})])
    load(disk.path, tmp_path / "t", **options)
    found = rows_of(tmp_path / "t", '"offset", key, number, late.deep')
    assert found[-1] == (1600, "k4", 1600, 1.5)
    assert [row[2] for row in found] == [row[0] for row in found]
    assert b"example.org" not in b"".join(
        p.read_bytes() for p in tmp_path.joinpath("t").rglob("*.p*")
    )


def test_what_the_type_of_a_table_does_not_hold_is_rescued(disk: Disk, tmp_path: Path) -> None:
    options: dict[str, Any] = {"topics": "orders", "decode": "json"}
    load(disk.path, tmp_path / "t", **options)
    disk.append("orders-0", [Record(20, 1, b"k", b'{"number": "twenty", "late": 1}')])
    told: list[str] = []
    rows = load(disk.path, tmp_path / "t", **options, tell=told.append)
    assert (rows["orders-0"]["records"], rows["orders-0"]["rescued"]) == (1, 1)
    found = rows_of(tmp_path / "t", '"offset", number, late, _rescued')
    assert found[-1] == (20, None, 1, '{"value.number": "twenty"}')
    assert told[-1].startswith("1 key or value null or incomplete; the first: ")
    assert "field number is text (expected int64)" in told[-1]


def test_a_timestamp_beyond_those_of_a_table_is_null_and_counted(
    disk: Disk, tmp_path: Path
) -> None:
    last = (2**63 - 1) // 1000
    stamps = (-1, last, -last, last + 1, -last - 1, 1_700_000_000_000_000_000)
    disk.append("orders-0", [Record(20 + at, stamp) for at, stamp in enumerate(stamps)])
    told: list[str] = []
    load(disk.path, tmp_path / "t", topics="orders", tell=told.append)
    rows = rows_of(tmp_path / "t", 'partition, "offset", epoch_us("timestamp")')
    found = {offset: time for partition, offset, time in rows if partition == 0}
    wanted = [None, last * 1000, -last * 1000, None, None, None]
    assert [found[20 + at] for at in range(len(stamps))] == wanted
    (sentence,) = [each for each in told if "timestamp" in each]
    assert sentence.startswith("orders-0: the timestamp of 3 records is null in the table")


def test_a_table_in_a_directory_that_is_read_is_refused(disk: Disk) -> None:
    with pytest.raises(OutputError, match="must not be inside the input"):
        load(disk.path, disk.path / "table")
