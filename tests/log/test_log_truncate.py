"""Truncating a log: what goes, and what producers, epochs, indexes and watermarks are then."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.log.folder import batch
from tests.log.logs import (
    NOW,
    LogHome,
    bases,
    end_transaction,
    every_offset,
    in_transaction,
    sent_by,
    values,
)
from workbench.errors import OffsetOutOfRangeError
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

ONE = values(1).size


def fill(log: Log, count: int, leader_epoch: int = 0) -> None:
    for _ in range(count):
        log.append_as_leader(values(1), leader_epoch)


def epochs(log: Log) -> list[tuple[int, int]]:
    return [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries]


def first_unstable(log: Log) -> int | None:
    return log.first_unstable_offset


def test_what_is_behind_the_offset_goes(tmp_path: Path) -> None:
    """UL-32."""
    log = LogHome(tmp_path, {"segment.bytes": 10 * ONE}).open()
    fill(log, 10)
    assert len(log.segments) == 1
    size = log.size
    for offset in (10, 11, 1000):
        assert not log.truncate_to(offset)
        assert (log.log_end_offset, log.size) == (10, size)
    with pytest.raises(ValueError, match="-1"):
        log.truncate_to(-1)
    assert log.truncate_to(5)
    assert (log.log_end_offset, log.size) == (5, 5 * ONE)
    assert log.truncate_to(0)
    assert (log.log_end_offset, log.size) == (0, 0)
    fill(log, 25)
    assert bases(log) == [0, 10, 20]
    assert log.truncate_to(12)
    assert bases(log) == [0, 10]
    assert every_offset(log) == list(range(12))


def test_a_batch_that_straddles_the_offset_goes_whole(tmp_path: Path) -> None:
    """UL-32: a gap remains before the offset."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(values(3))
    log.append_as_leader(values(3))
    assert log.truncate_to(4)
    assert every_offset(log) == [0, 1, 2]
    assert log.log_end_offset == 4
    log.append_as_leader(values(1))
    assert every_offset(log) == [0, 1, 2, 4]


def test_emptying_a_log_lets_it_begin_anywhere(tmp_path: Path) -> None:
    """UL-32, LL-7."""
    home = LogHome(tmp_path, {"segment.bytes": 3 * ONE})
    log = home.open()
    fill(log, 10)
    log.flush()
    assert log.recovery_point == 10
    log.truncate_fully_and_start_at(7)
    assert bases(log) == [7]
    assert (log.size, log.log_start_offset, log.log_end_offset, log.recovery_point) == (0, 7, 7, 7)
    fill(log, 2)
    assert every_offset(log) == [7, 8]
    log.truncate_fully_and_start_at(20, log_start_offset=5)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (5, 20, 20)
    home.clock.advance(60_000)
    assert home.names_of(".deleted") == []


def test_truncating_before_the_first_segment_empties_the_log(tmp_path: Path) -> None:
    """UL-32."""
    log = LogHome(tmp_path).open(log_start_offset=100)
    fill(log, 3)
    assert log.truncate_to(40)
    assert bases(log) == [40]
    assert (log.log_start_offset, log.log_end_offset) == (40, 40)


def test_truncated_segments_are_deleted_later(tmp_path: Path) -> None:
    """LL-7."""
    home = LogHome(tmp_path, {"segment.bytes": 3 * ONE})
    log = home.open()
    fill(log, 15)
    assert len(log.segments) == 5
    log.truncate_to(7)
    assert bases(log) == [0, 3, 6]
    assert home.names_of(".log.deleted") == [
        "00000000000000000009.log.deleted",
        "00000000000000000012.log.deleted",
    ]
    home.clock.advance(60_000)
    assert home.names_of(".deleted") == []
    fill(log, 1)
    assert log.log_end_offset == 8


def test_truncating_to_the_end_drops_an_epoch_that_wrote_nothing(tmp_path: Path) -> None:
    """UL-32."""
    log = LogHome(tmp_path).open()
    fill(log, 10, leader_epoch=5)
    log.leader_epochs.assign(6, 10)
    assert epochs(log) == [(5, 0), (6, 10)]
    assert not log.truncate_to(10)
    assert epochs(log) == [(5, 0)]
    log.leader_epochs.assign(7, 10)
    assert not log.truncate_to(12)
    assert epochs(log) == [(5, 0)]


def test_epochs_are_truncated_with_the_log(tmp_path: Path) -> None:
    """UL-36."""
    home = LogHome(tmp_path, {"segment.bytes": 10 * ONE})
    log = home.open()
    fill(log, 10, leader_epoch=0)
    fill(log, 6, leader_epoch=1)
    fill(log, 6, leader_epoch=2)
    assert epochs(log) == [(0, 0), (1, 10), (2, 16)]
    for offset, left in ((20, 3), (11, 2), (10, 1), (0, 0)):
        log.truncate_to(offset)
        assert len(epochs(log)) == left
        lines = home.path.joinpath("leader-epoch-checkpoint").read_text().split("\n")
        assert lines[1] == str(left)


def test_indexes_are_allocated_anew(tmp_path: Path) -> None:
    """UL-33."""
    settings = {"segment.bytes": 10 * ONE, "index.interval.bytes": 0, "segment.index.bytes": 1200}
    log = LogHome(tmp_path, settings).open()
    for number in range(20):
        log.append_as_leader(values(1, timestamp=NOW + number))
    fill(log, 1)
    first, second = log.segments[:2]
    for segment in (first, second):
        assert segment.offset_index.entries == 9
        assert Path(segment.offset_index.path).stat().st_size == 9 * 8
        assert Path(segment.time_index.path).stat().st_size == 9 * 12
    log.truncate_to(15)
    assert Path(first.offset_index.path).stat().st_size == 9 * 8
    assert Path(second.offset_index.path).stat().st_size == 1200
    assert Path(second.time_index.path).stat().st_size == 1200
    assert second.offset_index.entries == 4
    log.truncate_fully_and_start_at(3)
    fill(log, 10)
    assert bases(log) == [3]


