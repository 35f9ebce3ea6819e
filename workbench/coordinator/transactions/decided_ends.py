"""Find ends of transactions that only the coordinator, or only a partition, knows.

A Prepare record of the coordinator decides an end; then each partition gets a transaction marker. A
crash between them leaves a decision without markers, which the next coordinator writes. The reverse
is a loss: `__transaction_state` has lost the decision that a marker proves. It shows only where the
decision bumped the producer epoch: in transaction version 2 always, in earlier versions if the
producer was fenced or the transaction timed out.

Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition (4.2)
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.transactions.stored_transactions import (
    WAITS,
    OpenProducer,
    StoredTransactions,
)
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
)
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transaction_markers import is_marker
from workbench.runtime.words import first_few


def prepared_without_markers(
    coordinator: StoredTransactions, opened: Iterable[OpenProducer]
) -> list[Finding]:
    """Return a finding for each decided end that partitions with open data have no marker of.

    Args:
        coordinator: the loaded transactional ids.
        opened: the open transactions.
    """
    waiting: dict[str, list[OpenProducer]] = {}
    for each in opened:
        state = coordinator.transactions.get(each.transactional_id or "")
        if state is not None and state.phase == "prepared" and each.verdict == WAITS:
            waiting.setdefault(state.transactional_id, []).append(each)
    paths = {load.partition.partition: load.partition.path for load in coordinator.loads}
    return [
        _prepared(coordinator.transactions[name], found, paths)
        for name, found in sorted(waiting.items())
    ]


def _prepared(
    state: TransactionMetadata, found: list[OpenProducer], paths: dict[int, str]
) -> Finding:
    names = sorted(str(each.where) for each in found)
    return Finding(
        "prepared-transaction",
        "warning",
        paths[state.log_partition],
        None,
        state.record_offset,
        f"{state.transactional_id!r} is {state.state}, without a transaction marker in "
        f"{first_few(names)}",
        "a transaction marker in each partition, then a Complete state",
        "The coordinator that loads the partition writes the missing markers and completes the "
        "transaction.",
    )


def markers_without_decision(
    coordinator: StoredTransactions, partitions: Iterable[DiskPartition]
) -> list[Finding]:
    """Return a finding for each partition and producer with a marker without a decision.

    Walks the batch headers of the logs.

    Args:
        coordinator: the loaded transactional ids.
        partitions: the partitions whose logs are read.
    """
    complete = {load.partition.partition for load in coordinator.loads if load.failure is None}
    owners = {
        state.producer_id: state
        for state in coordinator.transactions.values()
        if state.log_partition in complete
    }
    if not owners:
        return []
    producers = np.array(sorted(owners), np.int64)
    epochs = np.array([owners[each].producer_epoch for each in producers.tolist()], np.int64)
    found = []
    for each in partitions:
        if each.topic == TRANSACTIONS_TOPIC:
            continue
        last: dict[int, tuple[Any, str]] = {}
        for segment in each.segments:
            for table in segment.batch_parts():
                markers = table.rows[is_marker(table.rows)]
                at = np.searchsorted(producers, markers["producer_id"]).clip(max=len(producers) - 1)
                is_known = producers[at] == markers["producer_id"]
                for row in markers[is_known & (markers["producer_epoch"] > epochs[at])]:
                    last[int(row["producer_id"])] = row.copy(), segment.path
        found += [_undecided(owners[producer], *last[producer]) for producer in sorted(last)]
    return found


def _undecided(state: TransactionMetadata, row: Any, path: str) -> Finding:
    return Finding(
        "unprepared-marker",
        "error",
        path,
        int(row["position"]),
        int(row["base_offset"]),
        f"a transaction marker of producer {state.producer_id} with epoch "
        f"{int(row['producer_epoch'])}, but {state.transactional_id!r} is {state.state} with epoch "
        f"{state.producer_epoch}",
        "a Prepare record with that epoch in __transaction_state",
        "The coordinator does not know that the transaction ended: it may end it in the other "
        "partitions in the opposite way, and its markers and producers are refused here, because "
        "their epoch is older.",
    )
