"""The producers of one partition: expiry, unstable offsets, snapshots, going back to one."""

import shutil
from pathlib import Path

import pytest

from tests.corrupt import edit
from tests.log.producers import EXPIRATION, NOW, REPLICATION, TIMEOUT, Producers, batch
from workbench.errors import CoordinatorFencedError, OutOfOrderSequenceError
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.producer import BatchMetadata, CompletedTransaction, ProducerStateEntry
from workbench.log.producers.state import LATE_TRANSACTION_BUFFER_MS, ProducerStateManager
from workbench.runtime.steps import Step

ID = 1
LATE = TIMEOUT + LATE_TRANSACTION_BUFFER_MS
DAMAGES = {
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "garbage": lambda data: bytes(byte ^ 0x5A for byte in data),
    "another version": lambda data: b"\x00\x02" + data[2:],
}


@pytest.fixture
def producers(tmp_path: Path) -> Producers:
    (tmp_path / "test-0").mkdir()
    return Producers(tmp_path / "test-0")


def known(manager: ProducerStateManager, producer_id: int = ID) -> ProducerStateEntry:
    entry = manager.last_entry(producer_id)
    assert entry is not None
    return entry


def unstable(manager: ProducerStateManager) -> int | None:
    found = manager.first_unstable_offset
    return None if found is None else found.offset


def reloaded(producers: Producers, end: int, now: int = NOW) -> ProducerStateManager:
    manager = producers.reopened()
    manager.truncate_and_reload(0, end, now)
    return manager


def test_the_first_unstable_offset_keeps_where_it_is(producers: Producers) -> None:
    """PS-6."""
    where = LogOffsetMetadata(992342, 990000, 234224)
    append = producers.manager.prepare_update(ID, AppendOrigin.CLIENT)
    append.append(batch(ID, 0, 0, 992342, transactional=True), first_offset=where)
    producers.manager.update(append)
    assert producers.manager.first_unstable_offset == where
    assert producers.manager.first_undecided_offset == 992342


def test_a_transaction_is_late_after_its_timeout_and_five_minutes(producers: Producers) -> None:
    """PS-7: by the newest batch of the producer of the oldest transaction."""
    manager = producers.manager
    assert not manager.has_late_transaction(NOW + 10 * LATE)
    producers.append(ID, 0, 0, 100, transactional=True)
    producers.append(ID + 1, 0, 0, 150, transactional=True, timestamp=NOW + 500)
    assert not manager.has_late_transaction(NOW + LATE)
    assert manager.has_late_transaction(NOW + LATE + 1)
    producers.append(ID, 0, 1, 200, transactional=True, timestamp=NOW + 800)
    assert not manager.has_late_transaction(NOW + LATE + 800)
    producers.end(ID, 0, 201, timestamp=NOW + 900)
    assert not manager.has_late_transaction(NOW + LATE + 500)
    assert manager.has_late_transaction(NOW + LATE + 501)
    producers.end(ID + 1, 0, 202, timestamp=NOW + 900)
    assert not manager.has_late_transaction(NOW + 10 * LATE)


def test_a_late_transaction_is_known_again_after_loading(producers: Producers) -> None:
    """PS-7."""
    producers.append(ID, 0, 0, 100, transactional=True)
    producers.manager.take_snapshot()
    manager = reloaded(producers, 101)
    assert manager.has_late_transaction(NOW + LATE + 1)
    manager.truncate_fully_and_start_at(0)
    assert not manager.has_late_transaction(NOW + LATE + 1)


def test_truncating_forgets_a_late_transaction(producers: Producers) -> None:
    """PS-7."""
    producers.append(ID, 0, 0, 100, transactional=True)
    producers.manager.truncate_and_reload(0, 80, NOW)
    assert not producers.manager.has_late_transaction(NOW + LATE + 1)


def test_loading_removes_snapshots_outside_the_log(producers: Producers) -> None:
    """PS-11: those up to the log's start, and those after its end."""
    for offset in range(5):
        producers.append(ID, 0, offset, offset)
        producers.manager.take_snapshot()
    assert producers.snapshots == [1, 2, 3, 4, 5]
    producers.manager.truncate_and_reload(1, 3, NOW)
    assert producers.manager.snapshots.oldest == 2
    assert producers.manager.latest_snapshot_offset == 3
    assert producers.snapshots == [2, 3]
    assert known(producers.manager).last_sequence == 2


