"""The offsets of one partition of `__consumer_offsets`: what each request decides and writes.

Every operation returns the records to write and the answer; `CoordinatorRuntime` writes the records
and replays them here, as a load does.

Kafka: OffsetMetadataManager, GroupCoordinatorShard (4.2); OffsetManager (0.8.2),
GroupMetadataManager (0.9 to 3.9)
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.messages import Committer, group_not_found
from workbench.coordinator.groups.commit_records import commit_key, commit_value
from workbench.coordinator.groups.expiry import expiry_of
from workbench.coordinator.groups.group_load import GroupReplay, GroupState
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata, Offsets
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.log_records import LogChunk, LogRecord, Marker
from workbench.coordinator.runtime.records import CoordinatorRecord, CoordinatorResult
from workbench.errors import CoordinatorError, CorruptRecordError
from workbench.files.names import TopicPartition
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Observer, Reporter
from workbench.runtime.words import plural

NO_OFFSET: Final = -1
_NOT_WRITTEN: Final = -1  # offset of a record that is not in the log yet
_FIRST_WITH_GROUP_NOT_FOUND: Final = 9  # version of OffsetCommit
_FIRST_OUTSIDE_BMP: Final = "\U00010000"

# Version of the written values; one with an expire time is always version 1, which has the field.
_VERSION_OF_ERA: Final = {
    CoordinatorEra.BEFORE_2_1: 1,
    CoordinatorEra.CLASSIC: 3,
    CoordinatorEra.UNSTAMPED: 3,
    CoordinatorEra.KIP_848: 4,
}
_VERSION_WITH_EXPIRY: Final = 1


class OffsetCommit(NamedTuple):
    """One offset to commit.

    Attributes:
        offset: the next record that the group wants; any number is taken.
        leader_epoch: the epoch of the last record that the group consumed; None: unknown.
        metadata: the client's own text.
        topic_id: the topic's id in Kafka's text; None: unknown.
        timestamp: the commit's time, ms, which only version 1 of the request sends; None: now.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str | None = ""
    topic_id: str | None = None
    timestamp: int | None = None


