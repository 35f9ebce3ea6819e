"""One partition of `__consumer_offsets` while a coordinator serves it: groups and offsets.

Offsets are checked against the groups as they are now. Share and streams groups are known, but not
served.

Kafka: GroupCoordinatorShard (4.2)
"""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Final

import numpy as np

from workbench.coordinator.era import Era
from workbench.coordinator.groups.classic.group_metadata_manager import (
    GroupMetadataManager,
    missing_group,
)
from workbench.coordinator.groups.classic.messages import (
    DescribedGroup,
    JoinGroupRequest,
    JoinGroupResponse,
    ListedGroup,
    RequestContext,
    complete,
)
from workbench.coordinator.groups.classic.records import as_loaded
from workbench.coordinator.groups.classic.steps import Steps
from workbench.coordinator.groups.classic.timer import CoordinatorTimer
from workbench.coordinator.groups.commit_records import int16_at
from workbench.coordinator.groups.consumer.config import ConsumerGroupConfig
from workbench.coordinator.groups.consumer.consumer_groups import ConsumerGroups
from workbench.coordinator.groups.consumer.topics import AssignableTopics
from workbench.coordinator.groups.group_records import GROUP_METADATA
from workbench.coordinator.groups.groups import ClassicGroup as LoadedGroup
from workbench.coordinator.groups.groups import Group, ModernGroup
from workbench.coordinator.log_records import LogChunk, LogRecord, Marker, key_of
from workbench.coordinator.offsets.commit_checks import Committer
from workbench.coordinator.offsets.group_tombstones import group_tombstones
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import (
    Codes,
    Commits,
    OffsetMetadataManager,
)
from workbench.coordinator.runtime.records import CoordinatorResult, nothing_to_write
from workbench.decoders.consumer_offsets import TYPES
from workbench.errors import CorruptRecordError
from workbench.files.names import TopicPartition
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.several import several
from workbench.runtime.steps import Observer
from workbench.runtime.words import plural

_SMALLEST_KEY: Final = 2  # bytes: the type


class GroupCoordinatorShard(OffsetMetadataManager):
    """The groups and offsets of one partition. Not thread-safe: one operation at a time.

    Args:
        where: the partition of `__consumer_offsets`.
        clock: the time.
        config: limits and retention of offsets.
        era: the coordinator that it behaves as.
        observer: receives each step.
        groups: the classic groups.
        timer: what the groups wait for.
        consumer_config: limits and intervals of consumer groups.
        topics: the topics that consumer groups share out.

    Attributes:
        groups: the classic groups.
        consumer_groups: those of KIP-848.
    """

    def __init__(
        self,
        where: TopicPartition,
        clock: Clock,
        config: OffsetConfig,
        era: Era = Era.KIP_848,
        observer: Observer | None = None,
        *,
        groups: GroupMetadataManager,
        timer: CoordinatorTimer,
        consumer_config: ConsumerGroupConfig,
        topics: AssignableTopics,
    ) -> None:
        super().__init__(where, clock, config, era, observer)
        self.groups = groups
        self.consumer_groups = ConsumerGroups(
            lambda: self.state.groups,
            groups,
            clock,
            timer,
            consumer_config,
            topics,
            observer=observer,
        )
        self._timer = timer
        self._step = Steps(observer)
        self._values: dict[str, bytes] = {}  # of the groups' records, while the partition loads

    # replay

    def replay_chunk(self, chunk: LogChunk) -> None:
        """Replay records of a load; see `OffsetMetadataManager`."""
        super().replay_chunk(chunk)
        keys = chunk.keys
        at = np.flatnonzero(keys.sizes() >= _SMALLEST_KEY)
        for row in at[int16_at(keys.data, keys.offsets[at]) == GROUP_METADATA].tolist():
            for record in chunk.records(row, row + 1):
                self._keep(record)

    def _keep(self, record: LogRecord | Marker) -> None:
        """Keep the newest value of a group; members are made of it once all is read."""
        if isinstance(record, Marker):
            return
        try:
            group_id = key_of(record, TYPES).fields["group"]
        except CorruptRecordError:
            return  # the replay has found it, too
        if record.value is None:
            self._values.pop(group_id, None)
        else:
            self._values[group_id] = record.value

    def replay(self, record: LogRecord | Marker) -> None:
        """Replay what was written: offsets, and tombstones of groups."""
        super().replay(record)
        if isinstance(record, Marker) or record.key is None:
            return
        key = key_of(record, TYPES)
        if key.type_id == GROUP_METADATA:
            self.groups.replay(key.fields["group"], record.value)

    def on_loaded(self) -> None:
        """Begin the sessions of the members that the records name."""
        super().on_loaded()
        values, self._values = self._values, {}
        for group_id, value in values.items():
            if isinstance(self.state.groups.get(group_id), LoadedGroup):
                self.groups.replay(group_id, value)
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
        self._adopt(group_id)
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
        result = self.groups.join(context, request, waiting)
        if not result.records:
            return result
        del self.state.groups[group.group_id]

        def stored(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                self.state.groups[group.group_id] = group
            if result.on_append is not None:
                result.on_append(error)

        records = [*group_tombstones(group), *result.records]
        return CoordinatorResult(records, None, on_append=stored)

    def describe_group(self, group_id: str, request_version: int) -> DescribedGroup:
        """Return what an admin client sees of a group; see `GroupMetadataManager`."""
        self._adopt(group_id)
        if isinstance(self.state.groups.get(group_id), ModernGroup):
            return missing_group(group_id, request_version, is_other=True)
        return self.groups.describe_group(group_id, request_version)

    def list_groups(self, states: Iterable[str]) -> list[ListedGroup]:
        """Return the groups, of these states if any are given; see `GroupMetadataManager`."""
        for group_id in self.state.groups:
            self._adopt(group_id)
        wanted = {state.strip().lower() for state in several(states)}
        modern = [
            ListedGroup(group.group_id, group.protocol_type, group.state, group.kind)
            for group in self.state.groups.values()
            if isinstance(group, ModernGroup) and (not wanted or group.state.lower() in wanted)
        ]
        return self.groups.list_groups(wanted) + modern

    def _adopt(self, group_id: str) -> None:
        """Serve a simple group, which only commits name, as an empty group."""
        if isinstance(self.state.groups.get(group_id), LoadedGroup):
            self.groups.get_or_create(group_id)

    def group(self, group_id: str) -> Group | None:
        """Return a group as it is now; None: there is none."""
        live = self.groups.groups.get(group_id)
        if live is not None:
            self.state.groups[group_id] = as_loaded(live)
        return super().group(group_id)

    # offsets

    def commit_offset(
        self,
        group_id: str,
        commits: Commits,
        committer: Committer,
        retention_ms: int | None = None,
    ) -> CoordinatorResult[Codes]:
        """Commit offsets; a member's plain commit also extends its session."""
        result = super().commit_offset(group_id, commits, committer, retention_ms)
        if not committer.is_transactional:
            self.groups.extend_session(group_id, committer.member_id)
        return result

    def cleanup_group_metadata(self) -> CoordinatorResult[int]:
        """Delete offsets that have expired, and empty groups without offsets."""
        for group_id in self.groups.groups:
            self.group(group_id)
        return super().cleanup_group_metadata()
