"""The segments of a log by base offset, ascending.

Readers need no lock: a change replaces the list with a new one, so a reader of the old one keeps
what was there.

Kafka: LogSegments (4.2)
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from contextlib import ExitStack

from workbench.log.segments.segment import LogSegment


def total_size(segments: Iterable[LogSegment]) -> int:
    """Return the total size of the batches of segments.

    Kafka: LogSegments.sizeInBytes (4.2)
    """
    return sum([segment.log.size for segment in segments])


class LogSegments:
    """An ordered map of base offset to segment; one thread changes it at a time."""

    def __init__(self, segments: Iterable[LogSegment] = ()) -> None:
        ordered = sorted(segments, key=_base_offset)
        self._state = ([segment.base_offset for segment in ordered], ordered)

    def __len__(self) -> int:
        return len(self._state[0])

    def __contains__(self, base_offset: int) -> bool:
        return self.get(base_offset) is not None

    def add(self, segment: LogSegment) -> LogSegment | None:
        """Add a segment; return the one of the same base offset that it replaces."""
        bases, segments = self._state
        slot = bisect_left(bases, segment.base_offset)
        known = slot < len(bases) and bases[slot] == segment.base_offset
        replaced = segments[slot] if known else None
        rest = slot + 1 if known else slot
        self._state = (
            [*bases[:slot], segment.base_offset, *bases[rest:]],
            [*segments[:slot], segment, *segments[rest:]],
        )
        return replaced

    def remove(self, base_offset: int) -> None:
        """Remove the segment of a base offset, if there is one."""
        bases, segments = self._state
        slot = bisect_left(bases, base_offset)
        if slot < len(bases) and bases[slot] == base_offset:
            self._state = (
                [*bases[:slot], *bases[slot + 1 :]],
                [*segments[:slot], *segments[slot + 1 :]],
            )

    def replace(self, old: Iterable[LogSegment], new: Iterable[LogSegment]) -> None:
        """Put new segments in the place of old ones, in one step for readers."""
        kept = dict(zip(*self._state, strict=True))
        for segment in old:
            kept.pop(segment.base_offset, None)
        kept.update((segment.base_offset, segment) for segment in new)
        bases = sorted(kept)
        self._state = (bases, [kept[base] for base in bases])

    def clear(self) -> None:
        """Remove all segments."""
        self._state = ([], [])

    def get(self, base_offset: int) -> LogSegment | None:
        """Return the segment of exactly this base offset."""
        bases, segments = self._state
        slot = bisect_left(bases, base_offset)
        return segments[slot] if slot < len(bases) and bases[slot] == base_offset else None

    @property
    def all(self) -> list[LogSegment]:
        """All current segments."""
        return list(self._state[1])

    def values(self, start: int, stop: int) -> list[LogSegment]:
        """Return the segments with records in [start, stop), starting with that of ``start``.

        Raises:
            ValueError: ``start`` is above ``stop``.

        Kafka: LogSegments.values (4.2)
        """
        if start > stop:
            raise ValueError(f"segments from {start} to {stop}: the start is above the stop")
        if start == stop:
            return []
        bases, segments = self._state
        first = max(bisect_right(bases, start) - 1, 0)
        return segments[first : bisect_left(bases, stop)]

    def non_active_from(self, start: int) -> list[LogSegment]:
        """Return the segments starting with that of ``start``, without the active one.

        Kafka: LogSegments.nonActiveLogSegmentsFrom (4.2)
        """
        end = self.active.base_offset
        return self.values(min(start, end), end)

    def floor(self, offset: int) -> LogSegment | None:
        """Return the segment with the largest base offset at or below ``offset``."""
        bases, segments = self._state
        slot = bisect_right(bases, offset) - 1
        return segments[slot] if slot >= 0 else None

    def lower(self, offset: int) -> LogSegment | None:
        """Return the segment with the largest base offset below ``offset``."""
        bases, segments = self._state
        slot = bisect_left(bases, offset) - 1
        return segments[slot] if slot >= 0 else None

    def higher(self, offset: int) -> LogSegment | None:
        """Return the segment with the smallest base offset above ``offset``."""
        bases, segments = self._state
        slot = bisect_right(bases, offset)
        return segments[slot] if slot < len(bases) else None

    def all_higher(self, offset: int) -> list[LogSegment]:
        """Return the segments with base offsets above ``offset``."""
        bases, segments = self._state
        return segments[bisect_right(bases, offset) :]

    @property
    def first(self) -> LogSegment | None:
        """The segment with the smallest base offset; None if there are none."""
        segments = self._state[1]
        return segments[0] if segments else None

    @property
    def last(self) -> LogSegment | None:
        """The segment with the largest base offset; None if there are none."""
        segments = self._state[1]
        return segments[-1] if segments else None

    @property
    def active(self) -> LogSegment:
        """The segment that is appended to: the last one.

        Raises:
            LookupError: there are none.
        """
        segments = self._state[1]
        if not segments:
            raise LookupError("the log has no segments")
        return segments[-1]

    @property
    def size(self) -> int:
        """Total size of the batches of all segments."""
        return total_size(self._state[1])

    def hold_names(self, stack: ExitStack) -> None:
        """Block opening files by name until ``stack`` is closed."""
        for segment in self._state[1]:
            segment.hold_names(stack)

    def update_directory(self, directory: str) -> None:
        """Follow the directory, which was renamed; the names must be held."""
        for segment in self._state[1]:
            segment.update_directory(directory)

    def close(self) -> None:
        """Close every segment; after an error the rest are closed without writing.

        Raises:
            OSError: a file could not be written.
        """
        try:
            for segment in self._state[1]:
                segment.close()
        except OSError:
            self.close_handlers()
            raise

    def close_handlers(self) -> None:
        """Close the files of every segment without writing."""
        for segment in self._state[1]:
            segment.close_handlers()


def _base_offset(segment: LogSegment) -> int:
    return segment.base_offset
