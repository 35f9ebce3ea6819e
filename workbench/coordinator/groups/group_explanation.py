"""Why a group resumes where it stopped, or starts over: one row per rule and partition.

A consumer starts over (as `auto.offset.reset` says) where the coordinator has no offset for it, or
one that is outside the log. So the rules are asked in this order: does the coordinator serve the
group, is there an offset, does the topic still exist, does the log hold the offset.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.commit_history import (
    ABORTED,
    OVERTAKEN,
    REMOVED,
    TOMBSTONE,
    CommitHistory,
    CommitRecord,
)
from workbench.coordinator.groups.expiry import expiry_of
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.groups.reconciliation import progress_of
from workbench.coordinator.groups.stored_groups import (
    NOTHING_COMMITTED,
    CommittedOffset,
    StoredGroups,
)
from workbench.coordinator.offsets import positions
from workbench.coordinator.runtime.partitioning import partition_for, place_row
from workbench.files.names import TopicPartition
from workbench.foresight.explain.rule_verdict import rule_row
from workbench.runtime.times import MINUTE, ms_text, time_text
from workbench.runtime.words import plural
from workbench.tables.foresight import RuleRow, Word
from workbench.tables.groups import MirrorCheckpointRow, ShareRow

_LOAD: Final = "GroupCoordinatorShard.replay (4.2)"
_FETCH: Final = "OffsetMetadataManager.fetchOffsets (4.2)"
_EXPIRY: Final = "OffsetExpirationConditionImpl.isOffsetExpired (4.2)"
_PLACE: Final = "GroupCoordinatorService.partitionFor (4.2)"
_MARKER: Final = "OffsetMetadataManager.replayEndTransactionMarker (4.2)"
_STATE: Final = "ConsumerGroup.maybeUpdateGroupState (4.2)"
_RECONCILIATION: Final = "CurrentAssignmentBuilder.build (4.2)"
_READ: Final = "UnifiedLog.read (4.2)"

_SHARE: Final = "ShareCoordinatorShard.replay (4.2)"

MIRRORED: Final = "mirror checkpoint"
"""The rule about a partition of a group that MirrorMaker 2 mirrors."""
_MIRROR: Final = "MirrorCheckpointTask.checkpoint (4.2)"
START_OFFSET: Final = "start offset"
"""The rule about a partition of a share group."""

STARTS_OVER: Final = "starts over"


class GroupExplainer:
    """Explains one group.

    Args:
        coordinator: the loaded groups.
        history: that observed their load, of the group.
        group: its id.
    """

    def __init__(self, coordinator: StoredGroups, history: CommitHistory, group: str) -> None:
        self._coordinator = coordinator
        self._history = history
        self._group = group
        self._loaded = coordinator.groups.get(group)

    def verdicts(self) -> Iterator[RuleRow]:
        """Yield the rows: of the group, then of each partition that it committed or reads."""
        yield from self._of_group()
        for each in self._coordinator.share_partitions(self._group):
            yield _share(each, self._coordinator)
        found = {(each.where, each.producer_id is None): each for each in self._offsets}
        for where in self.partitions:
            yield from self._of_partition(where, found.get((where, True)))
        served = {each.where: each for each in found.values() if each.unserved is None}
        for checkpoint in self._coordinator.mirror_checkpoints(self._group):
            yield _mirrored(checkpoint, served)

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that the log has commits or tombstones for, or members read, sorted."""
        return sorted(
            {each.where for each in self._history.commits} | self._coordinator.assigned(self._group)
        )

    @property
    def _offsets(self) -> list[CommittedOffset]:
        return list(self._coordinator.offsets(self._group))

    def _of_group(self) -> Iterator[RuleRow]:
        yield self._place()
        failed = [load for load in self._coordinator.loads if load.failure is not None]
        mine = [load for load in failed if load.partition.partition in self._partitions_to_ask]
        for load in mine:
            reason = f"a broker's load of {load.partition.name} fails: {load.failure}"
            yield rule_row("load", "blocks", load.failure, None, reason, _LOAD)
        if not mine:
            yield rule_row("load", "allows", None, None, "a broker can load it", _LOAD)
        yield self._existence()
        yield from self._reconciliation()

    @property
    def _partitions_to_ask(self) -> set[int]:
        if self._loaded is not None:
            return {self._loaded.load.partition.partition}
        count = self._coordinator.partition_count
        every = {load.partition.partition for load in self._coordinator.loads}
        return every if count is None else {partition_for(self._group, count)}

    def _place(self) -> RuleRow:
        logs = {commit.log for commit in self._history.commits}
        logs |= {event.log for event in self._history.events}
        if self._loaded is not None:
            logs.add(self._loaded.load.partition.name)
        here = {load.partition.name for load in self._coordinator.loads}
        count = self._coordinator.partition_count
        return place_row(GROUPS_TOPIC, self._group, count, here, logs, _PLACE)

    def _existence(self) -> RuleRow:
        if self._loaded is not None:
            group = self._loaded.group
            reason = f"a {group.kind} group, {group.state}, generation {group.generation}"
            return rule_row("group", "allows", group.state, None, reason, _LOAD)
        removed = [event for event in self._history.events if event.group is None]
        if removed:
            last = removed[-1]
            reason = f"removed by a tombstone at {last.log} offset {last.log_offset}"
            if last.timestamp is not None:
                reason += f", {time_text(last.timestamp)}"
            return rule_row("group", "blocks", "Dead", None, reason, _LOAD)
        if self._history.commits:
            reason = "only records that no longer count mention the group"
            return rule_row("group", "blocks", "Dead", None, reason, _LOAD)
        reason = "no record mentions the group: it never existed, or compaction removed its records"
        reason += self._coordinator.other_names(self._group)
        return rule_row("group", "unknown", "Dead", None, reason, _LOAD)

    def _reconciliation(self) -> Iterator[RuleRow]:
        """Yield how far a group of KIP-848 is: its epochs, and each member."""
        group = None if self._loaded is None else self._loaded.group
        if not isinstance(group, ModernGroup) or not group.members:
            return
        epoch, target = group.epoch, group.assignment_epoch
        reason = f"group epoch {epoch}, target assignment of epoch {target}"
        verdict: Word = "allows"
        if epoch > target:
            verdict, reason = "limits", f"{reason}: the next one is not computed yet"
        yield rule_row("epoch", verdict, epoch, target, reason, _STATE)
        for name, member in group.members.items():
            reason = f"{name}: {progress_of(group, name, self._coordinator.logs.topic_names)}"
            verdict = "allows" if member.has_reached(target) else "limits"
            yield rule_row("reconciliation", verdict, member.epoch, target, reason, _RECONCILIATION)

    def _of_partition(
        self, where: TopicPartition, found: CommittedOffset | None
    ) -> Iterator[RuleRow]:
        commits = [each for each in self._history.commits if each.where == where]
        yield from self._transactions(where, commits)
        if found is None:
            yield self._absence(where, commits)
            return
        yield self._offset(where, found)
        yield from self._backwards(where, found, commits)
        if found.expiry is not None:
            yield _expiry(where, found, self._coordinator.now)
        yield from _log(where, found)

    def _offset(self, where: TopicPartition, found: CommittedOffset) -> RuleRow:
        committed = found.committed
        reason = (
            f"offset {committed.offset} was committed at {time_text(committed.commit_timestamp)}, "
            f"record {committed.record_offset} of {GROUPS_TOPIC}-{found.log_partition}"
        )
        if committed.leader_epoch is None:
            reason += (
                "; without a leader epoch, so consumers cannot ask whether the log was truncated"
            )
        verdict: Word = "allows"
        if found.unserved is not None:
            verdict, reason = "blocks", f"{reason}; {found.unserved}"
        return rule_row("offset", verdict, committed.offset, None, reason, _FETCH, where=where)

    def _absence(self, where: TopicPartition, commits: list[CommitRecord]) -> RuleRow:
        """Return why there is no offset."""
        if not commits:
            return rule_row("offset", "blocks", None, None, NOTHING_COMMITTED, _FETCH, where=where)
        removed = [each for each in commits if each.fate == REMOVED]
        if removed:
            return self._removal(where, removed[-1], commits)
        aborted = [each for each in commits if each.fate == ABORTED]
        if aborted:
            reason = "no commit but those of transactions that aborted"
        elif commits[-1].fate == TOMBSTONE:
            last = commits[-1]
            reason = f"a tombstone at {last.log} offset {last.log_offset}"
            reason += "; compaction has taken what it removed"
        else:
            reason = "no commit counts yet: the transaction of each is still open"
        return rule_row("offset", "blocks", None, None, reason, _FETCH, where=where)

    def _removal(
        self, where: TopicPartition, removed: CommitRecord, commits: list[CommitRecord]
    ) -> RuleRow:
        """Return why a tombstone removed the offset, as far as the times show."""
        committed = removed.committed
        assert committed is not None
        tombstone = next(
            (
                each
                for each in commits
                if (each.log, each.log_offset) == (removed.log, removed.ended_at)
            ),
            None,
        )
        time = None if tombstone is None else tombstone.timestamp
        reason = f"a tombstone at {removed.log} offset {removed.ended_at}"
        if time is None:
            reason += f" removed offset {committed.offset}"
            return rule_row("offset", "blocks", committed.offset, None, reason, _FETCH, where=where)
        reason += f", {time_text(time)}, removed offset {committed.offset}; "
        before = [
            each.group
            for each in self._history.events
            if each.log == removed.log and each.log_offset < (removed.ended_at or 0)
        ]
        group = (before[-1] if before else None) or ClassicGroup(self._group)
        if self._loaded is not None and not isinstance(self._loaded.group, ClassicGroup):
            group = ClassicGroup(self._group)  # of members at that time no record is left
        retention = self._coordinator.retention_ms
        expiry = expiry_of(
            group, where.topic, committed, era=self._coordinator.era, retention_ms=retention
        )
        if expiry.at is not None and expiry.at <= time:
            reason += f"it had expired at {time_text(expiry.at)} ({expiry.rule})"
        elif self._coordinator.logs.is_gone(where):
            reason += "deleted with its topic, which is gone"
        elif expiry.at is None:
            reason += f"deleted by a client or with its topic: it expires {expiry.rule}"
        else:
            age = ms_text(time - (expiry.at - retention), " ms")
            reason += (
                f"deleted by a client or with its topic, {age} after what retention counts "
                f"from: or offsets.retention.minutes was below {retention // MINUTE:,}"
            )
        return rule_row(
            "offset", "blocks", committed.offset, expiry.at, reason, _EXPIRY, where=where
        )

    def _transactions(
        self, where: TopicPartition, commits: list[CommitRecord]
    ) -> Iterator[RuleRow]:
        for each in self._offsets:
            if each.where == where and each.producer_id is not None:
                offset, at = each.committed.offset, each.committed.record_offset
                reason = (
                    f"producer {each.producer_id} committed {offset} at record {at} in a "
                    "transaction that is open: consumers that ask for stable offsets get "
                    "UNSTABLE_OFFSET_COMMIT until it ends"
                )
                yield rule_row("transaction", "limits", offset, None, reason, _FETCH, where=where)
        last = next((c for c in reversed(commits) if c.fate in {ABORTED, OVERTAKEN}), None)
        settled = [c.log_offset for c in commits if c.fate not in {ABORTED, OVERTAKEN}]
        if (
            last is None
            or last.committed is None
            or max(settled, default=-1) > (last.ended_at or 0)
        ):
            return  # none, or what came after its marker counts
        word = "aborted" if last.fate == ABORTED else "committed after a plain commit"
        reason = (
            f"the transaction of producer {last.producer_id} that committed "
            f"{last.committed.offset} {word}, marker at {last.ended_at}: it does not count"
        )
        offset = last.committed.offset
        yield rule_row("transaction", "limits", offset, None, reason, _MARKER, where=where)

    def _backwards(
        self, where: TopicPartition, found: CommittedOffset, commits: list[CommitRecord]
    ) -> Iterator[RuleRow]:
        earlier = [
            each
            for each in commits
            if each.committed is not None
            and each.fate not in {ABORTED, OVERTAKEN}
            and each.log_offset < found.committed.record_offset
        ]
        highest = max(earlier, key=_offset_of, default=None)
        if highest is None or _offset_of(highest) <= found.committed.offset:
            return
        places = [(each.log_offset, _offset_of(each)) for each in earlier]
        places.append((found.committed.record_offset, found.committed.offset))
        at = next(
            place
            for place, offset in places
            if place > highest.log_offset and offset < _offset_of(highest)
        )
        reason = (
            f"a commit at record {at} went back below {_offset_of(highest)}, committed at record "
            f"{highest.log_offset}: a reset, or another consumer of the same name"
        )
        offset = found.committed.offset
        yield rule_row("order", "limits", offset, _offset_of(highest), reason, _FETCH, where=where)


