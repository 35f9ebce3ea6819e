"""Loading a log: transactions, producers and leader epochs come from what is left of them."""

from pathlib import Path

import pytest

from tests import naive
from tests.log.folder import (
    NOW,
    Folder,
    Loaded,
    batch,
    marker,
    produced,
    snapshots,
    three_segments,
)
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.record.memory_records import MemoryRecords


def write_transactions(folder: Folder) -> None:
    """Two producers over three segments: (1, 0-4) is aborted at 9, (2, 5) at 12."""
    folder.write_segment(
        0,
        produced(0, 2, producer=1, transactional=True),
        produced(2, 3, producer=1, sequence=2, transactional=True),
    )
    folder.write_segment(
        5,
        produced(5, 4, producer=2, transactional=True),
        marker(9, producer=1, commit=False),
    )
    folder.write_segment(10, batch(10, 2), marker(12, producer=2, commit=False))


def aborted(loaded: Loaded) -> list[AbortedTxn]:
    return [
        one for segment in loaded.segments.all for one in segment.transaction_index.all_aborted()
    ]


@pytest.mark.parametrize("recovery_point", [0, 5])
@pytest.mark.parametrize("has_snapshots", [True, False])
def test_transaction_indexes_are_built_anew(
    tmp_path: Path, recovery_point: int, *, has_snapshots: bool
) -> None:
    """LO-13."""
    folder = Folder(tmp_path)
    write_transactions(folder)
    folder.load(recovery_point=0).close()
    for name in folder.names_of(".txnindex"):
        (folder.path / name).unlink()
    if not has_snapshots:
        for name in folder.names_of(".snapshot"):
            (folder.path / name).unlink()
    loaded = folder.load(recovery_point=recovery_point)
    assert aborted(loaded) == [
        AbortedTxn(producer_id=1, first_offset=0, last_offset=9, last_stable_offset=5),
        AbortedTxn(producer_id=2, first_offset=5, last_offset=12, last_stable_offset=13),
    ]


def test_a_coordinator_epoch_that_goes_back_does_not_stop_recovery(tmp_path: Path) -> None:
    """LO-6."""
    folder = Folder(tmp_path)
    folder.write_segment(
        0,
        marker(0, producer=1, commit=False, coordinator_epoch=5),
        produced(1, producer=1, transactional=True),
        marker(2, producer=1, commit=False, coordinator_epoch=3),
    )
    assert folder.load().offsets.next_offset == 3


def test_without_snapshots_a_clean_stop_makes_empty_ones(tmp_path: Path) -> None:
    """UL-37, LO-5: the log is not read for producers."""
    folder = Folder(tmp_path)
    for base in (0, 5, 10):
        folder.write_segment(base, produced(base, 5, producer=1, sequence=base))
    loaded = folder.load(clean=True)
    assert snapshots(folder) == [5, 10, 15]
    assert loaded.producers.is_empty
    assert loaded.producers.map_end_offset == 15


def test_recovery_makes_snapshots_of_what_it_reads(tmp_path: Path) -> None:
    """UL-37."""
    folder = Folder(tmp_path)
    for base in (0, 5, 10):
        folder.write_segment(base, produced(base, 5, producer=1, sequence=base))
    loaded = folder.load(recovery_point=0)
    assert snapshots(folder) == [5, 10, 15]
    entry = loaded.producers.last_entry(1)
    assert entry is not None
    assert entry.last_sequence == 14


