"""Rebuild a segment's indexes from its batches, and truncate it after the last valid one.

Kafka: LogSegment.recover (4.2)
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError, OffsetOverflowError
from workbench.files.indexes.time_index import TimestampOffset
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.producers.batches import TransactionMarker, producer_batches
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.due_entries import due_entries
from workbench.log.segments.segment import LogSegment, all_fit
from workbench.record.reading.recovery import WholeBatches, whole_batches
from workbench.runtime.steps import wants_details

Rows = npt.NDArray[Any]

_FIRST_WITH_EPOCHS: Final = 2  # magic


def recover_segment(
    segment: LogSegment, producer_state: ProducerStateManager, leader_epochs: LeaderEpochCache
) -> int:
    """Read all batches, rebuild every index, and truncate after the last valid batch.

    Only sizes, CRCs and transaction markers are checked. Uses a few MiB for a segment of any
    size.

    Args:
        segment: the segment to recover.
        producer_state: the state at the segment's base offset; moves to its end.
        leader_epochs: the log's cache; gets the epochs that begin in the segment.

    Returns:
        Bytes truncated.

    Raises:
        OffsetOverflowError: an offset is too far from the base offset: the segment must be split.
        InvalidOffsetError: offsets do not ascend, so no index can be built.
        OSError: reading or writing failed.

    Kafka: LogSegment.recover (4.2)
    """
    recovery = _Recovery(segment, producer_state, leader_epochs)
    segment.reset_indexes()
    limits_size = segment.context.rules.recovery_limits_size
    largest = segment.context.config.max_message_bytes if limits_size else None
    for batches in whole_batches(segment.log.file, segment.size, largest):
        problem = recovery.take(batches) or batches.problem
        if problem:
            recovery.tell_stop(problem)
            break
    return segment.finish_recovery(recovery.valid_size, recovery.largest)


class _Recovery:
    """What is known about a segment from the batches read so far.

    Attributes:
        valid_size: bytes up to the end of the last valid batch.
        largest: largest timestamp, and the last offset of the first batch that has it.
    """

    def __init__(
        self,
        segment: LogSegment,
        producer_state: ProducerStateManager,
        leader_epochs: LeaderEpochCache,
    ) -> None:
        self.valid_size = 0
        self.largest = TimestampOffset(-1, segment.base_offset)
        self._segment = segment
        self._producers = producer_state
        self._epochs = leader_epochs
        self._last_entry = 0  # position of the batch with the last index entry

    def take(self, batches: WholeBatches) -> str:
        """Process batches; return the problem of a transaction marker among them, or ""."""
        rows = batches.rows
        outside = np.flatnonzero(~all_fit(rows["last_offset"], self._segment.base_offset))
        within = rows[: int(outside[0])] if len(outside) else rows
        count, problem = self._update_producers(batches, within)
        self._append_entries(within[:count])
        self._assign_epochs(within[:count])
        if count:
            last = within[count - 1]
            self.valid_size = int(last["position"] + last["size"])
        if not problem and len(outside):
            offset = int(rows[int(outside[0])]["last_offset"])
            raise OffsetOverflowError(offset, self._segment.base_offset, self._segment.log.path)
        return problem

    def _append_entries(self, rows: Rows) -> None:
        """Append the index entries that are due, as single appends would."""
        if not len(rows):
            return
        segment = self._segment
        due = due_entries(rows, self._last_entry, segment.index_interval_bytes, self.largest)
        segment.append_entries(due)
        if wants_details(segment.context.observer):
            self._tell_batches(rows, set(due.chosen.tolist()))
        self._last_entry, self.largest = due.last_entry, due.largest

    def _tell_batches(self, rows: Rows, chosen: set[int]) -> None:
        """Report each valid batch to the observer, and why it got an index entry or did not."""
        segment, last_entry = self._segment, self._last_entry
        for slot, row in enumerate(rows):
            position, offset = int(row["position"]), int(row["last_offset"])
            segment.context.tell(
                "batch validated",
                segment.log.path,
                "the batch has a valid size and CRC",
                position=position,
                size=int(row["size"]),
                last_offset=offset,
            )
            segment.tell_entry(offset, position, position - last_entry, slot in chosen)
            if slot in chosen:
                last_entry = position

    def _assign_epochs(self, rows: Rows) -> None:
        latest = self._epochs.latest_epoch
        known = -1 if latest is None else latest
        epochs = np.where(rows["magic"] >= _FIRST_WITH_EPOCHS, rows["partition_leader_epoch"], -1)
        for row in np.flatnonzero(epochs > known).tolist():
            epoch = int(epochs[row])
            if epoch > known:
                self._epochs.assign(epoch, int(rows["base_offset"][row]))
                known = epoch

    def _update_producers(self, batches: WholeBatches, rows: Rows) -> tuple[int, str]:
        """Apply the batches to the producer state; return how many belong to the log, and why."""
        producers, segment = self._producers, self._segment
        for batch in producer_batches(rows):
            marker = None
            info = producers.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
            if batch.is_control and batch.record_count > 0:
                try:
                    marker = TransactionMarker.read(batches.entry(rows[batch.row]))
                except CorruptRecordError as error:  # the batch is kept, later ones are removed
                    return batch.row + 1, str(error)
            completed = info.append(batch, marker)
            producers.update(info)
            if completed is not None:
                last_stable_offset = producers.last_stable_offset(completed)
                segment.update_transaction_index(completed, last_stable_offset)
                producers.complete_transaction(completed)
        followed = np.flatnonzero(rows["magic"] >= _FIRST_WITH_EPOCHS)  # older ones are skipped
        if len(followed):
            producers.update_map_end_offset(int(rows["last_offset"][followed[-1]]) + 1)
        return len(rows), ""

    def tell_stop(self, problem: str) -> None:
        """Report to the observer where and why the walk ended before the end of the file."""
        segment = self._segment
        segment.context.tell(
            "invalid batch found", segment.log.path, problem, position=self.valid_size
        )