class FetchedOffset(NamedTuple):
    """The answer for one partition.

    Attributes:
        offset: the committed offset; -1 without one.
        leader_epoch: the committed epoch; None: unknown.
        metadata: the committed text.
        error: `UNSTABLE_OFFSET_COMMIT` while a transaction that commits the partition is open.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


UNKNOWN_OFFSET: Final = FetchedOffset(NO_OFFSET)
_UNSTABLE: Final = FetchedOffset(NO_OFFSET, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)

Commits = Mapping[TopicPartition, OffsetCommit]
Codes = dict[TopicPartition, ErrorCode]


class OffsetMetadataManager(Reporter):
    """The state of one partition and what requests do with it. Not thread-safe.

    Args:
        where: the partition of `__consumer_offsets`.
        clock: the time.
        config: limits and retention.
        era: the coordinator that it behaves as.
        observer: receives each step, of `offsets.steps.KINDS`.

    Attributes:
        state: groups and offsets.

    Kafka: OffsetMetadataManager, GroupCoordinatorShard (4.2)
    """

    def __init__(
        self,
        where: TopicPartition,
        clock: Clock,
        config: OffsetConfig,
        era: CoordinatorEra = CoordinatorEra.KIP_848,
        observer: Observer | None = None,
    ) -> None:
        self.state = GroupState(str(where), str(where), era)
        self._clock = clock
        self._config = config
        self._era = era
        self._is_new = era is CoordinatorEra.KIP_848
        self.observer = observer
        self._replay = GroupReplay(self.state, observer)

    # Replay

    def replay_chunk(self, chunk: LogChunk) -> None:
        """Replay records of a load.

        Raises:
            CorruptRecordError: the coordinator of KIP-848 cannot read a record, so it does not
                serve the partition. An older one serves the partition without any group.
        """
        if self.state.failure is None:
            self._replay.take_chunk(chunk)
        if self.state.failure is not None and self._is_new:
            raise CorruptRecordError(self.state.name, None, self.state.failure)

    def replay(self, record: LogRecord | Marker) -> None:
        """Replay what was written.

        Kafka: OffsetMetadataManager.replay, replayEndTransactionMarker (4.2)
        """
        self._replay.take(record)

    def on_loaded(self) -> None:
        """Create the groups that only commits name; forget everything if the load failed."""
        if self.state.failure is not None:
            self._forget()
        self._replay.finish()

    def on_unloaded(self) -> None:
        """Forget everything."""
        self._forget()

    def _forget(self) -> None:
        groups = self.state.groups
        groups.clear()
        self.state = GroupState(self.state.name, self.state.path, self._era, groups)
        self._replay = GroupReplay(self.state, self.observer)

    def group(self, group_id: str) -> Group | None:
        """Return a group as it is now; None: there is none."""
        return self.state.groups.get(group_id)

    # Commit

    def commit_offset(
        self,
        group_id: str,
        commits: Commits,
        committer: Committer,
        retention_ms: int | None = None,
    ) -> CoordinatorResult[Codes]:
        """Commit offsets of a group; a producer's, if the runtime writes them transactionally.

        Args:
            group_id: the group; a commit without a member creates it if it is missing.
            commits: the offsets.
            committer: the member that commits, or none.
            retention_ms: the request's retention time; None: the broker's.

        Returns:
            The result: an error code for each partition. Too long metadata fails its partition
            only.

        Raises:
            CoordinatorError: the group refuses the commit.

        Kafka: OffsetMetadataManager.commitOffset, commitTransactionalOffset (4.2);
        OffsetManager.putOffsets (0.8.2), GroupMetadataManager.prepareStoreOffsets (0.9)
        """
        try:
            self._check_commit(group_id, committer)
        except CoordinatorError as error:
            self.tell("commit refused", reason=str(error), group=group_id)
            raise
        now = self._clock.now()
        records: list[CoordinatorRecord] = []
        codes: Codes = {}
        for where, commit in commits.items():
            metadata = commit.metadata or ""
            if self._is_too_long(metadata):
                codes[where] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                self._tell_too_long(group_id, where, metadata)
                continue
            codes[where] = ErrorCode.NONE
            value = self._value(commit, metadata, now, retention_ms)
            records.append(CoordinatorRecord(commit_key(group_id, where), commit_value(value)))
        if self.observer is not None:
            reason = self._why_accepted(group_id, committer)
            self.tell("commit validated", reason=reason, group=group_id, offsets=len(records))
        if not records or not self._is_new:  # otherwise replaying a record makes the group
            self.state.groups.setdefault(group_id, ClassicGroup(group_id))
        if committer.member_id and not committer.is_transactional:
            self.extend_session(group_id, committer.member_id)
        return CoordinatorResult(records, codes)

    def extend_session(self, group_id: str, member_id: str) -> None:
        """Receive that a member commits, which counts as its heartbeat.

        Kafka: OffsetMetadataManager.validateOffsetCommit (4.2)
        """

    def _check_commit(self, group_id: str, committer: Committer) -> None:
        """Kafka: OffsetMetadataManager.validateOffsetCommit (4.2)."""
        group = self.group(group_id)
        if group is not None:
            group.validate_offset_commit(committer)
        elif committer.generation >= 0:
            is_told = self._is_new and not committer.is_transactional
            if is_told and committer.api_version >= _FIRST_WITH_GROUP_NOT_FOUND:
                raise group_not_found(group_id)
            if not self._is_new and committer.is_transactional:
                raise ErrorCode.UNKNOWN_MEMBER_ID.error(f"group {group_id!r} does not exist")
            raise ErrorCode.ILLEGAL_GENERATION.error(f"group {group_id!r} does not exist")

    def _why_accepted(self, group_id: str, committer: Committer) -> str:
        group = self.group(group_id)
        if group is None:
            return "the group is new: it only commits, so it is a simple group"
        if committer.generation < 0:
            return f"the group is {group.state}, and the commit comes from outside"
        return f"{committer.member_id!r} is a member in generation {committer.generation}"

    def _is_too_long(self, metadata: str) -> bool:
        """Return whether metadata has too many UTF-16 units, which Java's length counts."""
        limit, size = self._config.metadata_max_bytes, len(metadata)
        if 2 * size <= limit:
            return False
        return size + sum(each >= _FIRST_OUTSIDE_BMP for each in metadata) > limit

    def _tell_too_long(self, group_id: str, where: TopicPartition, metadata: str) -> None:
        self.tell(
            "commit refused",
            reason=f"the metadata has {len(metadata)} characters, more than "
            f"offset.metadata.max.bytes = {self._config.metadata_max_bytes}",
            **_about(group_id, where),
        )

    def _value(
        self, commit: OffsetCommit, metadata: str, now: int, retention_ms: int | None
    ) -> OffsetAndMetadata:
        """Return the value that is written; Kafka: OffsetAndMetadata.fromRequest (4.2)."""
        expires = None if retention_ms is None else now + retention_ms
        stamp = now if commit.timestamp is None else commit.timestamp
        if self._era is CoordinatorEra.BEFORE_2_1:
            retention = self._config.retention_ms if retention_ms is None else retention_ms
            expires, stamp = stamp + retention, now
        version = _VERSION_OF_ERA[self._era] if expires is None else _VERSION_WITH_EXPIRY
        return OffsetAndMetadata(
            commit.offset,
            commit.leader_epoch,
            metadata,
            stamp,
            expires,
            commit.topic_id,
            _NOT_WRITTEN,
            version,
        )

    # Fetch

    def fetch_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        require_stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = -1,
        topic_ids: Mapping[str, str] | None = None,
    ) -> dict[TopicPartition, FetchedOffset]:
        """Return the committed offset of each partition; unknown ones have -1.

        Args:
            group_id: the group, which need not exist.
            partitions: the partitions.
            require_stable: whether partitions that an open transaction commits are refused.
            member_id, member_epoch: of a member of a group of KIP-848; None and -1: anybody.
            topic_ids: topic → id; an offset that was committed for another id is unknown.

        Raises:
            CoordinatorError: the member does not exist or has another epoch.

        Kafka: OffsetMetadataManager.fetchOffsets (4.2), OffsetManager.getOffsets (0.8.2)
        """
        offsets = self._fetchable(group_id, member_id, member_epoch)
        unstable = self._pending_for(group_id) if require_stable and offsets is not None else ()
        ids = topic_ids or {}
        return {
            where: _UNSTABLE
            if where in unstable
            else _fetched((offsets or {}).get(where), ids.get(where.topic))
            for where in partitions
        }

    def fetch_all_offsets(
        self,
        group_id: str,
        *,
        require_stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> dict[TopicPartition, FetchedOffset]:
        """Return all committed offsets of a group; for arguments and errors see `fetch_offsets`.

        Partitions that only an open transaction commits are not among them.

        Kafka: OffsetMetadataManager.fetchAllOffsets (4.2)
        """
        offsets = self._fetchable(group_id, member_id, member_epoch)
        unstable = self._pending_for(group_id) if require_stable else ()
        return {
            where: _UNSTABLE if where in unstable else _fetched(value)
            for where, value in (offsets or {}).items()
        }

    def _fetchable(self, group_id: str, member_id: str | None, member_epoch: int) -> Offsets | None:
        """Return the offsets of a group; None if there is no such group."""
        group = self.group(group_id)
        if group is None:
            return None
        try:
            group.validate_offset_fetch(member_id, member_epoch)
        except CoordinatorError as error:
            if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
                return None
            raise
        return self.state.table.offsets.get(group_id, {})

    def _pending_for(self, group_id: str) -> set[TopicPartition]:
        """Return the partitions that open transactions commit."""
        return {where for _, where, _ in self.state.table.pending_of(group_id)}

    # Deletion and expiry

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> CoordinatorResult[Codes]:
        """Delete offsets of topics that no member subscribes to.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

        Kafka: OffsetMetadataManager.deleteOffsets (4.2)
        """
        group = self.group(group_id)
        if group is None:
            raise group_not_found(group_id)
        group.validate_offset_delete()
        known = self.state.table.offsets.get(group_id, {})
        pending = self._pending_for(group_id)
        records: list[CoordinatorRecord] = []
        codes: Codes = {}
        for where in partitions:
            codes[where] = ErrorCode.NONE
            if group.is_subscribed_to(where.topic):
                codes[where] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif where in known or where in pending:
                self.tell(
                    "offset deleted", reason="a client asked for it", **_about(group_id, where)
                )
                records.append(CoordinatorRecord(commit_key(group_id, where), None))
        return CoordinatorResult(records, codes)

    def delete_groups(self, group_ids: Iterable[str]) -> CoordinatorResult[dict[str, ErrorCode]]:
        """Delete groups with their offsets; each has an error code of its own.

        Kafka: GroupCoordinatorShard.deleteGroups, OffsetMetadataManager.deleteAllOffsets (4.2);
        GroupMetadataManager.removeGroup (0.9)
        """
        records: list[CoordinatorRecord] = []
        codes: dict[str, ErrorCode] = {}
        for name in group_ids:
            group = self.group(name)
            try:
                if group is None:
                    raise group_not_found(name)
                group.validate_delete_group()
            except CoordinatorError as error:
                codes[name] = ErrorCode(error.code)
                continue
            codes[name] = ErrorCode.NONE
            doomed = list(self.state.table.offsets.get(name, {}))
            doomed += sorted(self._pending_for(name) - set(doomed))
            self.tell("group deleted", reason=f"with {plural(len(doomed), 'offset')}", group=name)
            records += [CoordinatorRecord(commit_key(name, where), None) for where in doomed]
            records += self._group_tombstones(group)
        return CoordinatorResult(records, codes)

    def on_partitions_deleted(self, partitions: Iterable[TopicPartition]) -> CoordinatorResult[int]:
        """Delete the offsets of all groups for deleted partitions; the answer counts them.

        Kafka: OffsetMetadataManager.onPartitionsDeleted (4.2)
        """
        gone = set(partitions)
        tables = [self.state.table.offsets, *self.state.table.pending.values()]
        records: list[CoordinatorRecord] = []
        for table in tables:
            for name, offsets in table.items():
                for where in [where for where in offsets if where in gone]:
                    self.tell(
                        "offset deleted", reason="its topic is deleted", **_about(name, where)
                    )
                    records.append(CoordinatorRecord(commit_key(name, where), None))
        return CoordinatorResult(records, len(records), is_atomic=False)

    def cleanup_group_metadata(self) -> CoordinatorResult[int]:
        """Delete offsets that have expired, and groups that are left empty; count the offsets.

        Kafka: GroupCoordinatorShard.cleanupGroupMetadata, OffsetMetadataManager
        .cleanupExpiredOffsets (4.2); OffsetManager.deleteExpiredOffsets (0.8.2)
        """
        now, records, count = self._clock.now(), list[CoordinatorRecord](), 0
        for name, group in list(self.state.groups.items()):
            if group.kind == "share":
                continue
            pending = self._pending_for(name)
            offsets = self.state.table.offsets.get(name, {})
            expired = [
                where
                for where, value in offsets.items()
                if self._is_expired(group, where, value, now, is_pending=where in pending)
            ]
            count += len(expired)
            records += [CoordinatorRecord(commit_key(name, where), None) for where in expired]
            if len(expired) == len(offsets) and not pending and group.state == "Empty":
                self.tell("group expired", reason="it is empty and has no offsets left", group=name)
                records += self._group_tombstones(group)
        return CoordinatorResult(records, count, is_atomic=False)

    def _is_expired(
        self,
        group: Group,
        where: TopicPartition,
        value: OffsetAndMetadata,
        now: int,
        *,
        is_pending: bool,
    ) -> bool:
        expiry = expiry_of(
            group,
            where.topic,
            value,
            era=self._era,
            retention_ms=self._config.retention_ms,
            is_pending=is_pending,
        )
        is_over = expiry.is_over(now, self._era)
        if self.observer is not None:
            when = "" if expiry.at is None else f", at {expiry.at} ms; now {now} ms"
            kind = "offset expired" if is_over else "offset kept"
            about = _about(group.group_id, where)
            self.tell(kind, reason=f"{expiry.rule}{when}", **about, expires=expiry.at, value=value)
        return is_over

    @property
    def subject(self) -> object:
        """The partition of the offsets."""
        return self.state.name

    def _group_tombstones(self, group: Group) -> list[CoordinatorRecord]:
        """Return what removes a group; before KIP-848 a simple group has no record to remove."""
        if self._is_new or not isinstance(group, ClassicGroup) or group.generation > 0:
            return list(group.tombstones())
        del self.state.groups[group.group_id]
        return []


def _about(group_id: str, where: TopicPartition) -> dict[str, Any]:
    """Return the numbers of a step about an offset."""
    return {"group": group_id, "topic": where.topic, "partition": where.partition}


def _fetched(value: OffsetAndMetadata | None, topic_id: str | None = None) -> FetchedOffset:
    """Return the answer for a value; one of another topic id is unknown."""
    if value is None:
        return UNKNOWN_OFFSET
    if topic_id is not None and value.topic_id is not None and topic_id != value.topic_id:
        return UNKNOWN_OFFSET
    return FetchedOffset(value.offset, value.leader_epoch, value.metadata)