def test_recovery_makes_a_snapshot_where_the_last_batch_that_can_have_a_producer_ends(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    old = MemoryRecords.copy_of(naive.message(1, naive.Record(5, NOW, b"k", b"v")))
    folder.write_raw(0, produced(0, 5, producer=1), old)
    folder.load(recovery_point=0)
    assert snapshots(folder) == [5, 6]


def test_producers_come_from_the_newest_snapshot_and_the_batches_behind_it(
    tmp_path: Path,
) -> None:
    """LO-4."""
    folder = Folder(tmp_path)
    for base in (0, 5, 10):
        folder.write_segment(base, produced(base, 5, producer=base + 1))
    folder.load(recovery_point=0)
    folder.file("snapshot", 15).unlink()
    loaded = folder.load(clean=True)
    (step,) = loaded.told("producer state read")
    assert (step.numbers["start"], step.numbers["end"]) == (10, 15)
    assert sorted(loaded.producers.producers) == [1, 6, 11]


def test_a_damaged_snapshot_is_removed_and_an_older_one_used(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for base in (0, 5, 10):
        folder.write_segment(base, produced(base, 5, producer=base + 1))
    folder.load(recovery_point=0)
    folder.file("snapshot", 15).write_bytes(b"garbage")
    loaded = folder.load(clean=True)
    assert sorted(loaded.producers.producers) == [1, 6, 11]
    assert snapshots(folder) == [5, 10, 15]


def test_snapshots_without_a_segment_go_but_the_largest(tmp_path: Path) -> None:
    """LO-7."""
    folder = Folder(tmp_path)
    for base in (0, 1, 2):
        folder.write_segment(base, produced(base, producer=1, sequence=base))
    folder.load(recovery_point=0)
    folder.write_segment(4, produced(4, producer=1, sequence=3))
    data = folder.file("snapshot", 3).read_bytes()
    folder.file("snapshot", 5).write_bytes(data)
    assert snapshots(folder) == [1, 2, 3, 5]
    folder.load(clean=True)
    assert snapshots(folder) == [1, 2, 5]


def test_snapshots_behind_the_end_are_removed(tmp_path: Path) -> None:
    """UL-38."""
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.load(clean=True)
    folder.file("snapshot", 42).write_bytes(folder.file("snapshot", 15).read_bytes())
    folder.load(clean=True)
    assert snapshots(folder) == [5, 10, 15]


def test_producers_whose_segments_are_gone_are_gone(tmp_path: Path) -> None:
    """LO-8."""
    folder = Folder(tmp_path)
    folder.write_segment(0, produced(0, 5, producer=1))
    folder.write_segment(5, produced(5, 5, producer=2))
    assert sorted(folder.load(log_start=3).producers.producers) == [1, 2]
    for name in folder.names:
        if name.startswith("00000000000000000000.") or name.endswith(".snapshot"):
            (folder.path / name).unlink()
    assert sorted(folder.load(log_start=5).producers.producers) == [2]


def test_epochs_that_the_checkpoint_lacks_come_back_from_the_batches(tmp_path: Path) -> None:
    """LO-21."""
    folder = Folder(tmp_path)
    folder.write_segment(0, batch(0, epoch=1))
    folder.write_segment(1, batch(1, epoch=2), batch(2, epoch=2), batch(3, epoch=3))
    loaded = folder.load(recovery_point=0)
    assert [tuple(entry) for entry in loaded.epochs.entries] == [(1, 0), (2, 1), (3, 3)]


def test_after_a_clean_stop_they_do_not(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_segment(0, batch(0, epoch=1))
    assert folder.load(clean=True).epochs.latest_epoch is None


def test_epochs_behind_the_end_go(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    (folder.path / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n7 20\n9 100000\n")
    loaded = folder.load(clean=True)
    assert [tuple(entry) for entry in loaded.epochs.entries] == [(0, 0)]


def test_a_snapshot_that_comes_out_as_it_was_is_not_written_anew(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for base in (0, 5, 10):
        folder.write_segment(base, produced(base, 5, producer=1, sequence=base))
    folder.load(recovery_point=0)
    before = [folder.file("snapshot", offset).stat().st_ino for offset in (10, 15)]
    loaded = folder.load(recovery_point=7)
    assert [folder.file("snapshot", offset).stat().st_ino for offset in (10, 15)] == before
    assert len(loaded.told("producer snapshot kept")) == 2
    assert loaded.told("producer snapshot written") == []


def test_a_snapshot_that_recovery_finds_wrong_is_written_anew(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for base in (0, 5, 10):
        folder.write_segment(base, produced(base, 5, producer=1, sequence=base))
    folder.load(recovery_point=0)
    sound = folder.file("snapshot", 15).read_bytes()
    folder.file("snapshot", 15).write_bytes(folder.file("snapshot", 5).read_bytes())
    folder.file("snapshot", 12).write_bytes(sound)
    folder.load(recovery_point=7)
    assert folder.file("snapshot", 15).read_bytes() == sound
    assert snapshots(folder) == [5, 10, 15]
