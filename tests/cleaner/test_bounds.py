"""From where and up to where a log may be cleaned."""

from pathlib import Path

import pytest

from tests.cleaner.cleaning import Cleanable
from tests.log.logs import NOW
from workbench.cleaner.bounds import cleanable_range
from workbench.log.config import LogConfig
from workbench.record.memory_records import MemoryRecords

HOUR = 3_600_000


@pytest.fixture
def log(tmp_path: Path) -> Cleanable:
    return Cleanable(tmp_path)


def test_the_high_watermark_the_active_segment_and_the_lag_end_the_range(log: Cleanable) -> None:
    """CM-9: always where a segment begins."""
    start = NOW - 2 * HOUR
    for hours in (0, 1, 2):
        for _ in range(2):
            records = MemoryRecords.of((start + hours * HOUR, b"k", b"v"))
            log.log.append_as_leader(records)
        log.log.roll()
    assert cleanable_range(log.log, None, NOW) == (0, 0)
    log.log.update_high_watermark(3)
    assert cleanable_range(log.log, None, NOW) == (0, 2)
    log.log.update_high_watermark(6)
    assert cleanable_range(log.log, None, NOW) == (0, 6)
    log.log.update_config(LogConfig.of({"min.compaction.lag.ms": HOUR}))
    for later, end in ((0, 0), (HOUR, 2), (2 * HOUR - 1, 2), (3 * HOUR, 6)):
        assert cleanable_range(log.log, 0, start + later) == (0, end)


def test_an_open_transaction_ends_the_range(log: Cleanable) -> None:
    """CM-10."""
    log.within(1, 1)
    log.roll()
    log.append(2)
    log.roll()
    assert cleanable_range(log.log, 0, NOW) == (0, 0)
    log.abort(1)
    log.roll()
    assert cleanable_range(log.log, 0, NOW) == (0, 3)


def test_a_checkpoint_that_cannot_be_right_is_not_believed(log: Cleanable) -> None:
    """CM-3."""
    log.append_each(0, 1, 2)
    log.roll()
    log.append_each(0, 1)
    assert cleanable_range(log.log, 200, NOW) == (0, 3)
    log.log.delete_records(2)
    assert cleanable_range(log.log, 1, NOW) == (2, 3)
    assert cleanable_range(log.log, 4, NOW) == (4, 4)
    log.log.delete_records(4)
    assert cleanable_range(log.log, None, NOW) == (4, 4)
