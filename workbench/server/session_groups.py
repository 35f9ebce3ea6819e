"""Groups while the server runs: in memory alone, beginning with the offsets that are on the disk.

A group coordinator of the engine serves them, on a log in memory: its file system keeps every
change off the disk. A group that no client has used yet is the one on the disk, as a restarted
broker would load it; when a client first uses it, its offsets are committed in memory.

Kafka: GroupCoordinatorService (4.2)
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cached_property
from typing import Final
from uuid import uuid4

from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.group_metadata_manager import missing_group
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
from workbench.coordinator.groups.consumer.config import check_heartbeat
from workbench.coordinator.groups.consumer.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from workbench.coordinator.groups.consumer.topics import TopicImage
from workbench.coordinator.groups.groups import ModernGroup, as_consumer_group
from workbench.coordinator.groups.stored_groups import LoadedGroup, StoredGroups
from workbench.coordinator.offsets.offset_metadata_manager import (
    UNKNOWN_OFFSET,
    FetchedOffset,
    OffsetCommit,
)
from workbench.file_system.dry import DryFileSystem
from workbench.files.names import TopicPartition
from workbench.inspection.listing import Listing
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import SystemClock
from workbench.runtime.error_codes import ErrorCode

_CONFIG: Final = {"offsets.topic.num.partitions": 1, "log.cleaner.enable": False}
_GROUPS: Final = ClassicGroupConfig(initial_rebalance_delay_ms=0)
"""A new group does not wait for further members: it is a debugger's, not an application's."""
_MOST_BYTES: Final = 256 << 20
"""Bytes of groups, members and commits together: the log in memory is never cleaned."""
_RECORD_BYTES: Final = 600  # of a commit beside its texts: its record, and what is kept of it
_MEMBER_BYTES: Final = 4 << 10  # of a join: the member, and its timers
_GROUP_BYTES: Final = 6 << 10


class SessionGroups:
    """The groups of one server; threads may share it.

    Handlers ask it as they ask a `GroupCoordinatorService`, whose methods these are.

    Args:
        listing: returns the directories, for what is stored in `__consumer_offsets`.
        exists: returns whether a partition is served; offsets of others are refused.
        topics: the topics that members share out.
    """

    def __init__(
        self,
        listing: Callable[[], Listing],
        exists: Callable[[TopicPartition], bool],
        topics: TopicImage,
    ) -> None:
        self._listing = listing
        self._exists = exists
        self._topics = topics
        self._lock = threading.RLock()
        self._used: set[str] = set()
        self._stack = ExitStack()
        self._closed = False
        self._manager: LogManager | None = None
        self._written = 0

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._stack.close()

    @cached_property
    def _service(self) -> GroupCoordinatorService:
        # No folder of this name exists on the disk; it is made in memory only.
        folder = os.path.join(tempfile.gettempdir(), f"kafka-workbench-{uuid4().hex}")
        manager = LogManager([folder], _CONFIG, fs=DryFileSystem(now=SystemClock().now), node_id=1)
        self._stack.enter_context(manager)
        self._manager = manager
        service = GroupCoordinatorService(
            manager, groups=_GROUPS, partition_exists=self._exists, topics=self._topics
        )
        return self._stack.enter_context(service)

    @property
    def service(self) -> GroupCoordinatorService:
        """The coordinator of this session.

        Raises:
            CoordinatorError: the server has stopped.
        """
        with self._lock:
            if self._closed:
                raise ErrorCode.COORDINATOR_NOT_AVAILABLE.error("the server has stopped")
            return self._service

    @cached_property
    def _stored(self) -> dict[str, LoadedGroup]:
        return {loaded.group.group_id: loaded for loaded in self._loaded.served_groups()}

    @cached_property
    def _loaded(self) -> StoredGroups:
        return StoredGroups(self._listing())

    def _stored_groups(self) -> dict[str, LoadedGroup]:
        with self._lock:
            return self._stored

    def _stored_offsets(self, group_id: str) -> dict[TopicPartition, OffsetCommit]:
        with self._lock:
            return {
                each.where: OffsetCommit(
                    each.committed.offset, each.committed.leader_epoch, each.committed.metadata
                )
                for each in self._loaded.offsets(group_id)
                if each.unserved is None
            }

    def _use(self, group_id: str) -> GroupCoordinatorService:
        """Return the coordinator, which has the offsets that are stored for a group.

        Raises:
            CoordinatorError: the memory for groups is full.
        """
        with self._lock:
            service = self.service
            if group_id and group_id not in self._used:
                self._write(_GROUP_BYTES + 4 * len(group_id))
                self._used.add(group_id)
                offsets = self._stored_offsets(group_id)
                there = {where: each for where, each in offsets.items() if self._exists(where)}
                if there:
                    service.commit(group_id, there)
            return service

    def _write(self, size: int) -> None:
        """Count what a request writes to the log in memory, and what is kept of it.

        An assignment can be larger than the requests that lead to it, so the log counts, too.

        Raises:
            CoordinatorError: it is full, as after days of many commits.
        """
        with self._lock:
            logs = self._manager.logs.values() if self._manager is not None else ()
            taken = max(self._written, sum(log.size for log in logs))
            if taken + size > _MOST_BYTES:
                raise ErrorCode.COORDINATOR_NOT_AVAILABLE.error(
                    f"the groups of this server take {taken} bytes of memory"
                )
            self._written += size

    # members

    def join_group(
        self, client: RequestContext, request: JoinGroupRequest
    ) -> "Future[JoinGroupResponse]":
        """Let a client join a group; see `GroupCoordinatorService.join_group`.

        Raises:
            CoordinatorError: the memory for groups is full.
        """
        texts = (len(each.name) + len(each.metadata) for each in request.protocols)
        self._write(_MEMBER_BYTES + len(request.group_id) + 4 * sum(texts))
        return self._use(request.group_id).join_group(client, request)

    def sync_group(self, request: SyncGroupRequest) -> "Future[SyncGroupResponse]":
        """Give a member its assignment.

        Raises:
            CoordinatorError: the memory for groups is full.
        """
        self._write(sum(2 * (len(name) + len(given)) for name, given in request.assignments))
        return self.service.sync_group(request)

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Extend the session of a member."""
        return self.service.heartbeat(request)

    def leave_group(self, group_id: str, members: Iterable[MemberIdentity]) -> LeaveGroupResponse:
        """Remove members that leave."""
        return self.service.leave_group(group_id, members)

    def consumer_group_heartbeat(
        self, client: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """Let a member of a consumer group join, remain, or leave.

        Raises:
            CoordinatorError: it is refused, or the memory for groups is full.
        """
        check_heartbeat(request, client.request_version)
        is_joining = request.member_epoch == 0
        if request.member_epoch >= 0:
            texts = (*(request.topics or ()), request.regex or "", request.member_id)
            size = 4 * sum(map(len, texts))
            self._write(size + is_joining * (_MEMBER_BYTES + len(request.group_id)))
        service = self._use(request.group_id) if is_joining else self.service
        return service.consumer_group_heartbeat(client, request)

    # offsets

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
        """Commit offsets, in memory.

        Raises:
            CoordinatorError: the whole request fails.
        """
        each_commit = _RECORD_BYTES + len(group_id)
        texts = (len(where.topic) + len(each.metadata or "") for where, each in offsets.items())
        self._write(each_commit * len(offsets) + 2 * sum(texts))
        return self._use(group_id).commit(
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
        """Return the committed offsets of this session, or those on the disk.

        Raises:
            CoordinatorError: the group cannot be served.
        """
        with self._lock:
            is_used = group_id in self._used
        if is_used:
            return self.service.fetch(
                group_id,
                partitions,
                require_stable=require_stable,
                member_id=member_id,
                member_epoch=member_epoch,
            )
        stored = self._stored_offsets(group_id)
        wanted = list(stored) if partitions is None else partitions
        return {where: _fetched(stored.get(where)) for where in wanted}

    # descriptions

    def describe_groups(self, group_ids: Iterable[str], version: int) -> list[DescribedGroup]:
        """Return what an admin client sees of groups."""
        return [self._describe(group_id, version) for group_id in group_ids]

    def _describe(self, group_id: str, version: int) -> DescribedGroup:
        with self._lock:
            is_used = group_id in self._used
        if is_used:
            (found,) = self.service.describe_groups([group_id], version)
            return found
        loaded = self._stored_groups().get(group_id)
        if loaded is None or not isinstance(loaded.group, ClassicGroup):
            return missing_group(group_id, version, is_other=loaded is not None)
        return loaded.group.describe()

    def consumer_group(self, group_id: str) -> ModernGroup:
        """Return a consumer group of KIP-848 that is on the disk.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND, also if a session made it a classic group.
        """
        with self._lock:
            is_used = group_id in self._used
        if is_used:
            return self.service.consumer_group(group_id)
        loaded = self._stored_groups().get(group_id)
        return as_consumer_group(group_id, None if loaded is None else loaded.group)

    def list_groups(self) -> list[ListedGroup]:
        """Return the groups: those of this session, and those on the disk."""
        with self._lock:
            used = set(self._used)
        live = self.service.list_groups() if used else []
        names = {group.group_id for group in live} | used
        return live + [
            _listed(loaded) for name, loaded in self._stored_groups().items() if name not in names
        ]


def _fetched(commit: OffsetCommit | None) -> FetchedOffset:
    if commit is None:
        return UNKNOWN_OFFSET
    return FetchedOffset(commit.offset, commit.leader_epoch, commit.metadata or "")


def _listed(loaded: LoadedGroup) -> ListedGroup:
    return loaded.group.listed()
