"""Which records of a damaged range the disk still gives, and how far a consumer gets in it.

Kafka: CompletedFetch.nextFetchedRecord, maybeEnsureValid (4.2 clients)
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.loaders.offsets.runs import OffsetRun
from workbench.record.reading.rescue import rescue
from workbench.record.reading.windows import count_valid


class RescuedBatch(NamedTuple):
    """A damaged batch of a range.

    Attributes:
        has_valid_crc: whether a consumer takes the batch, and fails at a record of it.
        is_transactional: whether it belongs to a transaction.
        offsets: those of the records that ``rescue`` reads.
        before: those of them that come before the first record that cannot be read.
    """

    has_valid_crc: bool
    is_transactional: bool
    offsets: tuple[int, ...]
    before: tuple[int, ...]


def rescued_batches(partition: DiskPartition, run: OffsetRun) -> list[RescuedBatch]:
    """Return the damaged batches of a run that give records; a file that is gone gives none."""
    segments = [part.segment for part in partition.parts if part.segment is not None]
    found: list[RescuedBatch] = []
    for segment in segments:
        if segment.path == run.path:
            with suppress(OSError):
                found = list(_batches(segment, run))
    return found


def rescued_offsets(partition: DiskPartition, run: OffsetRun) -> list[int]:
    """Return the offsets of a damaged run whose records ``rescue`` reads, ascending."""
    batches = rescued_batches(partition, run)
    offsets = {offset for batch in batches for offset in batch.offsets}
    return sorted(offset for offset in offsets if run.first <= offset <= run.last)


def _batches(segment: Segment, run: OffsetRun) -> Iterator[RescuedBatch]:
    rows = segment.batches.rows
    for position in run.rescuable_at:
        for row in rows[rows["position"] == position]:
            data = np.frombuffer(segment.read_bytes(position, int(row["size"])), np.uint8)
            if len(data) < row["size"]:
                continue
            own = np.array([row])
            own["position"] = 0
            records = rescue(data, row).records
            is_readable = [record.code == problems.OK for record in records]
            sound = is_readable.index(False) if False in is_readable else len(records)
            yield RescuedBatch(
                count_valid(data, own, 0) == 1,
                bool(row["is_transactional"]),
                tuple(record.offset for record in records if record.code == problems.OK),
                tuple(record.offset for record in records[:sound]),
            )
