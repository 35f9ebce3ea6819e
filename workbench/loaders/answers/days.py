"""When the bytes of the logs were written: by minute, hour, day, month or year, and by topic.

Only batch headers are read. A batch counts for the time of its largest timestamp, UTC, as for
retention by time; what is not in a batch, and the other files of a log, are not counted.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.listing import Listing
from workbench.runtime.times import LONGEST_TIME

MOST_SPANS: Final = {"minute": 60, "hour": 72, "day": 100, "month": 100, "year": LONGEST_TIME}
"""Unit → how many spans of it are shown; with more, the next unit is taken.

Minutes and hours are taken only where they are at least four times as many as hours and days.
"""

_UNITS: Final = tuple(MOST_SPANS)
_CODES: Final[dict[str, Any]] = {
    "minute": "m",
    "hour": "h",
    "day": "D",
    "month": "M",
    "year": "Y",
}  # of numpy
_NO_TIME: Final = -(1 << 62)
_GAIN: Final = 4


class WrittenSpan(NamedTuple):
    """What was written in a minute, hour, day, month or year.

    Attributes:
        start, end: ms; [start, end). None: of batches without a timestamp that is a time.
        text: the minute, hour, day, month or year; empty for None.
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
        unit: what a span is, a key of `MOST_SPANS`.
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
    found = _Sizes()
    unread = 0
    for partition in listing.partitions.values():
        if partition.kind != "log" or partition.only is not None:
            continue
        for segment in partition.segments:
            try:
                for part in segment.batch_parts():
                    progress()
                    found.add(partition.topic, part.column("max_timestamp"), part.column("size"))
            except OSError:
                unread += 1
    found.end()
    return WrittenDays(tuple(found.spans()), found.unit, unread)


class _Sizes:
    """Bytes by span and topic, in the shortest unit that has few enough spans.

    Attributes:
        unit: a key of `MOST_SPANS`.
    """

    def __init__(self) -> None:
        self.unit = _UNITS[0]
        self._sizes: dict[tuple[int, str], int] = {}  # by spans since the epoch
        self._known: set[int] = set()  # spans

    def add(
        self, topic: str, stamps: npt.NDArray[np.int64], bytes_of: npt.NDArray[np.int64]
    ) -> None:
        is_time = (stamps >= 0) & (stamps <= LONGEST_TIME)
        spans = np.where(is_time, _converted(stamps * is_time, "ms", _CODES[self.unit]), _NO_TIME)
        each, at = np.unique(spans, return_inverse=True)
        self._count(zip(each.tolist(), np.bincount(at, bytes_of).tolist(), strict=True), topic)
        while len(self._known) > MOST_SPANS[self.unit]:
            self._coarsen()

    def _count(self, sizes: Iterable[tuple[int, float]], topic: str) -> None:
        for span, size in sizes:
            self._known.add(span)
            key = (span, topic)
            self._sizes[key] = self._sizes.get(key, 0) + int(size)

    def _coarsen(self) -> None:
        before, self.unit = self.unit, _UNITS[_UNITS.index(self.unit) + 1]
        old, self._sizes, self._known = self._sizes, {}, set()
        for (span, topic), size in old.items():
            self._count([(_longer(span, before, self.unit), size)], topic)

    def end(self) -> None:
        """Take longer spans where short ones say no more."""
        for unit, longer in (("minute", "hour"), ("hour", "day")):
            few = {_longer(span, unit, longer) for span in self._known}
            if self.unit == unit and 1 < len(self._known - {_NO_TIME}) < _GAIN * len(
                few - {_NO_TIME}
            ):
                self._coarsen()

    def spans(self) -> Iterator[WrittenSpan]:
        """Yield the spans, ascending."""
        told = sorted((span, topic, size) for (span, topic), size in self._sizes.items())
        for span, rows in groupby(told, key=lambda row: row[0]):
            sizes = {topic: size for _, topic, size in rows}
            largest = dict(sorted(sizes.items(), key=lambda each: (-each[1], each[0])))
            if span == _NO_TIME:
                yield WrittenSpan(None, None, "", largest)
                continue
            code = _CODES[self.unit]
            start, end = (int(_converted(each, code, "ms")) for each in (span, span + 1))
            text = str(np.datetime64(span, code)).replace("T", " ")
            yield WrittenSpan(start, end, f"{text}:00" if self.unit == "hour" else text, largest)


def _longer(span: int, unit: str, longer: str) -> int:
    return span if span == _NO_TIME else int(_converted(span, _CODES[unit], _CODES[longer]))


def _converted(times: Any, code: str, to: str) -> Any:
    """Return times since the epoch in another unit of numpy, rounded down."""
    return np.asarray(times).astype(f"datetime64[{code}]").astype(f"datetime64[{to}]").astype(int)
