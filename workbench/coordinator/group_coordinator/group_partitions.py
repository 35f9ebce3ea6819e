"""The partitions of `__consumer_offsets` that a group coordinator owns: start, stop, load, expire.

Kafka: GroupCoordinatorService, the part of the topic (4.2); OffsetManager (0.8.2)
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Self, TypeVar

from workbench.coordinator.group_coordinator.group_coordinator_shard import GroupCoordinatorShard
from workbench.coordinator.groups.classic.timer import Operation
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.runtime.coordinator_runtime import CoordinatorRuntime, PartitionState
from workbench.coordinator.runtime.partitioning import (
    DEFAULT_PARTITIONS,
    partition_count,
    partition_for,
    stored_partition_count,
)
from workbench.coordinator.runtime.records import CoordinatorResult
from workbench.errors import CoordinatorError, GroupStateError, InvalidTransitionError
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.log_manager.registry import PartitionName, partition_of
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import Task
from workbench.runtime.several import several

T = TypeVar("T")


class GroupPartitions:
    """What a group coordinator does with its topic; `GroupCoordinatorService` takes the requests.

    Args:
        manager: the started log manager.
        config: limits and retention of offsets.
        runtime: the partitions and their states.
        creates_topic: whether a partition without a log is created when a group of it is asked for.

    Attributes:
        config: limits and retention of offsets.
        runtime: the partitions of `__consumer_offsets` and their states.
        partitions: how many partitions the topic has.
    """

    def __init__(
        self,
        manager: LogManager,
        config: OffsetConfig,
        runtime: CoordinatorRuntime[GroupCoordinatorShard],
        *,
        creates_topic: bool,
    ) -> None:
        self.config = config
        self.runtime = runtime
        self.partitions = config.topic_num_partitions
        self._manager = manager
        self._creates_topic = creates_topic
        self._lifecycle = threading.Lock()
        self._task: Task | None = None
        self._is_started = False
        self._local = _Operating()

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
        stored = stored_partition_count(self._manager.live_directories, GROUPS_TOPIC)
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

    def _configure_topic(self) -> None:
        """Configure the topic as a broker creates it, unless the log manager has its configuration.

        With that of other topics, retention would delete the offsets.

        Kafka: GroupCoordinatorService.groupMetadataTopicConfigs (4.2)
        """
        if not self._manager.has_config(GROUPS_TOPIC):
            self._manager.update_topic_config(GROUPS_TOPIC, self.config.topic_config)

    def shutdown(self) -> None:
        """Stop the expiry and unload all partitions; the log manager stays open.

        A load in another thread ends between two chunks of its log.
        """
        with self._lifecycle:
            self._is_started = False
            if self._task is not None:
                self._task.cancel()
            self.runtime.close()

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

    def _create(self, number: int) -> None:
        """Create a partition that has no log."""
        where = TopicPartition(GROUPS_TOPIC, number)
        if self._manager.get_log(where) is not None:
            return  # it was unloaded: another broker leads it
        self._manager.get_or_create_log(where)
        self.runtime.load(number)

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

    # How operations run

    def _run_timer(self, number: int, operation: Operation) -> None:
        """Run what is due: after the operation that this thread is in, if it is in one."""
        if self._local.is_inside:
            self._local.later.append((number, operation))
            return
        try:
            self._operate(number, lambda _: operation())
        except CoordinatorError:
            return  # the partition is not served, or the step "append failed" says why

    def _operate(
        self, number: int, operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]]
    ) -> T:
        """Run an operation on a partition, then what came due on this thread meanwhile."""

        def run(shard: GroupCoordinatorShard) -> CoordinatorResult[T]:
            try:
                return operation(shard)
            except (GroupStateError, InvalidTransitionError) as error:
                raise ErrorCode.UNKNOWN_SERVER_ERROR.error(str(error)) from error

        self._local.is_inside = True
        try:
            return self.runtime.write(number, run)
        finally:
            self._local.is_inside = False
            while self._local.later:
                self._run_timer(*self._local.later.popleft())

    # What a broker does by itself

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


class _Operating(threading.local):
    """Whether this thread is in an operation, and what came due in it."""

    def __init__(self) -> None:
        self.is_inside = False
        self.later: deque[tuple[int, Operation]] = deque()
