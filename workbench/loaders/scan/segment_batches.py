"""One segment of a scan to Arrow batches: the step that a scan repeats and a Spark task runs.

`ReadOptions` and `plan.SegmentRead` are all it needs, and both can be sent to another process.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import or_
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.inspection.transaction_markers import is_transaction_data
from workbench.inspection.transactions import ABORTED
from workbench.loaders.queries.conditions import Columns
from workbench.loaders.queries.query import Query
from workbench.loaders.queries.ranges import EVERYTHING
from workbench.loaders.scan import arrow
from workbench.loaders.scan.plan import Rows, SegmentRead
from workbench.loaders.scan.segment_chunks import Mask, Prepared, RecordChoice, read_prepared
from workbench.loaders.schemas import SCAN_FIELDS, table_schema
from workbench.record.buffers import BufferPool
from workbench.record.columns import RecordColumns
from workbench.record.reading.reader import HEADERS, KEYS, VALUES, Chunk

T = TypeVar("T")

EVERY_RECORD: Final = Query()

_DECODED: Final = {
    "key": KEYS,
    "value": VALUES,
    "headers": HEADERS,
    "bytes": KEYS | VALUES | HEADERS,
}
"""What is decoded only for the columns that are of it."""


def decoded_for(names: Iterable[str]) -> int:
    """Return what is to be decoded for some columns: KEYS, VALUES and HEADERS as bits."""
    return reduce(or_, (_DECODED[name] for name in names if name in _DECODED), 0)


@dataclass(frozen=True)
class ReadOptions:
    """The records and columns to read from each segment.

    Attributes:
        columns: names out of `schemas.SCAN_FIELDS`; what is not named is not decoded.
        times: timestamps [first, end) in ms; `EVERYTHING` also takes records without one.
        include_control: whether to take control records too.
        rescue: whether to read what damaged batches still give.
        where: what a record must meet; its ranges are those of the read and of ``times`` already.
    """

    columns: tuple[str, ...]
    times: tuple[int, int] = EVERYTHING
    include_control: bool = False
    rescue: bool = False
    where: Query = EVERY_RECORD

    @cached_property
    def schema(self) -> pa.Schema:
        """Names, types and nullability of the columns."""
        return table_schema([SCAN_FIELDS[name] for name in self.columns])

    @property
    def choice(self) -> RecordChoice:
        """What is to be decoded for these columns and conditions."""
        named = self.where.columns.union(self.columns)
        return RecordChoice(decoded_for(named), self.times, self.include_control, self.rescue)


class SegmentBatch(NamedTuple):
    """Some records of a segment, and what could not be read before them."""

    batch: pa.RecordBatch
    findings: list[Finding]


class OfTransactions(NamedTuple):
    """Records of batches some of which belong to transactions.

    Attributes:
        rows: BATCH_ROW[m], the batches.
        batch: int[n], which of them each record is of.
    """

    rows: Rows
    batch: npt.NDArray[np.int64]

    def filtered(self, keep: Mask) -> "OfTransactions":
        """Return some of the records, by bool[n]."""
        return OfTransactions(self.rows, self.batch[keep])


class Matching(NamedTuple, Generic[T]):
    """What of a chunk meets ``where``.

    Attributes:
        value: the records, or bool[n], which of them they are.
        unread: how many keys and values a path of ``where`` could not look into: they are not JSON.
        of_transactions: the records, if some belong to transactions.
    """

    value: T
    unread: int
    of_transactions: OfTransactions | None = None


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
    return Matching(batch, len(column.unread), _of_transactions(chunk, np.asarray(matching)))


def _of_transactions(chunk: Chunk, keep: Mask) -> OfTransactions | None:
    """Return the records in ``keep``; None if none can be of a transaction."""
    if not is_transaction_data(chunk.rows).any():
        return None
    # The memory of a chunk is used again.
    return OfTransactions(chunk.rows.copy(), chunk.columns.batch[keep].astype(np.int64))


def columns_of(columns: RecordColumns, rows: Rows, read: SegmentRead) -> Columns:
    """Return what gives the Arrow arrays of a chunk by their names; each is made once.

    Args:
        columns: the records.
        rows: BATCH_ROW[m] that ``columns.batch`` numbers.
        read: the segment.
    """
    place = read.place

    def array(name: str) -> pa.Array:
        if name == "committed":
            return _committed(columns, rows, read)
        return arrow.column(name, columns, rows, place)

    return Columns(array)


def _committed(columns: RecordColumns, rows: Rows, read: SegmentRead) -> pa.Array:
    """Return which records a consumer with read_committed gets; null outside of the log."""
    if read.fates is None:
        return pa.nulls(len(columns), pa.bool_())
    is_aborted = (read.fates.fates(rows) == ABORTED)[columns.batch]
    is_stable = columns.offsets < read.fates.last_stable_offset
    return arrow.booleans(np.asarray(~is_aborted & is_stable))
