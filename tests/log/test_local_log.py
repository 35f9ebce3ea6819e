"""The life of a log's files: roll, flush, rename, close, delete."""

import errno
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.engine.file_systems import FailingFileSystem, Operation, RecordingFileSystem
from tests.log.folder import batch
from tests.log.logs import NOW, LogHome, bases, every_offset, in_transaction, sent_by, values
from workbench.errors import StorageError
from workbench.file_system.local import LOCAL
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.failures import LogDirFailures

SMALL = values(1).size
DELETED_NAME = "orders-0.0123456789abcdef0123456789abcdef-delete"


def fill(log: Log, count: int) -> None:
    for _ in range(count):
        log.append_as_leader(values(1))


# --- rolling by size and time ---------------------------------------------------------------------


def test_a_segment_takes_what_fits(tmp_path: Path) -> None:
    """UL-25."""
    log = LogHome(tmp_path, {"segment.bytes": 3 * SMALL}).open()
    fill(log, 3)
    assert bases(log) == [0]
    fill(log, 1)
    assert bases(log) == [0, 3]
    fill(log, 7)
    assert bases(log) == [0, 3, 6, 9]


def timed(timestamp: int | None) -> MemoryRecords:
    return MemoryRecords.of((b"k", b"v"), timestamp=timestamp)


def test_an_empty_segment_does_not_roll_by_time(tmp_path: Path) -> None:
    """UL-23."""
    home = LogHome(tmp_path, {"segment.ms": 1000})
    log = home.open()
    assert bases(log) == [0]
    home.clock.advance(1001)
    log.append_as_leader(values(1))
    assert bases(log) == [0]


def test_without_times_a_segment_rolls_by_its_age(tmp_path: Path) -> None:
    """UL-23."""
    home = LogHome(tmp_path, {"segment.ms": 1000})
    log = home.open()
    log.append_as_leader(timed(None))
    home.clock.advance(1000)
    log.append_as_leader(timed(None))
    assert bases(log) == [0]
    home.clock.advance(1)
    log.append_as_leader(timed(None))
    assert bases(log) == [0, 2]
    # The first batch has no time, so later ones with a time do not change the rule.
    log.append_as_leader(timed(home.clock.now() + 5000))
    assert bases(log) == [0, 2]
    home.clock.advance(1001)
    log.append_as_leader(timed(home.clock.now()))
    assert bases(log) == [0, 2, 4]


def test_with_times_a_segment_rolls_by_them(tmp_path: Path) -> None:
    """UL-23."""
    home = LogHome(tmp_path, {"segment.ms": 1000})
    log = home.open()
    log.append_as_leader(timed(NOW))
    home.clock.advance(5000)
    log.append_as_leader(timed(NOW + 1000))
    assert bases(log) == [0]
    log.append_as_leader(timed(NOW + 1001))
    assert bases(log) == [0, 2]
    log.append_as_leader(timed(NOW - 100_000))
    assert bases(log) == [0, 2]


def test_an_append_of_nothing_does_not_roll(tmp_path: Path) -> None:
    """UL-23."""
    home = LogHome(tmp_path, {"segment.ms": 1000})
    log = home.open()
    log.append_as_leader(timed(None))
    home.clock.advance(1001)
    log.append_as_follower(MemoryRecords.copy_of(b""))
    assert bases(log) == [0]


def test_jitter_rolls_a_segment_earlier(tmp_path: Path) -> None:
    """UL-24."""
    home = LogHome(tmp_path, {"segment.ms": 1000, "segment.jitter.ms": 200})
    log = home.open()
    jitter = log.active_segment.roll_jitter_ms
    assert 0 < jitter < 200
    log.append_as_leader(timed(None))
    home.clock.advance(1000 - 200)
    log.append_as_leader(timed(None))
    assert bases(log) == [0]
    home.clock.advance(200 - jitter + 1)
    log.append_as_leader(timed(None))
    assert bases(log) == [0, 2]
    (step,) = home.told("rolled")
    assert f"more than {1000 - jitter} ms: 1,000 ms less a jitter of {jitter} ms" in step.reason


def test_compaction_lag_rolls_a_compacted_topic(tmp_path: Path) -> None:
    home = LogHome(tmp_path, {"cleanup.policy": "compact", "max.compaction.lag.ms": 1000})
    log = home.open()
    log.append_as_leader(timed(NOW))
    log.append_as_leader(timed(NOW + 1001))
    assert bases(log) == [0, 1]


