"""Times and rates of a round, and what a broker writes into its log about it."""

from pathlib import Path

from tests.cleaner.cleaning import Cleanable
from workbench.cleaner.statistics import CleanerStats
from workbench.runtime.clock import ManualClock

MIB = 1 << 20


def test_a_round_has_a_duration() -> None:
    stats = CleanerStats(
        end_offset=5000,
        map_bytes_read=3 * MIB,
        bytes_read=2500 * MIB,
        messages_read=1_234_567,
        bytes_written=625 * MIB,
        messages_written=617_283,
        map_utilization=0.1225,
        start_ms=1_000,
        map_done_ms=3_000,
        end_ms=11_000,
    )
    assert stats.elapsed_secs == 10


def test_a_round_knows_when_it_began_when_its_map_was_complete_and_when_it_ended(
    tmp_path: Path,
) -> None:
    log = Cleanable(tmp_path)
    log.append(1, 2, 1)
    log.roll()
    clock = log.log.context.clock
    assert isinstance(clock, ManualClock)
    start = clock.now()
    stats = log.clean(throttle=lambda _: clock.advance(1000)).stats
    assert stats.start_ms == start
    assert start < stats.map_done_ms < stats.end_ms == clock.now()
