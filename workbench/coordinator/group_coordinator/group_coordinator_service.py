"""The group coordinator over the logs of a log manager: groups, their members and their offsets.

    from workbench.coordinator.groups.classic.messages import Protocol

    client = RequestContext("client-1", "/127.0.0.1", 3)
    request = JoinGroupRequest(
        "billing", 45_000, 60_000, "", None, "consumer", (Protocol("range", b""),)
    )
    delay = ClassicGroupConfig(initial_rebalance_delay_ms=0)
    with LogManager(["data"]) as manager:
        with GroupCoordinatorService(manager, groups=delay) as coordinator:
            joined = coordinator.join_group(client, request).result()
            assert joined.leader == joined.member_id
            assigned = SyncGroupRequest(
                "billing", 1, joined.member_id, assignments=((joined.member_id, b"all"),)
            )
            assert coordinator.sync_group(assigned).result().assignment == b"all"
            assert coordinator.describe_groups(["billing"])[0].state == "Stable"
            coordinator.commit(
                "billing", {"orders-0": 42}, member_id=joined.member_id, generation=1
            )
            assert coordinator.fetch("billing", ["orders-0"])["orders-0"].offset == 42

Joins and syncs answer through futures, because they wait for other members; the session and
rebalance timeouts run on the log manager's scheduler. What it writes, a broker loads; what a broker
wrote, it loads as that broker would.

Kafka: GroupCoordinatorService (4.2); OffsetManager and ConsumerCoordinator (0.8.2),
GroupMetadataManager and GroupCoordinator (0.9 to 3.9)
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

from workbench.coordinator.group_coordinator.group_coordinator_shard import GroupCoordinatorShard
from workbench.coordinator.group_coordinator.group_partitions import GroupPartitions
from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.joining import new_uuid
from workbench.coordinator.groups.classic.messages import (
    NO_GENERATION,
    Committer,
    DescribedGroup,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListedGroup,
    MemberIdentity,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
    complete,
)
from workbench.coordinator.groups.classic.timer import CoordinatorTimer
from workbench.coordinator.groups.consumer.config import ConsumerGroupConfig, check_heartbeat
from workbench.coordinator.groups.consumer.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from workbench.coordinator.groups.consumer.topics import AssignableTopics, NoTopics, TopicImage
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.groups import ModernGroup, as_consumer_group
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import FetchedOffset, OffsetCommit
from workbench.coordinator.runtime.append_errors import answer_of_old_to_commit, answer_to
from workbench.coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.partitioning import partition_for
from workbench.coordinator.runtime.records import CoordinatorResult
from workbench.coordinator.runtime.shard import Append
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager, require_manager
from workbench.log_manager.registry import PartitionName, partition_of
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.several import several
from workbench.runtime.steps import Observer

_LONGEST_STRING: Final = (1 << 15) - 1  # bytes of a string in a key

T = TypeVar("T")
Verify = Callable[[str, int, int, TopicPartition], None]


def _no_configs(_group_id: str) -> Mapping[str, str]:
    return {}


class ResultsByPartition(dict[TopicPartition, T]):
    """Results by partition; ``results["orders-0"]`` works, too."""

    def __getitem__(self, where: PartitionName) -> T:
        return super().__getitem__(partition_of(where))


class GroupCoordinatorService(GroupPartitions):
    """Groups and their offsets, in the logs of `__consumer_offsets`; threads may share it.

    Use it in a ``with`` statement, or call `startup` and `shutdown`. An answer does not wait for
    other replicas, unless ``waits_for_replicas`` says that there are some.

    Args:
        manager: the started log manager.
        groups: limits and delays of groups; None: what the manager's configuration says.
        config: limits and retention of offsets; None: those of the log manager's broker.
        era: the coordinator that it behaves as and whose records of offsets it writes.
        observer: receives each step, of `groups.classic.steps.KINDS` and `offsets.steps.KINDS`.
        make_uuid: makes the random part of member ids.
        topics: the topics that members of consumer groups share out; None: there are none.
        group_configs: returns the configuration of a group.
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
        config: limits and retention of offsets.
        runtime: the partitions of `__consumer_offsets` and their states.
        partitions: how many partitions the topic has.
    """

    _has_sessions: ClassVar[bool] = True
    """Whether members that a log names must send heartbeats."""

    def __init__(
        self,
        manager: LogManager,
        *,
        groups: ClassicGroupConfig | None = None,
        config: OffsetConfig | None = None,
        era: CoordinatorEra = CoordinatorEra.KIP_848,
        observer: Observer | None = None,
        make_uuid: Callable[[], str] = new_uuid,
        topics: TopicImage | None = None,
        group_configs: Callable[[str], Mapping[str, str]] = _no_configs,
        creates_topic: bool = True,
        partition_exists: Callable[[TopicPartition], bool] | None = None,
        verify: Verify | None = None,
        append: Append | None = None,
        waits_for_replicas: bool = False,
    ) -> None:
        require_manager(manager, type(self).__name__)
        config = OffsetConfig.of(manager.config) if config is None else config
        self._groups = ClassicGroupConfig.of(manager.config) if groups is None else groups
        self._consumer_groups = ConsumerGroupConfig.of(manager.config, group_configs)
        self._topics = AssignableTopics(NoTopics() if topics is None else topics)
        self._make_uuid = make_uuid
        self._partition_exists = partition_exists
        self._verify = verify
        self._era = era
        self._observer = observer
        runtime = CoordinatorRuntime(
            GROUPS_TOPIC,
            manager.get_log,
            self._make_shard,
            codec=config.topic_compression_codec,
            translate=answer_to if era is CoordinatorEra.KIP_848 else answer_of_old_to_commit,
            loads_to_high_watermark=era is CoordinatorEra.BEFORE_2_1,
            append=append,
            waits_for_replicas=waits_for_replicas,
            reads_committed=era is CoordinatorEra.KIP_848,
            observer=observer,
        )
        super().__init__(manager, config, runtime, creates_topic=creates_topic)

    def _make_shard(self, where: TopicPartition) -> GroupCoordinatorShard:
        """Return the empty state of a partition."""
        return GroupCoordinatorShard(
            where,
            self._manager.clock,
            self.config,
            self._era,
            self._observer,
            timer=CoordinatorTimer(
                self._manager.scheduler, partial(self._run_timer, where.partition)
            ),
            classic_config=self._groups,
            consumer_config=self._consumer_groups,
            topics=self._topics,
            make_uuid=self._make_uuid,
            has_sessions=self._has_sessions,
        )

    def _partition_of(self, group_id: str | None) -> int:
        """Return the partition of a group, with a log if this broker has or creates it."""
        if group_id is None:
            raise ErrorCode.INVALID_GROUP_ID.error("a group has a name")
        # A character takes four bytes at most: a short name need not be encoded.
        if len(group_id) > _LONGEST_STRING // 4 and len(group_id.encode()) > _LONGEST_STRING:
            raise ErrorCode.INVALID_GROUP_ID.error(
                f"the name has more than {_LONGEST_STRING} bytes"
            )
        if not self._is_started:
            raise ErrorCode.COORDINATOR_NOT_AVAILABLE.error("the coordinator is not started")
        number = partition_for(group_id, self.partitions)
        if self.runtime.state_of(number) is None and self._creates_topic:
            self._create(number)
        return number

    def _write(
        self, group_id: str, operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]]
    ) -> T:
        return self._operate(self._partition_of(group_id), operation)

    # Requests of members

    def join_group(
        self, context: RequestContext, request: JoinGroupRequest
    ) -> "Future[JoinGroupResponse]":
        """Let a client join a group.

        Args:
            context: the client.
            request: the join.

        Returns:
            The answer: at once, or when the join phase ends. Errors are in the answer.

        Kafka: GroupCoordinatorService.joinGroup (4.2)
        """
        waiting: Future[JoinGroupResponse] = Future()
        error = self._groups.error_in(request)
        if error is not ErrorCode.NONE:
            complete(waiting, JoinGroupResponse(member_id=request.member_id, error=error))
            return waiting
        try:
            self._write(request.group_id, lambda shard: shard.join(context, request, waiting))
        except CoordinatorError as refused:
            complete(waiting, JoinGroupResponse(error=ErrorCode(refused.code)))
        return waiting

    def sync_group(self, request: SyncGroupRequest) -> "Future[SyncGroupResponse]":
        """Give a member its assignment; the leader's request brings all of them.

        Returns:
            The answer: at once, or when the leader's assignments are stored.

        Kafka: GroupCoordinatorService.syncGroup (4.2)
        """
        waiting: Future[SyncGroupResponse] = Future()
        if not request.group_id:
            complete(waiting, SyncGroupResponse(ErrorCode.INVALID_GROUP_ID))
            return waiting
        try:
            self._write(request.group_id, lambda shard: shard.groups.sync(request, waiting))
        except CoordinatorError as refused:
            complete(waiting, SyncGroupResponse(ErrorCode(refused.code)))
        return waiting

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Extend the session of a member; while its partition loads, the answer is `NONE`.

        Kafka: GroupCoordinatorService.heartbeat (4.2)
        """
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        try:
            return self._write(request.group_id, lambda shard: shard.groups.heartbeat(request))
        except CoordinatorError as refused:
            is_loading = refused.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return ErrorCode.NONE if is_loading else ErrorCode(refused.code)

    def leave_group(
        self, group_id: str, members: Iterable[MemberIdentity | str]
    ) -> LeaveGroupResponse:
        """Remove members that leave.

        Args:
            group_id: the group.
            members: by member id, also as a text; static ones by instance id with an empty member
                id.

        Kafka: GroupCoordinatorService.leaveGroup (4.2)
        """
        if not group_id:
            return LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
        leaving = [MemberIdentity(m) if isinstance(m, str) else m for m in several(members)]
        try:
            return self._write(group_id, lambda shard: shard.groups.leave(group_id, leaving))
        except CoordinatorError as refused:
            return LeaveGroupResponse(ErrorCode(refused.code))

    def consumer_group_heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """Let a member of a consumer group (KIP-848) join, remain, or leave.

        Raises:
            CoordinatorError: nothing changed.

        Kafka: GroupCoordinatorService.consumerGroupHeartbeat (4.2)
        """
        check_heartbeat(request, context.request_version)
        return self._write(
            request.group_id, lambda shard: shard.consumer_groups.heartbeat(context, request)
        )

    # Requests about offsets

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
    ) -> ResultsByPartition[ErrorCode]:
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
    ) -> Future[ResultsByPartition[ErrorCode]]:
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
    ) -> ResultsByPartition[ErrorCode]:
        """Commit offsets in a producer's transaction; they count once its marker commits.

        For arguments, answer and errors see `commit`; the group must have a name.

        Kafka: GroupCoordinatorService.commitTransactionalOffsets (4.2)
        """
        if not group_id:
            raise ErrorCode.INVALID_GROUP_ID.error("a transaction commits for a group with a name")
        committer = Committer(member_id, generation, group_instance_id, is_transactional=True)

        def write(
            number: int,
            operation: Callable[[GroupCoordinatorShard], CoordinatorResult[Any]],
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
        write: Callable[..., Future[ResultsByPartition[ErrorCode]]],
    ) -> Future[ResultsByPartition[ErrorCode]]:
        codes: ResultsByPartition[ErrorCode] = ResultsByPartition()
        commits: dict[TopicPartition, OffsetCommit] = {}
        for name, value in offsets.items():
            where = partition_of(name)
            codes[where] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if self._partition_exists is None or self._partition_exists(where):
                commits[where] = OffsetCommit(value) if isinstance(value, int) else value
        if not commits:
            answer: Future[ResultsByPartition[ErrorCode]] = Future()
            answer.set_result(codes)
            return answer

        def operate(
            shard: GroupCoordinatorShard,
        ) -> CoordinatorResult[ResultsByPartition[ErrorCode]]:
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
    ) -> ResultsByPartition[FetchedOffset]:
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
            return ResultsByPartition(
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
        return ResultsByPartition(
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
    ) -> ResultsByPartition[ErrorCode]:
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
        return ResultsByPartition(codes)

    # Requests of administrators

    def describe_groups(
        self, group_ids: Iterable[str], request_version: int = 6
    ) -> list[DescribedGroup]:
        """Return what an admin client sees of groups.

        Args:
            group_ids: the groups.
            request_version: of DescribeGroups; before 6 a missing group is just "Dead".

        Kafka: GroupCoordinatorService.describeGroups (4.2)
        """
        return [self._describe(group_id, request_version) for group_id in several(group_ids)]

    def _describe(self, group_id: str, version: int) -> DescribedGroup:
        try:
            number = self._partition_of(group_id)
            return self.runtime.read(number, lambda shard: shard.describe_group(group_id, version))
        except CoordinatorError as refused:
            return DescribedGroup(group_id, "", ErrorCode(refused.code))

    def consumer_group(self, group_id: str) -> ModernGroup:
        """Return a consumer group of KIP-848 as it is now.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND, or the partition is not served.

        Kafka: GroupCoordinatorService.consumerGroupDescribe (4.2)
        """
        return self.runtime.read(
            self._partition_of(group_id),
            lambda shard: as_consumer_group(group_id, shard.group(group_id)),
        )

    def list_groups(self, states: Iterable[str] = ()) -> list[ListedGroup]:
        """Return the groups of all partitions that are served, of these states if any are given.

        Kafka: GroupCoordinatorService.listGroups (4.2)
        """
        wanted = several(states)
        found = self.runtime.read_all(lambda shard: shard.list_groups(wanted))
        return [group for groups in found.values() for group in groups]

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        """Delete groups with their offsets; return the error code of each.

        Kafka: GroupCoordinatorService.deleteGroups (4.2)
        """
        codes: dict[str, ErrorCode] = {}
        for name in several(group_ids):
            try:
                number = self._partition_of(name)
                found = self.runtime.write(number, partial(_delete_group, group_id=name))
                codes |= found
            except CoordinatorError as error:
                codes[name] = ErrorCode(error.code)
        return codes


def _delete_group(
    shard: GroupCoordinatorShard, group_id: str
) -> CoordinatorResult[dict[str, ErrorCode]]:
    return shard.delete_groups([group_id])