def test_rolling_an_empty_segment_makes_it_anew(tmp_path: Path) -> None:
    """UL-26."""
    home = LogHome(tmp_path)
    log = home.open()
    before = log.active_segment
    log.roll()
    assert bases(log) == [0]
    assert log.active_segment is not before
    assert home.names_of(".log.deleted") == ["00000000000000000000.log.deleted"]
    fill(log, 1)
    log.roll()
    assert bases(log) == [0, 1]
    log.roll()
    assert bases(log) == [0, 1]
    home.clock.advance(60_000)
    assert home.names_of(".deleted") == []
    assert every_offset(log) == [0]


def test_an_empty_segment_whose_index_is_full_is_made_anew(tmp_path: Path) -> None:
    """UL-26: an index without room for one entry."""
    home = LogHome(tmp_path)
    log = home.open()
    log.active_segment.resize_indexes(0)
    assert log.active_segment.offset_index.is_full
    fill(log, 1)
    assert bases(log) == [0]
    assert home.told("rolled")[0].reason.startswith("the offset index is full with 0 entries")
    assert every_offset(log) == [0]


def test_a_roll_begins_at_the_end_or_behind_it(tmp_path: Path) -> None:
    """LL-9."""
    log = LogHome(tmp_path).open()
    fill(log, 2)
    assert log.roll(5).base_offset == 5
    with pytest.raises(ValueError, match="cannot roll to offset 2"):
        log.roll(1)
    log.append_as_follower(batch(5))
    assert log.roll(1).base_offset == 6
    assert bases(log) == [0, 5, 6]
    assert log.log_end_offset == 6


