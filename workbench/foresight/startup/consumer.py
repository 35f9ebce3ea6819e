"""Predict what a consumer meets in a log: how far it gets, which records, which gaps and errors.

It fetches and reads as Kafka's own consumer does with its default settings, `check.crcs` on. It
only counts: values are not kept, and batches are decoded only where their headers do not suffice.

Kafka: Fetcher, CompletedFetch (4.2 clients)
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptFileError, CorruptRecordError, WorkbenchError
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.inspection.transactions import IsolationLevel
from workbench.layout import problems
from workbench.layout.attributes import NONE
from workbench.layout.control_records import ABORT
from workbench.layout.integers import INT32_MAX
from workbench.log.log import Log
from workbench.record.codecs.registry import CODECS
from workbench.record.columns import RecordColumns
from workbench.record.control import decode_control_type
from workbench.record.limits import LARGEST_CONTENT
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import columns_of, plain_columns
from workbench.record.reading.reader import KEYS
from workbench.record.reading.windows import count_valid

FETCH_SIZE: Final = 1 << 20  # max.partition.fetch.bytes

_MOST_READ: Final = 4  # times the log is read before the consumer is taken to loop

_LARGEST_SIZE: Final = INT32_MAX - 12  # bytes of a batch; above, adding the 12 bytes overflows
_SIZE_AT: Final = 8
_SIZE_END: Final = 12
_NO_PRODUCER: Final = -1
_HAS_PRODUCERS: Final = 2  # magic

Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class ConsumerView:
    """What one consumer met when it read a log from its start to its end.

    Attributes:
        isolation: the consumer's isolation level.
        beginning: the log start offset.
        end: the offset it may read up to, exclusive: high watermark or last stable offset.
        position: its last position: `end`, unless it failed or gets nothing more.
        records: the records below `end` that it received.
        error: why it failed at `position`; empty if it did not fail.
        error_at_end: why it will fail once it can read past `end`: the bytes after the last batch
            are fetched too. Empty if it will not.
        out_of_range: the offset past the end that damaged batches led it to fetch from; its
            position is reset, to `end` if `auto.offset.reset` says so. None if there is none.
        holes: offsets [first, end) that are missing between two batches, as is normal in a
            compacted log.
        is_compacted: whether it met batches from which records were removed.
        has_transactions: whether it met transactional batches.
        aborted_served: records of aborted transactions that it received (only
            read_committed).
        open_served: records of transactions without a marker that it received (only
            read_committed): the log does not know that they are open.
    """

    isolation: IsolationLevel
    beginning: int
    end: int
    position: int
    records: int = 0
    error: str = ""
    error_at_end: str = ""
    out_of_range: int | None = None
    holes: list[tuple[int, int]] = field(default_factory=list)
    is_compacted: bool = False
    has_transactions: bool = False
    aborted_served: int = 0
    open_served: int = 0


def consume(log: Log, isolation: IsolationLevel = "read_uncommitted") -> ConsumerView:
    """Read a log as a consumer reads it from its leader, if all replicas hold all records.

    Raises:
        OSError: a file cannot be read.

    Kafka: Consumer.poll (4.2)
    """
    log.update_high_watermark(log.log_end_offset)
    committed = isolation == "read_committed"
    end = log.last_stable_offset if committed else log.log_end_offset
    view = ConsumerView(isolation, log.log_start_offset, end, log.log_start_offset)
    reader = _Reader(view)
    left = _MOST_READ * log.size + _MOST_READ * FETCH_SIZE  # bytes
    set_back_to: set[int] = set()  # a consumer set back twice to one of these loops forever
    while view.position < end and not view.error:
        before = view.position
        try:
            data = log.read(
                before, FETCH_SIZE, isolation="read_committed" if committed else "high_watermark"
            )
        except WorkbenchError as error:
            view.error = f"the broker answers the fetch with an error: {error}"
            break
        records = data.records
        if not records.size:
            break
        reader.take(records, list(data.aborted_transactions or ()))
        left -= records.size
        if not view.error:
            view.error = _no_progress(before, view.position, records, left, set_back_to)
    if committed:
        view.open_served = sum(reader.pending.values())
    if view.position > end:
        view.out_of_range, view.position = view.position, end
    if view.position == end:
        view.error_at_end, view.error = view.error, ""
    return view


class _Reader:
    """Read fetched batches as the consumer does, and move its position.

    Attributes:
        pending: producer id → records received in its transaction, of which no marker came.
    """

    def __init__(self, view: ConsumerView) -> None:
        self._view = view
        self.pending: dict[int, int] = {}
        self._expected = view.position  # where the next batch should begin
        self._given = 0  # records received, even past the end

    def take(self, records: MemoryRecords, aborted: list[AbortedTxn]) -> None:
        """Read what one fetch returned; stop at the first problem.

        A consumer's position follows the last batch, even where that one is older than those before
        it. It stays where the fetch began if no record came before the first problem.
        """
        view = self._view
        start, given = view.position, self._given
        self._take(records, aborted)
        if view.error and self._given == given:
            view.position = start

    def _take(self, records: MemoryRecords, aborted: list[AbortedTxn]) -> None:
        view = self._view
        buffer = records.buffer
        rows, problem = _whole_batches(records)
        valid = count_valid(buffer, rows)
        if problem is None and _overflows(buffer, rows):
            view.error = "the length of a batch overflows: the consumer throws at every poll"
            return
        if valid < len(rows) and _throws_at_once(rows[valid]):
            view.error = "a compressed message cannot be read: the consumer throws at every poll"
            return
        aborted.sort(key=lambda transaction: transaction.first_offset)
        try:
            self._take_each(buffer, rows[:valid], aborted)
        except CorruptRecordError as error:
            view.error = f"a batch cannot be read: {error.problem}"
            return
        if valid < len(rows):
            offset = int(rows[valid]["base_offset"])
            view.error = f"the batch at offset {offset} is not valid: its size or CRC is invalid"
        elif problem is not None:
            view.error = f"a batch cannot be read: {problem.problem}"
        elif valid:
            view.position = int(rows[-1]["last_offset"]) + 1

    def _take_each(self, buffer: Bytes, rows: npt.NDArray[Any], aborted: list[AbortedTxn]) -> None:
        """Read valid batches.

        Raises:
            CorruptRecordError: one of them cannot be read; those before it were.
        """
        view, contents = self._view, _Contents(buffer, rows)
        is_committed = view.isolation == "read_committed"
        aborted_producers: set[int] = set()
        for at, batch in enumerate(map(_Batch._make, rows[[*_Batch._fields]].tolist())):
            first, last, producer_id = batch.base_offset, batch.last_offset, batch.producer_id
            if is_committed and producer_id > _NO_PRODUCER:
                while aborted and aborted[0].first_offset <= last:
                    aborted_producers.add(aborted.pop(0).producer_id)
                if batch.is_control:
                    self._end(producer_id, contents, at, aborted_producers)
                elif batch.is_transactional and producer_id in aborted_producers:
                    view.position = self._expected = last + 1
                    continue
            begin = view.position
            if batch.is_control:
                given = within = 0
            elif batch.magic >= _HAS_PRODUCERS and batch.record_count == last - first + 1:
                given = max(last + 1 - max(first, begin), 0)
                within = max(min(last + 1, view.end) - max(first, begin), 0)
            else:
                first, given, within = self._count(contents.offsets(at), last)
                view.is_compacted |= batch.magic >= _HAS_PRODUCERS
            if first > self._expected:
                view.holes.append((self._expected, first))
            self._given += given
            view.records += within
            if batch.is_transactional:
                view.has_transactions = True
                self.pending[producer_id] = self.pending.get(producer_id, 0) + within
            view.position = self._expected = max(begin, last + 1)

    def _end(self, producer_id: int, contents: "_Contents", at: int, aborted: set[int]) -> None:
        """End a producer's transaction by the marker in a batch."""
        served = self.pending.pop(producer_id, 0)
        if contents.is_abort(at):
            aborted.discard(producer_id)
            self._view.aborted_served += served

    def _count(self, offsets: npt.NDArray[np.int64], last: int) -> tuple[int, int, int]:
        """Return the first offset of a batch, how many records are given, and how many in range."""
        is_given = offsets >= self._view.position
        within = np.count_nonzero(is_given & (offsets < self._view.end))
        first = int(offsets[0]) if len(offsets) else last
        return first, int(np.count_nonzero(is_given)), int(within)


