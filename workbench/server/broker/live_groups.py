"""Groups of a server that may write: the engine's coordinator, on the directory's own logs.

Kafka: GroupCoordinatorService (4.2)
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future

from workbench.coordinator.group_coordinator_service import GroupCoordinatorService
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
)
from workbench.coordinator.groups.consumer.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.offsets.offset_metadata_manager import FetchedOffset, OffsetCommit
from workbench.files.names import TopicPartition
from workbench.runtime.error_codes import ErrorCode


class LiveGroups:
    """What handlers ask about groups, as they ask `SessionGroups`; threads may share it.

    Args:
        service: the coordinator.
        make_topic: makes `__consumer_offsets` if it is not there.

    Attributes:
        service: the coordinator.
    """

    def __init__(self, service: GroupCoordinatorService, make_topic: Callable[[], None]) -> None:
        self.service = service
        self._make_topic = make_topic

    def join(
        self, client: RequestContext, request: JoinGroupRequest
    ) -> "Future[JoinGroupResponse]":
        """Let a client join a group."""
        self._make_topic()
        return self.service.join_group(client, request)

    def sync(self, request: SyncGroupRequest) -> "Future[SyncGroupResponse]":
        """Give a member its assignment."""
        return self.service.sync_group(request)

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Extend the session of a member."""
        return self.service.heartbeat(request)

    def leave(self, group_id: str, members: Iterable[MemberIdentity]) -> LeaveGroupResponse:
        """Remove members that leave."""
        return self.service.leave_group(group_id, members)

    def consumer_group_heartbeat(
        self, client: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """Let a member of a consumer group join, go on, or leave.

        Raises:
            CoordinatorError: it is refused.
        """
        self._make_topic()
        return self.service.consumer_group_heartbeat(client, request)

    def commit(
        self,
        group_id: str,
        offsets: dict[TopicPartition, OffsetCommit],
        *,
        member_id: str,
        generation: int,
        group_instance_id: str | None,
        api_version: int,
    ) -> dict[TopicPartition, ErrorCode]:
        """Commit offsets.

        Raises:
            CoordinatorError: the whole request fails.
        """
        self._make_topic()
        return self.service.commit(
            group_id,
            offsets,
            member_id=member_id,
            generation=generation,
            group_instance_id=group_instance_id,
            api_version=api_version,
        )

    def fetch(
        self,
        group_id: str,
        partitions: list[TopicPartition] | None,
        *,
        require_stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> dict[TopicPartition, FetchedOffset]:
        """Return committed offsets.

        Raises:
            CoordinatorError: the group cannot be served.
        """
        self._make_topic()
        return self.service.fetch(
            group_id,
            partitions,
            require_stable=require_stable,
            member_id=member_id,
            member_epoch=member_epoch,
        )

    def describe(self, group_id: str, version: int) -> DescribedGroup:
        """Return what an admin client sees of a group."""
        self._make_topic()
        (found,) = self.service.describe_groups([group_id], version)
        return found

    def consumer_group(self, group_id: str) -> ModernGroup:
        """Return a consumer group of KIP-848.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND, or the coordinator cannot serve the group.
        """
        self._make_topic()
        return self.service.consumer_group(group_id)

    def list(self) -> "list[ListedGroup]":
        """Return the groups."""
        return self.service.list_groups()
