"""Check a segment's offset index and time index against its batches.

An offset index entry is sound when a batch starts at its position and no earlier batch reaches its
offset. Up to Kafka 1.1 the offset is the batch's first. Since 2.0 it is the last of one append,
which may be several batches, and in a cleaned segment the offset of a kept record. A time index
entry is sound when its batch has that timestamp and no earlier batch reaches it.

Cost: array operations over the entries, no Python loop per entry.

Kafka: OffsetIndex, TimeIndex, LogSegment.append, LogSegment.sanityCheck (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.config.broker_rules import BrokerRules, IndexCheck
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.reading import FileProblem
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.verify.segments.log_pass import CheckedPart, LogReading, first_offsets
from workbench.inspection.verify.segments.trusted_batches import TrustedBatches
from workbench.inspection.verify.shutdown_state import SegmentContext
from workbench.runtime.times import time_text

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[Any]

_NEVER: Final = 2**62  # above every position in a file

_OF_PROBLEM: Final = {
    "unfinished entry": "size",
    "wrong order": "order",
    "below base offset": "entry",
    "bad value": "entry",
}
_ASTRAY: Final = "lookups may skip records, and consumers miss them"
_LATE: Final = "lookups by time, and retention by time, may be wrong"
HALF_ENTRY: Final = "A broker ignores the bytes after the last complete entry."


def fails_check(rules: BrokerRules, index: OffsetIndex | None, times: TimeIndex | None) -> bool:
    """Return whether a start of the version finds an index of a segment implausible.

    Kafka: OffsetIndex.sanityCheck, TimeIndex.sanityCheck (0.8.2.2 to 2.2)
    """
    if rules.index_check is IndexCheck.SKIPPED:
        return False
    found = False
    for each in (index, times if rules.has_time_index else None):
        if each is None:
            continue
        found |= any(_OF_PROBLEM.get(problem.kind) == "size" for problem in each.problems)
        if len(each):  # zeros after the entries are entries to a broker
            last = each.base_offset if each.slack else int(each.offsets[-1])
            is_new = each is times or rules.indexes_last_offset
            found |= last < each.base_offset + (0 if is_new else 1)
    if times is not None and rules.has_time_index and len(times):
        found |= bool(times.slack) or bool(times.timestamps[-1] < times.timestamps[0])
    return found


class OffsetIndexCheck:
    """Compares the entries of an offset index with the batches of its segment.

    A `Check` of the pass. It keeps 6 bytes per entry, and nothing of the batches.
    """

    def __init__(self, index: OffsetIndex) -> None:
        self._index = index
        self._is_compared = bool(len(index)) and index.ascends and not _has_bad_entries(index)
        size = len(index) if self._is_compared else 0
        self._is_batch = np.zeros(size, np.bool_)  # a batch starts at the entry's position
        self._fits = np.zeros(size, np.bool_)  # the first batch to reach the offset is as it should
        self._lost = np.zeros(size + 1, np.int32)  # sums up to the problems that hold the position
        self._reached = 0  # entries whose offsets were reached

    def add(self, part: CheckedPart) -> None:
        """Take the next part of the file."""
        if not self._is_compared:
            return
        if part.problems:
            start = np.array([problem.position for problem in part.problems], np.int64)
            size = np.array([max(problem.size, 1) for problem in part.problems], np.int64)
            np.add.at(self._lost, np.searchsorted(self._index.positions, start), 1)
            np.add.at(self._lost, np.searchsorted(self._index.positions, start + size), -1)
        if len(part.rows):
            positions = np.ascontiguousarray(part.rows["position"])
            self._compare_positions(positions)
            self._compare_offsets(part.rows, positions)

    def _compare_positions(self, positions: Numbers) -> None:
        entries = self._index.positions
        low, high = entries.searchsorted((positions[0], positions[-1] + 1)).tolist()
        wanted = entries[low:high]
        self._is_batch[low:high] = positions[positions.searchsorted(wanted)] == wanted

    def _compare_offsets(self, rows: Rows, positions: Numbers) -> None:
        """Note for which entries the first batch to reach their offset is the one they name.

        That is the batch at the entry's position, or a later one before the next entry's, if it
        was appended with it. Only of use if the batches ascend.
        """
        index, last = self._index, np.ascontiguousarray(rows["last_offset"])
        low = self._reached
        high = max(low, int(index.offsets.searchsorted(last[-1], "right")))
        if low == high:
            return
        offsets, wanted = index.offsets[low:high], index.positions[low:high]
        following = np.full(high - low, _NEVER, np.int64)
        after = index.positions[low + 1 : high + 1]
        following[: len(after)] = after
        at = np.minimum(last.searchsorted(offsets), len(last) - 1)
        first, reached = first_offsets(rows[at]), positions[at]
        cleaned = (rows["record_count"][at] < last[at] - first + 1) | (rows["magic"][at] < 2)
        is_there = reached == wanted
        exact = (offsets == last[at]) | ((offsets == first) & is_there) | cleaned
        self._fits[low:high] = (is_there | ((reached > wanted) & (reached < following))) & exact
        self._reached = high

    def findings(
        self, path: str, reading: LogReading, place: SegmentContext, *, is_complete: bool
    ) -> Iterator[Finding]:
        """Yield what is wrong with the index, once every part was added.

        Args:
            path: the index.
            reading: what the pass over the log found.
            place: the segment's position in its log.
            is_complete: whether nothing unreadable is between the batches, and they ascend.
        """
        index = self._index
        severity: Severity = "warning" if place.is_rebuilt else "error"
        yield from _of_problems(
            "index", index.problems, path, severity, place.index(_ASTRAY),
            is_implausible=place.is_implausible,
        )  # fmt: skip
        if index.slack and (not place.is_last or place.stop == "clean"):
            yield _zeros("index", index.slack, len(index) * 8, path, place)
        if not self._is_compared:
            return
        end = reading.size if reading.tail is None else reading.tail.position
        behind = index.positions >= end
        yield from _behind_end("index", behind, index, path, place)
        known = ~behind & (np.cumsum(self._lost[:-1]) == 0) & (index.offsets < 2**62)
        # Otherwise the entry may point to a batch that is missing.
        misfits = known & self._is_batch & ~self._fits & is_complete
        for wrong, wanted in (
            (known & ~self._is_batch, "the position of a batch"),
            (misfits, "the last offset of the batch there, or its first (up to Kafka 1.1)"),
        ):
            slots = wrong.nonzero()[0]
            if len(slots):
                slot = int(slots[0])
                more = f" (and {len(slots) - 1} more)" if len(slots) > 1 else ""
                offset, position = index[slot]
                yield _finding(
                    "index-entry", severity, path, f"offset {offset} at position {position}{more}",
                    wanted, place.index(_ASTRAY), position=slot * 8, offset=offset,
                )  # fmt: skip


class TimeIndexCheck:
    """Compares the entries of a time index with the batches of its segment.

    A `Check` of the pass. It keeps nothing per entry and nothing of the batches.
    """

    def __init__(self, index: TimeIndex) -> None:
        self._index = index
        self._is_compared = index.ascends and not _has_bad_entries(index)
        self._reached = 0  # entries whose offsets were reached
        self._wrong: _WrongTime | None = None
        self._wrong_count = 0
        self._last: _Last | None = None
        self._largest: int | None = None  # of the batches so far

    def add(self, part: CheckedPart) -> None:
        """Take the next part of the file."""
        rows, index = part.rows, self._index
        if not self._is_compared or not len(index) or not len(rows):
            return
        times = np.ascontiguousarray(rows["max_timestamp"])
        last = np.ascontiguousarray(rows["last_offset"])
        largest = np.maximum.accumulate(times)
        before = np.empty(len(rows), np.int64)
        before[0], before[1:] = -1, largest[:-1]
        if self._largest is not None:
            before[0] = self._largest
            np.maximum(before, self._largest, out=before)
        low = self._reached
        high = max(low, int(index.offsets.searchsorted(last[-1], "right")))
        if high > low:
            at = np.minimum(last.searchsorted(index.offsets[low:high]), len(last) - 1)
            self._compare(low, times[at], before[at], rows["magic"][at])
            self._reached = high
        self._last = _Last(int(times[-1]), int(before[-1]), int(rows["magic"][-1]))
        so_far = int(largest[-1])
        self._largest = so_far if self._largest is None else max(so_far, self._largest)

    def _compare(self, low: int, times: Numbers, before: Numbers, magic: Numbers) -> None:
        """Compare the entries from ``low`` with the batches of their offsets."""
        wanted = self._index.timestamps[low : low + len(times)]
        # A leader that converted newer messages to magic 0 kept their timestamps in the index
        # (0.10).
        fits = ((times == wanted) & (before < wanted)) | (magic == 0)
        slots = (~fits).nonzero()[0]
        self._wrong_count += len(slots)
        if len(slots) and self._wrong is None:
            slot = int(slots[0])
            self._wrong = _WrongTime(low + slot, int(times[slot]), int(before[slot]))

    def findings(
        self,
        path: str,
        reading: LogReading,
        place: SegmentContext,
        trusted: TrustedBatches,
        *,
        is_complete: bool,
    ) -> Iterator[Finding]:
        """Yield what is wrong with the index, once every part was added.

        Args:
            path: the index.
            reading: what the pass over the log found.
            place: the segment's position in its log.
            trusted: what is known of the batches that can be trusted.
            is_complete: whether nothing unreadable is between the batches, and they ascend.
        """
        index = self._index
        yield from _of_problems(
            "time-index", index.problems, path, "warning", place.index(_LATE),
            is_implausible=place.is_implausible,
        )  # fmt: skip
        if index.slack and (not place.is_last or place.stop == "clean"):
            yield _zeros("time-index", index.slack, len(index) * 12, path, place)
        if not self._is_compared:
            return
        if len(index):
            yield from self._entries(path, reading, place, is_complete=is_complete)
        if all(problem.kind != "too large" for problem in index.problems):
            yield from _time_end(index, trusted, path, place)

    def _entries(
        self, path: str, reading: LogReading, place: SegmentContext, *, is_complete: bool
    ) -> Iterator[Finding]:
        index = self._index
        behind = np.zeros(len(index), np.bool_)
        if reading.is_end_sure:
            behind = index.offsets >= max(reading.next_offset, place.base_offset + 1)
            if not reading.batch_count:
                behind[:] = True
        yield from _behind_end("time-index", behind, index, path, place)
        if not is_complete or self._last is None:
            return
        left = int(np.count_nonzero(~behind)) - self._reached
        if left > 0:  # above the last batch's offset, but not above the base offset
            self._compare(self._reached, *(np.full(left, value) for value in self._last))
        if self._wrong is None:
            return
        slot, time, before = self._wrong
        more = f" (and {self._wrong_count - 1} more)" if self._wrong_count > 1 else ""
        timestamp, offset = index[slot]
        found = f"{time_text(timestamp)} at offset {offset}{more}"
        wanted = (
            f"the first batch with the largest timestamp so far; the batch of offset {offset} has "
            f"{time_text(time)}, earlier ones up to {time_text(before)}"
        )
        yield _finding(
            "time-index-entry", "warning", path, found, wanted, place.index(_LATE),
            position=slot * 12, offset=offset,
        )  # fmt: skip


class _Last(NamedTuple):
    """The last batch: its timestamp, the largest one before it, ms, and its magic."""

    time: int
    before: int
    magic: int


class _WrongTime(NamedTuple):
    """An entry that does not fit, the timestamp of its batch and the largest one before it, ms."""

    slot: int
    time: int
    before: int


def _has_bad_entries(index: OffsetIndex | TimeIndex) -> bool:
    return any(_OF_PROBLEM.get(problem.kind) == "entry" for problem in index.problems)


def _finding(
    kind: str,
    severity: Severity,
    path: str,
    found: str,
    expected: str,
    broker: str,
    *,
    position: int | None = None,
    offset: int | None = None,
) -> Finding:
    return Finding(kind, severity, path, position, offset, found, expected, broker)


def _behind_end(
    prefix: str, behind: Flags, index: OffsetIndex | TimeIndex, path: str, place: SegmentContext
) -> Iterator[Finding]:
    slots = behind.nonzero()[0]
    if not len(slots):
        return
    slot = int(slots[0])
    more = f" (and {len(slots) - 1} more)" if len(slots) > 1 else ""
    severity: Severity = "warning" if place.is_rebuilt or prefix != "index" else "error"
    if prefix == "index" and place.is_last and place.stop == "clean" and not place.is_rebuilt:
        broker = (
            "After the clean shutdown, a broker searches for the log end offset from this entry, "
            f"finds no batch, and takes the segment's base offset {place.base_offset}: it loses "
            "the segment's records."
        )
    else:
        what = "no lookup uses the entry until the log grows past it, and then the entry is wrong"
        broker = place.index(what if prefix == "index" else _LATE)
    size = index.entry.itemsize
    if isinstance(index, OffsetIndex):
        found = f"offset {index[slot].offset} at position {index[slot].position}{more}"
    else:
        found = f"{time_text(index[slot].timestamp)} at offset {index[slot].offset}{more}"
    offset = int(index.offsets[slot])
    yield _finding(
        f"{prefix}-beyond-end", severity, path, found, "a position within the log", broker,
        position=slot * size, offset=offset,
    )  # fmt: skip


def _of_problems(
    prefix: str,
    problems: Sequence[FileProblem],
    path: str,
    severity: Severity,
    broker: str,
    *,
    is_implausible: bool,
) -> Iterator[Finding]:
    """Yield the problems that an index's reader found, the first of each kind."""
    seen: set[str] = set()
    for problem in problems:
        if problem.kind == "too large":
            yield index_too_large(path, problem)
            continue
        kind = f"{prefix}-{_OF_PROBLEM[problem.kind]}"
        if kind in seen:
            continue
        seen.add(kind)
        small = kind.endswith("-size")
        yield Finding(
            kind, "warning" if small else severity, path, problem.position, None, problem.found,
            problem.expected, HALF_ENTRY if small and not is_implausible else broker,
        )  # fmt: skip