def test_nothing_is_loaded_when_the_state_is_that_of_the_end(producers: Producers) -> None:
    """PS-11."""
    producers.append(ID, 0, 0, 0, transactional=True)
    producers.manager.take_snapshot()
    producers.append(ID, 0, 1, 1, transactional=True)
    producers.manager.truncate_and_reload(0, 2, NOW)
    assert len(known(producers.manager).batches) == 2
    assert producers.manager.map_end_offset == 2
    assert unstable(producers.manager) == 0


def test_a_snapshot_is_one_file(producers: Producers) -> None:
    """PS-12."""
    producers.append(ID, 0, 0, 0)
    producers.append(ID, 0, 1, 1)
    path = producers.manager.take_snapshot()
    assert path == str(producers.path(2))
    assert list(producers.folder.iterdir()) == [producers.path(2)]
    assert producers.path(2).stat().st_size == 10 + 46
    assert producers.manager.snapshots.path(2) == path


def test_without_a_change_no_snapshot_is_taken(producers: Producers) -> None:
    """PS-12."""
    producers.append(ID, 0, 0, 0)
    assert producers.manager.take_snapshot() is not None
    assert producers.manager.take_snapshot() is None
    assert producers.snapshots == [1]
    producers.append(ID, 0, 1, 1)
    assert producers.manager.take_snapshot(sync=False) is not None
    producers.manager.flush_snapshot(str(producers.path(2)))
    producers.manager.flush_snapshot(str(producers.path(77)))
    assert producers.snapshots == [1, 2]


def test_a_snapshot_that_is_not_there_is_not_fetched(producers: Producers) -> None:
    """PS-12."""
    assert 1000 not in producers.manager.snapshots
    assert producers.manager.latest_snapshot_offset is None


def test_a_snapshot_replaces_a_longer_file_of_a_crash(producers: Producers) -> None:
    producers.path(1).write_bytes(b"x" * 1000)
    producers.append(ID, 0, 0, 0)
    producers.manager.take_snapshot()
    assert len(ProducerSnapshot.read(str(producers.path(1))).entries) == 1


def test_a_snapshot_keeps_the_last_batch_of_an_open_transaction(producers: Producers) -> None:
    """PS-13."""
    producers.append(ID, 0, 0, 0, transactional=True)
    producers.append(ID, 0, 1, 1, transactional=True)
    producers.manager.take_snapshot()
    manager = reloaded(producers, 2)
    entry = known(manager)
    assert (entry.first_sequence, entry.last_sequence) == (1, 1)
    assert (entry.batches[0].first_offset, entry.last_data_offset) == (1, 1)
    assert entry.current_transaction_first_offset == 0
    assert unstable(manager) == 0
    producers.append(ID, 0, 2, 2, transactional=True, manager=manager)
    assert len(known(manager).batches) == 2


def test_a_snapshot_of_an_ended_transaction_opens_none(producers: Producers) -> None:
    """PS-13."""
    producers.append(ID, 0, 0, 0, transactional=True)
    producers.append(ID, 0, 1, 1, transactional=True)
    producers.end(ID, 0, 2, abort=True)
    producers.manager.take_snapshot()
    manager = reloaded(producers, 3)
    entry = known(manager)
    assert entry.current_transaction_first_offset is None
    assert (entry.last_sequence, entry.last_data_offset, entry.coordinator_epoch) == (1, 1, 0)
    assert unstable(manager) is None


def test_a_snapshot_of_a_marker_alone_keeps_its_time(producers: Producers) -> None:
    """PS-13."""
    producers.end(ID, 0, 0, timestamp=NOW + 10)
    producers.manager.take_snapshot()
    entry = known(reloaded(producers, 1))
    assert (entry.last_timestamp, entry.last_sequence, entry.last_data_offset) == (
        NOW + 10,
        None,
        None,
    )


def test_an_abort_that_fences_leaves_its_producer_known(producers: Producers) -> None:
    """PS-14."""
    producers.append(ID, 0, 0, 0, transactional=True)
    producers.end(ID, 1, 1, abort=True)
    for manager in (producers.manager, reloaded_after_snapshot(producers, 2)):
        entry = known(manager)
        assert entry.current_transaction_first_offset is None
        assert not entry.batches
        assert entry.last_data_offset is None
        assert entry.producer_epoch == 1


