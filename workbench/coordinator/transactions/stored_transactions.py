"""All transactional ids of log directories, and the transactions that are open in their logs.

A transaction hangs if its coordinator does not know it: no transaction marker will ever end it.
Then the last stable offset of its partition does not advance, for consumers and for compaction.

Kafka: TransactionCoordinator, TransactionStateManager; TransactionsCommand find-hanging (4.2)
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.offsets.positions import LogPositions
from workbench.coordinator.runtime.partitioning import partition_count, partition_for
from workbench.coordinator.transactions.transaction_load import (
    TransactionLoad,
    load_transaction_partition,
)
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
)
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import (
    OpenTransaction,
    open_transactions,
    read_transactions,
)
from workbench.inspection.verify import shutdown_state
from workbench.runtime.steps import Observer
from workbench.runtime.words import plural

WAITS: Final = "waits"
HANGS: Final = "hangs"


@dataclass(frozen=True, slots=True)
class OpenProducer:
    """A producer whose transaction is open in a partition.

    Attributes:
        where: the partition.
        transaction: the open transaction in its log.
        transactional_id: the transactional id of this producer; None: unknown.
        state: the state of that transactional id.
        verdict: "waits" for a transaction marker that will come, or "hangs"; None: unknown.
        reason: the reason for the verdict, or why there is none.
        last_stable_offset: the partition's last stable offset.
        blocked: offsets from the last stable to the log end offset, if this transaction is the
            oldest; otherwise 0.
    """

    where: TopicPartition
    transaction: OpenTransaction
    transactional_id: str | None
    state: str | None
    verdict: str | None
    reason: str
    last_stable_offset: int
    blocked: int

    @property
    def key(self) -> tuple[TopicPartition, int, int]:
        """Which transaction it is: its partition, producer and first offset."""
        return self.where, self.transaction.producer_id, self.transaction.first_offset


class StoredTransactions:
    """Load the transactional ids of a listing.

    Args:
        listing: the directories.
        observer: receives a `Step` for each record, of `steps.LOAD_KINDS`.

    Raises:
        OSError: a file cannot be read.
    """

    def __init__(self, listing: Listing, *, observer: Observer | None = None) -> None:
        self.logs = LogPositions(listing)
        self._listing = listing
        self.loads = [
            load_transaction_partition(partition, observer=observer)
            for partition in self.logs.topics(TRANSACTIONS_TOPIC)
        ]

    @cached_property
    def transactions(self) -> dict[str, TransactionMetadata]:
        """Every transactional id, sorted; one in two partitions as in the right one."""
        found: dict[str, TransactionMetadata] = {}
        for load in self.loads:
            for name, state in load.transactions.items():
                if name not in found or self._is_in_place(name, load):
                    found[name] = state
        return dict(sorted(found.items()))

    @cached_property
    def partition_count(self) -> int | None:
        """Partitions of `__transaction_state`; None if unknown."""
        cluster = self.logs.cluster
        stored = None if cluster is None else cluster.partition_counts.get(TRANSACTIONS_TOPIC)
        names = {load.partition.partition: load.transactions.keys() for load in self.loads}
        return partition_count(names, names, stored)

    def _is_in_place(self, name: str, load: TransactionLoad) -> bool:
        count = self.partition_count
        return count is None or partition_for(name, count) == load.partition.partition

    @property
    def is_complete(self) -> bool:
        """Whether every partition of the topic is in the directories and was read to its end."""
        read = {load.partition.partition for load in self.loads if load.failure is None}
        return self.partition_count is not None and len(read) == self.partition_count

    def open_producers(
        self, partitions: Iterable[DiskPartition] | None = None, *, confirm: bool = True
    ) -> list[OpenProducer]:
        """Return the transactions that are open in logs, by partition and first offset.

        Walks the batch headers of the logs.

        Args:
            partitions: the partitions whose logs are read; None: all that are in use.
            confirm: of a directory that a broker runs on, say that a transaction hangs only if it
                does so for some looks: it may have begun or ended after its id was read.
        """
        found = self._open_producers(partitions)
        if not confirm or not any(map(shutdown_state.is_running, self._listing.roots)):
            return found
        for wait in shutdown_state.WAITS:
            doubted = {each.where for each in found if each.verdict == HANGS}
            if not doubted:
                break
            time.sleep(wait)
            listing = self._listing.listed_again()
            logs = [
                each
                for each in listing.partitions.values()
                if each.kind == "log" and (each.topic, each.partition) in doubted
            ]
            again = StoredTransactions(listing).open_producers(logs, confirm=False)
            now = {each.key: each for each in again}
            found = [
                now.get(each.key, each)
                for each in found
                if each.verdict != HANGS or each.key in now
            ]
        return found

    def _open_producers(self, partitions: Iterable[DiskPartition] | None) -> list[OpenProducer]:
        chosen = partitions
        if chosen is None:
            chosen = [p for p in self._listing.partitions.values() if p.kind == "log"]
        found = []
        for each in chosen:
            if each.topic == TRANSACTIONS_TOPIC:
                continue
            transactions = read_transactions(each)
            where = TopicPartition(each.topic, each.partition)
            for opened in open_transactions(each.segments, transactions):
                stable = transactions.last_stable_offset
                is_oldest = opened.first_offset == stable
                blocked = each.log_end_offset - stable if is_oldest else 0
                found.append(self._judged(where, opened, stable, blocked))
        return found

    def waiting_producers(self) -> list[OpenProducer]:
        """Return the open transactions that an id waits for; reads only logs that ids list."""
        listed = {
            where
            for state in self.transactions.values()
            for where in state.partitions
            if state.waits_for(where)
        }
        chosen = [
            p
            for p in self._listing.partitions.values()
            if p.kind == "log" and TopicPartition(p.topic, p.partition) in listed
        ]
        return [each for each in self.open_producers(chosen) if each.verdict == WAITS]

    def _judged(
        self, where: TopicPartition, each: OpenTransaction, stable: int, blocked: int
    ) -> OpenProducer:
        owner = self._owners.get(each.producer_id)
        state = None if owner is None else owner.state
        name = None if owner is None else owner.transactional_id
        if owner is not None and owner.waits_for(where):
            verdict, reason = WAITS, f"{name!r} is {state} and lists the partition"
        elif owner is not None:
            verdict, reason = HANGS, f"{name!r} is {state} and does not list the partition"
        elif self.is_complete:
            verdict, reason = HANGS, f"producer {each.producer_id} has no transactional id"
        else:
            verdict = None
            reason = "not every partition of __transaction_state is in these directories"
        return OpenProducer(where, each, name, state, verdict, reason, stable, blocked)

    @cached_property
    def _owners(self) -> dict[int, TransactionMetadata]:
        return {state.producer_id: state for state in self.transactions.values()}

    def findings(self) -> list[Finding]:
        """Return what could not be read, and transactional ids in a wrong partition."""
        found = [finding for load in self.loads for finding in load.findings]
        count = self.partition_count
        for load in self.loads if count is not None else ():
            for name, state in sorted(load.transactions.items()):
                if not self._is_in_place(name, load):
                    right = partition_for(name, count or 1)
                    partitions = plural(count or 1, "partition")
                    found.append(
                        Finding(
                            "transaction-partition",
                            "warning",
                            load.partition.path,
                            None,
                            state.record_offset,
                            f"transactional id {name!r} is in this partition",
                            f"{TRANSACTIONS_TOPIC}-{right}: the topic has {partitions}",
                            "A broker looks for the transactional id in the other partition and "
                            "gives it a new producer id there; a transaction it left open hangs.",
                        )
                    )
        return found
