"""Check the batches of one segment: what cannot be read, their order, and how the file ends.

A gap between batches is not a finding: compaction leaves gaps, and so do aborted appends.

Kafka: LogSegment.recover, LogLoader.recoverLog, FileLogInputStream (4.2)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.files.indexes.entry_run import MAX_RELATIVE_OFFSET
from workbench.inspection.findings import Finding, Severity, finding_of
from workbench.inspection.verify.segments.log_pass import (
    HEADER_SIZE,
    MOST_OF_A_KIND,
    Check,
    CheckedPart,
    LogReading,
    ShownProblem,
    Tail,
    first_offsets,
    read_log,
)
from workbench.inspection.verify.shutdown_state import SegmentContext
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.rows import joined_rows, with_more_rows
from workbench.record.reading.batch_table import out_of_place

Flags = npt.NDArray[np.bool_]
Offsets = npt.NDArray[np.int64]
Rows = npt.NDArray[Any]

_AT_END: Final = 2  # batches that can be judged only when it is known what follows them
_SMALLEST_SIZE: Final = 14  # below it a broker throws CorruptRecordException
_FAIL: Final = "consumers fail at this batch and get no further"
_RECOVERY_SEES: Final = frozenset({
    problems.BAD_SIZE, problems.SHORT_BATCH, problems.CRC_MISMATCH, problems.UNKNOWN_CODEC,
})  # fmt: skip


def verify_log(
    place: SegmentContext,
    *,
    deep: bool,
    checks: Sequence[Check] = (),
    trusted: Callable[[Rows], None] | None = None,
    order_place: SegmentContext | None = None,
    workers: int = 1,
) -> tuple[list[Finding], LogReading, "OffsetCheck"]:
    """Read a `.log` file and check its batches.

    Args:
        place: the segment's position in its log.
        deep: check CRCs and decode every record.
        checks: others that are given each part of the file.
        trusted: see `OffsetCheck`.
        order_place: for the range of offsets, if not ``place``.
        workers: see `read_log`.

    Returns:
        What is wrong, what the pass found, and what the offsets say.

    Raises:
        OSError: the file cannot be read.
    """
    order = OffsetCheck(order_place or place, trusted)
    reading = read_log(
        place.log, place.base_offset, deep=deep, checks=(*checks, order), workers=workers
    )
    return [*verify_batches(reading, place), *order.findings()], reading, order


def verify_batches(reading: LogReading, place: SegmentContext) -> Iterator[Finding]:
    """Yield what is wrong with the batches of one segment, unreadable ones first.

    Args:
        reading: the pass over the `.log` file.
        place: the segment's position in its log.
    """
    for left_out in reading.left_out:
        finding = finding_of(left_out.problem, place.path, _consequence(left_out, place))
        more = f" (the last of its kind to be shown; {left_out.later} more problems follow)"
        yield replace(finding, found=finding.found + more * bool(left_out.later))
    for position, offset in reading.record_offsets[:MOST_OF_A_KIND]:
        wanted = "offsets that ascend within the batch's range"
        why = place.stays("consumers get these offsets")
        yield Finding(
            "record-offset", "error", place.path, position, offset, "other offsets", wanted, why
        )
    if reading.tail is not None:
        yield _tail(reading.tail, place, reading.next_offset)


def _consequence(left_out: ShownProblem, place: SegmentContext) -> str:
    """Return what a broker does about a batch that cannot be read."""
    problem = left_out.problem
    if problem.code == problems.UNKNOWN_MAGIC:
        if left_out.magic > 2:
            return place.stays("the CRC does not cover the magic, and consumers stop at this batch")
        return place.cut(_FAIL, left_out.end_offset)
    is_too_small = problem.code == problems.BAD_SIZE and problem.expected.startswith("at least")
    if is_too_small and place.is_last and place.stop == "clean":
        if place.rules.skips_bad_tail:
            return (
                "After the clean shutdown, a broker that finds this batch after the last index "
                f"entry takes the log to end before it; otherwise {_FAIL}."
            )
        return (
            "After the clean shutdown, a broker searches for the log end offset from the last "
            "index entry, and does not start if this batch is after it (CorruptRecordException); "
            f"otherwise {_FAIL}."
        )
    if problem.code == problems.CUT_WRAPPER:
        return place.stays("consumers read the messages before it, and do not report this one")
    if problem.code in _RECOVERY_SEES:
        return place.cut(_FAIL, left_out.end_offset)
    return place.stays("the CRC is valid, and consumers fail when they decompress the batch")


def _tail(tail: Tail, place: SegmentContext, next_offset: int) -> Finding:
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
    kind: str, tail: Tail, place: SegmentContext, next_offset: int
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
            f"{place.situation.recovers} truncates these bytes, at offset {next_offset}.",
        )
    ignored = (
        "a broker starts, ignores these bytes and writes the next batch after them, where no "
        "reader reaches it"
    )
    refused = (
        "the broker does not start (CorruptRecordException while it searches for the log end "
        "offset)"
    )
    if place.rules.skips_bad_tail:
        refused = "the broker starts, but every fetch from here fails"
    if place.stop == "clean":
        severity: Severity = "error" if is_torn or throws else "warning"
        return severity, f"After the clean shutdown, {refused if throws else ignored}."
    return "warning", (
        "Perhaps not yet written, if a broker runs on the directory. After a clean shutdown, "
        f"{refused if throws else ignored}. After an unclean one, recovery truncates the bytes."
    )


class OffsetCheck:
    """Checks that the sound batches of a segment ascend and are within its range.

    A `Check` of the pass. It passes the batches on whose offsets can be trusted.

    Args:
        place: the segment's position in its log.
        trusted: called with BATCH_ROW[m], batches whose offsets can be trusted: in file order, but
            for up to three at the end, which come alone.

    Attributes:
        has_flagged: after `findings`: whether any sound batch's offsets cannot be trusted.
    """

    def __init__(
        self, place: SegmentContext, trusted: Callable[[Rows], None] | None = None
    ) -> None:
        self._place = place
        self._trusted = trusted
        self._order: list[Finding] = []
        self._rows = np.zeros(0, BATCH_ROW)  # not decided yet
        self._is_start = True  # nothing comes before them
        self._before = place.base_offset - 1  # the last offset before them
        self._is_first_blamed = False
        self._out_of_range: list[_OutOfRange] = []  # a usual segment needs none
        self.has_flagged = False

    def add(self, part: CheckedPart) -> None:
        """Take the next part of the file."""
        rows, sound = part.rows, part.sound
        if np.count_nonzero(sound) < len(rows):
            rows = rows[sound]
        if not len(rows):
            return
        if len(self._rows) > _AT_END:
            self._decide(is_end=False)
        self._rows = joined_rows([self._rows, rows], BATCH_ROW) if len(self._rows) else rows

    def findings(self) -> list[Finding]:
        """Return what is wrong, once every part was added."""
        self._decide(is_end=True)
        found = list(self._order)
        for each in self._out_of_range:
            found += each.findings(self._place)
            # One batch far from the others is wrong by itself; of more, the name may be wrong.
            self.has_flagged |= each.count == 1
        firsts = {
            int(row["position"]): each.rows for each in self._out_of_range for row in each.rows
        }
        alone = {int(each.rows["position"][0]) for each in self._out_of_range if each.count == 1}
        for position in sorted(firsts.keys() - alone):
            if self._trusted is not None:
                self._trusted(firsts[position])
        return found

    def _decide(self, *, is_end: bool) -> None:
        """Find the batches out of place; the last two need to know what comes after them."""
        rows = self._rows
        count = len(rows) if is_end else len(rows) - _AT_END
        if count <= 0:
            return
        first, last = first_offsets(rows), rows["last_offset"]
        flagged = np.zeros(len(rows), np.bool_)
        flagged[0] = self._is_first_blamed
        blamed = 0 if self._is_first_blamed else -1
        for boundary, culprit in out_of_place(first, last, self._before, blamed):
            if boundary >= count:
                break
            flagged[culprit] = self.has_flagged = True
            if len(self._order) < MOST_OF_A_KIND:
                if culprit == 0:
                    before = -1 if self._is_start else self._before
                else:
                    before = int(last[boundary if culprit > boundary else culprit - 1])
                self._order.append(_order_finding(rows[culprit], before, self._place))
        good = ~flagged[:count]
        given = rows[:count]
        self._pass_on(given if np.count_nonzero(good) == count else given[good])
        self._before, self._is_start = int(last[count - 1]), False
        self._is_first_blamed = count < len(rows) and bool(flagged[count])
        self._rows = with_more_rows(rows[count:], 0)

    def _pass_on(self, rows: Rows) -> None:
        """Look for batches out of range, and pass on the others and what is between them."""
        held: set[int] = set()
        first = first_offsets(rows)
        if not self._out_of_range and not self._are_in_range(first, rows["last_offset"]):
            self._out_of_range = [_OutOfRange(each) for each in _range_rules(self._place)]
        for each in self._out_of_range:
            at = each.add(rows, first)
            if at >= 0:
                held.add(at)
        if self._trusted is None:
            return
        start = 0
        for at in [*sorted(held), len(rows)]:
            if at > start:
                self._trusted(rows[start:at])
            start = at + 1

    def _are_in_range(self, first: Offsets, last: Offsets) -> bool:
        """Return whether batches obey every rule of `_range_rules`, by their extreme offsets."""
        base, end = self._place.base_offset, self._place.next_base
        if not len(first):
            return True
        low, high = int(np.minimum.reduce(first)), int(np.maximum.reduce(last))
        return base <= low and high <= base + MAX_RELATIVE_OFFSET and (end is None or high < end)


class _RangeRule(NamedTuple):
    """A rule that offsets must obey; ``breaks`` gets their first and last ones, int64[n] each."""

    kind: str
    severity: Severity
    breaks: Callable[[Offsets, Offsets], Flags]
    wanted: str
    broker: str


class _OutOfRange:
    """The batches of one segment that break one rule: the first one, and how many there are.

    Attributes:
        rows: BATCH_ROW[0 or 1], the first one.
        count: of all.
    """

    def __init__(self, rule: _RangeRule) -> None:
        self._rule = rule
        self.rows = np.zeros(0, BATCH_ROW)
        self.count = 0

    def add(self, rows: Rows, first: Offsets) -> int:
        """Take more batches, BATCH_ROW[n]; return where the first one is that breaks the rule.

        Returns:
            -1 when none does, or an earlier one did.
        """
        wrong = self._rule.breaks(first, rows["last_offset"])
        count = int(np.count_nonzero(wrong))
        is_first = bool(count) and not self.count
        self.count += count
        if not is_first:
            return -1
        at = int(wrong.argmax())
        self.rows = rows[at : at + 1].copy()
        return at

    def findings(self, place: SegmentContext) -> Iterator[Finding]:
        """Yield the finding, if any batch breaks the rule."""
        for row in self.rows:
            kind, severity, _, wanted, broker = self._rule
            offset = int(first_offsets(self.rows)[0])
            more = f", and {self.count - 1} more batches" if self.count > 1 else ""
            found = f"a batch with offsets {offset} to {row['last_offset']}{more}"
            position = int(row["position"])
            yield Finding(kind, severity, place.path, position, offset, found, wanted, broker)


def _range_rules(place: SegmentContext) -> tuple[_RangeRule, ...]:
    """Return what offsets below, above and too far above a segment's base break."""
    base, end = place.base_offset, place.next_base

    def is_above(last: Offsets) -> Flags:
        return np.zeros(len(last), np.bool_) if end is None else last >= end

    return (
        _RangeRule(
            "offset-range", "error", lambda first, _: first < base,
            f"offsets from {base}, the segment's base offset",
            place.stays("the segment is loaded as it is; lookups below its base offset miss it"),
        ),
        _RangeRule(
            "offset-range", "error", lambda _, last: is_above(last),
            f"offsets below {end}, the base of the next segment",
            place.stays("readers continue with the next segment when they reach its base offset"),
        ),
        _RangeRule(
            "offset-overflow", "warning",
            lambda _, last: (last - base > MAX_RELATIVE_OFFSET) & ~is_above(last),
            f"offsets up to {base + MAX_RELATIVE_OFFSET}, which an index entry can hold",
            place.split(),
        ),
    )  # fmt: skip


def _order_finding(row: Any, before: int, place: SegmentContext) -> Finding:
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