def index_too_large(path: str, problem: FileProblem) -> Finding:
    """Return the finding for an index of which only the first entries were read."""
    broker = "A broker maps the whole index into memory, and trusts every entry."
    found, wanted = problem.found, problem.expected
    return _finding(
        "index-too-large", "warning", path, found, wanted, broker, position=problem.position
    )


def _zeros(prefix: str, slack: int, position: int, path: str, place: SegmentContext) -> Finding:
    broker = (
        "A broker reads the zeros as entries with the base offset at position 0, so lookups scan "
        "from the segment's start. It trims the index when it rolls or closes the segment."
        if prefix == "index"
        else "A broker reads the zeros as entries of 1970, so lookups by time may be wrong."
    )
    if place.is_rebuilt:
        broker = place.index("")
    found, wanted = f"{slack} bytes of zeros after the entries", "the end of the file"
    return _finding(f"{prefix}-zeros", "warning", path, found, wanted, broker, position=position)


def _time_end(
    index: TimeIndex, trusted: TrustedBatches, path: str, place: SegmentContext
) -> Iterator[Finding]:
    """Check that a rolled or closed segment's time index ends with its largest timestamp."""
    if (place.is_last and place.stop != "clean") or trusted.largest_time is None:
        return
    largest = trusted.largest_time
    # Segments of before 0.10.1 got an empty time index when a later version loaded them.
    upgraded = not len(index) and not trusted.has_magic_2
    if largest < 0 or index.last_entry.timestamp >= largest or upgraded:
        return
    last = time_text(index.last_entry.timestamp) if len(index) else "no entry"
    broker = place.index(
        "it takes the last entry's timestamp as the segment's largest, without entries the file's "
        "modification time; lookups and retention by time are wrong"
    )
    found, wanted = f"{last} at the end", f"{time_text(largest)}, the segment's largest timestamp"
    position = len(index) * 12
    yield _finding("time-index-short", "warning", path, found, wanted, broker, position=position)
