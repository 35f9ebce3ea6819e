"""When the bytes of the logs were written, against DuckDB's sums over the table of batches."""

from collections import defaultdict
from pathlib import Path

import pytest

import workbench as wb
from workbench.loaders.answers.days import written
from workbench.runtime.job import CanceledError
from workbench.runtime.times import milliseconds

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
DAY = 86_400_000


def directory(folder: Path, times: list[int]) -> Path:
    """Make a log with one batch for each time."""
    allowed = {"log.message.timestamp.after.max.ms": 2**62}
    with wb.LogManager([folder], allowed) as manager:
        log = manager.get_or_create_log("orders-0")
        for time in times:
            log.append([(time, b"key", b"value")])
    return folder


def test_the_days_are_those_of_the_batches() -> None:
    logs = wb.open_log_directory(SHOP)
    found = written(logs.listing)
    rows = logs.sql(
        "select strftime(max_timestamp, '%Y-%m-%d') as day, topic, sum(size)::bigint as size "
        "from batches group by all"
    ).fetchall()
    expected: dict[str, dict[str, int]] = defaultdict(dict)
    for day, topic, size in rows:
        expected[day or ""][topic] = size
    assert (found.unit, found.unread) == ("day", 0)
    assert {span.text: span.topics for span in found.spans} == expected
    assert [span.text for span in found.spans] == sorted(expected)
    for span in found.spans:
        assert span.start == milliseconds(span.text)
        assert span.end == milliseconds(span.text) + DAY
        assert [*span.topics.values()] == sorted(span.topics.values(), reverse=True)


@pytest.mark.parametrize(
    ("step", "count", "unit", "first", "end"),
    [
        (20_000, 12, "minute", "2010-01-15 00:00", "2010-01-15 00:01"),
        (20 * 60_000, 12, "hour", "2010-01-15 00:00", "2010-01-15 01:00"),
        (60_000, 300, "hour", "2010-01-15 00:00", "2010-01-15 01:00"),
        (DAY, 20, "day", "2010-01-15", "2010-01-16"),
        (20 * DAY, 102, "month", "2010-01", "2010-02-01"),
        (31 * DAY, 102, "year", "2010", "2011-01-01"),
    ],
)
def test_a_span_is_as_short_as_few_of_them_allow(
    tmp_path: Path, step: int, count: int, unit: str, first: str, end: str
) -> None:
    start = milliseconds("2010-01-15")
    times = [start + number * step for number in range(count)]
    found = written(wb.open_log_directory(directory(tmp_path, times)).listing)
    assert found.unit == unit
    assert (found.spans[0].text, found.spans[0].end) == (first, milliseconds(end))
    logs = (tmp_path / "orders-0").glob("*.log")
    assert sum(span.size for span in found.spans) == sum(each.stat().st_size for each in logs)
    for before, span in zip(found.spans, found.spans[1:], strict=False):
        assert before.end is not None
        assert span.start is not None
        assert before.end <= span.start


def test_what_is_not_a_time_is_a_span_of_its_own(tmp_path: Path) -> None:
    times = [
        milliseconds("2024-03-01") - 60_000,
        253_402_300_800_000,
        milliseconds("2024-03-01") - 1,
    ]
    none, minute = written(wb.open_log_directory(directory(tmp_path, times)).listing).spans
    assert (none.start, none.end, none.text) == (None, None, "")
    assert minute.text == "2024-02-29 23:59"
    assert minute.size == 2 * none.size


def test_segments_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    logs = wb.open_log_directory(directory(tmp_path, [milliseconds("2024-02-29")]))
    segment = Path(logs["orders-0"].segments[0].path)
    segment.unlink()
    segment.mkdir()
    found = written(logs.listing)
    assert (found.spans, found.unread) == ((), 1)


def test_it_ends_where_it_is_stopped() -> None:
    def stop() -> None:
        raise CanceledError

    with pytest.raises(CanceledError):
        written(wb.open_log_directory(SHOP).listing, stop)
