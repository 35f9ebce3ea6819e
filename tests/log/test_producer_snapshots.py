"""Snapshots byte for byte as a broker writes them, from the same log."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case, names
from tests.log.producers import Producers
from workbench.file_system.local import LOCAL
from workbench.files.file_records import FileRecords
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.log.producers.producer import ProducerStateEntry
from workbench.log.producers.snapshots import FIRST_BUCKETS, LOAD_FACTOR, in_hash_order
from workbench.log.producers.state import ProducerStateManager
from workbench.log.producers.update import load_producers

Golden = Callable[[str], Case]

# Before 2.4 brokers kept producers in a map of Scala's, which has another order.
HASH_MAPS = [
    name
    for name in names("txn|compact-txn|idempotent|compact-idempotent|raft|streams-group")
    if not name.startswith("k")
]

BROKER_CLOCK = 1_750_000_000_000  # ms; it was later when the cases were made


def snapshot_files(case: Case) -> list[Path]:
    found = [
        path
        for label in case.labels
        for path in case.directory(label).glob("*/*.snapshot")
        if path.stat().st_size > 10
    ]
    assert found
    return sorted(found)


@pytest.mark.parametrize("name", HASH_MAPS)
def test_entries_stand_in_the_order_of_a_brokers_hash_map(golden: Golden, name: str) -> None:
    for path in snapshot_files(golden(name)):
        snapshot = ProducerSnapshot.read(str(path))
        states = [ProducerStateEntry.of(entry) for entry in snapshot.entries]
        buckets = FIRST_BUCKETS
        while len(states) > buckets * LOAD_FACTOR:
            buckets *= 2
        ordered = in_hash_order(sorted(states, key=lambda state: state.producer_id), buckets)
        written = ProducerSnapshot(tuple(state.stored() for state in ordered)).encode()
        assert written == path.read_bytes(), path


def test_producers_stand_by_bucket_then_in_the_order_they_came() -> None:
    numbers = [33, 1, 17, 2, 1 << 32, 16, (1 << 32) + 1, 65536, 0]
    entries = [ProducerStateEntry(number) for number in numbers]
    ordered = [entry.producer_id for entry in in_hash_order(entries, 16)]
    assert ordered == [16, (1 << 32) + 1, 0, 33, 1, 17, 1 << 32, 65536, 2]
    ordered = [entry.producer_id for entry in in_hash_order(entries, 32)]
    assert ordered == [(1 << 32) + 1, 0, 33, 1, 1 << 32, 65536, 2, 16, 17]


@pytest.mark.parametrize("name", [name for name in HASH_MAPS if "compact" not in name])
def test_the_state_read_from_a_log_is_the_brokers_snapshot(
    golden: Golden, name: str, tmp_path: Path
) -> None:
    """From the log's start to each offset that a snapshot is called after.

    Not where compaction has removed markers that the broker had seen. The records are years older
    than its clock, so producers without an open transaction had expired when it loaded the log.
    """
    compared = 0
    case = golden(name)
    for label in case.labels:
        for folder in sorted(case.directory(label).iterdir()):
            into = tmp_path / f"{label.replace('/', '-')}-{folder.name}"
            if folder.is_dir() and (folder / f"{0:020d}.log").exists():
                compared += _compare(folder, into)
    assert compared > 0


def _compare(folder: Path, into: Path) -> int:
    """Compare all snapshots of a partition with what its log gives; return how many."""
    into.mkdir(parents=True)
    producers = Producers(into)
    wanted = {int(path.stem): path for path in folder.glob("*.snapshot")}
    compared = 0
    for log in sorted(folder.glob("*.log")):
        records = FileRecords.open(LOCAL, str(log))
        rows = records.batches().rows
        for row in range(len(rows)):
            load_producers(producers.manager, records, rows[row : row + 1])
            end = int(rows["last_offset"][row]) + 1
            producers.manager.update_map_end_offset(end)
            if end in wanted:
                assert _written(producers.manager, wanted[end]) == wanted[end].read_bytes()
                compared += 1
        records.close()
    return compared


def _written(manager: ProducerStateManager, path: Path) -> bytes:
    """Return a snapshot of the producers that a broker's has; the others must have expired."""
    theirs = {entry.producer_id for entry in ProducerSnapshot.read(str(path)).entries}
    expired = [entry for number, entry in manager.producers.items() if number not in theirs]
    assert all(entry.current_transaction_first_offset is None for entry in expired)
    assert all((entry.last_timestamp or 0) < BROKER_CLOCK for entry in expired)
    left = [entry for number, entry in manager.producers.items() if number in theirs]
    ordered = in_hash_order(left, FIRST_BUCKETS)
    return ProducerSnapshot(tuple(entry.stored() for entry in ordered)).encode()
