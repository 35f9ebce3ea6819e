"""Check the batches of one segment: what cannot be read, their order, and how the file ends.

A gap between batches is not a finding: compaction leaves gaps, and so do aborted appends.

Kafka: LogSegment.recover, LogLoader.recoverLog, FileLogInputStream (4.2)
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding, Severity, finding_of
from workbench.inspection.verify.log_pass import HEADER_SIZE, LogReading, Tail
from workbench.inspection.verify.situation import Place
from workbench.layout import problems
from workbench.record.reading.reader import Problem

Flags = npt.NDArray[np.bool_]

MOST_OF_A_KIND: Final = (
    100  # findings of one kind per file; the last one says how many more there are
)
_MAX_RELATIVE_OFFSET: Final = 2**31 - 1
_SMALLEST_SIZE: Final = 14  # below it a broker throws CorruptRecordException
_FAIL: Final = "consumers fail at this batch and get no further"
_RECOVERY_SEES: Final = frozenset({
    problems.BAD_SIZE, problems.SHORT_BATCH, problems.CRC_MISMATCH, problems.UNKNOWN_CODEC,
})  # fmt: skip


def verify_batches(reading: LogReading, place: Place) -> Iterator[Finding]:
    """Yield what is wrong with the batches of one segment, unreadable ones first.

    Args:
        reading: the pass over the `.log` file.
        place: the segment's position in its log.
    """
    yield from _unreadable(reading, place)
    for position, offset in reading.record_offsets[:MOST_OF_A_KIND]:
        wanted = "offsets that ascend within the batch's range"
        why = place.stays("consumers get these offsets")
        yield Finding(
            "record-offset", "error", place.path, position, offset, "other offsets", wanted, why
        )
    if reading.tail is not None:
        yield _tail(reading.tail, place, reading.next_offset)


def _unreadable(reading: LogReading, place: Place) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for problem in reading.problems:
        finding = finding_of(problem, place.path, _consequence(problem, reading, place))
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
        if counts[finding.kind] < MOST_OF_A_KIND:
            yield finding
        elif counts[finding.kind] == MOST_OF_A_KIND:
            rest = sum(1 for other in reading.problems if other.position > problem.position)
            more = f" (the last of its kind to be shown; {rest} more problems follow)"
            yield replace(finding, found=finding.found + more * bool(rest))


def _consequence(problem: Problem, reading: LogReading, place: Place) -> str:
    """Return what a broker does about a batch that cannot be read."""
    if problem.code == problems.UNKNOWN_MAGIC:
        row = reading.rows[reading.rows["position"] == problem.position]
        if len(row) and int(row[0]["magic"]) > 2:
            return place.stays("the CRC does not cover the magic, and consumers stop at this batch")
        return place.cut(_FAIL, _offset_before(reading, problem.position))
    is_too_small = problem.code == problems.BAD_SIZE and problem.expected.startswith("at least")
    if is_too_small and place.is_last and place.stop == "clean":
        return (
            "After the clean shutdown, a broker searches for the log end offset from the last "
            "index entry, and does not start if this batch is after it (CorruptRecordException); "
            f"otherwise {_FAIL}."
        )
    if problem.code == problems.CUT_WRAPPER:
        return place.stays("consumers read the messages before it, and are not told of this one")
    if problem.code in _RECOVERY_SEES:
        return place.cut(_FAIL, _offset_before(reading, problem.position))
    return place.stays("the CRC is valid, and consumers fail when they decompress the batch")


def _offset_before(reading: LogReading, position: int) -> int:
    """Return the log end offset if the log were truncated at ``position``."""
    before = np.flatnonzero(reading.sound & (reading.rows["position"] < position))
    return int(reading.rows["last_offset"][before[-1]]) + 1 if len(before) else reading.base_offset


def _tail(tail: Tail, place: Place, next_offset: int) -> Finding:
    """Return the finding for the bytes after the last batch."""
    if tail.is_zeros:
        kind, found = "zero-tail", f"{tail.size} bytes of zeros"
    elif tail.is_torn:
        wanted = "" if tail.batch_size is None else f" of {tail.batch_size + 12}"
        kind, found = "torn-tail", f"{tail.size} bytes{wanted} of a batch"
    else:
        kind, found = "garbage-tail", f"{tail.size} bytes that are not a batch"
    severity, broker = _tail_consequence(kind, tail, place, next_offset)
    return Finding(
        kind, severity, place.path, tail.position, next_offset, found, "the end of the file", broker
    )


def _tail_consequence(
    kind: str, tail: Tail, place: Place, next_offset: int
) -> tuple[Severity, str]:
    is_torn = kind == "torn-tail"
    # Below 18 bytes a broker does not read the size: for it the file ends here.
    throws = (
        tail.size > HEADER_SIZE and tail.batch_size is not None and tail.batch_size < _SMALLEST_SIZE
    )
    if not place.is_last:
        if place.is_recovered:
            return "error", place.cut("", next_offset)
        passing = (
            "a consumer that reads up to here gets a CorruptRecordException"
            if throws
            else "readers skip these bytes and continue with the next segment"
        )
        return ("error" if is_torn or throws else "warning"), place.cut(passing, next_offset)
    if place.stop == "running":
        if kind != "garbage-tail":
            allocated = " or preallocated (preallocate=true)" if tail.is_zeros else ""
            return "info", f"Not yet written{allocated}: a broker is running on this directory."
        return "warning", "A broker is running: it writes the next batch after these bytes."
    if place.is_recovered:
        return (
            "warning",
            f"After the unclean shutdown, recovery truncates these bytes, at offset {next_offset}.",
        )
    ignored = (
        "a broker starts, ignores these bytes and writes the next batch after them, where no "
        "reader reaches it"
    )
    refused = (
        "the broker does not start (CorruptRecordException while it searches for the log end "
        "offset; 0.9 starts, but every fetch from here fails)"
    )
    if place.stop == "clean":
        severity: Severity = "error" if is_torn or throws else "warning"
        return severity, f"After the clean shutdown, {refused if throws else ignored}."
    return "warning", (
        "Perhaps not yet written, if a broker runs on the directory. After a clean shutdown, "
        f"{refused if throws else ignored}. After an unclean one, recovery truncates the bytes."
    )


def verify_offsets(reading: LogReading, place: Place) -> tuple[list[Finding], Flags]:
    """Check that the sound batches of a segment ascend and are within its range.

    Returns:
        The findings, and bool[n]: which rows of the reading have offsets that cannot be trusted.
    """
    flagged = np.zeros(len(reading.rows), np.bool_)
    findings: list[Finding] = []
    at = np.flatnonzero(reading.sound)
    if not len(at):
        return findings, flagged
    first, last = first_offsets(reading.rows[at]), reading.rows["last_offset"][at]
    for boundary, culprit in out_of_place(first, last, place.base_offset - 1):
        flagged[at[culprit]] = True
        before = int(last[boundary if culprit > boundary else culprit - 1]) if culprit else -1
        if len(findings) < MOST_OF_A_KIND:
            findings.append(_order_finding(reading.rows[at[culprit]], before, place))
    good = ~flagged[at]
    findings += _range_findings(at[good], first[good], last[good], reading, place, flagged)
    return findings, flagged


def first_offsets(rows: Any) -> npt.NDArray[np.int64]:
    """Return int64[n]: base offsets; the last offset where the header does not have the base."""
    base: npt.NDArray[np.int64] = rows["base_offset"]
    untold = (base == -1) & (rows["magic"] < 2)
    return np.where(untold, rows["last_offset"], base)


def out_of_place(
    first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], lowest: int
) -> list[tuple[int, int]]:
    """Return where batches overlap the next ones, and which of the two is out of place.

    Args:
        first, last: int64[n], the batches' offsets.
        lowest: the last offset before the batches.

    Returns:
        Pairs (boundary, culprit), ascending: the batch ``boundary`` and the one after it overlap,
        and the culprit is one of them. One culprit explains the overlaps on both its sides.
    """
    found: list[tuple[int, int]] = []
    for boundary in np.flatnonzero(first[1:] <= last[:-1]).tolist():
        if not found or found[-1][1] != boundary:
            found.append((boundary, _culprit(first, last, boundary, lowest)))
    return found


def _culprit(
    first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], boundary: int, lowest: int
) -> int:
    """Return which of two batches that overlap is out of place: ``boundary`` or the next one.

    That is the batch without which the others ascend; if both are, the one with a gap on its other
    side.
    """
    behind = boundary + 1
    before_last = int(last[boundary - 1]) if boundary else lowest
    without_first = before_last < first[behind]
    without_second = behind + 1 >= len(first) or last[boundary] < first[behind + 1]
    if without_first != without_second:
        return boundary if without_first else behind
    if first[boundary] > before_last + 1 or first[boundary] < before_last:
        return boundary
    return behind


def _order_finding(row: Any, before: int, place: Place) -> Finding:
    lower, upper = int(first_offsets(row[None])[0]), int(row["last_offset"])
    wanted = f"offsets after {before}" if before >= 0 else "offsets below those of the next batch"
    why = place.stays(
        "the CRC does not cover the base offset; consumers get these records under the wrong "
        "offsets, or skip them"
    )
    return Finding(
        "offset-order", "error", place.path, int(row["position"]), lower,
        f"a batch with offsets {lower} to {upper}", wanted, why,
    )  # fmt: skip


def _range_findings(
    at: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    reading: LogReading,
    place: Place,
    flagged: Flags,
) -> Iterator[Finding]:
    """Yield one finding each for offsets below, above and too far above the segment's base."""
    base, end = place.base_offset, place.next_base
    above = np.zeros(len(at), np.bool_) if end is None else last >= end
    checks: tuple[tuple[str, Severity, Flags, str, str], ...] = (
        (
            "offset-range", "error", first < base,
            f"offsets from {base}, the segment's base offset",
            place.stays("the segment is loaded as it is; lookups below its base offset miss it"),
        ),
        (
            "offset-range", "error", above, f"offsets below {end}, the base of the next segment",
            place.stays("readers continue with the next segment when they reach its base offset"),
        ),
        (
            "offset-overflow", "warning", (last - base > _MAX_RELATIVE_OFFSET) & ~above,
            f"offsets up to {base + _MAX_RELATIVE_OFFSET}, which an index entry can hold",
            "Since 2.1 a broker splits the segment when it loads the log.",
        ),
    )  # fmt: skip
    for kind, severity, wrong, wanted, broker in checks:
        if not wrong.any():
            continue
        slots = np.flatnonzero(wrong)
        row = reading.rows[at[slots[0]]]
        more = f", and {len(slots) - 1} more batches" if len(slots) > 1 else ""
        found = f"a batch with offsets {first[slots[0]]} to {last[slots[0]]}{more}"
        if len(slots) == 1:
            flagged[at[slots]] = True
        position = int(row["position"])
        offset = int(first[slots[0]])
        yield Finding(kind, severity, place.path, position, offset, found, wanted, broker)