def test_a_full_segment_cannot_be_rolled_onto(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    fill(log, 2)
    log.roll()
    log.local.update_end_offset(0)
    with pytest.raises(ValueError, match="cannot roll to offset 0"):
        log.local.roll(0)


def test_a_roll_flushes_and_takes_a_snapshot(tmp_path: Path) -> None:
    """UL-28."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(sent_by(1, 0))
    assert log.recovery_point == 0
    log.roll()
    assert log.recovery_point == 1
    assert home.snapshots == [1]
    log.append_as_leader(sent_by(1, 1))
    assert log.recovery_point == 1
    log.roll()
    assert log.recovery_point == 2
    assert home.snapshots == [1, 2]


def test_files_left_under_the_name_of_a_new_segment_are_removed(tmp_path: Path) -> None:
    home = LogHome(tmp_path)
    log = home.open()
    fill(log, 2)
    home.path.joinpath("00000000000000000002.log").write_bytes(b"left over")
    home.path.joinpath("00000000000000000002.txnindex").write_bytes(b"left over")
    log.roll()
    assert log.active_segment.size == 0
    assert log.active_segment.transaction_index.is_empty
    assert len(home.told("left over file removed")) == 2


def test_without_a_snapshot_on_the_disk_the_recovery_point_stays(tmp_path: Path) -> None:
    """UL-29."""

    def is_snapshot_sync(operation: Operation) -> bool:
        return operation.kind == "sync" and operation.path.endswith(".snapshot")

    home = LogHome(tmp_path, fs=FailingFileSystem(0, only=is_snapshot_sync))
    log = home.open()
    log.append_as_leader(sent_by(1, 0))
    with pytest.raises(StorageError):  # out of the scheduled flush
        log.roll()
    assert log.recovery_point == 0
    assert bases(log) == [0, 1]


def test_a_new_segment_has_no_index_until_it_is_flushed(tmp_path: Path) -> None:
    """UL-30."""
    home = LogHome(tmp_path)
    log = home.open()
    fill(log, 1)
    log.roll()
    assert [name for name in home.names if name.startswith("0" * 19 + "1")] == [
        "00000000000000000001.log",
        "00000000000000000001.snapshot",
    ]
    log.flush()
    assert "00000000000000000001.index" not in home.names
    log.flush(force_active_segment=True)
    assert "00000000000000000001.index" in home.names
    assert "00000000000000000001.timeindex" in home.names


def test_ranges_of_a_logs_segments(tmp_path: Path) -> None:
    """UL-31."""
    log = LogHome(tmp_path).open()
    for base in (0, 10, 20):
        for offset in range(base, base + 10):
            log.append_as_follower(batch(offset))
        if base < 20:
            log.roll()
    segments = log.local.segments

    def found(start: int, stop: int) -> list[int]:
        return [segment.base_offset for segment in segments.values(start, stop)]

    assert found(0, 21) == [0, 10, 20]
    assert found(1, 5) == [0]
    assert found(13, 21) == [10, 20]
    assert found(13, 17) == [10]
    with pytest.raises(ValueError, match="from 10 to 0"):
        segments.values(10, 0)


# --- flushing -------------------------------------------------------------------------------------


def test_only_flushing_moves_the_recovery_point(tmp_path: Path) -> None:
    """LL-5."""
    home = LogHome(tmp_path)
    log = home.open()
    assert (log.recovery_point, log.last_flush_time) == (0, NOW)
    home.clock.advance(10)
    fill(log, 3)
    assert (log.recovery_point, log.last_flush_time) == (0, NOW)
    log.flush()
    assert (log.recovery_point, log.last_flush_time) == (3, NOW + 10)
    home.clock.advance(10)
    log.flush()
    assert log.last_flush_time == NOW + 10
    log.flush_up_to(2)
    assert log.recovery_point == 3


def test_flush_messages_flushes_within_the_append(tmp_path: Path) -> None:
    log = LogHome(tmp_path, {"flush.messages": 3}).open()
    fill(log, 2)
    assert log.recovery_point == 0
    fill(log, 1)
    assert log.recovery_point == 3


def test_a_flush_syncs_each_file_and_the_folder_of_new_ones(tmp_path: Path) -> None:
    """LL-5: what is not synced may be gone after a crash."""
    fs = RecordingFileSystem(tmp_path)
    home = LogHome(tmp_path, fs=fs)
    log = home.open()
    fill(log, 2)
    fs.operations.clear()
    log.flush()
    synced = {operation.path for operation in fs.operations if operation.kind == "sync"}
    assert {Path(path).suffix for path in synced} == {".log", ".index", ".timeindex"}
    assert fs.operations[-1].kind == "sync_directory"
    fill(log, 1)
    fs.operations.clear()
    log.flush()
    assert "sync_directory" not in [operation.kind for operation in fs.operations]


def test_a_folder_renamed_meanwhile_can_be_flushed(tmp_path: Path) -> None:
    """LL-5."""
    home = LogHome(tmp_path)
    log = home.open()
    fill(log, 1)
    home.path.rename(tmp_path / DELETED_NAME)
    for segment in log.segments:  # files that are open remain so
        segment.update_directory(str(tmp_path / DELETED_NAME))
    log.flush()
    assert log.recovery_point == 1
    assert not home.failures.any_offline


# --- renaming -------------------------------------------------------------------------------------


def test_every_file_follows_a_renamed_folder(tmp_path: Path) -> None:
    """LL-4."""
    home = LogHome(tmp_path)
    log = home.open()
    fill(log, 2)
    log.roll()
    assert log.local.rename_directory(DELETED_NAME)
    moved = tmp_path / DELETED_NAME
    assert log.directory == str(moved)
    assert log.parent_directory == str(tmp_path)
    for segment in log.segments:
        assert Path(segment.log.path).parent == moved
        assert Path(segment.offset_index.path).parent == moved
    assert not log.local.rename_directory(DELETED_NAME)
    assert every_offset(log) == [0, 1]


def test_a_renamed_log_writes_on_in_its_new_folder(tmp_path: Path) -> None:
    """UL-60."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(sent_by(1, 0), 3)
    log.rename_directory("orders-0.0123456789abcdef0123456789abcdef-future")
    moved = Path(log.directory)
    assert log.is_future
    log.append_as_leader(sent_by(1, 1), 5)
    log.assign_topic_id(UUID(int=7))
    log.roll()
    assert (moved / "leader-epoch-checkpoint").read_text() == "0\n2\n3 0\n5 1\n"
    assert (moved / "partition.metadata").exists()
    assert (moved / "00000000000000000002.snapshot").exists()
    assert not home.path.exists()


def test_a_log_renamed_to_be_deleted_is_appended_to_and_deleted(tmp_path: Path) -> None:
    """UL-60."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(values(1), 3)
    log.rename_directory(DELETED_NAME, reinitialize=False)
    assert not log.leader_epochs.non_empty
    log.append_as_leader(values(1), 3)
    assert log.log_end_offset == 2
    log.delete()
    assert list(tmp_path.iterdir()) == []


# --- closing and deleting -------------------------------------------------------------------------


def closed(log: Log) -> None:
    log.close()


def without_handlers(log: Log) -> None:
    log.close_handlers()


@pytest.mark.parametrize("end", [closed, without_handlers])
def test_a_closed_log_can_be_closed_again_and_takes_nothing(tmp_path: Path, end: Any) -> None:
    """UL-27, LL-6."""
    home = LogHome(tmp_path)
    log = home.open()
    fill(log, 2)
    end(log)
    log.close()
    log.close_handlers()
    names = home.names
    with pytest.raises(StorageError, match="the log of orders-0 is closed"):
        fill(log, 1)
    with pytest.raises(StorageError, match="is closed"):
        log.roll()
    with pytest.raises(StorageError, match="is closed"):
        log.truncate_to(1)
    with pytest.raises(StorageError, match="is closed"):
        log.truncate_fully_and_start_at(0)
    with pytest.raises(StorageError, match="is closed"):
        log.take_producer_snapshot()
    assert home.names == names
    assert not home.failures.any_offline
    assert every_offset(home.open(clean=False)) == [0, 1]


def test_closing_trims_the_files_and_takes_a_snapshot(tmp_path: Path) -> None:
    home = LogHome(tmp_path, {"index.interval.bytes": 0})
    log = home.open()
    fill(log, 3)
    assert home.path.joinpath("00000000000000000000.index").stat().st_size == 10 << 20
    log.close()
    assert home.path.joinpath("00000000000000000000.index").stat().st_size == 16
    assert home.path.joinpath("00000000000000000000.timeindex").stat().st_size == 12
    assert home.snapshots == [3]
    assert home.scheduler.pending == ()


def test_deleting_a_log_leaves_nothing(tmp_path: Path) -> None:
    """LL-3, UL-47, UL-41."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(in_transaction(1, 0), 5)
    log.roll()
    fill(log, 2)
    log.close()
    assert len(log.segments) == 2
    log.delete()
    assert log.segments == []
    assert not log.leader_epochs.non_empty
    assert log.delete_old_segments() == []
    assert log.expiry_task.is_cancelled
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError):
        fill(log, 1)


