"""The offset manager over the logs of a log manager: the door for requests about offsets.

    with LogManager(["data"]) as manager, OffsetManager(manager) as offsets:
        offsets.commit("billing", {"orders-0": 42})
        assert offsets.fetch("billing", ["orders-0"])["orders-0"].offset == 42

What it writes, a broker loads; what a broker wrote, it loads as that broker would.

Kafka: GroupCoordinatorService (4.2); OffsetManager (0.8.2), GroupMetadataManager and
GroupCoordinator (0.9 to 3.9)
"""

import os
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, Self, TypeVar

from workbench.config.internal_topics import INTERNAL_TOPICS, METADATA_LOG
from workbench.coordinator.era import Era
from workbench.coordinator.groups.classic.messages import NO_GENERATION, Committer
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import (
    FetchedOffset,
    OffsetCommit,
    OffsetMetadataManager,
)
from workbench.coordinator.partitioning import (
    DEFAULT_PARTITIONS,
    partition_count,
    partition_for,
)
from workbench.coordinator.runtime.append_errors import answer_of_old_to_commit, answer_to
from workbench.coordinator.runtime.coordinator_runtime import CoordinatorRuntime, PartitionState
from workbench.coordinator.runtime.records import CoordinatorResult
from workbench.coordinator.runtime.shard import Append, append_to_log
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.manager import LogManager
from workbench.log_manager.registry import PartitionName, partition_of
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import Task
from workbench.runtime.several import several
from workbench.runtime.steps import Observer

_LONGEST_STRING: Final = (1 << 15) - 1  # bytes of a string in a key

T = TypeVar("T")
Verify = Callable[[str, int, int, TopicPartition], None]


class Answers(dict[TopicPartition, T]):
    """Answers by partition; ``answers["orders-0"]`` works, too."""

    def __getitem__(self, where: PartitionName) -> T:
        return super().__getitem__(partition_of(where))


