"""End transactions that no running coordinator would end, and restore ends that one has lost.

Kafka: TransactionsCommand.AbortTransactionCommand, TransactionLog.valueToBytes,
TransactionStateManager.loadTransactionsForTxnTopicPartition (4.2)
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.repair.repair import APPEND, BROKER, MARKER, Repair
from workbench.coordinator.transactions.marker_data import (
    MarkerData,
    decided_states,
    marker_data,
)
from workbench.coordinator.transactions.states import MARKERS, TransactionState, TransactionVersion
from workbench.coordinator.transactions.stored_transactions import (
    HANGS,
    OpenProducer,
    StoredTransactions,
)
from workbench.coordinator.transactions.transaction_log import (
    key_to_bytes,
    value_to_bytes,
)
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.files.names import TopicPartition
from workbench.inspection.partition import DiskPartition
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.control import encode_control_key, encode_end_transaction
from workbench.runtime.words import plural

_NO_ID: Final = -1


def end_transactions(
    coordinator: StoredTransactions, partitions: Iterable[DiskPartition]
) -> Iterator[Repair]:
    """Yield the markers and the states that end what is open.

    Nothing is said of ids whose log cannot be loaded to its end: later states of theirs are hidden.
    Walks the batch headers of the logs.

    Args:
        coordinator: the loaded transactional ids.
        partitions: the partitions whose logs are read.

    Raises:
        OSError: a file cannot be read.
    """
    logs = [each for each in partitions if each.topic != TRANSACTIONS_TOPIC]
    opened = coordinator.open_producers(logs)
    complete = {load.partition.partition for load in coordinator.loads if load.failure is None}
    known_ids = {
        name for name, state in coordinator.transactions.items() if state.log_partition in complete
    }
    hanging = [
        each
        for each in opened
        if each.verdict == HANGS
        and (each.transactional_id is None or each.transactional_id in known_ids)
    ]
    of_hanging = {(each.where, each.transaction.producer_id) for each in hanging}
    before: dict[tuple[TopicPartition, int], MarkerData] = {}  # the last one, where one hangs
    lost: dict[str, list[MarkerData]] = {}  # the newest of each partition
    for marker in marker_data(coordinator, logs):
        known = marker.where, marker.producer_id
        if known in of_hanging:
            before[known] = marker
        name = marker.transactional_id
        if (
            name in known_ids
            and marker.producer_epoch > coordinator.transactions[name].producer_epoch
        ):
            others = lost.setdefault(name, [])
            others[:] = [each for each in others if each.where != marker.where] + [marker]
    ended: set[tuple[str | None, TopicPartition]] = set()
    for name, markers in sorted(lost.items()):
        state = coordinator.transactions[name]
        waiting = [each for each in opened if each.transactional_id == name]
        ended |= {(name, each.where) for each in waiting}
        yield _lost_decision(state, markers, waiting)
    decided = _last_decided(coordinator, of_hanging) if hanging else {}
    for each in hanging:
        if (each.transactional_id, each.where) not in ended:
            known = (each.where, each.transaction.producer_id)
            marker_before = before.get(known)
            decision = _decision(each, marker_before, decided.get(known))
            yield _marker(each, marker_before, decision)
    for state in coordinator.transactions.values():
        name = state.transactional_id
        if state.phase == "prepared" and name in known_ids and name not in lost:
            yield from _by_the_broker(state)


def _last_decided(
    coordinator: StoredTransactions, hanging: Collection[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], TransactionMetadata]:
    """Return partition and producer id → its last decided end, of transactions that hang.

    The ends are without their partitions, which may be many.
    """
    places: dict[int, set[TopicPartition]] = {}
    for where, producer in hanging:
        places.setdefault(producer, set()).add(where)
    found = {}
    for state in decided_states(coordinator):
        listed = state.partitions.intersection(places.get(state.producer_id, ()))
        kept = replace(state, partitions=frozenset())
        found.update(dict.fromkeys(((where, state.producer_id) for where in listed), kept))
    return found


def _decision(
    each: OpenProducer, before: MarkerData | None, found: TransactionMetadata | None
) -> TransactionMetadata | None:
    """Return the decided end whose marker the partition has lost; None: there is none.

    Args:
        each: a transaction that hangs.
        before: the producer's last marker in the partition.
        found: the last decided end that lists the partition, of the same producer.
    """
    if found is None or found.producer_epoch < each.transaction.producer_epoch:
        return None
    if before is None:
        return found
    if found.client_transaction_version >= TransactionVersion.TV_2:  # each has its own epoch
        return found if before.producer_epoch < found.producer_epoch else None
    return found if before.timestamp < found.last_update_timestamp else None


def _marker(
    each: OpenProducer, before: MarkerData | None, decision: TransactionMetadata | None
) -> Repair:
    """Return the marker that was decided, otherwise what `kafka-transactions.sh abort` writes."""
    transaction = each.transaction
    what, epoch = "ABORT", transaction.producer_epoch
    offsets = f"its records from offset {transaction.first_offset} to {transaction.last_offset}"
    if decision is None:
        reason = f"{each.reason}: {offsets} are dropped"
    else:
        what, epoch = MARKERS[decision.state], decision.producer_epoch
        reason = (
            f"{decision.transactional_id!r} decided {decision.state} at offset "
            f"{decision.record_offset} of {TRANSACTIONS_TOPIC}-{decision.log_partition}, and the "
            f"partition has lost the marker: {offsets} are "
            f"{'kept' if what == 'COMMIT' else 'dropped'}"
        )
    known = None if before is None else before.coordinator_epoch
    coordinator_epoch = 0 if known is None else known
    return Repair(
        where=each.where,
        action=MARKER,
        finding="hanging-transaction",
        subject=each.transactional_id or f"producer {transaction.producer_id}",
        what=what,
        offset=transaction.first_offset,
        key=encode_control_key(COMMIT if what == "COMMIT" else ABORT),
        value=encode_end_transaction(coordinator_epoch),
        producer_id=transaction.producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        reason=f"{reason}, and the last stable offset can advance from {each.last_stable_offset}",
    )


def _by_the_broker(state: TransactionMetadata) -> Iterator[Repair]:
    """Yield the markers that the coordinator writes when it loads a prepared transaction."""
    what = MARKERS[state.state]
    for where in sorted(state.partitions):
        yield Repair(
            where=where,
            action=MARKER,
            by=BROKER,
            finding="prepared-transaction",
            subject=state.transactional_id,
            what=what,
            key=encode_control_key(COMMIT if what == "COMMIT" else ABORT),
            producer_id=state.producer_id,
            producer_epoch=state.producer_epoch,
            reason=f"the state is {state.state}: the coordinator that loads it writes the marker "
            "to every partition that it lists, then the Complete state",
        )


def _lost_decision(
    state: TransactionMetadata, markers: list[MarkerData], opened: list[OpenProducer]
) -> Repair:
    """Return the state that the markers prove: prepared where data waits, otherwise complete."""
    newest = max(markers, key=lambda each: (each.producer_epoch, each.timestamp))
    waiting = frozenset(each.where for each in opened)
    prepared = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
    complete = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
    follows = (prepared if waiting else complete)[0 if newest.is_commit else 1]
    is_new = state.version >= TransactionVersion.TV_1.value_version
    client = state.client_transaction_version
    time = max(newest.timestamp, state.last_update_timestamp)
    transit = TxnTransitMetadata(
        state.producer_id,
        _NO_ID,
        _NO_ID,
        newest.producer_epoch,
        _NO_ID,
        state.timeout_ms,
        follows,
        waiting,
        state.start_timestamp,
        time,
        client,
    )
    shown = f"the {newest.name} marker at offset {newest.offset} of {newest.where}"
    reason = (
        f"{shown} has epoch {newest.producer_epoch}, and the state is {state.state} with epoch "
        f"{state.producer_epoch}: "
    )
    if waiting:
        reason += (
            f"the coordinator that loads this state ends the transaction in the other "
            f"{plural(len(waiting), 'partition')} in the same way"
        )
    else:
        reason += "the transaction has ended in every partition of these directories"
    version = max(client, TransactionVersion.TV_1 if is_new else TransactionVersion.TV_0)
    return Repair(
        where=TopicPartition(TRANSACTIONS_TOPIC, state.log_partition),
        action=APPEND,
        finding="unprepared-marker",
        subject=state.transactional_id,
        what=f"TransactionLog {follows}",
        offset=state.record_offset,
        key=key_to_bytes(state.transactional_id),
        value=value_to_bytes(transit, version),
        timestamp=time,
        producer_id=state.producer_id,
        producer_epoch=newest.producer_epoch,
        reason=reason,
    )
