"""One segment of a scan to Arrow batches: the step that a scan repeats and a Spark task runs.

`ReadOptions` and `plan.SegmentRead` are all it needs, and both can be sent to another process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from workbench.inspection.findings import Finding, finding_of
from workbench.loaders import arrow
from workbench.loaders.plan import HIGHEST, LOWEST, SegmentRead, batch_selector
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.record.buffers import BufferPool
from workbench.record.reader import HEADERS, KEYS, VALUES, Chunk

_DECODED: Final = {"key": KEYS, "value": VALUES, "headers": HEADERS}
ALL_TIMES: Final = (LOWEST, HIGHEST)


@dataclass(frozen=True)
class ReadOptions:
    """What to take of each segment.

    Attributes:
        columns: names out of `schemas.SCAN_FIELDS`; what is not named is not decoded.
        times: timestamps [first, end) in ms; `ALL_TIMES` also takes records without one.
        include_control: take control records too.
        check_crc: leave out batches whose CRC is wrong.
    """

    columns: tuple[str, ...]
    times: tuple[int, int] = ALL_TIMES
    include_control: bool = False
    check_crc: bool = True

    @property
    def schema(self) -> pa.Schema:
        """Names, types and nullability of the columns."""
        return pa.schema([SCAN_FIELDS[name] for name in self.columns])


class SegmentBatch(NamedTuple):
    """Some records of a segment, and what could not be read before them."""

    batch: pa.RecordBatch
    findings: list[Finding]


def read_segment(
    read: SegmentRead, options: ReadOptions, pool: BufferPool
) -> Iterator[SegmentBatch]:
    """Yield the wanted records of one segment, ascending by offset; batches may be empty.

    Raises:
        OSError: the file cannot be read.
    """
    decoded = sum(_DECODED[name] for name in options.columns if name in _DECODED)
    select = batch_selector(read, options.times, include_control=options.include_control)
    path = read.segment.path
    schema = options.schema
    for chunk in read.segment.read(
        read.start, options=decoded, check_crc=options.check_crc, select=select, pool=pool
    ):
        findings = [finding_of(problem, path) for problem in chunk.problems]
        yield SegmentBatch(_to_arrow(chunk, read, options, schema), findings)
        if len(chunk.rows) and chunk.rows["base_offset"][-1] >= read.high:
            break


def _to_arrow(
    chunk: Chunk, read: SegmentRead, options: ReadOptions, schema: pa.Schema
) -> pa.RecordBatch:
    """Return a chunk's records, those outside the wanted ranges filtered out."""
    columns, rows = chunk.columns, chunk.rows
    where = (read.partition.topic, read.partition.partition, read.segment.base_offset)
    arrays = [arrow.column(name, columns, rows, where) for name in options.columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    keep = (columns.offsets >= read.low) & (columns.offsets < read.high)
    if options.times != ALL_TIMES:
        stamps = columns.timestamps
        keep &= (stamps >= max(options.times[0], 0)) & (stamps < options.times[1])
    return batch if keep.all() else batch.filter(pa.array(np.asarray(keep)))
