"""Decide about batches and records: the rules of compaction.

Kafka: Cleaner.cleanInto (its RecordFilter), Cleaner.shouldRetainRecord (4.2)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.chunks import Chunk, present_values
from workbench.cleaner.decisions import Keeping, Reason, RecordDecisions
from workbench.cleaner.offset_map import NOT_FOUND, OffsetMap
from workbench.cleaner.transactions import CleanedTransactions
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.columns import RecordColumns

NONE: Final = -1  # of a column: no producer, no delete horizon


class LastRecord(NamedTuple):
    """The last that is known of a producer.

    Attributes:
        last_data_offset: None if it has markers only.
        producer_epoch: None before the first batch.

    Kafka: LastRecord (4.2)
    """

    last_data_offset: int | None
    producer_epoch: int | None


@dataclass(slots=True)
class Rules:
    """What a round decides by.

    Attributes:
        offset_map: newest offsets by key.
        transactions: where the cleaner is among transactions.
        last_records: of the producers that are known, by id.
        upper_bound: where the round ends, exclusive.
        now: ms.
        retains_old_tombstones: whether tombstones of magic 0 and 1 stay in this segment.
    """

    offset_map: OffsetMap
    transactions: CleanedTransactions
    last_records: Mapping[int, LastRecord]
    upper_bound: int
    now: int
    retains_old_tombstones: bool = True


class BatchRetention(NamedTuple):
    """What is decided about a batch before its records are looked at.

    Attributes:
        keeping: whether it stays without records, and why.
        discards_records: whether all of its records go.
        is_marker_of_nothing: whether it ends a transaction of which nothing is left.
        control_type: of a control batch with records.

    Kafka: MemoryRecords.RecordFilter.BatchRetentionResult (4.2)
    """

    keeping: Keeping
    discards_records: bool
    is_marker_of_nothing: bool
    control_type: int | None

    @property
    def is_removed_unread(self) -> bool:
        """Whether the batch goes without a look at its records."""
        return self.discards_records and self.keeping == Keeping.NOTHING


def retention_of_batch(rules: Rules, chunk: Chunk, index: int) -> BatchRetention:
    """Decide about a batch; called once for each, in the order of the log.

    Raises:
        CorruptRecordError: a control record cannot be read.

    Kafka: MemoryRecords.RecordFilter.checkBatchRetention as in Cleaner.cleanInto (4.2)
    """
    row = chunk.rows[index]
    last_offset, producer_id = int(row["last_offset"]), int(row["producer_id"])
    control_type = None
    is_control = bool(row["is_control"])
    if is_control:
        control_type = chunk.control_type(index)
        can_go = rules.transactions.on_control_batch(last_offset, producer_id, control_type)
        horizon = int(row["delete_horizon"])
        discards = can_go and horizon != NONE and horizon <= rules.now
    else:
        can_go = discards = rules.transactions.on_batch(
            last_offset, producer_id, is_transactional=bool(row["is_transactional"])
        )
    if _is_last_of_producer(rules, row):
        keeping = Keeping.LAST_OF_PRODUCER
    elif last_offset + 1 == rules.upper_bound:
        keeping = Keeping.LAST_OF_ROUND
    else:
        keeping = Keeping.NOTHING
    return BatchRetention(keeping, discards, can_go and is_control, control_type)


def _is_last_of_producer(rules: Rules, row: Any) -> bool:
    if row["producer_id"] == NONE:
        return False
    last = rules.last_records.get(int(row["producer_id"]))
    if last is None:
        return False
    if last.last_data_offset is not None:
        return bool(row["last_offset"] == last.last_data_offset)
    return bool(row["is_control"]) and int(row["producer_epoch"]) == last.producer_epoch


def decide_records(
    rules: Rules, row: Any, retention: BatchRetention, columns: RecordColumns
) -> RecordDecisions:
    """Decide about the records of one batch.

    Args:
        rules: of the round.
        row: of BATCH_ROW.
        retention: what was decided about the batch.
        columns: its records, with keys and values unless all of them have one fate.

    Kafka: Cleaner.shouldRetainRecord (4.2)
    """
    newer = np.full(len(columns), NOT_FOUND, np.int64)
    if row["is_control"]:
        reasons = _all(columns, _reason_of_control(retention, row))
    elif retention.discards_records:
        reasons = _all(columns, Reason.ABORTED)
    else:
        reasons, newer = _decide_data(rules, row, columns)
    return RecordDecisions(columns.offsets, reasons, newer)


def _all(columns: RecordColumns, reason: Reason) -> npt.NDArray[np.uint8]:
    return np.full(len(columns), reason, np.uint8)


def _reason_of_control(retention: BatchRetention, row: Any) -> Reason:
    if retention.discards_records:
        return Reason.MARKER_HORIZON_PASSED
    if retention.is_marker_of_nothing:
        has_horizon = row["delete_horizon"] != NONE
        return Reason.MARKER_HORIZON_AHEAD if has_horizon else Reason.MARKER_HORIZON_SET
    ends_transaction = retention.control_type in (ABORT, COMMIT)
    return Reason.MARKER_NEEDED if ends_transaction else Reason.CONTROL


def _decide_data(
    rules: Rules, row: Any, columns: RecordColumns
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    assert columns.keys is not None
    assert columns.values is not None
    offsets = columns.offsets
    newer = np.full(len(columns), NOT_FOUND, np.int64)
    is_mapped = offsets <= rules.offset_map.latest_offset
    has_key = ~columns.keys.is_null()
    asked = np.flatnonzero(is_mapped & has_key)
    newest = rules.offset_map.lookup(present_values(columns.keys, asked))
    is_old = newest > offsets[asked]
    newer[asked[is_old]] = newest[is_old]
    # The last choice that fits counts.
    reasons = _all(columns, Reason.NEWEST)
    reasons[columns.values.is_null()] = _reason_of_tombstone(rules, row)
    reasons[newer != NOT_FOUND] = Reason.SUPERSEDED
    reasons[~has_key] = Reason.NO_KEY
    reasons[~is_mapped] = Reason.BEYOND_MAP
    return reasons, newer


def _reason_of_tombstone(rules: Rules, row: Any) -> Reason:
    """Return why a tombstone that is the newest of its key stays or goes."""
    if row["magic"] < 2:
        if rules.retains_old_tombstones:
            return Reason.TOMBSTONE_OF_OLD_FORMAT
        return Reason.TOMBSTONE_OF_OLD_FORMAT_EXPIRED
    horizon = int(row["delete_horizon"])
    if horizon == NONE:
        return Reason.TOMBSTONE_HORIZON_SET
    if rules.now < horizon:
        return Reason.TOMBSTONE_HORIZON_AHEAD
    return Reason.TOMBSTONE_HORIZON_PASSED