def _mirrored(
    checkpoint: MirrorCheckpointRow, served: Mapping[TopicPartition, CommittedOffset]
) -> RuleRow:
    """Return where MirrorMaker 2 says that a group of another cluster goes on."""
    where = TopicPartition(checkpoint.topic, checkpoint.partition)
    reason = (
        f"MirrorMaker 2: offset {checkpoint.upstream_offset} of cluster {checkpoint.source} is "
        f"offset {checkpoint.offset} here"
    )
    own = served.get(where)
    verdict: Word = "allows"
    if own is None:
        verdict = "unknown"
        reason += (
            ", and nothing is committed here: consumers that translate their offsets go on there, "
            "others start over, unless sync.group.offsets.enabled commits it first"
        )
    elif own.committed.offset != checkpoint.offset:
        reason += f"; the group has committed {own.committed.offset} here, where it goes on"
    return rule_row(
        MIRRORED,
        verdict,
        checkpoint.offset,
        checkpoint.log_end_offset,
        reason,
        _MIRROR,
        where=where,
    )


def _share(share: ShareRow, coordinator: StoredGroups) -> RuleRow:
    """Return where a share group delivers from in a partition, and what is in flight."""
    where = TopicPartition(share.topic, share.partition)
    start, end = share.start_offset, share.log_end_offset
    verdict: Word = "allows"
    if start is None:
        verdict = "unknown"
        reason = "nothing was read yet: share.auto.offset.reset decides where the group begins"
    elif end is None:
        verdict, reason = "unknown", coordinator.logs.absence(where)[1]
    else:
        reason = f"delivers from offset {start}"
        low = share.log_start_offset or 0
        if not low <= start <= end:
            verdict, reason = "limits", f"{reason}, outside of the log ({low} to {end})"
        if share.in_flight:
            states = [
                f"{count:,} {word}"
                for state, word in _SHARE_STATES.items()
                if (count := getattr(share, state))
            ]
            flight = plural(share.in_flight, "offset")
            reason += f"; {flight} in flight: {', '.join(states)}"
        reason += "; lag unknown" if share.lag is None else f"; lag {share.lag:,}"
    return rule_row(START_OFFSET, verdict, start, end, reason, _SHARE, where=where)


