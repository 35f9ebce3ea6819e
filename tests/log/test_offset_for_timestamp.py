"""Offsets by time: the first record that is not older, and the special times."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.log.folder import batch
from tests.log.logs import NOW, LogHome, values
from tests.naive import Record
from tests.naive import batch as naive_batch
from workbench.files.file_records import TimestampAndOffset
from workbench.log.log import Log
from workbench.log.timestamp_search import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from workbench.record.memory_records import MemoryRecords


def timed(*timestamps: int | None, **options: object) -> MemoryRecords:
    return MemoryRecords.of(
        *((-1 if time is None else time, b"k", b"v") for time in timestamps),
        **options,  # type: ignore[arg-type]
    )


def found(log: Log, timestamp: int) -> tuple[int, int, int | None] | None:
    answer = log.offset_for_timestamp(timestamp)
    return None if answer is None else tuple(answer)  # type: ignore[return-value]


def test_times_of_records_lead_to_offset_and_epoch(tmp_path: Path) -> None:
    """UL-56."""
    log = LogHome(tmp_path).open()
    assert found(log, 0) is None
    log.append_as_leader(timed(100), 0)
    log.append_as_leader(timed(200), 1)
    assert found(log, 100) == (100, 0, 0)
    assert found(log, 0) == (100, 0, 0)
    assert found(log, 101) == (200, 1, 1)
    assert found(log, 200) == (200, 1, 1)
    assert found(log, 201) is None
    assert found(log, EARLIEST) == found(log, EARLIEST_LOCAL) == (-1, 0, 0)
    assert found(log, LATEST) == (-1, 2, 1)
    log.leader_epochs.assign(2, 2)  # a new leader that has written nothing
    assert found(log, LATEST) == (-1, 2, 2)
    log.update_high_watermark(2)
    log.delete_records(1)
    assert found(log, EARLIEST) == (-1, 1, 1)
    assert found(log, 0) == (200, 1, 1)


def test_without_remote_storage_nothing_is_there_or_waits_to_go(tmp_path: Path) -> None:
    """UL-56: LATEST_TIERED, and EARLIEST_PENDING_UPLOAD of 4.2."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(timed(100, 200))
    assert found(log, LATEST_TIERED) == (-1, -1, -1)
    assert found(log, EARLIEST_PENDING_UPLOAD) == (-1, -1, -1)


def test_the_earliest_offset_has_no_epoch_if_none_is_known_there(tmp_path: Path) -> None:
    """UL-56: records of an old format before the first epoch."""
    log = LogHome(tmp_path).open()
    log.append_as_follower(timed(5, magic=1))
    log.append_as_follower(batch(1, epoch=3))
    assert found(log, EARLIEST) == (-1, 0, None)


def test_the_largest_time_leads_to_the_first_record_that_has_it(tmp_path: Path) -> None:
    """UL-56: MAX_TIMESTAMP; in a batch, over segments, even after later records."""
    log = LogHome(tmp_path).open()
    assert found(log, MAX_TIMESTAMP) is None
    log.append_as_leader(timed(100, 300, 200), 4)
    log.append_as_leader(timed(250, 300), 5)
    log.roll()
    log.append_as_leader(timed(299), 6)
    assert found(log, MAX_TIMESTAMP) == (300, 1, 4)
    log.append_as_leader(timed(10, 301, 301), 6)
    assert found(log, MAX_TIMESTAMP) == (301, 7, 6)


def test_without_times_the_first_record_has_the_largest(tmp_path: Path) -> None:
    """UL-56: as a broker answers; no other time leads there."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(timed(None, None), 3)
    assert found(log, MAX_TIMESTAMP) == (-1, 0, 3)
    assert found(log, 0) is None


def test_times_of_appending_lead_to_the_first_record_of_the_batch(tmp_path: Path) -> None:
    """UL-56."""
    home = LogHome(tmp_path, {"message.timestamp.type": "LogAppendTime"})
    log = home.open()
    log.append_as_leader(values(3))
    home.clock.advance(10)
    log.append_as_leader(values(3))
    assert found(log, MAX_TIMESTAMP) == (NOW + 10, 3, 0)
    assert found(log, NOW + 1) == (NOW + 10, 3, 0)


def stored(data: bytes) -> MemoryRecords:
    return MemoryRecords.copy_of(data)


def test_a_compacted_batch_may_have_lost_its_largest_time(tmp_path: Path) -> None:
    """UL-56: the header keeps the largest time, but no record may have it any more."""
    log = LogHome(tmp_path).open()
    log.append_as_follower(stored(naive_batch([Record(0, 100)], max_timestamp=500)))
    assert found(log, MAX_TIMESTAMP) is None
    log.append_as_follower(stored(naive_batch([], base_offset=1, last_offset=2, max_timestamp=600)))
    assert found(log, MAX_TIMESTAMP) is None
    lost_first = naive_batch(
        [Record(4, 700)], base_offset=3, last_offset=5, max_timestamp=700, attributes=8
    )
    log.append_as_follower(stored(lost_first))
    assert found(log, MAX_TIMESTAMP) == (700, 4, 0)


@pytest.mark.parametrize("magic", [0, 1])
def test_times_of_old_messages(tmp_path: Path, magic: int) -> None:
    """UL-56: those of magic 0 have none."""
    log = LogHome(tmp_path).open()
    for offset, time in ((0, 100), (1, 300), (2, 200)):
        log.append_as_follower(timed(time, magic=magic, base_offset=offset))
    expected = {0: (None, None), 1: ((200, 1, None), (300, 1, None))}[magic]
    assert found(log, MAX_TIMESTAMP) == expected[1]
    assert found(log, 101) == (None if magic == 0 else (300, 1, None))


def test_a_follower_builds_the_time_index_too(tmp_path: Path) -> None:
    """UL-57."""
    log = LogHome(tmp_path, {"index.interval.bytes": 1}).open()
    for offset in range(100):
        log.append_as_follower(batch(offset))
    assert log.active_segment.time_index.entries == 99


@examples(40)
@given(
    times=st.lists(st.lists(st.integers(-1, 30), min_size=1, max_size=4), min_size=1, max_size=12),
    interval=st.integers(0, 300),
    start=st.integers(0, 10),
    codec=st.sampled_from(["none", "lz4"]),
)
def test_an_offset_is_that_of_a_scan(
    times: list[list[int]],
    interval: int,
    start: int,
    codec: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """UL-56: even from within the log start's batch, and after reopening."""
    config = {"index.interval.bytes": interval, "segment.bytes": 400}
    home = LogHome(tmp_path_factory.mktemp("log"), config)
    log = home.open()
    for each in times:
        log.append_as_leader(timed(*each, codec=codec))
    everything = [time for each in times for time in each]
    start = min(start, len(everything))
    log.update_high_watermark(len(everything))
    log.delete_records(start)
    for opened in (log, None):
        if opened is None:
            opened = home.reopen(log, log_start_offset=start)  # noqa: PLW2901
        for timestamp in range(32):
            answer = opened.offset_for_timestamp(timestamp)
            segments = [s for s in opened.segments if s.largest_timestamp >= timestamp]
            later = [
                TimestampAndOffset(time, offset, 0)
                for offset, time in enumerate(everything)
                if time >= timestamp and offset >= start
            ]
            # Only the first segment whose largest time is late enough is looked into: what comes
            # before the log start there hides what comes after it in the next.
            if segments:
                ends = [s.base_offset for s in opened.segments[1:]] + [len(everything)]
                end = ends[opened.segments.index(segments[0])]
                later = [each for each in later if each.offset < end]
            assert answer == (later[0] if later else None)
