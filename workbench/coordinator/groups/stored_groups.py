"""All groups of log directories and their committed offsets, as a restarted broker would have them.

Kafka: GroupCoordinator (once OffsetManager and ConsumerCoordinator), GroupCoordinatorService (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.expiry import Expiry, expiry_of
from workbench.coordinator.groups.group_load import GROUPS_TOPIC, GroupLoad, load_group_partition
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.groups.members import members_of
from workbench.coordinator.groups.mirror_checkpoints import mirror_checkpoints
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.groups.share_history import share_deliveries
from workbench.coordinator.groups.share_state import load_share_partitions
from workbench.coordinator.offsets.positions import LogPositions, Position
from workbench.coordinator.runtime.era import CoordinatorEra, era_of_cluster
from workbench.coordinator.runtime.partitioning import partition_count, partition_for
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.runtime.steps import Observer
from workbench.runtime.words import did_you_mean, first_few, plural
from workbench.tables.groups import DeliveryRow, MirrorCheckpointRow, ShareRow

NOTHING_COMMITTED: Final = (
    "assigned to a member, and nothing is committed: auto.offset.reset decides"
)
"""Why a consumer does not go on in a partition where its group left off."""


class LoadedGroup(NamedTuple):
    """A group and where its records are.

    Attributes:
        group: the loaded group.
        load: the partition of `__consumer_offsets` that holds it.
        unserved: why a restarted broker would not load the group; None: it would.
    """

    group: Group
    load: GroupLoad
    unserved: str | None


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """One committed offset with its expiry and its position.

    Attributes:
        group: its id.
        where: topic and partition.
        committed: the value.
        log_partition: partition of `__consumer_offsets`.
        producer_id: the producer whose open transaction committed it; None: the commit is in force.
        expiry: when it expires; None for a pending one.
        position: its position in the log that it is for.
        unserved: why a restarted broker would not return it; None: it does.
    """

    group: str
    where: TopicPartition
    committed: OffsetAndMetadata
    log_partition: int
    producer_id: int | None
    expiry: Expiry | None
    position: Position
    unserved: str | None

    @property
    def has_expired(self) -> bool:
        """Whether a restarted broker would return it, if it had not expired."""
        return self.unserved is not None and self.unserved.startswith("expired")


class UncommittedPartition(NamedTuple):
    """A partition that is assigned to a member, and for which no offset is served.

    Attributes:
        group: the group's id.
        where: topic and partition.
        log_partition: partition of `__consumer_offsets` of the group.
        reason: what that means.
    """

    group: str
    where: TopicPartition
    log_partition: int
    reason: str


class StoredGroups:
    """Load the groups of a listing.

    Args:
        listing: the directories.
        era: the era of the rules; None: that of the coordinator that wrote the log, by the
            cluster's metadata and the records.
        retention_ms: `offsets.retention.minutes` in ms; None: Kafka's default.
        now: ms; offsets that have expired then are not served. None: expiry removes nothing, as
            when a broker has just loaded.
        earlier: the groups as they were: partitions of the listing that are the same objects as
            there are not read again.

    Raises:
        OSError: a file cannot be read.
    """

    def __init__(
        self,
        listing: Listing,
        *,
        era: CoordinatorEra | None = None,
        retention_ms: int | None = None,
        now: int | None = None,
        earlier: "StoredGroups | None" = None,
    ) -> None:
        self.logs = LogPositions(listing)
        self.loads: list[GroupLoad] = _load(
            self.logs, era, [] if earlier is None else earlier.loads
        )
        self.era = self.loads[0].era if self.loads else era_of_cluster(self.logs.cluster)
        self.retention_ms = self.era.default_retention_ms if retention_ms is None else retention_ms
        self.now = now

    def observe(
        self, observer: Observer, group: str | None = None, *, each_commit: bool = True
    ) -> None:
        """Load again, step by step.

        Args:
            observer: receives a `Step` for each record, of `steps.LOAD_KINDS`.
            group: load only the partitions that hold the group, or where a broker looks for it.
            each_commit: see `load_group_partition`.

        Raises:
            OSError: a file cannot be read.
        """
        for load in self.loads:
            if group is None or self._may_hold(load, group):
                load_group_partition(
                    load.partition,
                    self.era,
                    end=load.bound,
                    observer=observer,
                    each_commit=each_commit,
                )

    def _may_hold(self, load: GroupLoad, group: str) -> bool:
        count = self.partition_count
        is_right = count is None or partition_for(group, count) == load.partition.partition
        return is_right or group in load.groups or group in _names(load)

    @cached_property
    def partition_count(self) -> int | None:
        """Partitions of `__consumer_offsets`; None if unknown."""
        cluster = self.logs.cluster
        stored = None if cluster is None else cluster.partition_counts.get(GROUPS_TOPIC)
        names = {load.partition.partition: load.groups.keys() for load in self.loads}
        return partition_count(names, names, stored)

    @cached_property
    def groups(self) -> dict[str, LoadedGroup]:
        """Every group by id, sorted; a group in two partitions as in the right one."""
        found: dict[str, LoadedGroup] = {}
        for load in self.loads:
            for name, group in load.groups.items():
                loaded = LoadedGroup(group, load, self._unserved(name, load))
                known = found.get(name)
                if known is None or (known.unserved is not None and loaded.unserved is None):
                    found[name] = loaded
        return dict(sorted(found.items()))

    def _unserved(self, name: str, load: GroupLoad) -> str | None:
        if load.failure is not None:
            return f"loading {load.partition.name} fails: {load.failure}"
        count = self.partition_count
        if count is not None and partition_for(name, count) != load.partition.partition:
            right = f"{GROUPS_TOPIC}-{partition_for(name, count)}"
            return f"the group is in {load.partition.name}, but a broker looks in {right}"
        return None

    @cached_property
    def _shares(self) -> tuple[list[ShareRow], list[Finding]]:
        findings: list[Finding] = []
        return load_share_partitions(self.logs, findings), findings

    def share_partitions(self, group: str | None = None) -> Iterator[ShareRow]:
        """Yield what share groups have delivered, sorted by group, topic and partition.

        Args:
            group: the only group to yield.

        Raises:
            OSError: a file cannot be read.
        """
        return (each for each in self._shares[0] if group is None or each.group == group)

    def share_deliveries(self, group: str | None = None) -> Iterator[DeliveryRow]:
        """Yield what became of records of share groups, by time; see `share_history`.

        Args:
            group: the only group to yield.

        Raises:
            OSError: a file cannot be read.
        """
        found = share_deliveries(self.logs, group)
        return iter(sorted(found, key=lambda each: -1 if each.time is None else each.time))

    def mirror_checkpoints(self, group: str | None = None) -> Iterator[MirrorCheckpointRow]:
        """Yield where groups that MirrorMaker 2 mirrors go on here; see `mirror_checkpoints`.

        Args:
            group: the only group to yield.

        Raises:
            OSError: a file cannot be read.
        """
        return mirror_checkpoints(self.logs, group)

    @cached_property
    def names(self) -> set[str]:
        """The groups that a record in force names."""
        return {name for load in self.loads for name in _names(load)}

    def other_names(self, group: str) -> str:
        """Return which group was probably meant, or which are here: the end of a sentence."""
        some = first_few(sorted(self.names)) or "none"
        return did_you_mean(group, self.names) or f"; groups in these directories: {some}"

    def served_groups(self) -> Iterator[LoadedGroup]:
        """Yield the groups that a restarted broker knows."""
        return (loaded for loaded in self.groups.values() if loaded.unserved is None)

    def offsets(self, group: str | None = None) -> Iterator[CommittedOffset]:
        """Yield every committed and pending offset, sorted by group, topic and partition.

        Args:
            group: the only group to yield.
        """
        for name in sorted(self.names if group is None else self.names & {group}):
            found = [offset for load in self.loads for offset in self._of_group(name, load)]
            yield from sorted(found, key=lambda each: (each.where, each.producer_id or -1))

    def assigned(self, name: str) -> set[TopicPartition]:
        """Return the partitions that are assigned to members of a group that commits offsets."""
        loaded = self.groups.get(name)
        if loaded is None or loaded.group.kind not in {"classic", "consumer"}:
            return set()
        members = members_of(loaded.group, self.logs.topic_names)
        names = (each.rpartition("-") for row in members for each in row.assignment or ())
        return {TopicPartition(topic, int(n)) for topic, _, n in names if topic and n.isdigit()}

    def uncommitted(self, group: str | None = None) -> Iterator[UncommittedPartition]:
        """Yield the assigned partitions for which no offset is served, sorted.

        Args:
            group: the only group to yield.
        """
        for name, loaded in self.groups.items():
            if loaded.unserved is not None or (group is not None and name != group):
                continue
            assigned = self.assigned(name)
            if not assigned:
                continue
            served = {each.where for each in self.offsets(name) if each.unserved is None}
            for where in sorted(assigned - served):
                yield UncommittedPartition(
                    name, where, loaded.load.partition.partition, NOTHING_COMMITTED
                )

    def _of_group(self, name: str, load: GroupLoad) -> Iterator[CommittedOffset]:
        pending = list(load.table.pending_of(name))
        open_for = {where for _, where, _ in pending}
        group = load.groups.get(name)
        unserved = self._unserved(name, load)
        if group is None:
            unserved = "a tombstone removed the group after the commit"
        number = load.partition.partition
        for where, committed in load.table.offsets.get(name, {}).items():
            expiry = expiry_of(
                ClassicGroup(name) if group is None else group,
                where.topic,
                committed,
                era=self.era,
                retention_ms=self.retention_ms,
                is_pending=where in open_for,
            )
            why = unserved
            if why is None and self.now is not None and expiry.is_over(self.now, self.era):
                why = f"expired: {expiry.rule}"
            position = self.logs.of(where, committed)
            yield CommittedOffset(name, where, committed, number, None, expiry, position, why)
        for producer, where, committed in pending:
            why = f"pending: producer {producer} has neither committed nor aborted"
            position = self.logs.of(where, committed)
            yield CommittedOffset(name, where, committed, number, producer, None, position, why)

    def findings(self) -> list[Finding]:
        """Return what could not be read, and groups in a wrong partition."""
        found = [finding for load in self.loads for finding in load.findings]
        found += self._shares[1]
        count = self.partition_count
        if count is None:
            return found
        for load in self.loads:
            wrong = [n for n in load.groups if partition_for(n, count) != load.partition.partition]
            for name in sorted(wrong):
                right = partition_for(name, count)
                found.append(
                    Finding(
                        "group-partition",
                        "warning",
                        load.partition.path,
                        None,
                        getattr(load.groups[name], "record_offset", None),
                        f"group {name!r} is in this partition",
                        f"{GROUPS_TOPIC}-{right}: the topic has {plural(count, 'partition')}",
                        "A broker looks for the group in the other partition: its members join a "
                        "new group there, and a broker does not find its offsets here.",
                    )
                )
        return found


def _names(load: GroupLoad) -> set[str]:
    pending = {group for groups in load.table.pending.values() for group in groups}
    return {*load.table.offsets, *pending}


def _load(
    logs: LogPositions, era: CoordinatorEra | None, earlier: Sequence[GroupLoad]
) -> list[GroupLoad]:
    """Load every partition of the topic; again where a newer coordinator turns out to have written.

    Without an era the oldest possible one begins.
    """
    current = era_of_cluster(logs.cluster) if era is None else era
    known = {id(load.partition): load for load in earlier if load.bound is None}
    # Begin with the era that was found then: nothing older can have written since.
    current = max([current, *(load.era for load in known.values())]) if era is None else era
    while True:
        loads: list[GroupLoad] = []
        for partition in logs.topics(GROUPS_TOPIC):
            load = known.get(id(partition))
            if load is None or load.era is not current:
                load = load_group_partition(partition, current, stop_at_newer=era is None)
            loads.append(load)
            if era is None and loads[-1].newest_era > current:
                break
        newest = max((load.newest_era for load in loads), default=current)
        if era is not None or newest <= current:
            if current is CoordinatorEra.BEFORE_2_1:
                return [_up_to_high_watermark(load, logs) for load in loads]
            return loads
        current = newest


def _up_to_high_watermark(load: GroupLoad, logs: LogPositions) -> GroupLoad:
    """Return the load of a coordinator of 2.0 or older, which ends at the high watermark.

    That of a broker which has just started is the checkpointed one; without a checkpoint that
    names the partition, the log end offset is assumed.
    """
    facts = logs.log(TopicPartition(GROUPS_TOPIC, load.partition.partition))
    high = None if facts is None else facts.high_watermark
    if high is None or high >= load.end_offset:
        return load
    return load_group_partition(load.partition, load.era, end=high)
