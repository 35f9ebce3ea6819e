"""`logs.inspect`: one row per thing, in Arrow, with what is missing as null."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch, wrapper
from workbench.cli.show.facts import directory_facts, partition_facts
from workbench.files.names import FileKind
from workbench.loaders.schemas import schema_of
from workbench.log_directory import LogDirectory
from workbench.tables.directories import (
    CheckpointRow,
    FileRow,
    FindingRow,
    LeaderEpochRow,
    ProducerRow,
)
from workbench.tables.segments import (
    AbortedTransactionRow,
    BatchRow,
    OffsetIndexRow,
    SegmentRow,
    TimeIndexRow,
)

Golden = Callable[[str], Case]
SAMPLES = Path(__file__).parents[2] / "sample_data"

TABLES = {
    "segments": schema_of(SegmentRow),
    "batches": schema_of(BatchRow),
    "offset_index": schema_of(OffsetIndexRow),
    "time_index": schema_of(TimeIndexRow),
    "aborted_transactions": schema_of(AbortedTransactionRow),
    "producers": schema_of(ProducerRow),
    "checkpoints": schema_of(CheckpointRow),
    "leader_epochs": schema_of(LeaderEpochRow),
    "files": schema_of(FileRow),
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


def test_index_tables_have_the_relative_offset_that_is_stored(logs: LogDirectory) -> None:
    kinds: tuple[tuple[str, FileKind, int, int], ...] = (
        ("offset_index", "index", 0, 8),
        ("time_index", "timeindex", 8, 12),
    )
    for name, kind, place, width in kinds:
        table = getattr(logs.inspect, name)(topics="txn-b", partitions=[0])
        stored = [
            int.from_bytes(data[at + place : at + place + 4])
            for segment in logs["txn-b-0"].segments
            for data in [Path(segment.files[kind].path).read_bytes()]
            for at in range(0, width * len(getattr(segment, name)), width)
        ]
        assert table["relative_offset"].to_pylist() == stored
        assert pc.subtract(table["offset"], table["segment"]).to_pylist() == stored
        assert any(table["segment"].to_pylist())


@pytest.mark.parametrize("sample", ["shop-4.3.1", "era-0.10.2.2", "damaged"])
def test_each_entry_of_an_index_has_its_batch(sample: str) -> None:
    """Counted in pandas, batch by batch."""
    inspect = workbench.open_log_directory(SAMPLES / sample).inspect
    place = ["topic", "partition", "segment"]
    batches = dict(list(inspect.batches().to_pandas().groupby(place)))
    none = inspect.batches().to_pandas().head(0)
    found = 0
    for where, entries in inspect.offset_index().to_pandas().groupby(place):
        mine = batches.get(where, none)
        before = 0
        for entry in entries.itertuples():
            assert entry.bytes_before == entry.position - before
            here = mine[mine.position == entry.position]
            base = None if here.empty else optional(here.base_offset.iloc[0])
            assert optional(entry.batch_base_offset) == base
            between = mine[(mine.position >= before) & (mine.position < entry.position)]
            both = {before, entry.position} <= set(mine.position)
            in_order = both and entry.position >= before
            assert optional(entry.batches_before) == (len(between) if in_order else None)
            is_counted = in_order and between.record_count.notna().all()
            records = int(between.record_count.sum()) if is_counted else None
            assert optional(entry.records_before) == records
            found += is_counted
            before = entry.position
    for where, entries in inspect.time_index().to_pandas().groupby(place):
        mine = batches.get(where, none)
        for entry in entries.itertuples():
            later = mine[mine.last_offset >= entry.offset].head(1)
            position = None if later.empty else int(later.position.iloc[0])
            assert optional(entry.batch_position) == position
            base = None if later.empty else optional(later.base_offset.iloc[0])
            assert optional(entry.batch_base_offset) == base
    assert found > 5 or sample != "shop-4.3.1"


def optional(value: Any) -> int | None:
    """Return a cell of pandas as the integer that it stands for."""
    return None if pd.isna(value) else int(value)


def test_the_findings_are_those_of_verify() -> None:
    logs = workbench.open_log_directory(SAMPLES / "damaged")
    everything = logs.verify()
    assert everything
    assert logs.inspect.findings().to_pylist() == [each.as_dict() for each in everything]
    assert logs.inspect.findings().schema == schema_of(FindingRow)
    some: list[dict[str, Any]] = [
        {"topics": "torn-tail"},
        {"topics": ["torn-tail", "flipped-byte"], "deep": False},
        {"partitions": "flipped-byte-0", "info": True},
        {"partitions": [0], "info": True},
        {"info": True},
    ]
    for options in some:
        expected = logs.verify(**options)
        table = logs.inspect.findings(**options)
        assert table.to_pylist() == [each.as_dict() for each in expected]
    folders = {Path(each.path).parent.name for each in logs.verify(topics="torn-tail")}
    assert "torn-tail-0" in folders
    assert "flipped-byte-0" not in folders
    for wrong in ({"topics": "torn"}, {"partitions": 7}):
        with pytest.raises(LookupError):
            logs.verify(**wrong)  # a part of a name is no name


def test_names_that_are_not_utf8_are_shown_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "\udcff-0"
    folder.mkdir()
    entry = bytearray(batch([Record(0, 5, b"k", b"v")]))
    (folder / f"{0:020}.log").write_bytes(entry)
    (folder / "\udcfe.log").write_bytes(b"no log")
    logs = workbench.open_log_directory(tmp_path)
    assert logs.scan().to_arrow()["topic"].to_pylist() == [r"\udcff"]
    names = logs.inspect.files()["name"].to_pylist()
    assert {r"\udcfe.log", f"{0:020}.log"} <= set(names)
    assert logs.inspect.batches()["topic"].to_pylist() == [r"\udcff"]
    assert any(r"\udcfe.log" in path for path in logs.inspect.findings()["path"].to_pylist())
    view = logs.to_duckdb().sql(r'select count(*) from "\udcff"')
    assert view.fetchall() == [(1,)]


def test_a_checkpoint_that_cannot_be_read_any_more_is_left_out_with_a_warning(
    tmp_path: Path,
) -> None:
    sample = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
    copy = Path(shutil.copytree(sample, tmp_path / "logs"))
    logs = workbench.open_log_directory(copy)
    before = logs.inspect.checkpoints()
    epochs = logs.inspect.leader_epochs().num_rows
    for path in (
        copy / "recovery-point-offset-checkpoint",
        copy / "customers-0" / "leader-epoch-checkpoint",
    ):  # listed as files
        path.unlink()
        os.mkfifo(path)
    name = "recovery-point-offset-checkpoint"
    with pytest.warns(workbench.CorruptDataWarning, match=f"{name} is left out.*FIFO"):
        after = logs.inspect.checkpoints()
    assert after.equals(before.filter(pc.not_equal(before["checkpoint"], name)))
    with pytest.warns(workbench.CorruptDataWarning, match="leader-epoch-checkpoint is left out"):
        assert logs.inspect.leader_epochs().num_rows < epochs
    assert [text for text in directory_facts(logs)["directories"][0]["not_read"] if name in text]
    facts = partition_facts(logs, logs["customers-0"])
    assert "leader-epoch-checkpoint" in facts["not_read"][0]
    assert facts["recovery_point"] is None
