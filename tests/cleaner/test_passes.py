"""What is left of transactions and producers after several passes over the same log."""

from pathlib import Path

import pytest

from tests.cleaner.cleaning import DAY, LATER, Cleanable, map_of
from tests.log.logs import NOW
from workbench.cleaner.cleaner import group_segments
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords

MAX_INT = 2**31 - 1


@pytest.fixture
def log(tmp_path: Path) -> Cleanable:
    return Cleanable(tmp_path)


def test_transactions_over_segments_of_which_some_are_clean(log: Cleanable) -> None:
    """CL-30: those that are aborted go with the segment that is cleaned."""
    log.within(1, 1, 2)
    log.within(3, 2, 3)
    log.within(2, 3, 4)
    log.roll()
    log.within(2, 5, 6)
    log.within(3, 6, 7)
    log.within(1, 7, 8)
    log.abort(2)
    log.within(3, 8, 9)
    log.commit(3)
    log.within(1, 9, 10)
    log.abort(1)
    end = log.clean(upper=6).stats.end_offset
    assert log.keys == [2, 3, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    log.roll()
    log.within(2, 11)
    log.within(1, 12)
    log.clean(end)
    assert log.keys == [2, 3, 6, 7, 8, 9, 11, 12]


def test_aborted_transactions_stay_in_the_index_until_no_pass_meets_them(log: Cleanable) -> None:
    """CL-37: a map for three keys, so that no pass comes to the end of the segment."""
    log.within(1, 1, 2)
    log.within(2, 2, 3)
    log.within(1, 3, 4)
    log.commit(1)
    log.commit(2)
    log.within(1, 2, 3)
    log.abort(1)
    log.within(2, 4, 5)
    log.within(1, 5, 6)
    log.commit(1)
    log.abort(2)
    log.within(2, 6, 7)
    log.commit(2)
    log.roll()
    aborted = [(1, 8, 10), (2, 11, 16)]
    assert log.aborted == aborted

    def clean(start: int, now: int) -> int:
        return log.clean(start, now, offset_map=map_of(4)).stats.end_offset

    bases = [0, 2, 4, 6, 7, 10, 13, 15, 16, 17, 19]
    assert clean(0, NOW) == 4
    assert log.base_offsets == bases
    assert log.offsets == [0, 2, 3, 4, 5, 6, 7, 10, *range(13, 20)]
    assert log.aborted == aborted
    assert clean(4, NOW) == 14
    assert log.base_offsets == bases
    assert log.offsets == [0, 2, 4, 5, 6, 7, 10, *range(13, 20)]
    assert log.aborted == []
    assert clean(14, NOW + DAY) == 20
    assert log.base_offsets == [0, 2, 4, 6, 7, 13, 15, 17, 19]
    assert log.offsets == [0, 2, 4, 5, 6, 7, 13, 15, 17, 18, 19]


def test_batches_that_all_begin_at_sequence_0_go_like_others(log: Cleanable) -> None:
    """CL-28: as a group coordinator writes them."""

    def within(key: int) -> None:
        records = MemoryRecords.of(
            (NOW, b"%d" % key, b"v"),
            producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True,
        )  # fmt: skip
        log.log.append_as_leader(records, origin=AppendOrigin.REPLICATION)

    within(1)
    log.commit(1)
    within(2)
    log.commit(1)
    log.append_each(1, 2)
    log.roll()
    log.clean()
    assert (log.offsets, log.last_offsets) == ([1, 3, 4, 5], [1, 2, 3, 4, 5])
    log.clean(now=NOW)
    log.clean(now=LATER)
    assert (log.offsets, log.last_offsets) == ([3, 4, 5], [2, 3, 4, 5])


def test_a_segment_with_an_empty_index_ends_where_the_next_begins(tmp_path: Path) -> None:
    """CL-23: the index cannot tell that its offsets are too far apart for one segment."""
    log = Cleanable(tmp_path, index_interval_bytes=10_000)
    for offset in (0, 1, MAX_INT // 2, MAX_INT + 1):
        if offset == MAX_INT // 2:
            log.log.roll(offset)
        one = MemoryRecords.of((b"k", b"v"), base_offset=offset, partition_leader_epoch=0)
        log.log.append_as_follower(one, 0)
    segments = log.log.segments
    assert [segment.offset_index.entries for segment in segments] == [0, 0]
    assert len(group_segments(segments, MAX_INT, MAX_INT, log.log.log_end_offset)) == 2