def reloaded_after_snapshot(producers: Producers, end: int) -> ProducerStateManager:
    producers.manager.take_snapshot()
    return reloaded(producers, end)


def test_producers_that_are_silent_for_long_are_not_loaded(producers: Producers) -> None:
    """PS-15: what comes from them then is taken as from an unknown producer."""
    producers.append(ID, 0, 0, 0, timestamp=NOW)
    producers.append(ID + 1, 0, 0, 1, timestamp=NOW + 1)
    producers.manager.take_snapshot()
    manager = reloaded(producers, 2, NOW + EXPIRATION)
    assert list(manager.producers) == [ID + 1]
    producers.append(ID, 0, 2, 2, manager=manager)
    assert known(manager).last_sequence == 2
    with pytest.raises(OutOfOrderSequenceError):
        producers.append(ID + 1, 0, 2, 3, manager=manager)


def test_producers_expire_while_the_log_is_open(producers: Producers) -> None:
    """PS-15."""
    producers.append(ID, 5, 37, 1)
    producers.manager.remove_expired(NOW + EXPIRATION - 1)
    assert list(producers.manager.producers) == [ID]
    producers.manager.remove_expired(NOW + EXPIRATION)
    assert list(producers.manager.producers) == []
    assert producers.manager.is_empty
    producers.append(ID, 5, 2, 2)


def test_deleting_snapshots_before_an_offset(producers: Producers) -> None:
    """PS-16."""
    producers.append(ID, 0, 0, 0)
    producers.append(ID, 0, 1, 1)
    producers.manager.take_snapshot()
    producers.append(ID, 0, 2, 2)
    producers.manager.take_snapshot()
    assert producers.snapshots == [2, 3]
    producers.manager.delete_snapshots_before(3)
    assert producers.snapshots == [3]
    producers.manager.delete_snapshots_before(4)
    assert producers.snapshots == []


def test_truncating_fully_forgets_all_and_removes_all(producers: Producers) -> None:
    """PS-17."""
    producers.append(ID, 0, 0, 0, transactional=True)
    producers.manager.take_snapshot()
    producers.append(ID, 0, 1, 1, transactional=True)
    producers.manager.take_snapshot()
    producers.manager.truncate_fully_and_start_at(0)
    assert producers.snapshots == []
    assert producers.manager.is_empty
    assert unstable(producers.manager) is None
    producers.append(ID, 0, 0, 0)
    producers.manager.take_snapshot()
    assert producers.snapshots == [1]


def test_snapshots_that_come_back_are_known_after_reloading(producers: Producers) -> None:
    """PS-18."""
    for offset in range(5):
        producers.append(ID, 0, offset, offset)
        if offset in (2, 4):
            producers.manager.take_snapshot()
    kept = producers.folder / "kept"
    shutil.copy(producers.path(3), kept)
    producers.manager.truncate_and_reload(3, 5, NOW)
    assert producers.snapshots == [5]
    kept.rename(producers.path(3))
    producers.path(5).rename(kept)
    producers.manager.truncate_fully_and_start_at(0)
    producers.manager.snapshots.reload()
    assert producers.manager.latest_snapshot_offset == 3
    assert producers.manager.map_end_offset == 0
    producers.manager.truncate_and_reload(0, 3, NOW)
    assert known(producers.manager).last_sequence == 2
    assert producers.manager.map_end_offset == 3


def test_after_truncation_the_older_transaction_is_the_first_unstable(
    producers: Producers,
) -> None:
    """PS-19."""
    producers.append(ID, 0, 0, 99, transactional=True)
    producers.manager.take_snapshot()
    producers.end(ID, 0, 105)
    producers.manager.on_high_watermark_updated(106)
    assert unstable(producers.manager) is None
    producers.manager.take_snapshot()
    producers.append(ID, 0, 1, 106)
    producers.manager.truncate_and_reload(0, 106, NOW)
    assert unstable(producers.manager) is None
    producers.manager.truncate_and_reload(0, 100, NOW)
    assert unstable(producers.manager) == 99


