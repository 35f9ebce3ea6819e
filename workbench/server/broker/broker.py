"""The engine as one broker: its log manager, its coordinators and its topics.

Kafka: BrokerServer, ProducerIdControlManager, ReplicaManager (4.2)
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from workbench.config.broker_config import BROKER_NAMES
from workbench.config.broker_rules import MODELED_RULES
from workbench.config.internal_topics import (
    INTERNAL_TOPICS,
    METADATA_LOG,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
)
from workbench.config.settings import Settings
from workbench.config.values import text_of
from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.producer_ids import (
    Deliver,
    ProducerIdsBlock,
    first_block_after,
)
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    TransactionCoordinator,
)
from workbench.coordinator.transactions.states import TransactionVersion
from workbench.errors import CoordinatorError, ServerError, WorkbenchError
from workbench.files import names
from workbench.files.names import CLEAN_SHUTDOWN, TopicPartition, topic_name_problem
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.listing import Listing, list_log_directories
from workbench.inspection.verify.shutdown_state import is_running
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.error_codes import ErrorCode
from workbench.server.broker.formatting import (
    FORMATTED_FEATURES,
    format_directory,
    stored_bootstrap_features,
)
from workbench.server.broker.metadata_log import MetadataLog
from workbench.server.broker.topics import LedTopic, Topics
from workbench.server.broker.unknown_configs import held_back
from workbench.server.logs.assigned_topics import AssignedTopics
from workbench.server.logs.served_log import Tell


# A block is given once in the life of the directory: a producer whose id was given before could
# have its records taken for those of the other, and dropped as duplicates.
class ProducerIdBlocks:
    """The controller's side of producer ids; the coordinator asks one block after the other.

    Args:
        logs: returns the broker's logs: what they hold is not given again.
        next_id: the first producer id that is free by the cluster's metadata; 0 without.
        metadata: where each block is written before it is given; None: nowhere.
        node_id: the broker's id.
    """

    def __init__(
        self,
        logs: Callable[[], Iterable[Log]],
        next_id: int,
        metadata: MetadataLog | None,
        node_id: int,
    ) -> None:
        self._logs = logs
        self._next = next_id
        self._metadata = metadata
        self._node_id = node_id
        self._is_first = True

    def request(self, known: Iterable[int], deliver: Deliver) -> None:
        """Give the next block.

        Args:
            known: other producer ids that are in use.
            deliver: called with the block.
        """
        if self._is_first:
            self._next = max(self._next, first_block_after(self._logs(), known))
            self._is_first = False
        block = ProducerIdsBlock(self._next)
        if self._metadata is not None:
            fields = {"brokerId": self._node_id, "nextProducerId": block.last + 1}
            self._metadata.append([("ProducerIdsRecord", fields)])
        self._next = block.last + 1
        deliver(block)


OnChange = Callable[[TopicPartition], None]
"""Called when a partition has more to read."""

OnHalt = Callable[[str, str], None]
"""Called with the log directories, when all have failed, and what the last error was."""

InController = Callable[[Callable[[], None]], object]
"""Calls a function in the only thread that makes, enlarges and deletes topics."""

_MOST_BEING_MADE: Final = 100  # topics that clients asked for, at a time


class WritableBroker:
    """Leads every partition of some log directories, as their only broker.

    It locks the directories, recovers, retains and cleans as a broker does, and stops cleanly in
    `close`. Threads may share it.

    Args:
        listing: the directories.
        config: names of brokers and topics to values; ``"orders:retention.ms"`` is one topic's own.
        recover: whether directories are taken that were not stopped cleanly.
        defaults: whether Kafka's defaults apply where a broker's configuration is unknown; False
            deletes nothing that is not configured.
        on_change: called when a partition has more to read.
        on_halt: called when every log directory has failed.
        in_controller: calls a function later, in the thread that makes and deletes topics.
        tell: called with a sentence whenever a response differs from the stored bytes.

    Attributes:
        topics: the topics.
        groups: the groups.
        transactions: the transactions.

    Raises:
        ServerError: a directory was not stopped cleanly, or cannot be formatted; or what is served
            is not a log directory.
        LogDirectoryError, StorageError, WorkbenchError: see `LogManager.startup`.
    """

    def __init__(
        self,
        listing: Listing,
        config: Mapping[str, Any] | None,
        *,
        recover: bool,
        defaults: bool,
        on_change: OnChange,
        on_halt: OnHalt,
        in_controller: InController,
        tell: Tell,
    ) -> None:
        self._on_change = on_change
        self._on_halt = on_halt
        self._in_controller = in_controller
        self._tell = tell
        self._lock = threading.Lock()
        self._being_made = set[str]()
        _check(listing, recover=recover)
        cluster = _cluster_of(listing)
        is_new = _is_new(listing, cluster)
        stored = _stored(cluster)
        config = dict(config or {})
        Settings.of(config, MODELED_RULES)  # refuses what 4.2 does
        if not (is_new or defaults) and (cluster is None or cluster.brokers):
            # A broker was here: its server.properties is not in the directories.
            knows_topics = cluster is not None
            kept, held = held_back(
                {**stored, **config}, knows_topics=knows_topics, compacted=_compacted(listing)
            )
            config |= kept
            for sentence in held:
                tell(sentence)
        settings = Settings.of({**stored, **config})
        if cluster is not None:
            settings = settings.with_stored(cluster.configs.topics)
        with ExitStack() as stack:
            self.manager = LogManager(
                [root.path for root in listing.roots],
                settings.broker,
                topic_configs=settings.topic_configs,
            )
            stack.enter_context(self.manager)
            self.manager.on_directory_failure(self._directory_failed)
            directories = self.manager.live_directories
            if is_new:
                cluster = self._format(listing, directories[0])
            features = {} if cluster is None else cluster.features
            metadata = MetadataLog.find(directories, self.manager.clock, features)
            if metadata is not None:
                stack.callback(metadata.close)
            static = {
                name: str(text_of(value) or "")
                for name, value in config.items()
                if name in BROKER_NAMES
            }
            self.topics = Topics(
                self.manager,
                settings,
                cluster,
                metadata,
                tell,
                self._watch,
                static_configs=static,
            )
            config_of_transactions = TransactionConfig.of(self.manager.config)
            if features:
                level = features.get("transaction.version", TransactionVersion.TV_0)
                known = TransactionVersion(min(level, TransactionVersion.TV_2))
                config_of_transactions = replace(config_of_transactions, transaction_version=known)
            self.groups = GroupCoordinatorService(
                self.manager,
                creates_topic=False,
                partition_exists=self.topics.has,
                verify=self._verify,
                topics=AssignedTopics(self.topics),
                group_configs=lambda name: self.topics.stored_configs.groups.get(name, {}),
            )
            stack.enter_context(self.groups)
            next_id = 0 if cluster is None else cluster.next_producer_id
            self._producer_ids = ProducerIdBlocks(
                self.manager.logs.values, next_id, metadata, self.topics.node_id
            )
            self.transactions = TransactionCoordinator(
                self.manager,
                config_of_transactions,
                offsets=self.groups,
                creates_topic=False,
                request_block=self._request_producer_ids,
            )
            stack.enter_context(self.transactions)
            self._stack = stack.pop_all()

    def _format(self, listing: Listing, directory: str) -> StoredCluster | None:
        """Make the metadata of a new cluster, and return what it says.

        Raises:
            ServerError: a file cannot be written.
        """
        node_id = self.manager.identity.node_id
        assert node_id is not None, "the log manager has given one"
        features = stored_bootstrap_features(listing) or FORMATTED_FEATURES
        try:
            format_directory(directory, node_id, features, self.manager.clock)
        except OSError as error:
            raise ServerError(directory, f"cannot be formatted: {error}") from error
        return _cluster_of(list_log_directories([directory]))

    def close(self) -> None:
        """Stop cleanly: end what is being ended, flush, write checkpoints and the marker."""
        self._stack.close()

    def _directory_failed(self, directory: str, error: OSError) -> None:
        if not self.manager.live_directories:
            self._on_halt(directory, str(error))

    def _watch(self, where: TopicPartition) -> None:
        """Hear of changes of a new log."""
        log = self.manager.get_log(where)
        assert log is not None
        log.watermarks.listeners.append(partial(self._on_change, where))

    def _request_producer_ids(self, deliver: Deliver) -> None:
        owned = self.transactions.states.owned.values()
        known = (each.producer_id for _, states in owned for each in states)
        self._producer_ids.request(known, deliver)

    def _verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, where: TopicPartition
    ) -> None:
        if self.verifies_transactions:
            try:
                self.transactions.require_partition(
                    transactional_id, producer_id, producer_epoch, where
                )
            except CoordinatorError as refused:
                raise as_leaders_see(ErrorCode(refused.code)).error(refused.problem) from None

    @property
    def verifies_transactions(self) -> bool:
        """Whether transactional records are only taken for partitions of the transaction."""
        return self.manager.config.transaction_partition_verification_enable

    @property
    def creates_topics(self) -> bool:
        """`auto.create.topics.enable`: whether a topic is created when a client asks for it."""
        return self.manager.config.auto_create_topics_enable

    def has_internal_topic(self, name: str) -> bool:
        """Return whether a coordinator's topic is led; if not, the controller's thread makes it."""
        with self._lock:
            if name not in self._being_made and self.topics.logs_of(name) is not None:
                return True
        self.create_automatically(name)
        return False

    def create_automatically(self, name: str) -> None:
        """Let the controller's thread make a topic that a client asked for, if its name is one.

        Its logs may take seconds. Meanwhile clients ask again, and no request waits here. When
        as many topics are being made as may be, those that ask again later get theirs.

        Kafka: DefaultAutoTopicCreationManager.createTopics (4.2)
        """
        is_own = name in {OFFSETS_TOPIC, TRANSACTIONS_TOPIC}
        with self._lock:
            is_full = len(self._being_made) >= _MOST_BEING_MADE and not is_own
            is_known = name in self._being_made or self.topics.logs_of(name) is not None
            if is_full or is_known or topic_name_problem(name) is not None:
                return
            self._being_made.add(name)
        self._in_controller(partial(self._make_automatically, name))

    def _make_automatically(self, name: str) -> None:
        try:
            if name == OFFSETS_TOPIC:
                self._make_offsets_topic()
            elif name == TRANSACTIONS_TOPIC:
                self._make_transactions_topic()
            else:
                with suppress(CoordinatorError):  # it collides with another
                    self.topics.create(name)
        except (WorkbenchError, OSError) as error:
            self._tell(f"{name}: could not be made: {error}")
        finally:
            with self._lock:
                self._being_made.discard(name)

    def _make_offsets_topic(self) -> None:
        if self._make(OFFSETS_TOPIC, self.manager.config.offsets_topic_num_partitions):
            self.groups.partitions = self.manager.config.offsets_topic_num_partitions
            for number in range(self.groups.partitions):
                self.groups.load(number)

    def _make_transactions_topic(self) -> None:
        count = self.manager.config.transaction_state_log_num_partitions
        if self._make(TRANSACTIONS_TOPIC, count):
            self.transactions.lead_all()

    def _make(self, name: str, count: int) -> LedTopic | None:
        """Return a topic that was just made, None if it was there.

        Kafka: DefaultAutoTopicCreationManager.creatableTopic (4.2)
        """
        if self.topics.logs_of(name) is not None:
            return None
        config = self.manager.config
        own = {
            OFFSETS_TOPIC: OffsetConfig.of(config).topic_config,
            TRANSACTIONS_TOPIC: TransactionConfig.of(config).topic_config,
        }[name]
        texts = {each: str(value) for each, value in own.items()}
        return self.topics.create(name, count, texts)

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and the offsets that groups committed for it.

        Only the controller's thread may call it; see `Topics`.

        Raises:
            CoordinatorError: there is none.
        """
        gone = self.topics.delete(name)
        if name == OFFSETS_TOPIC:  # so that it is loaded when it is made again
            for where in gone:
                self.groups.unload(where.partition)
        self.groups.on_partitions_deleted(gone)


