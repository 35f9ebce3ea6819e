"""`logs.inspect`: one row a thing, in Arrow, with what is missing as null."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch, wrapper
from workbench.loaders import schemas
from workbench.log_directory import LogDirectory

Golden = Callable[[str], Case]

TABLES = {
    "segments": schemas.SEGMENTS,
    "batches": schemas.BATCHES,
    "offset_index": schemas.OFFSET_INDEX,
    "time_index": schemas.TIME_INDEX,
    "aborted_transactions": schemas.ABORTED_TRANSACTIONS,
    "producers": schemas.PRODUCERS,
    "checkpoints": schemas.CHECKPOINTS,
    "leader_epochs": schemas.LEADER_EPOCHS,
    "files": schemas.FILES,
}


@pytest.fixture
def logs(golden: Golden) -> LogDirectory:
    return workbench.open_log_directory(golden("4.2.0-txn").directory("data"))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_schema_with_rows_and_without(
    name: str, logs: LogDirectory, tmp_path: Path
) -> None:
    full = getattr(logs.inspect, name)()
    empty = getattr(workbench.open_log_directory(tmp_path).inspect, name)()
    assert full.schema == empty.schema == TABLES[name]
    assert full.num_rows > 0
    assert empty.num_rows == 0
    full.validate(full=True)


@pytest.mark.parametrize(
    "name", ["segments", "batches", "offset_index", "time_index", "producers", "leader_epochs"]
)
def test_topics_and_partitions_choose_rows(name: str, logs: LogDirectory) -> None:
    table = getattr(logs.inspect, name)(topics="txn-a", partitions=[0])
    assert set(table["topic"].to_pylist()) <= {"txn-a"}
    assert set(table["partition"].to_pylist()) <= {0}
    everything = getattr(logs.inspect, name)()
    of_topic = pc.and_(pc.equal(everything["topic"], "txn-a"), pc.equal(everything["partition"], 0))
    assert table.num_rows == everything.filter(of_topic).num_rows


def test_what_a_batch_does_not_have_is_null(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    two = [Record(0, 7, b"a", b"b"), Record(1, 8)]
    data = batch(two, leader_epoch=-1) + wrapper(0, two, 1) + batch(two, magic=5)
    data += batch(two, attributes=0x40, base_timestamp=99)
    (folder / "00000000000000000000.log").write_bytes(data)
    rows = workbench.open_log_directory(tmp_path).inspect.batches().to_pylist()
    assert [row["producer_id"] for row in rows] == [None] * 4
    assert [row["base_offset"] for row in rows] == [0, None, 0, 0]
    assert [row["record_count"] for row in rows] == [2, None, 2, 2]
    assert [row["timestamp_type"] for row in rows] == ["CreateTime", None, *["CreateTime"] * 2]
    assert [row["problem"] for row in rows] == [None, None, "unknown magic", None]
    assert [row["delete_horizon"] is None for row in rows] == [True, True, True, False]
    assert [row["base_timestamp"] is None for row in rows] == [False, True, False, True]


def test_no_integer_becomes_a_float(logs: LogDirectory) -> None:
    for name in TABLES:
        table = getattr(logs.inspect, name)()
        assert not any(pa.types.is_floating(field.type) for field in table.schema)


def test_every_file_has_a_row_with_what_it_is_for(golden: Golden) -> None:
    directory = golden("4.2.0-damage-clean").directory("before")
    table = workbench.open_log_directory(directory).inspect.files()
    assert table.num_rows == sum(1 for path in directory.rglob("*") if path.is_file()) - sum(
        1 for path in directory.glob("*/*/*") if path.is_file()
    )
    kinds = set(table["kind"].to_pylist())
    assert {"log", "index", "timeindex", "snapshot", "leader-epoch-checkpoint"} <= kinds
    assert "unknown" in kinds
