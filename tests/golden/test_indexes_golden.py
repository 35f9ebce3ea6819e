"""Every index, snapshot and epoch file of the golden cases, against DumpLogSegments and the log."""

import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.golden.cases import CASES, Case
from tests.golden.dump_text import DumpSection, parse_entries
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.names import parse_file_name
from workbench.files.producer_snapshot import ProducerSnapshot

Golden = Callable[[str], Case]
Entries = list[dict[str, Any]]

NAMES = [case.name for case in CASES]


def offset_entries(path: Path, base_offset: int) -> Entries:
    index = OffsetIndex.read(str(path), base_offset, strict=False)
    return [{"offset": entry.offset, "position": entry.position} for entry in index]


def time_entries(path: Path, base_offset: int) -> Entries:
    index = TimeIndex.read(str(path), base_offset, strict=False)
    return [{"timestamp": entry.timestamp, "offset": entry.offset} for entry in index]


def transaction_entries(path: Path, base_offset: int) -> Entries:
    index = TransactionIndex.read(str(path), base_offset, strict=False)
    return [
        {
            "version": int(version) >> 8,  # brokers and tool look at the first byte only
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        for version, entry in zip(index.versions, index, strict=True)
    ]


def snapshot_entries(path: Path, _base_offset: int) -> Entries:
    snapshot = ProducerSnapshot.read(str(path), strict=False)
    entries = []
    for entry in () if snapshot.problems else snapshot.entries:  # brokers and tool: all or nothing
        told = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": -1 if entry.coordinator_epoch is None else entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_transaction_first_offset,
            "lastTimestamp": entry.timestamp,
        }
        if entry.last_offset is not None:
            assert entry.last_sequence is not None
            told |= {
                "firstSequence": (entry.last_sequence - entry.offset_delta) % 2**31,
                "lastSequence": entry.last_sequence,
                "lastOffset": entry.last_offset,
                "offsetDelta": entry.offset_delta,
                "timestamp": entry.timestamp,
            }
        entries.append(told)
    return entries


READERS: dict[str, Callable[[Path, int], Entries]] = {
    ".index": offset_entries,
    ".timeindex": time_entries,
    ".txnindex": transaction_entries,
    ".snapshot": snapshot_entries,
}


def is_unused(entry: dict[str, Any], base_offset: int) -> bool:
    """Return whether an entry that was printed is a zero slot of an allocated file."""
    return entry in (
        {"offset": base_offset, "position": 0},
        {"offset": base_offset, "timestamp": 0},
    )


def compare(section: DumpSection, suffix: str, path: Path, base_offset: int) -> list[Any]:
    told = parse_entries(section)
    found = READERS[suffix](path, base_offset)
    if suffix in {".index", ".timeindex"}:
        # The tool takes a later entry with the base offset for the start of the unused rest, but
        # prints the first slot whatever it is.
        used = takewhile(lambda entry: entry["offset"] != base_offset, found[1:])
        found = found[:1] + list(used)
        while len(told) > len(found) and is_unused(told[-1], base_offset):
            told.pop()
    if "EXCEPTION" in section.text or is_cut(section):
        found = found[: len(told)]
    wrong: list[Any] = []
    if len(told) != len(found):
        wrong.append(f"{len(told)} told, {len(found)} found")
    for slot, (a, b) in enumerate(zip(told, found, strict=False)):
        # 2.3 makes up a batch where the producer has none.
        names = set(a) & set(b) if a.get("lastOffset") == -1 else set(a)
        differ = {name: (a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)}
        wrong += [(slot, differ)] if differ else []
    return wrong


def is_cut(section: DumpSection) -> bool:
    """Return whether an old tool ended with an exception, whose text was not kept."""
    return bool(re.match(r"d-", section.file))


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_of_every_index_and_snapshot_is_what_the_dump_says(
    name: str, golden: Golden
) -> None:
    """OI-1 OI-2 TI-5 TX-1 DU-3 DU-4 for real files."""
    case = golden(name)
    wrong = []
    compared = 0
    for label in case.labels:
        for version in case.dump_versions(label):
            dump = case.dump(label, version)
            for section in dump.sections:
                path = case.directory(label) / section.file
                parsed = parse_file_name(path.name)
                if path.suffix in READERS and parsed is not None:
                    differ = compare(section, path.suffix, path, parsed.offset)
                    wrong += [(label, version, section.file, what) for what in differ]
                    compared += 1
    assert wrong == []
    assert compared or not any(case.path.rglob("*.index"))


@pytest.mark.parametrize("name", NAMES)
def test_leader_epochs_are_those_of_the_batches(name: str, golden: Golden) -> None:
    """The epoch that the file gives for the last offset of a batch is the one the batch carries."""
    case = golden(name)
    wrong = []
    for label in case.labels:
        for partition in workbench.open_log_directory(case.directory(label)).values():
            epochs = partition.leader_epochs
            damaged = case.kind.startswith("damage") and partition.topic != "plain"
            if epochs is None or partition.kind != "log" or damaged:
                continue
            for segment in partition.segments:
                rows = segment.batches.rows
                for offset, epoch in rows[["last_offset", "partition_leader_epoch"]].tolist():
                    told = epochs.epoch_for_offset(offset)
                    # A batch of an older format clears the file (2.3; 0.11 and 1.1 do not).
                    cleared = told is None and case.kind == "message-format"
                    readable = epoch >= 0 and offset >= partition.log_start_offset
                    if readable and told != epoch and not cleared:
                        wrong.append((label, partition.name, offset, told, epoch))
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_hold_every_entry_of_the_files(name: str, golden: Golden) -> None:
    """`logs.inspect` gives as many rows as the files of the partitions in use have entries."""
    case = golden(name)
    for label in case.labels[-2:]:
        logs = workbench.open_log_directory(case.directory(label))
        partitions = [p for p in logs.values() if p.kind == "log"]
        segments = [segment for partition in partitions for segment in partition.segments]
        assert logs.inspect.segments().num_rows == len(segments)
        assert logs.inspect.batches().num_rows == sum(len(s.batches) for s in segments)
        assert logs.inspect.offset_index().num_rows == sum(
            len(s.offset_index or ()) for s in segments
        )
        assert logs.inspect.time_index().num_rows == sum(len(s.time_index or ()) for s in segments)
        assert logs.inspect.aborted_transactions().num_rows == sum(
            len(s.transaction_index or ()) for s in segments
        )
        newest = [p.producer_snapshot(p.snapshots[-1]) for p in partitions if p.snapshots]
        assert logs.inspect.producers().num_rows == sum(len(s.entries) for s in newest)
        assert logs.inspect.leader_epochs().num_rows == sum(
            len(p.leader_epochs.entries) for p in partitions if p.leader_epochs is not None
        )
