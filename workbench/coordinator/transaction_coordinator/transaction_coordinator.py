"""The transaction coordinator: it gives producer ids and epochs, and ends transactions.

Every answer is one of Kafka's errors, as a broker would send it. The order of the checks is
Kafka's, because it decides which error a producer receives.

Kafka: TransactionCoordinator (4.2)
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Lock
from typing import Final, NamedTuple, Self

from workbench.config.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from workbench.coordinator.runtime.partitioning import (
    DEFAULT_PARTITIONS,
    partition_count,
    partition_for,
)
from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.ending import EndTxn, decide_end
from workbench.coordinator.transaction_coordinator.initializing import (
    InitProducerId,
    check_init,
    prepare_init,
    require_id,
)
from workbench.coordinator.transaction_coordinator.listing import (
    EVERY_TRANSACTION,
    ListedTransactions,
    TransactionFilter,
)
from workbench.coordinator.transaction_coordinator.markers import (
    CompletesOffsets,
    MarkerWriter,
    TransactionMarkers,
)
from workbench.coordinator.transaction_coordinator.producer_ids import (
    ProducerIdManager,
    RequestBlock,
    blocks_from,
    first_block_after,
)
from workbench.coordinator.transaction_coordinator.request_checks import (
    ProducerIdAndEpoch,
    check_not_pending,
    check_producer,
    concurrent,
)
from workbench.coordinator.transaction_coordinator.state_manager import (
    EpochAndMetadata,
    TransactionStateManager,
)
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.layout.attributes import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from workbench.log_manager.manager import LogManager, require_manager
from workbench.log_manager.registry import PartitionName, partition_of
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.runtime.scheduler import Scheduler, Task
from workbench.runtime.several import several
from workbench.runtime.steps import Observer
from workbench.runtime.times import ms_text, time_text

DEFAULT_TIMEOUT_MS: Final = 60_000
"""`transaction.timeout.ms` of a producer that sets none."""


class DescribedTransaction(NamedTuple):
    """The answer to a request for one transactional id; of an error, the other fields are None.

    Attributes:
        error: the answer.
        metadata: a copy of the state.
    """

    error: ErrorCode
    metadata: TransactionMetadata | None = None


class TransactionCoordinator:
    """Serves transactional producers from the logs of a log manager. Threads may share it.

        from workbench.log_manager.manager import LogManager
        from workbench.record.memory_records import MemoryRecords

        with LogManager(["data"]) as manager, TransactionCoordinator(manager) as coordinator:
            log = manager.get_or_create_log("orders", 0)
            producer, epoch, _ = coordinator.init_producer_id("payments")
            coordinator.add_partitions_to_transaction(
                "payments", producer, epoch, [log.topic_partition]
            )
            log.append_as_leader(
                MemoryRecords.of(
                    (b"key", b"value"), timestamp=manager.clock.now(), producer_id=producer,
                    producer_epoch=epoch, base_sequence=0, is_transactional=True,
                )
            )
            coordinator.end_transaction("payments", producer, epoch, commit=True)

    A read_committed reader gets the records when the transaction markers are written, shortly after
    the answer; leaving the ``with`` statement waits for them.

    Args:
        manager: the started log manager, with the logs that producers write to.
        config: the configuration; None: what the manager's configuration says.
        clock: the time; None takes the manager's.
        scheduler: runs loads, transaction markers, timeouts and expiry; None takes the manager's.
        request_block: gives blocks of producer ids; None continues after the largest producer id in
            the logs of the manager.
        offsets: completes transactional offset commits: an `OffsetManager` of the same manager.
        creates_topic: whether a partition of `__transaction_state` without a log is created when
            an id of it is initialized, as a broker creates the topic. Otherwise such ids get
            NOT_COORDINATOR.
        observer: receives each step, of `steps.TRANSACTION_KINDS`.

    Attributes:
        states: the states of the transactional ids.
        marker_writer: writes transaction markers.
        markers: the transactions that are being ended.
        producer_ids: gives producer ids.

    Kafka: TransactionCoordinator (4.2)
    """

    def __init__(
        self,
        manager: LogManager,
        config: TransactionConfig | None = None,
        *,
        clock: Clock | None = None,
        scheduler: Scheduler | None = None,
        request_block: RequestBlock | None = None,
        offsets: CompletesOffsets | None = None,
        creates_topic: bool = True,
        observer: Observer | None = None,
    ) -> None:
        require_manager(manager, type(self).__name__)
        self._manager = manager
        self._config = TransactionConfig.of(manager.config) if config is None else config
        self._clock = clock or manager.clock
        self._scheduler = scheduler or manager.scheduler
        self._creates_topic = creates_topic
        self._creating = Lock()
        self.states = TransactionStateManager(
            manager.get_log, self._config, self._clock, self._scheduler, observer
        )
        self.marker_writer = MarkerWriter(manager.get_log, self._clock, offsets)
        self.markers = TransactionMarkers(
            self.states,
            self.marker_writer,
            self._is_unknown,
            self._scheduler,
        )
        self._request_block = request_block
        self.producer_ids = ProducerIdManager(self._first_request, self._clock)
        self._tasks: list[Task] = []
        self._is_active = False

    def __enter__(self) -> Self:
        self.startup()
        self.lead_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.markers.send_all()
        self.shutdown()

    def _first_request(self, deliver: Callable[..., None]) -> None:
        """Request a block; the first time, find out where the blocks begin."""
        if self._request_block is None:
            owned = self.states.owned.values()
            known = (each.producer_id for _, states in owned for each in states)
            self._request_block = blocks_from(first_block_after(self._manager.logs.values(), known))
        self._request_block(deliver)

    def _is_unknown(self, where: TopicPartition) -> bool:
        """Return whether a partition has no leader: no directory has it, or could have it."""
        return self._manager.get_log(where) is None and not self._manager.offline_directories

    # Start and stop

    def startup(self, *, with_tasks: bool = True) -> None:
        """Begin to answer, and schedule timeouts and the expiry of transactional ids.

        Args:
            with_tasks: False leaves the periodic tasks for the caller to run.

        Kafka: TransactionCoordinator.startup (4.2)
        """
        config = self._config
        self.states.open()
        self._manager.update_topic_config(TRANSACTIONS_TOPIC, config.topic_config)
        if with_tasks:
            self._tasks = [
                self._scheduler.schedule(name, task, interval, interval)
                for name, task, interval in (
                    (
                        "transaction-abort",
                        self.abort_timed_out_transactions,
                        config.abort_interval_ms,
                    ),
                    (
                        "transactionalId-expiration",
                        self.states.remove_expired_transactional_ids,
                        config.expiration_interval_ms,
                    ),
                )
            ]
        self._is_active = True

    def shutdown(self) -> None:
        """Stop answering; transactions that are being ended are completed after the next load.

        Kafka: TransactionCoordinator.shutdown (4.2)
        """
        self._is_active = False
        for task in self._tasks:
            task.cancel()
        self.states.clear()

    def lead_all(self) -> None:
        """Serve every partition of `__transaction_state` that has a log; wait for the loads.

        With the default of `transaction.state.log.num.partitions`, the topic has as many partitions
        as most of its transactional ids fit.
        """
        numbers = [
            where.partition for where in self._manager.logs if where.topic == TRANSACTIONS_TOPIC
        ]
        for number in sorted(numbers):
            self._elect(number, None, waits=True)
        if self._config.num_partitions == DEFAULT_PARTITIONS:
            names = {
                number: [each.transactional_id for each in states]
                for number, (_, states) in self.states.owned.items()
            }
            self.states.partitions = partition_count(names, numbers) or DEFAULT_PARTITIONS

    def on_election(self, number: int, coordinator_epoch: int | None = None) -> None:
        """Begin to serve a partition of `__transaction_state`; its log is created if missing.

        Args:
            number: the partition.
            coordinator_epoch: its leader epoch, in the transaction markers too; None: the newest in
                the log. A later coordinator with a lower one could not end a transaction.

        Raises:
            StorageError: no directory can hold the log.

        Kafka: TransactionCoordinator.onElection (4.2)
        """
        self._elect(number, coordinator_epoch, waits=False)

    def _elect(self, number: int, coordinator_epoch: int | None, *, waits: bool) -> None:
        self.markers.remove_partition(number)
        log = self._manager.get_or_create_log(TopicPartition(TRANSACTIONS_TOPIC, number))
        latest = log.leader_epochs.latest
        newest = 0 if latest is None else latest.epoch
        epoch = newest if coordinator_epoch is None else coordinator_epoch
        self.states.load(number, epoch, self._complete, waits=waits)

    def on_resignation(self, number: int, coordinator_epoch: int | None = None) -> None:
        """Stop serving a partition of `__transaction_state`.

        Args:
            number: the partition.
            coordinator_epoch: the leader epoch of the new leader; None: the partition was deleted.

        Kafka: TransactionCoordinator.onResignation (4.2)
        """
        self.states.unload(number, coordinator_epoch)
        self.markers.remove_partition(number)

    def _complete(self, found: EpochAndMetadata) -> None:
        with self.states.lock:
            complete = found.metadata.prepare_complete(self._clock.now())
        self.markers.add(found, complete)

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that holds a transactional id."""
        return self.states.partition_for(transactional_id)

    # InitProducerId

    def init_producer_id(
        self,
        transactional_id: str | None,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        expected: ProducerIdAndEpoch | None = None,
        *,
        enable_two_phase_commit: bool = False,
        keep_prepared: bool = False,
    ) -> ProducerIdAndEpoch:
        """Give a producer its id and the next epoch; a producer with an older epoch is fenced.

        A transaction that is open is aborted first: the answer is CONCURRENT_TRANSACTIONS, and the
        producer retries.

        Args:
            transactional_id: None gives any new producer id.
            timeout_ms: the timeout of the producer's transactions, ms.
            expected: what the producer has (KIP-360); None: nothing.
            enable_two_phase_commit: whether its transactions never time out.
            keep_prepared: not possible in 4.2.

        Kafka: TransactionCoordinator.handleInitProducerId (4.2)
        """
        try:
            if transactional_id is None:
                return ProducerIdAndEpoch(self.producer_ids.generate_producer_id(), 0)
            asked = InitProducerId(timeout_ms, expected, enable_two_phase_commit, keep_prepared)
            check_init(transactional_id, asked, self._config)
            found = self._get_or_create(transactional_id, asked.timeout)
            with self.states.lock:
                transit = prepare_init(
                    found.metadata, asked, self._clock.now(), self.producer_ids.generate_producer_id
                )
        except CoordinatorError as refused:
            return self._refuse(transactional_id, "InitProducerId", refused)
        self._tell_prepared(transactional_id, found.metadata, transit, "InitProducerId")
        if transit.state is TransactionState.PREPARE_EPOCH_FENCE:
            ended = self._fence(transactional_id, transit)
            if ended.error is not ErrorCode.NONE:
                return ended
            answer = ErrorCode.CONCURRENT_TRANSACTIONS.error(
                "the open transaction is being aborted"
            )
            return self._refuse(transactional_id, "InitProducerId", answer)
        error = self.states.append_transaction_to_log(
            transactional_id, found.coordinator_epoch, transit
        )
        if error is not ErrorCode.NONE:
            return self._refuse(transactional_id, "InitProducerId", error.error())
        self.states.tell_of(
            "producer id given", transactional_id,
            producer_id=transit.producer_id, producer_epoch=transit.producer_epoch,
        )  # fmt: skip
        return ProducerIdAndEpoch(transit.producer_id, transit.producer_epoch)

    def _get_or_create(self, transactional_id: str, timeout_ms: int) -> EpochAndMetadata:
        where = self.states.log_partition(transactional_id)
        if self._creates_topic and not self.states.is_owned(where.partition):
            with self._creating:  # a thread that comes later waits until it is served
                if self._is_unknown(where):
                    self._elect(where.partition, None, waits=True)
        found = self.states.get(transactional_id)
        if found is not None:
            return found
        producer_id = self.producer_ids.generate_producer_id()
        created = TransactionMetadata(transactional_id, producer_id, timeout_ms, self._clock.now())
        return self.states.put_if_not_exists(created)

    # Partitions

    def add_partitions_to_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[PartitionName],
        client_version: TransactionVersion = TransactionVersion.TV_2,
    ) -> ErrorCode:
        """Add partitions to a producer's transaction; the first ones open it.

        Kafka: TransactionCoordinator.handleAddPartitionsToTransaction (4.2)
        """
        added = frozenset(map(partition_of, several(partitions)))
        try:
            name, found = self._find(transactional_id)
            metadata = found.metadata
            with self.states.lock:
                check_not_pending(metadata)
                check_producer(metadata, producer_id, producer_epoch)
                if metadata.state.is_prepared:
                    raise concurrent(metadata)
                if metadata.state is TransactionState.ONGOING and added <= metadata.partitions:
                    reason = "the transaction has these partitions"
                    self.states.tell_of("request repeated", name, reason)
                    return ErrorCode.NONE
                transit = metadata.prepare_add_partitions(added, self._clock.now(), client_version)
        except CoordinatorError as refused:
            return self._refuse(transactional_id, "AddPartitionsToTxn", refused).error
        self._tell_prepared(name, metadata, transit, "AddPartitionsToTxn")
        return self.states.append_transaction_to_log(name, found.coordinator_epoch, transit)

    def add_offsets_to_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        group: str,
        client_version: TransactionVersion = TransactionVersion.TV_2,
        *,
        offsets_partitions: int = DEFAULT_PARTITIONS,
    ) -> ErrorCode:
        """Add the partition of `__consumer_offsets` that holds a group's offsets.

        Args:
            transactional_id: the transactional id.
            producer_id: the producer's id.
            producer_epoch: its epoch.
            group: the group id.
            client_version: what the client uses.
            offsets_partitions: the number of partitions of `__consumer_offsets`.

        Kafka: KafkaApis.handleAddOffsetsToTxnRequest (4.2)
        """
        where = TopicPartition(OFFSETS_TOPIC, partition_for(group, offsets_partitions))
        return self.add_partitions_to_transaction(
            transactional_id, producer_id, producer_epoch, [where], client_version
        )

    def verify_partitions_in_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[PartitionName],
    ) -> dict[TopicPartition, ErrorCode]:
        """Answer the leader of partitions whether they are in a producer's transaction (KIP-890).

        Kafka: TransactionCoordinator.handleVerifyPartitionsInTransaction (4.2)
        """
        asked = [partition_of(each) for each in several(partitions)]
        try:
            _, found = self._find(transactional_id)
            metadata = found.metadata
            with self.states.lock:
                check_producer(metadata, producer_id, producer_epoch)
                if metadata.state.is_prepared:
                    raise concurrent(metadata)
                known = metadata.partitions
        except CoordinatorError as refused:
            return dict.fromkeys(asked, code_of(refused))
        return {
            where: ErrorCode.NONE if where in known else ErrorCode.TRANSACTION_ABORTABLE
            for where in asked
        }

    def require_partition(
        self, transactional_id: str, producer_id: int, producer_epoch: int, where: TopicPartition
    ) -> None:
        """Let a partition's leader append a producer's first transactional batch, or refuse it.

        Raises:
            CoordinatorError: the partition is not in the transaction: see
                `verify_partitions_in_transaction`.
        """
        asked = transactional_id, producer_id, producer_epoch
        (error,) = self.verify_partitions_in_transaction(*asked, [where]).values()
        if error is not ErrorCode.NONE:
            raise error.error(f"{where} is not in the transaction of {transactional_id!r}")

    # EndTxn

    def end_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        client_version: TransactionVersion = TransactionVersion.TV_2,
    ) -> ProducerIdAndEpoch:
        """End a producer's transaction: once the decision is in the log, it is final.

        The answer precedes the transaction markers. From version 2 on it has the producer id and
        epoch of the next transaction; before that both are -1.

        Kafka: TransactionCoordinator.handleEndTransaction (4.2)
        """
        request = EndTxn(producer_id, producer_epoch, commit, client_version)
        return self._end(transactional_id, request)

    def _end(self, transactional_id: str | None, request: EndTxn) -> ProducerIdAndEpoch:
        try:
            name, found = self._find(transactional_id)
            metadata = found.metadata
            with self.states.lock:
                decision = decide_end(
                    metadata, request, self._clock.now(), self.producer_ids.generate_producer_id
                )
        except CoordinatorError as refused:
            return self._refuse(transactional_id, "EndTxn", refused)
        if isinstance(decision, ProducerIdAndEpoch):
            self.states.tell_of("request repeated", name, f"the transaction is {metadata.state}")
            return decision
        transit, is_fence = decision
        self._tell_prepared(name, metadata, transit, "EndTxn")
        error = self.states.append_transaction_to_log(name, found.coordinator_epoch, transit)
        if error is not ErrorCode.NONE:
            if is_fence and not request.version.supports_epoch_bump:
                self._note_failed_fence(name, found)
            return self._refuse(name, "EndTxn", error.error())
        with self.states.lock:
            complete = metadata.prepare_complete(self._clock.now())
        self.markers.add(found, complete)
        if not request.version.supports_epoch_bump:
            return ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        return ProducerIdAndEpoch(complete.producer_id, complete.producer_epoch)

    def _note_failed_fence(self, transactional_id: str, found: EpochAndMetadata) -> None:
        with self.states.lock:
            try:
                now = self.states.get(transactional_id)
            except CoordinatorError:
                return
            if now is not None and now.coordinator_epoch == found.coordinator_epoch:
                now.metadata.has_failed_epoch_fence = True

    def _fence(self, transactional_id: str, transit: TxnTransitMetadata) -> ProducerIdAndEpoch:
        """Abort a transaction with the epoch that fences its producer."""
        request = EndTxn(
            transit.producer_id,
            transit.producer_epoch,
            commit=False,
            version=self._config.transaction_version,
            is_from_client=False,
        )
        return self._end(transactional_id, request)

    def abort_timed_out_transactions(self) -> None:
        """Abort the transactions that are open for longer than their timeout; fence the producers.

        Kafka: TransactionCoordinator.abortTimedOutTransactions (4.2)
        """
        for late in self.states.timed_out():
            name = late.transactional_id
            try:
                found = self.states.get(name)
            except CoordinatorError:
                continue  # its partition is being loaded, or led elsewhere
            with self.states.lock:
                if found is None or found.metadata.producer_id != late.producer_id:
                    continue
                metadata = found.metadata
                if metadata.is_pending or metadata.state is not TransactionState.ONGOING:
                    continue  # it ended meanwhile
                transit = metadata.prepare_fence_producer_epoch()
            self.states.tell_of(
                "transaction timed out", name,
                f"open since {time_text(metadata.start_timestamp)}, for longer than its timeout "
                f"of {ms_text(metadata.timeout_ms, ' ms')}",
                producer_id=metadata.producer_id,
            )  # fmt: skip
            self._fence(name, transit)

    # Questions

    def list_transactions(
        self, chosen: TransactionFilter = EVERY_TRANSACTION
    ) -> ListedTransactions:
        """Return the transactional ids that are served here and that a filter lets pass.

        Kafka: TransactionCoordinator.handleListTransactions (4.2)
        """
        if not self._is_active:
            return ListedTransactions(ErrorCode.COORDINATOR_NOT_AVAILABLE, [], [])
        return self.states.list(chosen)

    def describe_transactions(self, transactional_id: str) -> DescribedTransaction:
        """Return the state of one transactional id.

        Kafka: TransactionCoordinator.handleDescribeTransactions (4.2)
        """
        if not self._is_active:
            return DescribedTransaction(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not transactional_id:
            return DescribedTransaction(ErrorCode.INVALID_REQUEST)
        try:
            found = self.states.get(transactional_id)
        except CoordinatorError as refused:
            return DescribedTransaction(code_of(refused))
        if found is None:
            return DescribedTransaction(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        with self.states.lock:
            return DescribedTransaction(ErrorCode.NONE, replace(found.metadata))

    # What the requests share

    def _find(self, transactional_id: str | None) -> tuple[str, EpochAndMetadata]:
        transactional_id = require_id(transactional_id)
        found = self.states.get(transactional_id)
        if found is None:
            raise ErrorCode.INVALID_PRODUCER_ID_MAPPING.error("the transactional id is unknown")
        return transactional_id, found

    def _refuse(
        self, transactional_id: str | None, request: str, refused: CoordinatorError
    ) -> ProducerIdAndEpoch:
        if transactional_id:
            reason = f"{request}: {refused}"
            self.states.tell_of("request refused", transactional_id, reason, code=refused.code)
        return ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH, code_of(refused))

    def _tell_prepared(
        self, name: str, metadata: TransactionMetadata, transit: TxnTransitMetadata, request: str
    ) -> None:
        self.states.tell_of(
            "transition prepared", name, f"{request}: {metadata.state} → {transit.state}",
            producer_id=transit.producer_id, producer_epoch=transit.producer_epoch,
            partitions=len(transit.partitions),
        )  # fmt: skip