def test_a_truncated_transaction_is_no_longer_open(tmp_path: Path) -> None:
    """UL-34."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(values(1))
    log.append_as_leader(in_transaction(1, 0))
    log.append_as_leader(values(1))
    assert first_unstable(log) == 1
    log.update_high_watermark(3)
    log.truncate_to(1)
    assert first_unstable(log) is None
    assert log.producer_state.is_empty
    log.append_as_leader(in_transaction(1, 0))
    assert first_unstable(log) == 1
    log.truncate_fully_and_start_at(0)
    assert first_unstable(log) is None
    assert log.producer_state.is_empty


def test_a_transaction_that_stays_is_open_after_reopening(tmp_path: Path) -> None:
    """UL-34."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(values(1))
    log.append_as_leader(in_transaction(1, 0))
    end_transaction(log, 1, commit=False)
    log.truncate_to(2)
    assert (log.first_unstable_offset, log.log_end_offset) == (1, 2)
    again = home.reopen(log)
    assert (again.first_unstable_offset, again.log_end_offset) == (1, 2)


def test_snapshots_behind_the_end_go_and_one_is_taken_there(tmp_path: Path) -> None:
    """UL-35."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(sent_by(1, 0))
    log.take_producer_snapshot()
    log.append_as_leader(sent_by(1, 1))
    log.take_producer_snapshot()
    log.append_as_leader(values(1))
    latest = []
    for offset in (2, 1, 0):
        log.truncate_to(offset)
        latest.append(log.producer_state.latest_snapshot_offset)
        assert log.producer_state.map_end_offset == offset
    assert latest == [2, 1, None]


def test_a_snapshot_is_taken_at_the_end_that_is_cut_to(tmp_path: Path) -> None:
    """UL-35."""
    home = LogHome(tmp_path)
    log = home.open()
    for sequence in range(3):
        log.append_as_leader(sent_by(1, sequence))
    log.truncate_to(2)
    assert home.snapshots == [2]
    entry = log.producer_state.last_entry(1)
    assert entry is not None
    assert entry.last_sequence == 1
    log.append_as_leader(sent_by(1, 2))


def test_an_emptied_log_knows_no_producer(tmp_path: Path) -> None:
    """UL-35."""
    home = LogHome(tmp_path)
    log = home.open()
    for sequence in range(3):
        log.append_as_leader(sent_by(1, sequence))
        log.roll()
    assert home.snapshots == [1, 2, 3]
    log.truncate_fully_and_start_at(29)
    home.clock.advance(60_000)
    assert log.producer_state.latest_snapshot_offset is None
    assert log.producer_state.map_end_offset == 29
    assert home.snapshots == []


def test_the_watermark_and_the_start_fall_with_the_end(tmp_path: Path) -> None:
    """UL-1."""
    log = LogHome(tmp_path).open()
    fill(log, 10)
    log.update_high_watermark(8)
    log.delete_records(6)
    log.truncate_to(7)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (6, 7, 7)
    log.truncate_to(4)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (4, 4, 4)
    with pytest.raises(OffsetOutOfRangeError):
        log.read(3)


def test_the_recovery_point_is_never_behind_the_end(tmp_path: Path) -> None:
    """LL-7."""
    home = LogHome(tmp_path)
    log = home.open()
    fill(log, 10)
    log.flush()
    log.truncate_to(4)
    assert log.recovery_point == 4


def test_a_reopened_log_is_truncated_over_its_segments(tmp_path: Path) -> None:
    """LO-22."""
    home = LogHome(tmp_path, {"segment.bytes": 2 * ONE})
    log = home.open()
    fill(log, 10)
    log = home.reopen(log, clean=False)
    log.truncate_to(3)
    assert log.log_end_offset == 3
    assert bases(log) == [0, 2]
    assert every_offset(log) == [0, 1, 2]


@examples(40)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    clean=st.booleans(),
)
def test_a_truncated_log_holds_the_whole_batches_before_the_cut(
    counts: list[int], cuts: list[int], tmp_path_factory: pytest.TempPathFactory, *, clean: bool
) -> None:
    """UL-32, UL-36: against a plain list, with an append after each cut and a reopening."""
    config = {"segment.bytes": 300, "index.interval.bytes": 50}
    home = LogHome(tmp_path_factory.mktemp("log"), config)
    log = home.open()
    held: list[range] = []
    end = 0
    for number, count in enumerate(counts):
        log.append_as_follower(batch(end, count, epoch=number // 3))
        held.append(range(end, end + count))
        end += count
    for cut in cuts:
        was_cut = log.truncate_to(cut)
        assert was_cut == (cut < end)
        if was_cut:
            held = [each for each in held if each.stop <= cut]
            end = cut
        assert log.log_end_offset == end
        assert every_offset(log) == [offset for each in held for offset in each]
        log.append_as_follower(batch(end, 2, epoch=10))
        held.append(range(end, end + 2))
        end += 2
    log = home.reopen(log, clean=clean)
    assert log.log_end_offset == end
    assert every_offset(log) == [offset for each in held for offset in each]
    starts = [entry.start_offset for entry in log.leader_epochs.entries]
    assert starts == sorted(set(starts))
    assert isinstance(log.read(0).records, MemoryRecords)
