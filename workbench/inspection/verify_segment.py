"""Check one segment: its log, its indexes against the log; and keep what the partition is asked.

Of a log only a summary is kept, so that the memory needed does not grow with the partition.

Kafka: LogSegment.recover, LogSegment.sanityCheck (4.2)
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.files.transaction_index import TransactionIndex
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.log_reading import LogReading, read_log
from workbench.inspection.segment import Segment
from workbench.inspection.verify_batches import first_offsets, verify_batches, verify_offsets
from workbench.inspection.verify_indexes import (
    batches_of,
    verify_offset_index,
    verify_time_index,
)
from workbench.inspection.verify_situation import Place

Rows = npt.NDArray[Any]
Starts = npt.NDArray[np.int64]

NO_TIME: Final = -1


@dataclass(frozen=True)
class SegmentSummary:
    """What is known of a segment once it was read.

    Attributes:
        segment, place: which.
        transaction_index: read before the log; None when there is none.
        size: of the `.log` file, in bytes.
        has_batches, has_index_entries: whether there are any.
        first_offset: of the first sound batch; the base offset without any.
        next_offset: behind the last batch; the base offset without any.
        is_end_sure: whether `next_offset` can be believed.
        is_whole: whether every byte belongs to a sound batch.
        has_tail: whether bytes follow the last batch.
        has_holes: whether offsets are missing within it, as compaction leaves it.
        is_transactional: whether it has batches or markers of transactions.
        latest_time: ms, the largest timestamp of a data batch; -1 without any.
        epochs: sound rows with a leader epoch: the first and last, and where it changes or should.
    """

    segment: Segment
    place: Place
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
    place: Place,
    findings: list[Finding],
    *,
    epoch_starts: Starts,
    has_time_indexes: bool,
    deep: bool,
) -> SegmentSummary | None:
    """Check a segment.

    Args:
        segment: to check.
        place: of it in its log.
        findings: what is wrong is added here.
        epoch_starts: int64[n], ascending: first offsets of the leader epochs that the file names.
        has_time_indexes: whether brokers of this directory's time write `.timeindex`.
        deep: check CRCs and decode every record.

    Returns:
        None when the segment was removed meanwhile, or cannot be read.
    """
    try:
        # The indexes first: a live log grows behind them.
        index, times = segment.offset_index, segment.time_index
        transactions = segment.transaction_index
        reading = read_log(segment.path, segment.base_offset, deep=deep)
    except FileNotFoundError:
        return None
    except OSError as error:
        findings.append(unreadable(segment.path, error))
        return None
    findings += verify_batches(reading, place)
    of_offsets, flagged = verify_offsets(reading, place)
    findings += of_offsets
    # Batches of magic 2 are younger than time indexes.
    has_time_indexes |= bool((reading.rows["magic"] == 2).any())
    findings += _missing_indexes(segment, reading, place, has_time_indexes=has_time_indexes)
    batches = batches_of(reading, flagged)
    if index is not None:
        findings += verify_offset_index(segment, index, reading, batches, place)
    if times is not None:
        findings += verify_time_index(segment, times, reading, batches, place)
    rows = reading.rows[reading.sound & ~flagged]
    data = rows["max_timestamp"][~rows["is_control"]]
    return SegmentSummary(
        segment=segment,
        place=place,
        transaction_index=transactions,
        size=reading.size,
        has_batches=bool(len(reading.rows)),
        has_index_entries=bool(index),
        first_offset=_first_offset(reading),
        next_offset=reading.next_offset,
        is_end_sure=reading.is_end_sure,
        is_whole=reading.is_whole,
        has_tail=reading.tail is not None,
        has_holes=_has_holes(reading, rows),
        is_transactional=bool(rows["is_transactional"].any()),
        latest_time=int(data.max(initial=NO_TIME)),
        epochs=_epochs(rows, epoch_starts),
    )


def _missing_indexes(
    segment: Segment, reading: LogReading, place: Place, *, has_time_indexes: bool
) -> Iterator[Finding]:
    """Yield a finding for each index that a broker would have made and that is not there."""
    if place.is_last and not len(reading.rows):
        return  # made when something is appended
    there = segment.files.keys() | place.swaps
    if "index" not in there:
        broker = (
            "A broker reads the whole segment when it starts and builds it anew, also after a "
            "clean stop. (0.9 and 1.1, stopped cleanly, leave an empty one: look-ups are slow.)"
        )
        yield _absent("index-missing", "warning", place.path, "no .index", "one", broker)
    if "timeindex" not in there and has_time_indexes:
        if place.is_rebuilt or "index" not in there:
            broker = "A broker builds it anew when it starts."
        else:
            broker = (
                "A broker makes an empty one and leaves it so: look-ups by time skip the segment's "
                "index, and retention goes by the file's time."
            )
        yield _absent("time-index-missing", "warning", place.path, "no .timeindex", "one", broker)


def _absent(
    kind: str, severity: Severity, path: str, found: str, wanted: str, broker: str
) -> Finding:
    return Finding(kind, severity, path, None, None, found, wanted, broker)


def _first_offset(reading: LogReading) -> int:
    rows = reading.rows[reading.sound]
    return int(first_offsets(rows[:1])[0]) if len(rows) else reading.base_offset


def _has_holes(reading: LogReading, rows: Rows) -> bool:
    """Return whether offsets are missing between or within the sound batches."""
    if not len(rows):
        return False
    first, last = first_offsets(rows), rows["last_offset"]
    told = (rows["record_count"] >= 0) & (rows["base_offset"] >= 0)
    if (told & (rows["record_count"] < last - first + 1)).any():
        return True
    if not reading.is_whole or len(rows) < len(reading.rows) or not told.all():
        return False
    return bool(first[0] > reading.base_offset or (first[1:] > last[:-1] + 1).any())


def _epochs(rows: Rows, starts: Starts) -> Rows:
    rows = rows[(rows["magic"] == 2) & (rows["partition_leader_epoch"] != -1)]
    if not len(rows):
        return rows.copy()
    epochs = rows["partition_leader_epoch"]
    wanted = np.zeros(len(rows), np.bool_)
    wanted[[0, -1]] = True
    wanted[1:] |= epochs[1:] != epochs[:-1]
    at = np.searchsorted(rows["base_offset"], starts)
    wanted[at[at < len(rows)]] = True
    return rows[wanted]


def collect(step: Iterable[Finding], findings: list[Finding]) -> None:
    """Add a step's findings, and one for a file that the system does not let us read.

    A file that is not there any more was removed by a broker meanwhile.
    """
    try:
        for finding in step:
            findings.append(finding)  # noqa: PERF402 - those before an error are kept
    except FileNotFoundError:
        return
    except OSError as error:
        findings.append(unreadable(str(error.filename), error))


def unreadable(path: str, error: OSError) -> Finding:
    """Return the finding for a file that the system does not let us read."""
    broker = "Its log directory goes offline when a broker cannot read a file either."
    found, wanted = error.strerror or str(error), "a file that can be read"
    return Finding("unreadable", "error", path, None, None, found, wanted, broker)