class _Batch(NamedTuple):
    """What a consumer looks at in a batch's header, by the names of BATCH_ROW."""

    base_offset: int
    last_offset: int
    record_count: int
    magic: int
    producer_id: int
    is_transactional: bool
    is_control: bool


class _Contents:
    """What is in the batches of a fetch that their headers do not show: decoded at once, if sound.

    Args:
        buffer: uint8[n].
        rows: BATCH_ROW[m].
    """

    def __init__(self, buffer: Bytes, rows: npt.NDArray[Any]) -> None:
        self._buffer = buffer
        self._rows = rows
        is_plain = (rows["magic"] == _HAS_PRODUCERS) & (rows["codec"] == NONE)
        has_records = (rows["problem"] == problems.OK) & (rows["record_count"] > 0)
        self._is_sound = is_plain & has_records
        self._keys: dict[int, bytes | None] | None = None  # batch → key of its first record
        self._offsets: dict[int, npt.NDArray[np.int64]] | None = None

    def is_abort(self, at: int) -> bool:
        """Return whether a control batch aborts a transaction.

        Raises:
            CorruptRecordError: the batch cannot be read.
        """
        rows = self._rows
        if self._keys is None:
            found, columns, starts = self._decoded(rows["is_control"], KEYS)
            items = [] if columns.keys is None else columns.keys.items()
            self._keys = {row: items[start] for row, start in zip(found, starts, strict=False)}
        if at in self._keys:
            return decode_control_type(self._keys[at]) == ABORT
        keys = columns_of(self._buffer, rows[at : at + 1], KEYS, LARGEST_CONTENT).keys
        return keys is not None and len(keys) > 0 and decode_control_type(keys.item(0)) == ABORT

    def offsets(self, at: int) -> npt.NDArray[np.int64]:
        """Return int64[n]: the offsets of a batch's records.

        Raises:
            CorruptRecordError: the batch cannot be read.
        """
        rows = self._rows
        if self._offsets is None:
            counts = rows["last_offset"] - rows["base_offset"] + 1
            is_uneven = ~rows["is_control"] & (rows["record_count"] != counts)
            found, columns, starts = self._decoded(is_uneven, 0)
            parts = (columns.offsets[start:end] for start, end in pairwise(starts))
            self._offsets = dict(zip(found, parts, strict=True))
        if at in self._offsets:
            return self._offsets[at]
        return columns_of(self._buffer, rows[at : at + 1], 0, LARGEST_CONTENT).offsets

    def _decoded(
        self, wanted: npt.NDArray[np.bool_], options: int
    ) -> tuple[list[int], RecordColumns, list[int]]:
        """Return batches that can be read, their records, and where those of each begin and end."""
        found = np.flatnonzero(wanted & self._is_sound)
        count, columns, starts = plain_columns(self._buffer, self._rows[found], options)
        return found[:count].tolist(), columns, starts[: count + 1].tolist()