def test_a_folder_that_cannot_be_removed_takes_the_directory_offline(tmp_path: Path) -> None:
    """LL-3: nothing of the log is used any more."""
    fs = FailingFileSystem(0, only=lambda operation: operation.kind == "remove_directory")
    home = LogHome(tmp_path, fs=fs)
    log = home.open()
    fill(log, 1)
    with pytest.raises(StorageError, match="delete orders-0"):
        log.delete()
    assert home.failures.is_offline(str(tmp_path))
    assert home.names == []


# --- the folder of a log --------------------------------------------------------------------------


def test_the_high_watermark_knows_its_new_segment(tmp_path: Path) -> None:
    """LL-8: the log end offset is reported with its segment."""
    log = LogHome(tmp_path).open()
    fill(log, 2)
    assert log.local.end == LogOffsetMetadata(2, 0, 2 * SMALL)
    log.roll()
    assert log.local.end == LogOffsetMetadata(2, 2, 0)
    unknown = LogOffsetMetadata(1)
    found = log.local.read(0, 100, unknown, min_one_message=True, with_aborted=False)
    assert (found.size, found.offset_metadata) == (0, LogOffsetMetadata(0, 0, 0))
    earlier = LogOffsetMetadata(1, 0, SMALL)
    fill(log, 1)
    behind = log.local.read(2, 100, earlier, min_one_message=True, with_aborted=False)
    assert (behind.size, behind.offset_metadata) == (0, LogOffsetMetadata(2, 2, 0))


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_roll_that_fails_takes_the_directory_offline(tmp_path: Path, error: int) -> None:
    def is_new_log(operation: Operation) -> bool:
        return operation.kind == "create" and operation.path.endswith(".log")

    home = LogHome(tmp_path, fs=FailingFileSystem(1, error, only=is_new_log))
    log = home.open()
    fill(log, 2)
    with pytest.raises(StorageError, match="roll orders-0"):
        log.roll()
    assert home.failures.is_offline(str(tmp_path))
    home.fs, home.failures = LOCAL, LogDirFailures()
    assert every_offset(home.open(clean=False)) == [0, 1]
