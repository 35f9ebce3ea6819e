"""Check one segment: its log, and its indexes against the log; keep a summary for the partition.

Only a summary of each log is kept, so the memory needed does not grow with the partition.

Kafka: LogSegment.recover, LogSegment.sanityCheck (4.2)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.errors import NotRegularFileError
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.names import FileKind
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.segment import Segment
from workbench.inspection.unreadable import unreadable
from workbench.inspection.verify.segments.batches import verify_log
from workbench.inspection.verify.segments.indexes import (
    OffsetIndexCheck,
    TimeIndexCheck,
    fails_check,
)
from workbench.inspection.verify.segments.log_pass import LogReading
from workbench.inspection.verify.segments.trusted_batches import (
    EPOCH_ROW,
    NO_TIME,
    Starts,
    TrustedBatches,
)
from workbench.inspection.verify.shutdown_state import SegmentContext

Rows = npt.NDArray[Any]

Index = TypeVar("Index")

_NO_ROWS: Final = np.zeros(0, EPOCH_ROW)


@dataclass(frozen=True)
class SegmentSummary:
    """What is known about a segment after it was read.

    Attributes:
        segment: the segment.
        place: its position in the log.
        transaction_index: read before the log; None when there is none.
        size: the `.log` file's size in bytes.
        has_batches, has_index_entries: whether there are any.
        first_offset: the first sound batch's first offset; the base offset without any.
        next_offset: offset after the last batch; the base offset without any.
        is_end_sure: whether `next_offset` can be trusted.
        is_whole: whether every byte belongs to a sound batch.
        has_tail: whether bytes follow the last batch.
        has_holes: whether offsets are missing within it, as compaction leaves it.
        is_transactional: whether it has batches or markers of transactions.
        latest_time: ms, the largest timestamp of a data batch; -1 without any.
        epochs: EPOCH_ROW[n], the first and last batch, and where the epoch changes or should.
    """

    segment: Segment
    place: SegmentContext
    transaction_index: TransactionIndex | None
    size: int
    has_batches: bool
    has_index_entries: bool
    first_offset: int
    next_offset: int
    is_end_sure: bool
    is_whole: bool
    has_tail: bool
    has_holes: bool
    is_transactional: bool
    latest_time: int
    epochs: Rows


def verify_segment(
    segment: Segment,
    place: SegmentContext,
    findings: list[Finding],
    *,
    epoch_starts: Starts,
    has_time_indexes: bool,
    deep: bool,
    workers: int = 1,
) -> SegmentSummary | None:
    """Check a segment.

    Args:
        segment: to check.
        place: its position in the log.
        findings: receives what is wrong.
        epoch_starts: int64[n], ascending: first offsets of the leader epochs that the file names.
        has_time_indexes: whether brokers of this directory's time write `.timeindex`.
        deep: check CRCs and decode every record.
        workers: threads that do that side by side.

    Returns:
        None when the segment was removed meanwhile, or cannot be read.
    """
    # The indexes first: a live log grows after they were read.
    index = _read(segment, "index", lambda: segment.offset_index, findings)
    times = _read(segment, "timeindex", lambda: segment.time_index, findings)
    transactions = _read(segment, "txnindex", lambda: segment.transaction_index, findings)
    place = replace(place, is_implausible=fails_check(place.rules, index, times))
    of_offsets = None if index is None else OffsetIndexCheck(index)
    of_times = None if times is None else TimeIndexCheck(times)
    trusted = TrustedBatches(segment.base_offset, epoch_starts)
    checks = [check for check in (of_offsets, of_times) if check is not None]
    try:
        found, reading, order = verify_log(
            place, deep=deep, checks=checks, trusted=trusted.add, workers=workers
        )
    except OSError as error:
        findings += unreadable(segment.path, error)
        return None
    if not reading.size and index is None and times is None:
        # There may be very many, and there is nothing to compare.
        findings += _missing_indexes(segment, reading, place, has_time_indexes=has_time_indexes)
        return _empty(segment, place, transactions)
    findings += found
    # Time indexes are older than magic 2.
    has_time_indexes |= reading.has_magic_2
    findings += _missing_indexes(segment, reading, place, has_time_indexes=has_time_indexes)
    is_complete = reading.ascends and not reading.problem_count and not order.has_flagged
    if of_offsets is not None:
        path = segment.files["index"].path
        findings += of_offsets.findings(path, reading, place, is_complete=is_complete)
    if of_times is not None:
        path = segment.files["timeindex"].path
        findings += of_times.findings(path, reading, place, trusted, is_complete=is_complete)
    return SegmentSummary(
        segment=segment,
        place=place,
        transaction_index=transactions,
        size=reading.size,
        has_batches=bool(reading.batch_count),
        has_index_entries=bool(index),
        first_offset=reading.first_offset,
        next_offset=reading.next_offset,
        is_end_sure=reading.is_end_sure,
        is_whole=reading.is_whole,
        has_tail=reading.tail is not None,
        has_holes=trusted.has_holes(
            is_all=reading.is_whole and trusted.count == reading.batch_count
        ),
        is_transactional=trusted.is_transactional,
        latest_time=trusted.latest_time,
        epochs=trusted.epochs(),
    )


def _empty(
    segment: Segment, place: SegmentContext, transactions: TransactionIndex | None
) -> SegmentSummary:
    """Return the summary of a segment with an empty `.log` and no offset or time index."""
    return SegmentSummary(
        segment=segment,
        place=place,
        transaction_index=transactions,
        size=0,
        has_batches=False,
        has_index_entries=False,
        first_offset=segment.base_offset,
        next_offset=segment.base_offset,
        is_end_sure=True,
        is_whole=True,
        has_tail=False,
        has_holes=False,
        is_transactional=False,
        latest_time=NO_TIME,
        epochs=_NO_ROWS,
    )


def _read(
    segment: Segment, kind: FileKind, read: Callable[[], Index | None], findings: list[Finding]
) -> Index | None:
    """Return an index of the segment; None if there is none, or it cannot be read."""
    try:
        return read()
    except OSError as error:
        findings += unreadable(segment.files[kind].path, error)
        return None


def _missing_indexes(
    segment: Segment, reading: LogReading, place: SegmentContext, *, has_time_indexes: bool
) -> Iterator[Finding]:
    """Yield a finding for each index that a broker would have written and that is missing."""
    if place.is_last and not reading.batch_count:
        return  # a broker creates them at the next append
    there = segment.files.keys() | place.swaps | place.unread
    if "index" not in there:
        broker = (
            "A broker reads the whole segment when it starts and rebuilds the index, even after a "
            "clean shutdown."
        )
        if place.rules.leaves_missing_index and not place.is_recovered:
            broker = "A broker makes an empty index in its place: lookups scan the segment."
        yield _absent("index-missing", "warning", place.path, "no .index", "one", broker)
    if "timeindex" not in there and has_time_indexes:
        if place.is_rebuilt or "index" not in there:
            broker = "A broker rebuilds the time index when it starts."
        else:
            broker = (
                "A broker creates an empty time index and does not fill it: lookups by time do not "
                "use it, and retention uses the file's modification time."
            )
        yield _absent("time-index-missing", "warning", place.path, "no .timeindex", "one", broker)


def _absent(
    kind: str, severity: Severity, path: str, found: str, wanted: str, broker: str
) -> Finding:
    return Finding(kind, severity, path, None, None, found, wanted, broker)


def collect(step: Iterable[Finding], findings: list[Finding]) -> None:
    """Add a step's findings, and one for a file that the operating system refuses to read.

    A file that no longer exists was deleted by a broker meanwhile.
    """
    try:
        for finding in step:
            findings.append(finding)  # noqa: PERF402 - those before an error are kept
    except OSError as error:
        path = error.path if isinstance(error, NotRegularFileError) else str(error.filename)
        findings += unreadable(path, error)
