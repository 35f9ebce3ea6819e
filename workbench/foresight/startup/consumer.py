"""Predict what a consumer meets in a log: how far it gets, which records, which gaps and errors.

It fetches and reads as Kafka's own consumer does with its default settings, `check.crcs` on. It
only counts: values are not kept, and batches are decoded only where their headers do not suffice.

Kafka: Fetcher, CompletedFetch (4.2 clients)
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptFileError, CorruptRecordError, WorkbenchError
from workbench.files.indexes.transaction_index import AbortedTransaction
from workbench.layout.attributes import NONE, ZSTD
from workbench.layout.control_records import ABORT
from workbench.log.log import Log
from workbench.record.control import decode_control_type
from workbench.record.limits import LARGEST_CONTENT
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import columns_of, records_in
from workbench.record.reading.batch_validity import count_valid

Isolation = Literal["read_uncommitted", "read_committed"]

FETCH_SIZE: Final = 1 << 20  # max.partition.fetch.bytes

_MOST_READ: Final = 4  # times the log is read before the consumer is taken to loop

_LARGEST_SIZE: Final = 2**31 - 1 - 12  # bytes of a batch; above, adding the 12 bytes overflows
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
    """

    isolation: Isolation
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


def consume(log: Log, isolation: Isolation = "read_uncommitted") -> ConsumerView:
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
    if view.position > end:
        view.out_of_range, view.position = view.position, end
    if view.position == end:
        view.error_at_end, view.error = view.error, ""
    return view


class _Reader:
    """Read fetched batches as the consumer does, and move its position."""

    def __init__(self, view: ConsumerView) -> None:
        self._view = view
        self._pending: dict[int, int] = {}  # producer id → records received in its transaction
        self._expected = view.position  # where the next batch should begin
        self._given = 0  # records received, even past the end

    def take(self, records: MemoryRecords, aborted: list[AbortedTransaction]) -> None:
        """Read what one fetch returned; stop at the first problem.

        A consumer's position follows the last batch, even where that one is older than those before
        it. It stays where the fetch began if no record came before the first problem.
        """
        view = self._view
        start, given = view.position, self._given
        self._take(records, aborted)
        if view.error and self._given == given:
            view.position = start

    def _take(self, records: MemoryRecords, aborted: list[AbortedTransaction]) -> None:
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
        aborted_producers: set[int] = set()
        for at in range(valid):
            row = rows[at : at + 1]
            try:
                if self._is_left_out(buffer, row, aborted, aborted_producers):
                    view.position = int(row[0]["last_offset"]) + 1
                    self._expected = view.position
                else:
                    self._read(buffer, row)
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

    def _is_left_out(
        self,
        buffer: Bytes,
        row: npt.NDArray[Any],
        aborted: list[AbortedTransaction],
        aborted_producers: set[int],
    ) -> bool:
        """Return whether a batch belongs to an aborted transaction, by the fetch's list."""
        batch = row[0]
        producer_id = int(batch["producer_id"])
        if self._view.isolation != "read_committed" or producer_id <= _NO_PRODUCER:
            return False
        while aborted and aborted[0].first_offset <= int(batch["last_offset"]):
            aborted_producers.add(aborted.pop(0).producer_id)
        if batch["is_control"]:
            if _is_abort(buffer, row):
                aborted_producers.discard(producer_id)
                self._view.aborted_served += self._pending.pop(producer_id, 0)
            self._pending.pop(producer_id, None)
            return False
        return bool(batch["is_transactional"]) and producer_id in aborted_producers

    def _read(self, buffer: Bytes, row: npt.NDArray[Any]) -> None:
        view, batch = self._view, row[0]
        first, last = int(batch["base_offset"]), int(batch["last_offset"])
        count = int(batch["record_count"])
        begin = view.position
        if batch["is_control"]:
            given = within = 0
        elif batch["magic"] >= _HAS_PRODUCERS and count == last - first + 1:
            given = max(last + 1 - max(first, begin), 0)
            within = max(min(last + 1, view.end) - max(first, begin), 0)
        else:
            offsets = columns_of(buffer, row, 0, LARGEST_CONTENT).offsets
            first = int(offsets[0]) if len(offsets) else last
            given = int(np.count_nonzero(offsets >= begin))
            within = int(np.count_nonzero((offsets >= begin) & (offsets < view.end)))
            view.is_compacted |= bool(batch["magic"] >= _HAS_PRODUCERS)
        if first > self._expected:
            view.holes.append((self._expected, first))
        self._given += given
        view.records += within
        if batch["is_transactional"]:
            view.has_transactions = True
            producer_id = int(batch["producer_id"])
            self._pending[producer_id] = self._pending.get(producer_id, 0) + within
        view.position = max(view.position, last + 1)
        self._expected = view.position


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

    So does a message of magic 0 or 1 whose compressed value is missing, except with zstd, which
    those formats do not allow and the consumer reports.
    """
    return bool(row["magic"] < _HAS_PRODUCERS and row["codec"] not in {NONE, ZSTD})


def _is_abort(buffer: Bytes, row: npt.NDArray[Any]) -> bool:
    records = records_in(buffer, row, LARGEST_CONTENT)
    return bool(records) and decode_control_type(records[0].key) == ABORT