def test_an_ended_transaction_is_unstable_until_its_marker_is_replicated(
    producers: Producers,
) -> None:
    """PS-20."""
    manager = producers.manager
    assert unstable(manager) is None
    producers.append(ID, 0, 0, 99, transactional=True)
    producers.append(ID + 1, 0, 0, 105, transactional=True)
    assert (unstable(manager), manager.first_undecided_offset) == (99, 99)
    producers.end(ID, 0, 109)
    assert (unstable(manager), manager.first_undecided_offset) == (99, 105)
    for high_watermark, first in ((100, 99), (109, 99), (110, 105)):
        manager.on_high_watermark_updated(high_watermark)
        assert unstable(manager) == first
    producers.end(ID + 1, 0, 112, abort=True)
    assert (unstable(manager), manager.first_undecided_offset) == (105, None)
    manager.on_high_watermark_updated(113)
    assert unstable(manager) is None


def test_the_log_start_makes_ended_transactions_before_it_stable(producers: Producers) -> None:
    producers.append(ID, 0, 0, 5, transactional=True)
    producers.end(ID, 0, 7)
    assert not producers.manager.is_empty
    producers.manager.on_log_start_offset_incremented(7)
    assert unstable(producers.manager) == 5
    producers.manager.on_log_start_offset_incremented(20)
    assert unstable(producers.manager) is None
    assert producers.manager.map_end_offset == 20


def test_a_producer_with_an_open_transaction_does_not_expire(producers: Producers) -> None:
    """PS-21."""
    producers.append(ID, 0, 0, 99, transactional=True)
    producers.manager.remove_expired(NOW + 2 * EXPIRATION)
    assert unstable(producers.manager) == 99
    producers.manager.take_snapshot()
    assert list(reloaded(producers, 100, NOW + 2 * EXPIRATION).producers) == [ID]


def test_a_replaced_coordinator_is_fenced_after_loading(producers: Producers) -> None:
    """PS-24."""
    producers.append(ID, 0, 0, 99, transactional=True)
    producers.end(ID, 0, 100, coordinator_epoch=1)
    producers.manager.take_snapshot()
    manager = reloaded(producers, 101)
    producers.end(ID, 0, 101, coordinator_epoch=1, manager=manager)
    producers.end(ID, 0, 102, coordinator_epoch=2, manager=manager)
    with pytest.raises(CoordinatorFencedError):
        producers.end(ID, 0, 103, coordinator_epoch=1, manager=manager)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_snapshot_is_removed_and_the_one_before_it_taken(
    producers: Producers, damage: str
) -> None:
    """PS-25."""
    producers.append(ID, 0, 0, 0)
    producers.append(ID, 0, 1, 1)
    producers.manager.take_snapshot()
    producers.append(ID, 0, 2, 2)
    producers.manager.take_snapshot()
    edit(producers.path(3), DAMAGES[damage])
    steps: list[Step] = []
    manager = producers.reopened(steps.append)
    manager.truncate_and_reload(0, 20, NOW)
    assert not producers.path(3).exists()
    assert producers.snapshots == [2]
    assert known(manager).last_sequence == 1
    assert manager.map_end_offset == 2
    assert [step.kind for step in steps] == [
        "producer snapshot removed",
        "producer snapshot loaded",
    ]
    assert str(producers.path(3)) in steps[0].reason


def test_without_any_whole_snapshot_the_state_begins_at_the_log_start(
    producers: Producers,
) -> None:
    """PS-25."""
    producers.append(ID, 0, 0, 0)
    producers.manager.take_snapshot()
    producers.path(1).write_bytes(b"")
    manager = producers.reopened()
    manager.truncate_and_reload(0, 20, NOW)
    assert (manager.map_end_offset, manager.is_empty, producers.snapshots) == (0, True, [])


@pytest.mark.parametrize(
    ("bases", "kept"),
    [
        ([5], [5, 42]),
        ([42], [42]),
        ([], [42]),
        ([2, 5, 100], [2, 5]),
        ([43], []),
        ([5, 42], [5, 42]),
    ],
)
def test_snapshots_without_segment_go_but_for_the_newest(
    producers: Producers, bases: list[int], kept: list[int]
) -> None:
    """PS-27."""
    for offset in (5, 2, 42):
        producers.path(offset).touch()
    (producers.folder / "00000000000000000007.log").touch()
    (producers.folder / "00000000000000000009.snapshot.deleted").touch()
    producers.manager.remove_stray_snapshots(bases)
    assert producers.snapshots == kept
    assert producers.manager.snapshots.offsets == tuple(kept)
    assert (producers.folder / "00000000000000000007.log").exists()


