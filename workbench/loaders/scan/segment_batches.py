"""One segment of a scan to Arrow batches: the step that a scan repeats and a Spark task runs.

`ReadOptions` and `plan.SegmentRead` are all it needs, and both can be sent to another process.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders.queries.conditions import Columns
from workbench.loaders.queries.query import Query
from workbench.loaders.scan import arrow
from workbench.loaders.scan.plan import Rows, SegmentRead
from workbench.loaders.scan.segment_chunks import (
    ALL_TIMES,
    Mask,
    Prepared,
    RecordChoice,
    read_prepared,
)
from workbench.loaders.schemas import SCAN_FIELDS, table_schema
from workbench.record.buffers import BufferPool
from workbench.record.columns import RecordColumns
from workbench.record.reading.reader import HEADERS, KEYS, VALUES, Chunk

T = TypeVar("T")

EVERY_RECORD: Final = Query()

DECODED: Final = {"key": KEYS, "value": VALUES, "headers": HEADERS}
"""The columns that are decoded only if somebody looks at them."""


@dataclass(frozen=True)
class ReadOptions:
    """The records and columns to read from each segment.

    Attributes:
        columns: names out of `schemas.SCAN_FIELDS`; what is not named is not decoded.
        times: timestamps [first, end) in ms; `ALL_TIMES` also takes records without one.
        include_control: whether to take control records too.
        check_crc: whether to leave out batches whose CRC is invalid.
        where: what a record must meet; its ranges are those of the read and of ``times`` already.
    """

    columns: tuple[str, ...]
    times: tuple[int, int] = ALL_TIMES
    include_control: bool = False
    check_crc: bool = True
    where: Query = EVERY_RECORD

    @cached_property
    def schema(self) -> pa.Schema:
        """Names, types and nullability of the columns."""
        return table_schema([SCAN_FIELDS[name] for name in self.columns])

    @property
    def choice(self) -> RecordChoice:
        """What is to be decoded for these columns and conditions."""
        named = self.where.columns.union(self.columns)
        decoded = sum(DECODED[name] for name in named if name in DECODED)
        return RecordChoice(decoded, self.times, self.include_control, self.check_crc)


class SegmentBatch(NamedTuple):
    """Some records of a segment, and what could not be read before them."""

    batch: pa.RecordBatch
    findings: list[Finding]


class Matching(NamedTuple, Generic[T]):
    """What of a chunk meets ``where``.

    Attributes:
        value: the records, or bool[n], which of them they are.
        unread: how many keys and values a path of ``where`` could not look into: they are not JSON.
    """

    value: T
    unread: int


class MatchingRecords(NamedTuple):
    """A chunk of a segment, and which of its records meet ``where``.

    Attributes:
        chunk, keep, findings: see `WantedRecords`.
        unread: see `Matching`.
    """

    chunk: Chunk
    keep: Mask
    findings: list[Finding]
    unread: int


def read_segment(
    read: SegmentRead, options: ReadOptions, pool: BufferPool
) -> Iterator[SegmentBatch]:
    """Yield the wanted records of one segment, ascending by offset; batches may be empty.

    As for a consumer each offset comes once: records that do not ascend, or belong to another
    segment, are left out and reported.

    Raises:
        FileNotFoundError: the segment was removed since it was listed.
    """
    prepare = partial(_batch_of, options)
    for each in read_prepared([read], options.choice, prepare, pool):
        yield SegmentBatch(each.value.value, each.findings)


def read_segments(
    reads: Iterable[SegmentRead], options: ReadOptions, pool: BufferPool, workers: int
) -> Generator[Prepared[Matching[pa.RecordBatch]], None, None]:
    """Do what `read_segment` does for several; one that was removed is a finding.

    Args:
        reads: the segments, in order.
        options: the records and columns to read.
        pool: the pool of output memory of one worker; more have their own.
        workers: threads that decode, filter and look for matches side by side.
    """
    prepare = partial(_batch_of, options)
    return read_prepared(reads, options.choice, prepare, pool, workers=workers, skips_removed=True)


def matching_chunks(
    read: SegmentRead, options: ReadOptions, pool: BufferPool
) -> Iterator[MatchingRecords]:
    """Yield the chunks of one segment, and which of their records are wanted and meet ``where``.

    Raises:
        FileNotFoundError: the segment was removed since it was listed.
    """
    prepare = partial(_matching, options.where)
    for each in read_prepared([read], options.choice, prepare, pool):
        yield MatchingRecords(each.chunk, each.value.value, each.findings, each.value.unread)


def _matching(where: Query, read: SegmentRead, chunk: Chunk, keep: Mask) -> Matching[Mask]:
    """Return bool[n]: which of the records in ``keep`` meet ``where``."""
    columns = columns_of(chunk.columns, chunk.rows, read)
    mask = where.mask(columns, keep)
    return Matching(mask, len(columns.unread))


def _batch_of(
    options: ReadOptions, read: SegmentRead, chunk: Chunk, keep: Mask
) -> Matching[pa.RecordBatch]:
    """Return those of the records in ``keep`` that meet ``where``."""
    column = columns_of(chunk.columns, chunk.rows, read)
    matching = options.where.mask(column, keep)
    arrays = [column(name) for name in options.columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=options.schema)
    if np.count_nonzero(matching) < len(matching):
        batch = batch.filter(arrow.booleans(np.asarray(matching)))
    return Matching(batch, len(column.unread))


def columns_of(columns: RecordColumns, rows: Rows, read: SegmentRead) -> Columns:
    """Return what gives the Arrow arrays of a chunk by their names; each is made once.

    Args:
        columns: the records.
        rows: BATCH_ROW[m] that ``columns.batch`` numbers.
        read: the segment.
    """
    place = read.place
    return Columns(lambda name: arrow.column(name, columns, rows, place))
