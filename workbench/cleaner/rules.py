"""Decide on batches and records: the rules of compaction.

Kafka: Cleaner.cleanInto (its RecordFilter), Cleaner.shouldRetainRecord (4.2)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.decisions import BatchesDecided, Keeping, Reason, Verdict
from workbench.cleaner.transactions import CleanedTransactions, TransactionBatch
from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.layout.compaction import (
    BATCH_OUTCOME,
    BEYOND,
    FACTS,
    HAS_HORIZONS,
    HAS_OTHERS,
    HAS_PRODUCERS,
    NO_KEY,
    SUPERSEDED,
    TOMBSTONE,
)
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.compaction.locating import SurveyedBatches

Mask = npt.NDArray[np.bool_]

ABSENT: Final = -1  # value of a column: no producer, no delete horizon


class LastRecord(NamedTuple):
    """The last known record and epoch of a producer.

    Attributes:
        last_data_offset: offset of its last data record; None if it has only markers.
        producer_epoch: None before the first batch.

    Kafka: LastRecord (4.2)
    """

    last_data_offset: int | None
    producer_epoch: int | None


@dataclass(slots=True)
class RoundRules:
    """What a round's decisions depend on.

    Attributes:
        transactions: the transactions at the cleaner's position.
        last_records: last record of each known producer, by id.
        upper_bound: end of the round, exclusive.
        now: ms.
        delete_retention_ms: time from now to a new delete horizon, ms.
        is_file_new: whether this segment's file is so new that it keeps tombstones without delete
            horizon, and markers of versions that set none.
        broker: the rules of the version of Kafka that is assumed.
    """

    transactions: CleanedTransactions
    last_records: Mapping[int, LastRecord]
    upper_bound: int
    now: int
    delete_retention_ms: int
    is_file_new: bool = True
    broker: BrokerRules = MODELED_RULES

    @property
    def new_horizon(self) -> int:
        """Delete horizon of batches that get one now, ms; -1: none gets one."""
        return self.now + self.delete_retention_ms if self.broker.has_delete_horizons else ABSENT


def decide_about_batches(
    rules: RoundRules, chunk: SurveyedBatches, followed: Iterable[TransactionBatch]
) -> BatchesDecided:
    """Decide on batches before their records are read.

    Args:
        rules: the round's rules.
        chunk: the next chunk of the log.
        followed: its control and transactional batches.

    Kafka: MemoryRecords.RecordFilter.checkBatchRetention as in Cleaner.cleanInto (4.2)
    """
    rows = chunk.rows
    outcomes = np.zeros(len(rows), BATCH_OUTCOME)
    outcomes["rule"] = _rules_of_data(rules, chunk)
    if rules.broker.keeps_last_of_round and chunk.last_offset + 1 >= rules.upper_bound:
        is_last = rows["last_offset"] + 1 == rules.upper_bound
        outcomes["keeping"][is_last] = Keeping.LAST_OF_ROUND
    if chunk.found & HAS_PRODUCERS and rules.last_records:
        for index in np.flatnonzero(rows["producer_id"] != ABSENT).tolist():
            if _is_last_of_producer(rules, rows[index]):
                outcomes["keeping"][index] = Keeping.LAST_OF_PRODUCER
    wanted = None
    for index, control_type, is_discardable in followed:
        discards = is_discardable
        if rows["is_control"][index]:
            reason = _reason_of_control(
                rules, rows[index], control_type, is_discardable=is_discardable
            )
            discards = reason in {Reason.MARKER_HORIZON_PASSED, Reason.MARKER_IN_OLD_FILE}
            outcomes["sets_horizon"][index] = is_discardable
            outcomes["rule"][index] = reason
        elif is_discardable:
            outcomes["rule"][index] = Reason.ABORTED
        if discards and outcomes["keeping"][index] == Keeping.NOTHING:
            wanted = np.ones(len(rows), np.bool_) if wanted is None else wanted
            wanted[index] = False
            outcomes["verdict"][index] = Verdict.REMOVED
            outcomes["delete_horizon"][index] = outcomes["max_offset"][index] = ABSENT
    return BatchesDecided(outcomes, wanted, rules.new_horizon)


def _is_last_of_producer(rules: RoundRules, row: Any) -> bool:
    last = rules.last_records.get(int(row["producer_id"]))
    if last is None:
        return False
    if last.last_data_offset is not None:
        return bool(row["last_offset"] == last.last_data_offset)
    return bool(row["is_control"]) and int(row["producer_epoch"]) == last.producer_epoch


def _reason_of_control(
    rules: RoundRules, row: Any, control_type: int | None, *, is_discardable: bool
) -> Reason:
    """Return why a control batch is kept or dropped."""
    horizon = int(row["delete_horizon"])
    if not is_discardable:
        ends_transaction = control_type in (ABORT, COMMIT)
        return Reason.MARKER_NEEDED if ends_transaction else Reason.CONTROL
    if not rules.broker.has_delete_horizons:
        return Reason.MARKER_IN_NEW_FILE if rules.is_file_new else Reason.MARKER_IN_OLD_FILE
    if horizon == ABSENT:
        return Reason.MARKER_HORIZON_SET
    has_passed = horizon <= rules.now
    return Reason.MARKER_HORIZON_PASSED if has_passed else Reason.MARKER_HORIZON_AHEAD


def _rules_of_data(rules: RoundRules, chunk: SurveyedBatches) -> npt.NDArray[np.uint8] | Reason:
    """Return for each batch why tombstones that are newest of their keys are kept or dropped.

    One reason is that of all batches.
    """
    if not rules.broker.has_delete_horizons:
        return _rule_by_file(rules)
    if not chunk.found & (HAS_OTHERS | HAS_HORIZONS):
        return Reason.TOMBSTONE_HORIZON_SET
    rows = chunk.rows
    horizons = rows["delete_horizon"]
    found = np.where(
        horizons == ABSENT,
        np.uint8(Reason.TOMBSTONE_HORIZON_SET),
        np.where(
            rules.now < horizons,
            np.uint8(Reason.TOMBSTONE_HORIZON_AHEAD),
            np.uint8(Reason.TOMBSTONE_HORIZON_PASSED),
        ),
    )
    is_old = rows["magic"] < 2
    if is_old.any():
        found[is_old] = _rule_by_file(rules)
    return found


def _rule_by_file(rules: RoundRules) -> Reason:
    """Return why tombstones go by the time of the file: before KIP-534, and of magic 0 and 1."""
    return Reason.TOMBSTONE_IN_NEW_FILE if rules.is_file_new else Reason.TOMBSTONE_IN_OLD_FILE


def _reason_table() -> npt.NDArray[np.uint8]:
    """Return uint8[k, FACTS]: why a record is kept or dropped, by its batch's rule and its facts.

    The rule is a `Reason`: for control batches that of every record, for data that of a tombstone
    that is the newest of its key.

    Kafka: Cleaner.shouldRetainRecord (4.2)
    """
    table = np.repeat(np.arange(max(Reason) + 1, dtype=np.uint8)[:, None], FACTS, axis=1)
    facts = np.arange(FACTS)
    for rule in _DATA:
        # The last choice that fits applies.
        table[rule, facts & TOMBSTONE == 0] = Reason.NEWEST
        table[rule, facts & SUPERSEDED != 0] = Reason.SUPERSEDED
        table[rule, facts & NO_KEY != 0] = Reason.NO_KEY
        table[rule, facts & BEYOND != 0] = Reason.BEYOND_MAP
    return table


_DATA: Final = (
    Reason.TOMBSTONE_HORIZON_SET,
    Reason.TOMBSTONE_HORIZON_AHEAD,
    Reason.TOMBSTONE_HORIZON_PASSED,
    Reason.TOMBSTONE_IN_NEW_FILE,
    Reason.TOMBSTONE_IN_OLD_FILE,
)
REASONS: Final = _reason_table()
