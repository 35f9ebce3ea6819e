"""The group coordinator over the logs of a log manager: clients join, sync and leave groups.

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

Joins and syncs answer through futures, because they wait for other members; the session and
rebalance timeouts run on the log manager's scheduler. What it writes, a broker loads.

Kafka: GroupCoordinatorService (4.2; once GroupCoordinator and ConsumerCoordinator)
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from workbench.coordinator.era import Era
from workbench.coordinator.group_coordinator_shard import GroupCoordinatorShard
from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.joining import new_uuid
from workbench.coordinator.groups.classic.messages import (
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
from workbench.coordinator.groups.classic.timer import CoordinatorTimer, Operation
from workbench.coordinator.groups.consumer.config import ConsumerGroupConfig, check_heartbeat
from workbench.coordinator.groups.consumer.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from workbench.coordinator.groups.consumer.topics import AssignableTopics, NoTopics, TopicImage
from workbench.coordinator.groups.groups import ModernGroup, as_consumer_group
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_manager import OffsetManager
from workbench.coordinator.offsets.offset_metadata_manager import OffsetMetadataManager
from workbench.coordinator.runtime.records import CoordinatorResult
from workbench.errors import CoordinatorError, GroupStateError, InvalidTransitionError
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.several import several
from workbench.runtime.steps import Observer

T = TypeVar("T")


def _no_configs(_group_id: str) -> Mapping[str, str]:
    return {}


class GroupCoordinatorService(OffsetManager):
    """Classic and consumer groups and their offsets, in `__consumer_offsets`; threads may share it.

    All requests about offsets are those of `OffsetManager`; here they also see who is a member.

    Args:
        manager: the started log manager.
        groups: limits and delays of groups; None: what the manager's configuration says.
        config: limits and retention of offsets.
        observer: receives each step, of `groups.classic.steps.KINDS` and `offsets.steps.KINDS`.
        make_uuid: makes the random part of member ids.
        topics: the topics that members of consumer groups share out; None: there are none.
        group_configs: returns the configuration of a group.
        options: the other arguments of `OffsetManager`.
    """

    def __init__(
        self,
        manager: LogManager,
        *,
        groups: ClassicGroupConfig | None = None,
        config: OffsetConfig | None = None,
        observer: Observer | None = None,
        make_uuid: Callable[[], str] = new_uuid,
        topics: TopicImage | None = None,
        group_configs: Callable[[str], Mapping[str, str]] = _no_configs,
        **options: Any,
    ) -> None:
        self._groups = ClassicGroupConfig.of(manager.config) if groups is None else groups
        self._make_uuid = make_uuid
        self._consumer_groups = ConsumerGroupConfig.of(manager.config, group_configs)
        self._topics = AssignableTopics(NoTopics() if topics is None else topics)
        self._local = _Operating()
        super().__init__(manager, config=config, era=Era.KIP_848, observer=observer, **options)

    def _make_shard(self, where: TopicPartition) -> GroupCoordinatorShard:
        clock = self._manager.clock
        timer = CoordinatorTimer(self._manager.scheduler, partial(self._run_timer, where.partition))
        return GroupCoordinatorShard(
            where,
            clock,
            self.config,
            self._era,
            self._observer,
            timer=timer,
            classic_config=self._groups,
            consumer_config=self._consumer_groups,
            topics=self._topics,
            make_uuid=self._make_uuid,
        )

    # how operations run

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

        def run(shard: OffsetMetadataManager) -> CoordinatorResult[T]:
            assert isinstance(shard, GroupCoordinatorShard)
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

    def _write(
        self, group_id: str, operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]]
    ) -> T:
        return self._operate(self._partition_of(group_id), operation)

    # requests of members

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
        """Let a member of a consumer group (KIP-848) join, go on, or leave.

        Raises:
            CoordinatorError: nothing changed.

        Kafka: GroupCoordinatorService.consumerGroupHeartbeat (4.2)
        """
        check_heartbeat(request, context.request_version)
        return self._write(
            request.group_id, lambda shard: shard.consumer_groups.heartbeat(context, request)
        )

    # requests of administrators

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
            return self._write(
                group_id,
                lambda shard: CoordinatorResult([], shard.describe_group(group_id, version)),
            )
        except CoordinatorError as refused:
            return DescribedGroup(group_id, "", ErrorCode(refused.code))

    def consumer_group(self, group_id: str) -> ModernGroup:
        """Return a consumer group of KIP-848 as it is now.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND, or the partition is not served.

        Kafka: GroupCoordinatorService.consumerGroupDescribe (4.2)
        """
        return self._write(
            group_id,
            lambda shard: CoordinatorResult([], as_consumer_group(group_id, shard.group(group_id))),
        )

    def list_groups(self, states: Iterable[str] = ()) -> list[ListedGroup]:
        """Return the groups of all partitions that are served, of these states if any are given.

        Kafka: GroupCoordinatorService.listGroups (4.2)
        """
        wanted = several(states)
        return [
            group
            for number in self.runtime.owned_partitions
            for group in self._operate(
                number, lambda shard: CoordinatorResult([], shard.list_groups(wanted))
            )
        ]


class _Operating(threading.local):
    """Whether this thread is in an operation, and what came due in it."""

    def __init__(self) -> None:
        self.is_inside = False
        self.later: deque[tuple[int, Operation]] = deque()
