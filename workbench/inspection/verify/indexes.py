"""Check a segment's offset index and time index against its batches.

An offset index entry is sound when a batch starts at its position and no earlier batch reaches its
offset. Up to Kafka 1.1 the offset is the batch's first. Since 2.0 it is the last of one append,
which may be several batches, and in a cleaned segment the offset of a kept record. A time index
entry is sound when its batch has that timestamp and no earlier batch reaches it.

Cost: array operations over the entries, no Python loop per entry.

Kafka: OffsetIndex, TimeIndex, LogSegment.append, LogSegment.sanityCheck (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.reading import Problem
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.segment import Segment
from workbench.inspection.verify.batches import first_offsets
from workbench.inspection.verify.log_pass import LogReading
from workbench.inspection.verify.situation import Place

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_OF_PROBLEM: Final = {
    "unfinished entry": "size",
    "wrong order": "order",
    "below base offset": "entry",
    "bad value": "entry",
}
_ASTRAY: Final = "lookups may skip records, and consumers miss them"
_LATE: Final = "lookups by time, and retention by time, may be wrong"
_SIZE: Final = (
    "A broker ignores the bytes after the last complete entry. Kafka before 2.3 rebuilds the index "
    "when it starts."
)


@dataclass(frozen=True)
class Batches:
    """The batches of a segment that an index can be compared with, ascending.

    Attributes:
        first, last: int64[n], offsets.
        positions: int64[n].
        counts: int64[n], records; -1 unknown.
        timestamps: int64[n], ms, the largest of each batch; -1 none.
        magic: int64[n].
        is_complete: whether these are all there are: nothing unreadable between them.
    """

    first: Numbers
    last: Numbers
    positions: Numbers
    counts: Numbers
    timestamps: Numbers
    magic: Numbers
    is_complete: bool


def batches_of(reading: LogReading, flagged: Flags) -> Batches:
    """Return the sound batches of a segment, without those whose offsets cannot be trusted."""
    rows = reading.trusted(flagged)
    ascends = bool((np.diff(rows["last_offset"]) > 0).all())
    return Batches(
        first=first_offsets(rows).astype(np.int64),
        last=rows["last_offset"].astype(np.int64),
        positions=rows["position"].astype(np.int64),
        counts=rows["record_count"].astype(np.int64),
        timestamps=rows["max_timestamp"].astype(np.int64),
        magic=rows["magic"].astype(np.int64),
        is_complete=ascends and not reading.problems and not bool(flagged.any()),
    )


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


def verify_offset_index(
    segment: Segment, index: OffsetIndex, reading: LogReading, batches: Batches, place: Place
) -> Iterator[Finding]:
    """Yield what is wrong with an offset index."""
    path = segment.files["index"].path
    severity: Severity = "warning" if place.is_rebuilt else "error"
    seen: set[str] = set()
    yield from _of_problems("index", index.problems, path, severity, place.index(_ASTRAY), seen)
    if index.slack and (not place.is_last or place.stop == "clean"):
        yield _zeros("index", index.slack, len(index) * 8, path, place)
    if not len(index) or not index.ascends or "index-entry" in seen:
        return
    entries = np.searchsorted(batches.positions, index.positions)
    end = reading.size if reading.tail is None else reading.tail.position
    behind = index.positions >= end
    yield from _behind_end("index", behind, index, path, place)
    known = ~behind & ~reading.covers(index.positions) & (index.offsets < 2**62)
    at = np.minimum(entries, max(len(batches.positions) - 1, 0))
    starts = np.zeros(len(index), np.bool_)
    if len(batches.positions):
        starts = batches.positions[at] == index.positions
    flagged_positions = reading.rows["position"]
    elsewhere = known & ~starts & ~np.isin(index.positions, flagged_positions)
    wrong_offset = known & starts & ~_offsets_fit(index, at, batches)
    for wrong, wanted in (
        (elsewhere, "the position of a batch"),
        (wrong_offset, "the last offset of the batch there, or its first (up to Kafka 1.1)"),
    ):
        slots = np.flatnonzero(wrong)
        if len(slots):
            slot = int(slots[0])
            more = f" (and {len(slots) - 1} more)" if len(slots) > 1 else ""
            offset, position = index[slot]
            yield _finding(
                "index-entry", severity, path, f"offset {offset} at position {position}{more}",
                wanted, place.index(_ASTRAY), position=slot * 8, offset=offset,
            )  # fmt: skip


def _offsets_fit(index: OffsetIndex, at: Numbers, batches: Batches) -> Flags:
    """Return bool[n]: whether an entry's offset suits the batch ``at`` its position."""
    if not len(batches.positions) or not batches.is_complete:
        return np.ones(len(index), np.bool_)  # the entry may point to a batch that is missing
    offsets = index.offsets
    before = np.where(at > 0, batches.last[at - 1], index.base_offset - 1)
    until = np.append(at[1:] - 1, len(batches.last) - 1)  # row of the last batch of the append
    row = np.minimum(np.searchsorted(batches.last, offsets), len(batches.last) - 1)
    span = batches.last[row] - batches.first[row] + 1
    cleaned = (batches.counts[row] < span) | (batches.magic[row] < 2)
    exact = (offsets == batches.last[row]) | (offsets == batches.first[at]) | cleaned
    inside = (offsets > before) & (offsets <= batches.last[np.maximum(until, at)])
    fits: Flags = inside & exact
    return fits


