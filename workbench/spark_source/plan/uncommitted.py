"""How many records of aborted and of open transactions a job is going to read, and says so.

A scan counts them as it reads; a task of Spark has no way to say it. So the driver counts, by the
batch headers of what is planned, as long as those are few enough to read them beside. Of the logs
that are left, transaction indexes say how many transactions were aborted, and nothing is counted.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import transactions_of
from workbench.loaders.offsets.record_counts import RecordCounts, count_in_segment
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.plan import SegmentRead, segments_within
from workbench.loaders.scan.reading import uncommitted
from workbench.loaders.scan.splits import size_of
from workbench.runtime.words import named_or_more, plural
from workbench.spark_source.tasks.committed import Part

MOST_BYTES: Final = 256 << 20  # whose headers the driver reads; a fraction of a second


class Planned(NamedTuple):
    """Offsets [low, high) of a partition."""

    partition: DiskPartition
    low: int
    high: int


def uncommitted_text(planned: Iterable[Planned], most_bytes: int = MOST_BYTES) -> str:
    """Return what is read of aborted and open transactions, as one line; empty if nothing is known.

    What cannot be read is not counted: a task reports it.

    Args:
        planned: the offsets.
        most_bytes: of the logs whose headers are read, the smallest first.
    """
    counts, uncounted, left = [RecordCounts()], [], most_bytes
    by_size = sorted(((_ahead(each), each) for each in planned), key=lambda pair: _bytes(pair[0]))
    for ahead, each in by_size:
        left -= _bytes(ahead)
        try:
            if left >= 0 and all(map(_is_here, ahead)):
                counts.append(_counts(ahead, each))
            elif aborted := _aborted_by_index(each):
                name = f"{each.partition.topic}-{each.partition.partition}"
                uncounted.append(f"{name} ({plural(aborted, 'transaction')})")
        except OSError:
            continue
    total = RecordCounts.sum_of(counts)
    found = uncommitted(total.aborted, total.open)
    more = f"aborted transactions, not counted by record, of {named_or_more(uncounted)}"
    if not uncounted:
        return found
    return f"{found}, and {more}" if found else f"included: {more}"


def _ahead(planned: Planned) -> list[SegmentRead]:
    """Return what has the offsets, and what follows: markers there end their transactions."""
    partition, low, high = planned
    reads = segments_within(partition, low, HIGHEST) if low < high else []
    if not reads or low <= reads[0].segment.base_offset or not _is_here(reads[0]):
        return reads
    return [replace(reads[0], start=reads[0].segment.position_of(low)), *reads[1:]]


def _is_here(read: SegmentRead) -> bool:
    """Return whether the segment is a file of this machine: others are not read for this."""
    return read.segment.files["log"].is_here


def _bytes(reads: Iterable[SegmentRead]) -> int:
    return sum(map(size_of, reads))


def _counts(ahead: list[SegmentRead], planned: Planned) -> RecordCounts:
    """Count by batch headers.

    Raises:
        OSError: a file cannot be read.
    """
    parts = [
        replace(read, segment=Part(read.segment, read.start, None), high=planned.high)
        for read in ahead
    ]
    known = transactions_of([each.segment for each in parts], HIGHEST)
    wanted = [each for each in parts if each.segment.base_offset < planned.high]
    return RecordCounts.sum_of(count_in_segment(each, known) for each in wanted)


def _aborted_by_index(planned: Planned) -> int:
    """Return how many aborted transactions indexes name.

    Raises:
        OSError: a file cannot be read.
    """
    found = 0
    for read in segments_within(planned.partition, planned.low, HIGHEST):
        entry = read.segment.files.get("txnindex")
        index = read.segment.transaction_index if entry is not None and entry.size else None
        if index is not None:
            found += sum(
                each.last_offset >= planned.low and each.first_offset < planned.high
                for each in index
            )
    return found
