"""One partition of `__consumer_offsets` while a coordinator serves it: groups and offsets.

Offsets are checked against the groups as they are now. Share and streams groups are known, but not
served.

Kafka: GroupCoordinatorShard (4.2)
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future

from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group_metadata_manager import (
    GroupMetadataManager,
    missing_group,
)
from workbench.coordinator.groups.classic.joining import new_uuid
from workbench.coordinator.groups.classic.messages import (
    DescribedGroup,
    JoinGroupRequest,
    JoinGroupResponse,
    ListedGroup,
    RequestContext,
    complete,
)
from workbench.coordinator.groups.classic.steps import Steps
from workbench.coordinator.groups.classic.timer import CoordinatorTimer
from workbench.coordinator.groups.consumer.config import ConsumerGroupConfig
from workbench.coordinator.groups.consumer.consumer_groups import ConsumerGroups
from workbench.coordinator.groups.consumer.topics import AssignableTopics
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetMetadataManager
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.records import CoordinatorResult, nothing_to_write
from workbench.files.names import TopicPartition
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.several import several
from workbench.runtime.steps import Observer
from workbench.runtime.words import plural


class GroupCoordinatorShard(OffsetMetadataManager):
    """The groups and offsets of one partition. Not thread-safe: one operation at a time.

    Args:
        where: the partition of `__consumer_offsets`.
        clock: the time.
        config: limits and retention of offsets.
        era: the coordinator that it behaves as.
        observer: receives each step.
        timer: what the groups wait for.
        classic_config: limits and delays of classic groups.
        consumer_config: limits and intervals of consumer groups.
        topics: the topics that consumer groups share out.
        make_uuid: makes the random part of classic member ids.
        has_sessions: whether the members that a log names must send heartbeats; otherwise no step
            mentions members.

    Attributes:
        groups: the classic groups.
        consumer_groups: those of KIP-848.
    """

    def __init__(
        self,
        where: TopicPartition,
        clock: Clock,
        config: OffsetConfig,
        era: CoordinatorEra = CoordinatorEra.KIP_848,
        observer: Observer | None = None,
        *,
        timer: CoordinatorTimer,
        classic_config: ClassicGroupConfig,
        consumer_config: ConsumerGroupConfig,
        topics: AssignableTopics,
        make_uuid: Callable[[], str] = new_uuid,
        has_sessions: bool = True,
    ) -> None:
        super().__init__(where, clock, config, era, observer)
        groups = self.state.groups
        observer = observer if has_sessions else None  # the members are not what it asks for
        self.groups = GroupMetadataManager(
            groups, clock, timer, classic_config, observer=observer, make_uuid=make_uuid
        )
        self.consumer_groups = ConsumerGroups(
            groups, clock, timer, consumer_config, topics, observer=observer
        )
        self._timer = timer
        self._has_sessions = has_sessions
        self._step = Steps(observer)

    # load and unload

    def on_loaded(self) -> None:
        """Begin the sessions of the members that the records name."""
        super().on_loaded()
        if self._has_sessions:
            self.groups.on_loaded()
            self.consumer_groups.on_loaded()

    def on_unloaded(self) -> None:
        """Answer the members that wait, and forget everything."""
        self._timer.cancel_all()
        self.groups.on_unloaded()
        super().on_unloaded()

    # groups

    def join(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        waiting: "Future[JoinGroupResponse]",
    ) -> CoordinatorResult[None]:
        """Let a client join a group; see `GroupMetadataManager.join`.

        An empty consumer or streams group of KIP-848 becomes a classic one. Any other group of
        KIP-848 refuses classic members: `INCONSISTENT_GROUP_PROTOCOL`.

        Kafka: GroupMetadataManager.classicGroupJoin (4.2)
        """
        group_id = request.group_id
        group = self.state.groups.get(group_id)
        if isinstance(group, ModernGroup):
            if group.members or group.kind == "share":
                error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
                complete(waiting, JoinGroupResponse(error=error))
                members = plural(len(group.members), "member")
                reason = (
                    f"{error.name}: a {group.kind} group with {members} takes no classic members "
                    "here"
                )
                numbers = {"error": error.name, "member": request.member_id}
                self._step("request refused", group_id, reason, **numbers)
                return nothing_to_write()
            return self._join_instead(group, context, request, waiting)
        return self.groups.join(context, request, waiting)

    def _join_instead(
        self,
        group: ModernGroup,
        context: RequestContext,
        request: JoinGroupRequest,
        waiting: "Future[JoinGroupResponse]",
    ) -> CoordinatorResult[None]:
        """Replace an empty group of KIP-848 by a classic one.

        Kafka: GroupMetadataManager.maybeDeleteEmptyConsumerGroup (4.2)
        """
        groups = self.state.groups
        del groups[group.group_id]
        result = self.groups.join(context, request, waiting)
        if not result.records:
            groups.setdefault(group.group_id, group)
            return result

        def stored(error: ErrorCode) -> None:
            if result.on_append is not None:
                result.on_append(error)
            if error is not ErrorCode.NONE:
                groups.setdefault(group.group_id, group)

        records = [*group.tombstones(), *result.records]
        return CoordinatorResult(records, None, on_append=stored)

    def describe_group(self, group_id: str, request_version: int) -> DescribedGroup:
        """Return what an admin client sees of a group; see `GroupMetadataManager`."""
        if isinstance(self.state.groups.get(group_id), ModernGroup):
            return missing_group(group_id, request_version, is_other=True)
        return self.groups.describe_group(group_id, request_version)

    def list_groups(self, states: Iterable[str]) -> list[ListedGroup]:
        """Return the groups, of these states if any are given; see `GroupMetadataManager`."""
        wanted = {state.strip().lower() for state in several(states)}
        modern = [
            group.listed()
            for group in self.state.groups.values()
            if isinstance(group, ModernGroup) and (not wanted or group.state.lower() in wanted)
        ]
        return self.groups.list_groups(wanted) + modern

    def extend_session(self, group_id: str, member_id: str) -> None:
        """Begin a member's session again, as its plain commit of offsets does."""
        if self._has_sessions:
            self.groups.extend_session(group_id, member_id)
