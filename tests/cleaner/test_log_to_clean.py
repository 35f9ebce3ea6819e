"""From where and up to where a log may be cleaned, and how dirty it is."""

from pathlib import Path

import pytest

from tests.cleaner.cleaning import Cleanable
from tests.log.logs import NOW
from workbench.cleaner.schedule.log_to_clean import (
    ACTIVE_SEGMENT,
    FIRST_UNSTABLE,
    HIGH_WATERMARK,
    MIN_COMPACTION_LAG,
    Bound,
    cleanable_offsets,
    dirty_since,
    log_to_clean,
    max_compaction_delay,
)
from workbench.config.log_config import LogConfig
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

HOUR = 3_600_000
THEN = NOW - 10 * HOUR


@pytest.fixture
def log(tmp_path: Path) -> Cleanable:
    return Cleanable(tmp_path)


def fill(log: Log, start: int, hours: int, *, is_stable: bool = True) -> None:
    """Append segments of two records each, an hour apart, and an empty active one."""
    for hour in range(hours):
        for _ in range(2):
            log.append_as_leader(MemoryRecords.of((start + hour * HOUR, b"k", b"v")))
        log.roll()
    if is_stable:
        log.update_high_watermark(log.log_end_offset)


def range_of(log: Log, last_clean_offset: int | None, now: int = NOW) -> tuple[int, int]:
    """Return from where and up to where the log may be cleaned."""
    found = log_to_clean(log, last_clean_offset, now)
    return found.first_dirty_offset, found.first_uncleanable_offset


def test_the_high_watermark_the_active_segment_and_the_lag_end_the_range(log: Cleanable) -> None:
    """CM-9: always where a segment begins."""
    start = NOW - 2 * HOUR
    fill(log.log, start, 3, is_stable=False)
    assert range_of(log.log, None) == (0, 0)
    log.log.update_high_watermark(3)
    assert range_of(log.log, None) == (0, 2)
    log.log.update_high_watermark(6)
    assert range_of(log.log, None) == (0, 6)
    log.log.update_config(LogConfig.of({"min.compaction.lag.ms": HOUR}))
    for later, end in ((0, 0), (HOUR, 2), (2 * HOUR - 1, 2), (3 * HOUR, 6)):
        assert range_of(log.log, 0, start + later) == (0, end)


def test_an_open_transaction_ends_the_range(log: Cleanable) -> None:
    """CM-10."""
    log.within(1, 1)
    log.roll()
    log.append(2)
    log.roll()
    assert range_of(log.log, 0) == (0, 0)
    log.abort(1)
    log.roll()
    assert range_of(log.log, 0) == (0, 3)


def test_each_bound_tells_its_name(log: Cleanable) -> None:
    """CM-9: the least counts, the first of those that are equal."""
    fill(log.log, NOW - 2 * HOUR, 3, is_stable=False)
    log.log.update_high_watermark(4)
    bounds = cleanable_offsets(log.log, 0, NOW).bounds
    assert bounds == (Bound(HIGH_WATERMARK, 4), Bound(ACTIVE_SEGMENT, 6))
    log.log.update_high_watermark(6)
    assert cleanable_offsets(log.log, 0, NOW).least_bound == Bound(HIGH_WATERMARK, 6)
    log.within(1, 1)
    assert cleanable_offsets(log.log, 0, NOW).bounds[0] == Bound(FIRST_UNSTABLE, 6)
    log.log.update_config(LogConfig.of({"min.compaction.lag.ms": HOUR}))
    assert cleanable_offsets(log.log, 0, NOW).least_bound == Bound(MIN_COMPACTION_LAG, 4)


def test_a_checkpoint_that_cannot_be_right_is_not_believed(log: Cleanable) -> None:
    """CM-3."""
    log.append_each(0, 1, 2)
    log.roll()
    log.append_each(0, 1)
    assert range_of(log.log, 200) == (0, 3)
    assert "200 is above the log end offset 5" in cleanable_offsets(log.log, 200, NOW).reset_reason
    log.log.delete_records(2)
    assert range_of(log.log, 1) == (2, 3)
    assert "1 is below the log start offset 2" in cleanable_offsets(log.log, 1, NOW).reset_reason
    for right in (None, 2, 5):
        assert not cleanable_offsets(log.log, right, NOW).force_update_checkpoint


def test_nothing_is_cleanable_from_within_the_active_segment(log: Cleanable) -> None:
    """CM-4: a log start offset in the active segment."""
    log.append_each(0, 1, 2)
    log.roll()
    log.append_each(0, 1)
    for log_start in (3, 4):
        log.log.delete_records(log_start)
        found = log_to_clean(log.log, None, NOW)
        assert found.first_dirty_offset == log_start
        assert (found.first_uncleanable_offset, found.cleanable_bytes) == (3, 0)
        assert not found.needs_compaction_now


def test_bytes_are_clean_cleanable_or_not(log: Cleanable) -> None:
    """CL-10: the dirty part of what may be cleaned is the ratio."""
    fill(log.log, THEN, 4)
    log.append(1)
    size, active = log.log.segments[0].size, log.log.active_segment.size
    found = log_to_clean(log.log, 2, NOW)
    assert (found.clean_bytes, found.cleanable_bytes) == (size, 3 * size)
    assert (found.uncleanable_bytes, found.total_bytes) == (active, 4 * size)
    assert found.cleanable_ratio == 0.75
    ratios = [log_to_clean(log.log, offset, NOW).cleanable_ratio for offset in (0, 2, 4, 6, 8)]
    assert ratios == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_a_log_without_bytes_is_not_dirty(log: Cleanable) -> None:
    found = log_to_clean(log.log, None, NOW)
    assert (found.total_bytes, found.cleanable_ratio, found.is_cleanable) == (0, 0.0, False)


def test_the_ratio_has_to_be_above_its_threshold(log: Cleanable) -> None:
    fill(log.log, THEN, 2)
    assert not log_to_clean(log.log, 2, NOW).is_cleanable  # 0.5 is not more than 0.5
    log.log.update_config(LogConfig.of({"min.cleanable.dirty.ratio": 0.49}))
    assert log_to_clean(log.log, 2, NOW).is_cleanable


def test_the_largest_lag_makes_a_log_due_from_its_first_dirty_batch_on(log: Cleanable) -> None:
    """CI-2: measured from the earliest of the first batches of the dirty segments."""
    fill(log.log, THEN, 3)
    log.log.update_config(LogConfig.of({"max.compaction.lag.ms": 2 * HOUR}))
    assert dirty_since(log.log, 0) == THEN
    assert dirty_since(log.log, 2) == THEN + HOUR
    assert dirty_since(log.log, 6) is None
    for later, delay in ((0, 0), (2 * HOUR, 0), (2 * HOUR + 1, 1), (5 * HOUR, 3 * HOUR)):
        assert max_compaction_delay(log.log, 0, THEN + later) == delay
    assert max_compaction_delay(log.log, 6, THEN + 5 * HOUR) == 0
    found = log_to_clean(log.log, 4, THEN + 5 * HOUR)
    assert (found.compaction_delay_ms, found.needs_compaction_now) == (HOUR, True)
    assert found.cleanable_ratio < 0.5
    assert found.is_cleanable


def test_a_lag_without_end_makes_nothing_due(log: Cleanable) -> None:
    fill(log.log, THEN, 3)
    assert max_compaction_delay(log.log, 0, NOW + 10**12) == 0