def test_a_snapshot_marked_for_deletion_is_renamed_and_forgotten(producers: Producers) -> None:
    """PS-28."""
    producers.path(5).touch()
    manager = producers.reopened()
    marked = manager.remove_and_mark_snapshot_for_deletion(5)
    assert marked == str(producers.path(5)) + ".deleted"
    assert [path.name for path in producers.folder.iterdir()] == [
        "00000000000000000005.snapshot.deleted"
    ]
    assert manager.latest_snapshot_offset is None
    assert manager.remove_and_mark_snapshot_for_deletion(5) is None


def test_marking_a_snapshot_whose_file_is_gone_forgets_it(producers: Producers) -> None:
    """PS-28."""
    producers.path(5).touch()
    manager = producers.reopened()
    producers.path(5).unlink()
    assert manager.remove_and_mark_snapshot_for_deletion(5) is None
    assert manager.latest_snapshot_offset is None


def test_the_last_stable_offset_after_a_transaction_is_the_start_of_the_next(
    producers: Producers,
) -> None:
    """PS-29."""
    for number, offset in enumerate((90, 95, 100)):
        producers.append(ID + number, 0, 0, offset, transactional=True)

    def stable(producer_id: int, marker: int) -> int:
        ended = producers.end(producer_id, 0, marker)
        assert ended is not None
        return ended[1]

    assert stable(ID + 1, 200) == 90
    assert stable(ID, 201) == 100
    assert stable(ID + 2, 202) == 203


def test_a_transaction_that_did_not_begin_is_not_completed(producers: Producers) -> None:
    with pytest.raises(ValueError, match="no transaction began at 5"):
        producers.manager.complete_transaction(CompletedTransaction(ID, 5, 9, is_aborted=False))


def test_an_append_without_producer_is_refused(producers: Producers) -> None:
    append = producers.manager.prepare_update(-1, REPLICATION)
    with pytest.raises(ValueError, match="producer id -1"):
        producers.manager.update(append)


def test_a_snapshot_read_back_is_what_was_written(producers: Producers) -> None:
    """PS-31."""
    entries = [
        ProducerEntry(1, 2, 3, 4, 5, NOW, 6, 7),
        ProducerEntry(11, 12, 13, 14, 15, NOW + 1, 16, None),
        ProducerEntry(21, 22, None, None, 0, NOW + 2, None, None),
    ]
    producers.manager.snapshots.write(99, entries, sync=True)
    assert producers.manager.snapshots.read(99) == tuple(entries)
    states = [ProducerStateEntry.of(entry) for entry in entries]
    assert [state.stored() for state in states] == entries
    assert list(states[0].batches) == [BatchMetadata(3, 4, 5, NOW)]
    assert list(states[2].batches) == []


def test_the_folder_may_move_and_need_not_be_there(tmp_path: Path, producers: Producers) -> None:
    producers.append(ID, 0, 0, 0)
    producers.manager.take_snapshot()
    producers.folder.rename(tmp_path / "test-0.0123-delete")
    producers.manager.update_directory(str(tmp_path / "test-0.0123-delete"))
    producers.manager.delete_snapshots_before(2)
    assert list((tmp_path / "test-0.0123-delete").iterdir()) == []
    assert producers.reopened().latest_snapshot_offset is None


def test_an_observer_is_told_of_snapshots_transactions_and_expiry(tmp_path: Path) -> None:
    steps: list[Step] = []
    producers = Producers(tmp_path, steps.append)
    producers.append(ID, 0, 0, 0, transactional=True)
    producers.end(ID, 0, 1, abort=True)
    producers.manager.take_snapshot()
    producers.manager.remove_expired(NOW + EXPIRATION)
    assert [(step.kind, step.reason) for step in steps] == [
        ("transaction completed", "aborted"),
        ("producer snapshot written", ""),
        ("producers expired", "no batch came for 86,400,000 ms (24 h)"),
    ]
    assert steps[0].numbers["last_offset"] == 1
    assert steps[1].numbers == {"offset": 2, "count": 1}
    assert steps[2].numbers["producer_ids"] == [ID]
