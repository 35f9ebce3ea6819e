"""When the bytes of the logs were written: by day, month or year, and by topic.

Only batch headers are read. A batch counts for the day of its largest timestamp, UTC, as for
retention by time; what is not in a batch, and the other files of a log, are not counted.
"""

import datetime as dt
from collections.abc import Callable
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.listing import Listing
from workbench.runtime.times import LONGEST_TIME

MOST_SPANS: Final = 100
"""With more days, the spans are months; with more months, years."""

_DAY: Final = 86_400_000  # ms
_FORMS: Final = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}


class WrittenSpan(NamedTuple):
    """What was written in a day, month or year.

    Attributes:
        start, end: ms; [start, end). None: of batches without a timestamp that is a time.
        text: the day, month or year; empty for None.
        topics: topic → bytes of its batches, the largest first.
    """

    start: int | None
    end: int | None
    text: str
    topics: dict[str, int]

    @property
    def size(self) -> int:
        """Bytes of all topics."""
        return sum(self.topics.values())


class WrittenDays(NamedTuple):
    """When the bytes of the logs were written.

    Attributes:
        spans: ascending; one without times comes first.
        unit: what a span is: "day", "month" or "year".
        unread: segments that could not be read.
    """

    spans: tuple[WrittenSpan, ...]
    unit: str
    unread: int


def written(listing: Listing, progress: Callable[[], None] = lambda: None) -> WrittenDays:
    """Return when the bytes of the logs were written, from their batch headers.

    Args:
        listing: the log directories.
        progress: a callback before each part of a segment; what it raises ends the work.
    """
    sizes: dict[tuple[int, str], int] = {}  # by day since the epoch, -1: no time
    unread = 0
    for partition in listing.partitions.values():
        if partition.kind != "log" or partition.only is not None:
            continue
        for segment in partition.segments:
            try:
                for part in segment.batch_parts():
                    progress()
                    _add(sizes, partition.topic, part.column("max_timestamp"), part.column("size"))
            except OSError:
                unread += 1
    unit = _unit_of({day for day, _ in sizes})
    return WrittenDays(tuple(_spans(sizes, unit)), unit, unread)


def _add(
    sizes: dict[tuple[int, str], int],
    topic: str,
    stamps: npt.NDArray[np.int64],
    bytes_of: npt.NDArray[np.int64],
) -> None:
    days = np.where((stamps >= 0) & (stamps <= LONGEST_TIME), stamps // _DAY, -1)
    each, at = np.unique(days, return_inverse=True)
    for day, size in zip(each, np.bincount(at, bytes_of), strict=True):
        sizes[int(day), topic] = sizes.get((int(day), topic), 0) + int(size)


def _unit_of(days: set[int]) -> str:
    for unit in ("day", "month"):
        if len({_text(day, unit) for day in days}) <= MOST_SPANS:
            return unit
    return "year"


def _spans(sizes: dict[tuple[int, str], int], unit: str) -> list[WrittenSpan]:
    spans = []
    told = sorted((_text(day, unit), topic, size) for (day, topic), size in sizes.items())
    for text, rows in groupby(told, key=lambda row: row[0]):
        topics: dict[str, int] = {}
        for _, topic, size in rows:
            topics[topic] = topics.get(topic, 0) + size
        largest = dict(sorted(topics.items(), key=lambda each: (-each[1], each[0])))
        spans.append(WrittenSpan(*_ends(text), text, largest))
    return spans


def _text(day: int, unit: str) -> str:
    """Return the name of the span that a day is in; empty for none."""
    if day < 0:
        return ""
    return (dt.date(1970, 1, 1) + dt.timedelta(days=day)).strftime(_FORMS[unit])


def _ends(text: str) -> tuple[int | None, int | None]:
    if not text:
        return None, None
    span = np.datetime64(text)  # of a day, a month or a year, as the text has parts
    start, end = (each.astype("datetime64[ms]").astype(np.int64) for each in (span, span + 1))
    return int(start), int(end)