_SHARE_STATES: Final = {
    "acknowledged": "acknowledged",
    "archived": "archived",
    "available": "to be delivered again",
    "last_delivery": "of these with one delivery left",
}


def waits_for_transaction(row: RuleRow) -> bool:
    """Return whether a row says that consumers wait for the end of a transaction."""
    return (row.rule, row.kafka) == ("transaction", _FETCH)


def _offset_of(commit: CommitRecord) -> int:
    assert commit.committed is not None
    return commit.committed.offset


def _expiry(where: TopicPartition, found: CommittedOffset, now: int | None) -> RuleRow:
    expiry = found.expiry
    assert expiry is not None
    if expiry.at is None:
        return rule_row("expiry", "allows", None, now, expiry.rule, _EXPIRY, where=where)
    is_over = found.has_expired
    verdict: Word = "blocks" if is_over else "allows"
    reason = f"expires at {time_text(expiry.at)}: {expiry.rule}"
    due = None if is_over else expiry.at
    return rule_row("expiry", verdict, expiry.at, now, reason, _EXPIRY, where=where, due=due)


def _log(where: TopicPartition, found: CommittedOffset) -> Iterator[RuleRow]:
    """Yield whether the topic is the one that was consumed, and whether its log has the offset."""
    position, offset = found.position, found.committed.offset
    state = position.state
    if state is None:
        yield rule_row("log", "unknown", offset, None, position.reason, _READ, where=where)
        return
    if state in {positions.TOPIC_GONE, positions.RECREATED}:
        topic_id = found.committed.topic_id
        reason = f"{state}: {position.reason}"
        yield rule_row("topic", "blocks", topic_id, None, reason, _FETCH, where=where)
        return
    verdict: Word = "allows" if state == positions.IN_THE_LOG else "blocks"
    bounds = f"{position.log_start_offset} to {position.log_end_offset}"
    reason = (
        f"lag {position.lag}" if state == positions.IN_THE_LOG else f"{state}: {position.reason}"
    )
    yield rule_row("log", verdict, offset, bounds, reason, _READ, where=where)