class OffsetManager:
    """Committed offsets of all groups, in the logs of `__consumer_offsets`. Threads may share it.

    Use it in a ``with`` statement, or call `startup` and `shutdown`. An answer does not wait for
    other replicas, unless ``waits_for_replicas`` says that there are some.

    Args:
        manager: the started log manager.
        config: limits and retention; None: those of the log manager's broker.
        era: the coordinator that it behaves as and whose records it writes.
        observer: receives each step, of `offsets.steps.KINDS`.
        creates_topic: whether a partition of `__consumer_offsets` without a log is created when
            a group of it is asked for, as a broker creates the topic. Otherwise such groups get
            NOT_COORDINATOR.
        partition_exists: returns whether the cluster has a partition that is committed; None
            takes all. Others get UNKNOWN_TOPIC_OR_PARTITION.
        verify: called with transactional id, producer id, producer epoch and the partition of
            `__consumer_offsets` before a transactional commit; raises `CoordinatorError` unless
            the partition is part of the transaction. None: not verified.
        append: appends to a log; see `CoordinatorRuntime`.
        waits_for_replicas: whether commits are answered, and seen, when the high watermark passes
            them; `runtime.on_high_watermark` says that it rose.

    Attributes:
        runtime: the partitions of `__consumer_offsets` and their states.
        partitions: how many partitions the topic has.
    """

    def __init__(
        self,
        manager: LogManager,
        *,
        config: OffsetConfig | None = None,
        era: Era = Era.KIP_848,
        observer: Observer | None = None,
        creates_topic: bool = True,
        partition_exists: Callable[[TopicPartition], bool] | None = None,
        verify: Verify | None = None,
        append: Append = append_to_log,
        waits_for_replicas: bool = False,
    ) -> None:
        self.config = OffsetConfig.of(manager.config) if config is None else config
        self.partitions = self.config.topic_num_partitions
        self._manager = manager
        self._creates_topic = creates_topic
        self._partition_exists = partition_exists
        self._verify = verify
        self._lifecycle = threading.Lock()
        self._task: Task | None = None
        self._is_started = False
        self._era = era
        self._observer = observer
        self.runtime: CoordinatorRuntime[OffsetMetadataManager] = CoordinatorRuntime(
            GROUPS_TOPIC,
            manager.get_log,
            self._make_shard,
            codec=self.config.topic_compression_codec,
            translate=answer_to if era is Era.KIP_848 else answer_of_old_to_commit,
            loads_to_high_watermark=era is Era.BEFORE_2_1,
            append=append,
            waits_for_replicas=waits_for_replicas,
            reads_committed=era is Era.KIP_848,
            observer=observer,
        )

    def _make_shard(self, where: TopicPartition) -> OffsetMetadataManager:
        """Return the empty state of a partition."""
        clock = self._manager.clock
        return OffsetMetadataManager(where, clock, self.config, self._era, self._observer)

    def __enter__(self) -> Self:
        self.startup()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def startup(self, *, with_tasks: bool = True, leads: Iterable[int] | None = None) -> None:
        """Load every partition of `__consumer_offsets` that has a log, and schedule the expiry.

        The topic has as many partitions as `__cluster_metadata` in the same directories says, or
        `offsets.topic.num.partitions`; with the default of that, as many as most groups fit. A
        `shutdown` meanwhile ends it: nothing is owned or scheduled afterwards.

        Args:
            with_tasks: False leaves `cleanup_group_metadata` to the caller.
            leads: the partitions to load; None: all that have a log.

        Kafka: GroupCoordinatorService.startup (4.2)
        """
        numbers = sorted(
            where.partition for where in self._manager.logs if where.topic == GROUPS_TOPIC
        )
        self._configure_topic()
        with self._lifecycle:
            self.runtime.open()
            self._is_started = True
        for number in numbers if leads is None else leads:
            self.runtime.load(number)
        stored = self._stored_partition_count()
        if stored is not None:
            self.partitions = stored
        elif self.partitions == DEFAULT_PARTITIONS:
            names = self.runtime.read_all(lambda shard: list(shard.state.groups))
            self.partitions = partition_count(names, numbers) or DEFAULT_PARTITIONS
        with self._lifecycle:
            if with_tasks and self._is_started:
                interval = self.config.retention_check_interval_ms
                self._task = self._manager.scheduler.schedule(
                    "group-metadata-expiration", self._clean_up, interval, interval
                )

    def _stored_partition_count(self) -> int | None:
        """Return the topic's number of partitions in the cluster's metadata; None without it."""
        for directory in self._manager.live_directories:
            path = os.path.join(directory, METADATA_LOG)
            if not os.path.isdir(path):
                continue
            metadata = list_log_directories(path).partitions.get(METADATA_LOG)
            if metadata is not None:
                return read_stored_cluster(metadata).partition_counts.get(GROUPS_TOPIC)
        return None

    def _configure_topic(self) -> None:
        """Configure the topic as a broker creates it, unless the log manager has its configuration.

        With that of other topics, retention would delete the offsets.

        Kafka: GroupCoordinatorService.groupMetadataTopicConfigs (4.2)
        """
        if not self._manager.has_config(GROUPS_TOPIC):
            segment_bytes = self.config.topic_segment_bytes
            own = {"compression.type": "producer", "segment.bytes": segment_bytes}
            self._manager.update_topic_config(
                GROUPS_TOPIC, {**INTERNAL_TOPICS[GROUPS_TOPIC], **own}
            )

    def shutdown(self) -> None:
        """Stop the expiry and unload all partitions; the log manager stays open.

        A load in another thread ends between two chunks of its log.
        """
        with self._lifecycle:
            self._is_started = False
            if self._task is not None:
                self._task.cancel()
            self.runtime.close()

    # Partitions

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that holds a group.

        Kafka: GroupCoordinatorService.partitionFor (4.2), OffsetManager.partitionFor (0.8.2)
        """
        return partition_for(group_id, self.partitions)

    def load(self, partition: int, leader_epoch: int | None = None) -> bool:
        """Load a partition that this broker now leads; see `CoordinatorRuntime.load`.

        Kafka: GroupCoordinatorService.onElection (4.2),
        GroupMetadataManager.loadGroupsForPartition (0.9)
        """
        return self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None = None) -> bool:
        """Drop a partition that this broker no longer leads; see `CoordinatorRuntime.unload`.

        Kafka: GroupCoordinatorService.onResignation (4.2),
        GroupMetadataManager.removeGroupsForPartition (0.9)
        """
        return self.runtime.unload(partition, leader_epoch)

    def _partition_of(self, group_id: str | None) -> int:
        """Return the partition of a group, with a log if this broker has or creates it."""
        if group_id is None:
            raise ErrorCode.INVALID_GROUP_ID.error("a group has a name")
        if len(group_id) > _LONGEST_STRING // 3 and len(group_id.encode()) > _LONGEST_STRING:
            raise ErrorCode.INVALID_GROUP_ID.error(
                f"the name has more than {_LONGEST_STRING} bytes"
            )
        if not self._is_started:
            raise ErrorCode.COORDINATOR_NOT_AVAILABLE.error("the offset manager is not started")
        number = partition_for(group_id, self.partitions)
        if self.runtime.state_of(number) is None and self._creates_topic:
            self._create(number)
        return number

    def _create(self, number: int) -> None:
        """Create a partition that has no log."""
        where = TopicPartition(GROUPS_TOPIC, number)
        if self._manager.get_log(where) is not None:
            return  # it was unloaded: another broker leads it
        self._manager.get_or_create_log(where)
        self.runtime.load(number)

    # Requests

    def commit(
        self,
        group_id: str,
        offsets: Mapping[Any, OffsetCommit | int],
        *,
        member_id: str = "",
        generation: int = NO_GENERATION,
        group_instance_id: str | None = None,
        retention_ms: int | None = None,
        api_version: int = 10,
    ) -> Answers[ErrorCode]:
        """Commit offsets of a group: check, append, then cache.

        Args:
            group_id: the group; it may be empty.
            offsets: ``"orders-0"`` or `TopicPartition` → the offset, or an `OffsetCommit`.
            member_id, generation, group_instance_id: the member that commits; the defaults are
                those of a consumer that is not a member.
            retention_ms: the retention time of versions 2 to 4; None: the broker's.
            api_version: version of OffsetCommit, which some errors depend on.

        Returns:
            The error code for each partition.

        Raises:
            CoordinatorError: the whole request fails; nothing was written.

        Kafka: GroupCoordinatorService.commitOffsets (4.2), OffsetManager.putOffsets (0.8.2)
        """
        return self.schedule_commit(
            group_id,
            offsets,
            member_id=member_id,
            generation=generation,
            group_instance_id=group_instance_id,
            retention_ms=retention_ms,
            api_version=api_version,
        ).result()

    def schedule_commit(
        self,
        group_id: str,
        offsets: Mapping[Any, OffsetCommit | int],
        *,
        member_id: str = "",
        generation: int = NO_GENERATION,
        group_instance_id: str | None = None,
        retention_ms: int | None = None,
        api_version: int = 10,
    ) -> Future[Answers[ErrorCode]]:
        """Commit offsets without waiting for other replicas; the future has the answer.

        For arguments and errors see `commit`; an error after the append is the future's.
        """
        committer = Committer(member_id, generation, group_instance_id, api_version=api_version)
        return self._commit(group_id, offsets, committer, retention_ms, self.runtime.schedule_write)

    def commit_transactional(
        self,
        group_id: str,
        offsets: Mapping[Any, OffsetCommit | int],
        *,
        producer_id: int,
        producer_epoch: int,
        transactional_id: str = "",
        member_id: str = "",
        generation: int = NO_GENERATION,
        group_instance_id: str | None = None,
    ) -> Answers[ErrorCode]:
        """Commit offsets in a producer's transaction; they count once its marker commits.

        For arguments, answer and errors see `commit`; the group must have a name.

        Kafka: GroupCoordinatorService.commitTransactionalOffsets (4.2)
        """
        if not group_id:
            raise ErrorCode.INVALID_GROUP_ID.error("a transaction commits for a group with a name")
        committer = Committer(member_id, generation, group_instance_id, is_transactional=True)

        def write(
            number: int,
            operation: Callable[[OffsetMetadataManager], CoordinatorResult[Any]],
        ) -> Any:
            self._require_part_of_transaction(transactional_id, producer_id, producer_epoch, number)
            return self.runtime.schedule_write(number, operation, producer_id, producer_epoch)

        return self._commit(group_id, offsets, committer, None, write).result()

    def _require_part_of_transaction(
        self, transactional_id: str, producer_id: int, producer_epoch: int, number: int
    ) -> None:
        """Kafka: CoordinatorPartitionWriter.maybeStartTransactionVerification (4.2)."""
        if self._verify is None:
            return
        where = TopicPartition(GROUPS_TOPIC, number)
        try:
            self._verify(transactional_id, producer_id, producer_epoch, where)
        except CoordinatorError as error:
            raise answer_to(ErrorCode(error.code)).error(error.problem) from error

    def _commit(
        self,
        group_id: str,
        offsets: Mapping[Any, OffsetCommit | int],
        committer: Committer,
        retention_ms: int | None,
        write: Callable[..., Future[Answers[ErrorCode]]],
    ) -> Future[Answers[ErrorCode]]:
        codes: Answers[ErrorCode] = Answers()
        commits: dict[TopicPartition, OffsetCommit] = {}
        for name, value in offsets.items():
            where = partition_of(name)
            codes[where] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if self._partition_exists is None or self._partition_exists(where):
                commits[where] = OffsetCommit(value) if isinstance(value, int) else value
        if not commits:
            answer: Future[Answers[ErrorCode]] = Future()
            answer.set_result(codes)
            return answer

        def operate(shard: OffsetMetadataManager) -> CoordinatorResult[Answers[ErrorCode]]:
            result = shard.commit_offset(group_id, commits, committer, retention_ms)
            codes.update(result.response)
            return CoordinatorResult(result.records, codes, result.is_atomic, result.on_append)

        try:
            return write(self._partition_of(group_id), operate)
        except struct.error as error:
            raise ErrorCode.INVALID_REQUEST.error(f"a value does not fit: {error}") from None

    def complete_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        is_commit: bool,
        transaction_version: int = 0,
    ) -> int:
        """Write a transaction marker into a partition; see `CoordinatorRuntime`.

        The pending commits of the producer in that partition take effect or are dropped.

        Kafka: GroupCoordinatorService.completeTransaction (4.2)
        """
        return self.runtime.complete_transaction(
            partition,
            producer_id,
            producer_epoch,
            coordinator_epoch,
            is_commit=is_commit,
            transaction_version=transaction_version,
        )

    def fetch(
        self,
        group_id: str,
        partitions: Iterable[PartitionName] | None = None,
        *,
        require_stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = -1,
        topic_ids: Mapping[str, str] | None = None,
    ) -> Answers[FetchedOffset]:
        """Return committed offsets; unknown groups and partitions have offset -1.

        Args:
            group_id: the group.
            partitions: the partitions; None: all of the group that have an offset.
            require_stable: whether a partition that an open transaction commits is refused with
                UNSTABLE_OFFSET_COMMIT.
            member_id, member_epoch: of a member of a group of KIP-848.
            topic_ids: topic → id; an offset that was committed for another id is unknown.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, or the member is not
                known.

        Kafka: GroupCoordinatorService.fetchOffsets (4.2), OffsetManager.getOffsets (0.8.2)
        """
        number = self._partition_of(group_id)
        if partitions is None:
            return Answers(
                self.runtime.read(
                    number,
                    lambda shard: shard.fetch_all_offsets(
                        group_id,
                        require_stable=require_stable,
                        member_id=member_id,
                        member_epoch=member_epoch,
                    ),
                )
            )
        wanted = [partition_of(each) for each in several(partitions)]
        return Answers(
            self.runtime.read(
                number,
                lambda shard: shard.fetch_offsets(
                    group_id,
                    wanted,
                    require_stable=require_stable,
                    member_id=member_id,
                    member_epoch=member_epoch,
                    topic_ids=topic_ids,
                ),
            )
        )

    def delete_offsets(
        self, group_id: str, partitions: Iterable[PartitionName]
    ) -> Answers[ErrorCode]:
        """Delete offsets of a group; topics that a member subscribes to are refused.

        Raises:
            CoordinatorError: the whole request fails; nothing was written.

        Kafka: GroupCoordinatorService.deleteOffsets (4.2)
        """
        if not group_id:
            raise ErrorCode.INVALID_GROUP_ID.error("the request names no group")
        wanted = [partition_of(each) for each in several(partitions)]
        number = self._partition_of(group_id)
        codes = self.runtime.write(number, lambda shard: shard.delete_offsets(group_id, wanted))
        return Answers(codes)

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        """Delete groups with their offsets; return the error code of each.

        Kafka: GroupCoordinatorService.deleteGroups (4.2)
        """
        codes: dict[str, ErrorCode] = {}
        for name in several(group_ids):
            try:
                number = self._partition_of(name)
                found = self.runtime.write(number, partial(_delete_groups, names=[name]))
                codes |= found
            except CoordinatorError as error:
                codes[name] = ErrorCode(error.code)
        return codes

    def on_partitions_deleted(self, partitions: Iterable[PartitionName]) -> int:
        """Delete the offsets of all groups for partitions that were deleted; return how many.

        Kafka: GroupCoordinatorService.onPartitionsDeleted (4.2)
        """
        gone = [partition_of(each) for each in several(partitions)]
        counts = self.runtime.write_all(lambda shard: shard.on_partitions_deleted(gone))
        return sum(counts.values())

    def cleanup_group_metadata(self) -> int:
        """Delete the offsets that have expired and groups that are left empty.

        Called every `offsets.retention.check.interval.ms` after `startup`.

        Returns:
            How many offsets have expired.

        Kafka: GroupCoordinatorShard.cleanupGroupMetadata (4.2),
        OffsetManager.deleteExpiredOffsets (0.8.2)
        """
        return sum(self._clean(number) for number in self.runtime.owned_partitions)

    def _clean_up(self) -> None:
        """Clean up each partition; one that fails is tried again at the next run."""
        for number in self.runtime.owned_partitions:
            try:
                self._clean(number)
            except CoordinatorError:
                continue  # the step "append failed" says why

    def _clean(self, number: int) -> int:
        return self.runtime.write(number, lambda shard: shard.cleanup_group_metadata())

    def is_loading(self, group_id: str) -> bool:
        """Return whether the partition of a group is loading."""
        return self.runtime.state_of(self.partition_for(group_id)) is PartitionState.LOADING

    def group_not_exists(self, group_id: str) -> bool:
        """Return whether the coordinator of a group knows that it does not exist.

        False while another broker coordinates it, because this one cannot know.

        Kafka: GroupMetadataManager.groupNotExists (2.8)
        """
        number = self.partition_for(group_id)
        if self.runtime.state_of(number) is not PartitionState.ACTIVE:
            return False
        group = self.runtime.read(number, lambda shard: shard.group(group_id))
        return group is None or group.state == "Dead"


def _delete_groups(
    shard: OffsetMetadataManager, names: list[str]
) -> CoordinatorResult[dict[str, ErrorCode]]:
    return shard.delete_groups(names)
