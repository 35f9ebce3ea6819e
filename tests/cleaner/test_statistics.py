"""Times and rates of a round, and what a broker writes into its log about it."""

from pathlib import Path

from tests.cleaner.cleaning import Cleanable
from workbench.cleaner.statistics import CleanerStats
from workbench.runtime.clock import ManualClock

MIB = 1 << 20


def test_the_summary_is_that_of_a_broker() -> None:
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
    assert stats.elapsed_index_secs == 2
    assert stats.summary(0, "orders-0", 100, 5000) == (
        "\n\tLog cleaner thread 0 cleaned log orders-0 (dirty section = [100, 5000])\n"
        "\t2,500.0 MB of log processed in 10.0 seconds (250.0 MB/sec).\n"
        "\tIndexed 3.0 MB in 2.0 seconds (1.5 Mb/sec, 20.0% of total time)\n"
        "\tBuffer utilization: 12.3%\n"
        "\tCleaned 2,500.0 MB in 8.0 seconds (312.5 Mb/sec, 80.0% of total time)\n"
        "\tStart size: 2,500.0 MB (1,234,567 messages)\n"
        "\tEnd size: 625.0 MB (617,283 messages)\n"
        "\t75.0% size reduction (50.0% fewer messages)\n"
    )


def test_a_round_that_took_no_time_divides_as_java_does() -> None:
    stats = CleanerStats(bytes_read=MIB, start_ms=5, map_done_ms=5, end_ms=5)
    told = stats.summary(1, "a-0", 0, 1)
    assert "1.0 MB of log processed in 0.0 seconds (Infinity MB/sec)." in told
    assert "(NaN Mb/sec, NaN% of total time)" in told
    assert "100.0% size reduction (NaN% fewer messages)" in told


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
    assert 0 < stats.elapsed_index_secs < stats.elapsed_secs