def _no_progress(
    before: int, after: int, records: MemoryRecords, left: int, set_back_to: set[int]
) -> str:
    """Return why a consumer will never get further; empty if it may.

    A last batch with lower offsets sets a consumer back. What it then fetches depends on its
    position alone: it either gets past that batch, or to the same position again.

    Args:
        before, after: its position, before and after a fetch.
        records: the fetched records.
        left: bytes that may still be read.
        set_back_to: the positions that it was set back to before; gets ``after``.
    """
    if after > before and left > 0:
        return ""
    if after == before and not len(records.batches().rows):
        return "no progress: the fetch returned no complete batch"
    if after == before or after in set_back_to or left <= 0:
        return (
            f"no progress: the last batch of the fetch from offset {before} sets the position to "
            f"{after}, so the consumer reads the same batches again and again"
        )
    set_back_to.add(after)
    return ""


def _whole_batches(records: MemoryRecords) -> tuple[npt.NDArray[Any], CorruptFileError | None]:
    """Return the batches up to the first that cannot be delimited, and what is wrong with it."""
    try:
        return records.batches().rows, None
    except CorruptRecordError as error:
        position = error.position or 0
        return records.part(0, position).batches().rows, error


def _overflows(buffer: Bytes, rows: npt.NDArray[Any]) -> bool:
    """Return whether the size after the complete batches overflows in a consumer."""
    end = int(rows[-1]["position"] + rows[-1]["size"]) if len(rows) else 0
    size = buffer[end + _SIZE_AT : end + _SIZE_END].tobytes()
    return len(size) == _SIZE_END - _SIZE_AT and int.from_bytes(size, signed=True) > _LARGEST_SIZE


def _throws_at_once(row: Any) -> bool:
    """Return whether a batch makes the consumer throw instead of reporting a damaged batch.

    So does a message of magic 0 or 1 whose compressed value is missing, except with a codec (zstd)
    that those formats do not allow and the consumer reports.
    """
    codec, magic = int(row["codec"]), int(row["magic"])
    is_refused = codec in CODECS and CODECS[codec].lowest_magic > magic
    return magic < _HAS_PRODUCERS and codec != NONE and not is_refused