def as_leaders_see(code: ErrorCode) -> ErrorCode:
    """Return what a partition's leader answers when the transaction coordinator refuses it.

    Kafka: AddPartitionsToTxnManager (4.2)
    """
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code


def _check(listing: Listing, *, recover: bool) -> None:
    """Refuse what is not a log directory, is in use, or was not stopped cleanly."""
    for root in listing.roots:
        if not root.is_log_directory:
            raise ServerError(
                str(root.path), "cannot be written to (expected a log directory, not a part of one)"
            )
        if is_running(root):
            raise ServerError(
                str(root.path), "is locked: a broker or another server runs on it. Stop that first"
            )
        marker = os.path.join(root.path, CLEAN_SHUTDOWN)
        if not recover and any(root.partitions) and not os.path.lexists(marker):
            raise ServerError(
                str(root.path),
                f"was not stopped cleanly: {CLEAN_SHUTDOWN} is missing. A broker may still "
                "run on it, or recovery would change its logs; --recover allows that",
            )


def _cluster_of(listing: Listing) -> StoredCluster | None:
    metadata = listing.metadata_log
    return None if metadata is None else read_stored_cluster(metadata)


def _is_new(listing: Listing, cluster: StoredCluster | None) -> bool:
    """Return whether no broker has used the directories: there are no logs and no metadata.

    Those that belong to a broker with ZooKeeper remain as they are.
    """
    if cluster is not None and (cluster.features or cluster.topic_ids):
        return False
    if any(each.name != METADATA_LOG for root in listing.roots for each in root.partitions):
        return False
    found = (root.meta_properties for root in listing.roots)
    return all(each is None or each.version != 0 for each in found)


def _stored(cluster: StoredCluster | None) -> dict[str, Any]:
    """Return what the cluster's metadata sets of brokers."""
    if cluster is None:
        return {}
    return {
        name: value
        for each in cluster.configs.brokers.values()
        for name, value in each.items()
        if name in BROKER_NAMES
    }


def _compacted(listing: Listing) -> list[str]:
    """Return the topics that the cleaner compacted, but for the internal ones."""
    found = (root.checkpoint(names.CLEANER_OFFSETS) for root in listing.roots)
    topics = {where.topic for each in found if each is not None for where in each.offsets}
    return sorted(topics - set(INTERNAL_TOPICS))
