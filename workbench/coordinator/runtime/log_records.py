"""Read the records and transaction markers of a coordinator's partition, in log order.

Unreadable records are findings and left out. A broker's loader does not check CRCs: it loads the
records of a damaged batch as they are, or fails at them.

Kafka: CoordinatorLoaderImpl.processMemoryRecords (4.2), GroupMetadataManager.doLoadGroupsAndOffsets
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.decoders.typed_records import Key, RecordType, read_key
from workbench.errors import CorruptRecordError
from workbench.files.names import MAX_OFFSET
from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.partition import MOST_LISTINGS, DiskPartition
from workbench.inspection.segment import Segment, is_preallocated
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.buffers import BufferPool
from workbench.record.columns import BinaryColumn, RecordColumns
from workbench.record.control import decode_control_type, encode_control_key
from workbench.record.reading.reader import KEYS, VALUES, Chunk

Rows = npt.NDArray[Any]

NO_PRODUCER: Final = -1

_USUAL_MARKERS: Final[dict[bytes | None, bool]] = {
    encode_control_key(ABORT): False,
    encode_control_key(COMMIT): True,
}

_LOADER: Final = (
    "A coordinator that loads the partition does not check CRCs: it loads the records as they are, "
    "or its load fails here."
)


class LogRecord(NamedTuple):
    """One record with its batch's fields.

    Attributes:
        offset: its offset in the coordinator's log.
        timestamp: the record's timestamp, ms; None: no timestamp.
        key, value: bytes; None: null.
        producer_id: the producer of a transactional batch; `NO_PRODUCER` otherwise.
    """

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    producer_id: int


class Marker(NamedTuple):
    """The end of a producer's transaction.

    Attributes:
        offset: its offset in the coordinator's log.
        producer_id: the producer whose transaction ends.
        is_commit: whether the transaction commits; False: it aborts.
    """

    offset: int
    producer_id: int
    is_commit: bool


def key_of(record: LogRecord, types: dict[int, RecordType]) -> Key:
    """Return the contents of a record's key.

    Raises:
        CorruptRecordError: it is null, or its bytes do not fit.
    """
    if record.key is None:
        raise CorruptRecordError(None, None, "the key is null")
    return read_key(types, record.key)


def unknown_type(key: Key) -> str:
    """Return why a record is ignored whose type no coordinator of this kind knows."""
    return f"this coordinator does not know record type {key.type_id}"


class LogChunk:
    """Some records of a log, decoded as columns.

    Attributes:
        columns: offsets, keys and values of the records.
        rows: BATCH_ROW[m] that ``columns.batch`` numbers.
    """

    def __init__(self, columns: RecordColumns, rows: Rows) -> None:
        self.columns = columns
        self.rows = rows

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def keys(self) -> BinaryColumn:
        """The keys."""
        assert self.columns.keys is not None
        return self.columns.keys

    @property
    def values(self) -> BinaryColumn:
        """The values."""
        assert self.columns.values is not None
        return self.columns.values

    @cached_property
    def all_keys(self) -> list[bytes | None]:
        """The keys as objects."""
        return self.keys.items()

    @cached_property
    def _records(self) -> list[LogRecord | Marker | None]:
        is_control, marked = self.rows["is_control"].tolist(), self.rows["producer_id"].tolist()
        producers = np.where(
            self.rows["is_transactional"], self.rows["producer_id"], NO_PRODUCER
        ).tolist()
        found: list[LogRecord | Marker | None] = []
        batch = -1
        for offset, stamp, key, value, row in zip(
            self.columns.offsets.tolist(),
            self.columns.timestamps.tolist(),
            self.all_keys,
            self.values.items(),
            self.columns.batch.tolist(),
            strict=True,
        ):
            is_first, batch = row != batch, row
            if not is_control[row]:
                time = None if stamp < 0 else stamp
                found.append(LogRecord(offset, time, key, value, producers[row]))
            elif is_first:  # the type of the first control record decides about the batch
                is_commit = _USUAL_MARKERS.get(key)
                if is_commit is None:
                    found.append(_marker(offset, marked[row], key))
                else:
                    found.append(Marker(offset, marked[row], is_commit))
            else:
                found.append(None)
        return found

    def records(self, first: int = 0, end: int | None = None) -> list[LogRecord | Marker]:
        """Return the records and markers [first, end)."""
        return [record for record in self._records[first:end] if record is not None]


def read_log_chunks(
    partition: DiskPartition, findings: list[Finding], *, end: int | None = None
) -> Iterator[LogChunk]:
    """Yield what a coordinator's partition holds from its log start offset on.

    The memory of a chunk is used again: take what is needed before asking for the next.

    Args:
        partition: a partition of `__consumer_offsets` or `__transaction_state`.
        findings: the list that gets the findings about unreadable records.
        end: offset at which to stop, excluded; None: the log end offset.

    Raises:
        OSError: a file cannot be read.
    """
    pool = BufferPool()
    start = reached = partition.log_start_offset
    left, listings = [*partition.segments], 0
    while left:
        try:
            for chunk in left[0].read(options=KEYS | VALUES, pool=pool):
                findings += _findings(chunk, left[0])
                cut = cut_chunk(chunk, start, end)
                if cut is not None:
                    yield cut
                highest = int(chunk.columns.offsets.max(initial=-1))
                if end is not None and highest >= end:
                    return
                reached = max(reached, highest + 1)
            left.pop(0)
        except FileNotFoundError:  # a broker deleted it since it was listed
            if listings == MOST_LISTINGS or not partition.is_here:
                raise
            partition, listings = partition.listed_again(), listings + 1
            start = max(reached, partition.log_start_offset)
            ends = [*(each.base_offset for each in partition.segments[1:]), MAX_OFFSET]
            rest = zip(partition.segments, ends, strict=False)  # none, if it is gone
            left = [each for each, next_base in rest if next_base > start]


def cut_chunk(chunk: Chunk, start: int, end: int | None) -> LogChunk | None:
    """Return the records of a chunk with offsets in [start, end); None without any.

    Args:
        chunk: decoded with `KEYS` and `VALUES`.
        start: the log start offset.
        end: offset at which to stop; None: no limit.
    """
    offsets = chunk.columns.offsets
    first, last = 0, len(offsets)
    if last and offsets[0] < start:
        first = _first_true(offsets >= start)
    if end is not None and last and offsets.max() >= end:
        last = _first_true(offsets >= end)
    return LogChunk(_cut(chunk.columns, first, last), chunk.rows) if first < last else None


def read_log_records(
    partition: DiskPartition, findings: list[Finding], *, end: int | None = None
) -> Iterator[LogRecord | Marker]:
    """Yield the records and markers of `read_log_chunks`; arguments and errors as there."""
    for chunk in read_log_chunks(partition, findings, end=end):
        yield from chunk.records()


def _first_true(flags: npt.NDArray[np.bool_]) -> int:
    """Return the index of the first true item; the length without one."""
    return int(flags.argmax()) if flags.any() else len(flags)


def _cut(columns: RecordColumns, first: int, last: int) -> RecordColumns:
    """Return the records [first, last); all of them cost nothing."""
    if (first, last) == (0, len(columns)):
        return columns
    assert columns.keys is not None
    assert columns.values is not None
    return RecordColumns(
        columns.offsets[first:last],
        columns.timestamps[first:last],
        columns.batch[first:last],
        columns.keys.cut(first, last),
        columns.values.cut(first, last),
        None,
    )


def _findings(chunk: Chunk, segment: Segment) -> Iterator[Finding]:
    if not chunk.problems:
        return
    with segment.open() as source:
        for problem in chunk.problems:
            if not is_preallocated(problem, source, segment):
                yield finding_of(problem, segment.path, _LOADER)


def _marker(offset: int, producer: int, key: bytes | None) -> Marker | None:
    """Return a transaction marker; None for a control record of another kind."""
    try:
        kind = decode_control_type(key)
    except CorruptRecordError:
        return None
    return Marker(offset, producer, kind == COMMIT) if kind in (ABORT, COMMIT) else None