def _behind_end(
    prefix: str, behind: Flags, index: OffsetIndex | TimeIndex, path: str, place: Place
) -> Iterator[Finding]:
    slots = np.flatnonzero(behind)
    if not len(slots):
        return
    slot = int(slots[0])
    more = f" (and {len(slots) - 1} more)" if len(slots) > 1 else ""
    severity: Severity = "warning" if place.is_rebuilt or prefix != "index" else "error"
    if prefix == "index" and place.is_last and place.stop == "clean":
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
        found = f"{index[slot].timestamp} ms at offset {index[slot].offset}{more}"
    offset = int(index.offsets[slot])
    yield _finding(
        f"{prefix}-beyond-end", severity, path, found, "a position within the log", broker,
        position=slot * size, offset=offset,
    )  # fmt: skip


def _of_problems(
    prefix: str,
    problems: Sequence[Problem],
    path: str,
    severity: Severity,
    broker: str,
    seen: set[str],
) -> Iterator[Finding]:
    """Yield the problems that an index's reader found, the first of each kind."""
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
            problem.expected, _SIZE if small else broker,
        )  # fmt: skip


def index_too_large(path: str, problem: Problem) -> Finding:
    """Return the finding for an index of which only the first entries were read."""
    broker = "A broker maps the whole index into memory, and trusts every entry."
    found, wanted = problem.found, problem.expected
    return _finding(
        "index-too-large", "warning", path, found, wanted, broker, position=problem.position
    )


def _zeros(prefix: str, slack: int, position: int, path: str, place: Place) -> Finding:
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


def verify_time_index(
    segment: Segment, index: TimeIndex, reading: LogReading, batches: Batches, place: Place
) -> Iterator[Finding]:
    """Yield what is wrong with a time index."""
    path = segment.files["timeindex"].path
    seen: set[str] = set()
    yield from _of_problems("time-index", index.problems, path, "warning", place.index(_LATE), seen)
    if index.slack and (not place.is_last or place.stop == "clean"):
        yield _zeros("time-index", index.slack, len(index) * 12, path, place)
    if index.ascends and "time-index-entry" not in seen:
        yield from _time_entries(index, reading, batches, path, place)
        if all(problem.kind != "too large" for problem in index.problems):
            yield from _time_end(index, batches, path, place)


def _time_entries(
    index: TimeIndex, reading: LogReading, batches: Batches, path: str, place: Place
) -> Iterator[Finding]:
    if not len(index):
        return
    if reading.is_end_sure:
        behind = index.offsets >= max(reading.next_offset, place.base_offset + 1)
        if not len(reading.rows):
            behind[:] = True
    else:
        behind = np.zeros(len(index), np.bool_)
    yield from _behind_end("time-index", behind, index, path, place)
    if not batches.is_complete or not len(batches.last):
        return
    row = np.minimum(np.searchsorted(batches.last, index.offsets), len(batches.last) - 1)
    largest = np.maximum.accumulate(batches.timestamps)
    before = np.where(row > 0, largest[row - 1], -1)
    fits = (batches.timestamps[row] == index.timestamps) & (before < index.timestamps)
    # A leader that converted newer messages to magic 0 kept their timestamps in the index (0.10).
    fits |= batches.magic[row] == 0
    slots = np.flatnonzero(~fits & ~behind)
    if not len(slots):
        return
    slot = int(slots[0])
    more = f" (and {len(slots) - 1} more)" if len(slots) > 1 else ""
    timestamp, offset = index[slot]
    at = int(row[slot])
    found = f"{timestamp} ms at offset {offset}{more}"
    wanted = (
        f"the first batch with the largest timestamp so far; the batch of offset {offset} has "
        f"{batches.timestamps[at]} ms, earlier ones up to {before[slot]} ms"
    )
    yield _finding(
        "time-index-entry", "warning", path, found, wanted, place.index(_LATE),
        position=slot * 12, offset=offset,
    )  # fmt: skip


def _time_end(index: TimeIndex, batches: Batches, path: str, place: Place) -> Iterator[Finding]:
    """Check that a rolled or closed segment's time index ends with its largest timestamp."""
    timed = batches.magic > 0
    if (place.is_last and place.stop != "clean") or not timed.any():
        return
    largest = int(batches.timestamps[timed].max())
    # Segments of before 0.10.1 got an empty time index when a later version loaded them.
    upgraded = not len(index) and bool((batches.magic < 2).all())
    if largest < 0 or index.last_entry.timestamp >= largest or upgraded:
        return
    last = f"{index.last_entry.timestamp} ms" if len(index) else "no entry"
    broker = place.index(
        "it takes the last entry's timestamp as the segment's largest, without entries the file's "
        "modification time; lookups and retention by time are wrong"
    )
    found, wanted = f"{last} at the end", f"{largest} ms, the segment's largest timestamp"
    position = len(index) * 12
    yield _finding("time-index-short", "warning", path, found, wanted, broker, position=position)
