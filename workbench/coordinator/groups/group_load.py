"""Load a partition of `__consumer_offsets`: its groups and their committed offsets.

The log is read from its start, and the newest record of each key wins, whatever its timestamp.
Only the live state is kept in memory.

Kafka: GroupMetadataManager.loadGroupsAndOffsets (once loadGroupsForPartition), up to 3.9;
GroupCoordinatorShard.replay, OffsetMetadataManager.replay, CoordinatorLoaderImpl.load (4.2)
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from workbench.config.internal_topics import OFFSETS_TOPIC
from workbench.coordinator.groups.classic.group import GROUP_METADATA, ClassicGroup
from workbench.coordinator.groups.classic.records import group_of_record
from workbench.coordinator.groups.commit_records import (
    OFFSET_TYPES,
    CommitKey,
    CommitReader,
    read_commit,
    usual_commits,
)
from workbench.coordinator.groups.group_records import apply_modern
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata, Offsets
from workbench.coordinator.groups.rebalance_history import EVENTS, REMOVED
from workbench.coordinator.runtime.era import CoordinatorEra, era_of_record
from workbench.coordinator.runtime.log_records import (
    NO_PRODUCER,
    LogChunk,
    LogRecord,
    Marker,
    key_of,
    read_log_chunks,
    unknown_type,
)
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.decoder import problem_of
from workbench.decoders.typed_records import Key, read_value
from workbench.errors import CorruptRecordError, GroupStateError, UnsupportedFormatError
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.layout.rows import runs_of
from workbench.runtime.gc_pause import gc_paused
from workbench.runtime.steps import Observer, Step
from workbench.runtime.words import plural

GROUPS_TOPIC: Final = OFFSETS_TOPIC

_VERSION_OF_2_3: Final = 3  # of GroupMetadata; 2.3 to 2.5 read the time only in version 2
_COMMIT_TYPE: Final = 1
_SHORTEST_RUN: Final = 16  # of commits, that pays
_MOST_FINDINGS: Final = 100  # a partition; more of them say nothing new
_FIRST_NEWER_VERSION: Final = 2  # of values, that the oldest coordinator does not write
_FAILS: Final = {
    False: (
        "The load fails: the broker keeps none of the partition's groups but serves the partition: "
        "every offset is unknown (-1), without an error."
    ),
    True: (
        "The load fails: the broker does not serve the partition, and every request about its "
        "groups gets NOT_COORDINATOR (16)."
    ),
}


class Dropped(NamedTuple):
    """A pending commit that a transaction marker dropped.

    Attributes:
        group, where: the group and the partition of the commit.
        pending: the commit.
        newer: the plain commit that wins; None: the transaction aborted.
    """

    group: str
    where: TopicPartition
    pending: OffsetAndMetadata
    newer: OffsetAndMetadata | None


class OffsetTable:
    """Committed offsets by group, and the pending ones by producer.

    Kafka: OffsetMetadataManager.Offsets (4.2; once OffsetManager.offsetsCache)

    Attributes:
        offsets: group → topic partition → the commit that a broker serves.
        pending: producer id → group → topic partition → the commit that waits for a transaction
            marker.
    """

    def __init__(self) -> None:
        self.offsets: dict[str, Offsets] = {}
        self.pending: dict[int, dict[str, Offsets]] = {}

    def put(
        self, group: str, where: TopicPartition, value: OffsetAndMetadata
    ) -> OffsetAndMetadata | None:
        """Put a plain commit into the table; return the one that it replaces."""
        offsets = self.offsets.setdefault(group, {})
        replaced = offsets.get(where)
        offsets[where] = value
        return replaced

    def put_pending(
        self, producer: int, group: str, where: TopicPartition, value: OffsetAndMetadata
    ) -> OffsetAndMetadata | None:
        """Keep a transactional commit until its transaction ends; return the replaced one."""
        offsets = self.pending.setdefault(producer, {}).setdefault(group, {})
        replaced = offsets.get(where)
        offsets[where] = value
        return replaced

    def remove(self, group: str, where: TopicPartition) -> OffsetAndMetadata | None:
        """Remove a commit from the table and return it."""
        offsets = self.offsets.get(group, {})
        removed = offsets.pop(where, None)
        if removed is not None and not offsets:
            del self.offsets[group]
        return removed

    def remove_pending(self, producer: int, group: str, where: TopicPartition) -> bool:
        """Forget what a producer's transaction committed; return whether there was anything."""
        groups = self.pending.get(producer, {})
        offsets = groups.get(group, {})
        removed = offsets.pop(where, None)
        if removed is not None and not offsets:
            del groups[group]
        return removed is not None

    def complete(
        self, producer: int, *, is_commit: bool
    ) -> tuple[list[tuple[str, TopicPartition, OffsetAndMetadata]], list[Dropped]]:
        """End a producer's transaction; return the commits in force, and the dropped ones.

        A commit of the transaction takes effect unless a plain one follows it in the log.

        Args:
            producer: its id; the epoch does not matter.
            is_commit: whether the transaction marker commits.
        """
        taken: list[tuple[str, TopicPartition, OffsetAndMetadata]] = []
        dropped: list[Dropped] = []
        for group, offsets in self.pending.pop(producer, {}).items():
            for where, pending in offsets.items():
                known = self.offsets.get(group, {}).get(where)
                if not is_commit:
                    dropped.append(Dropped(group, where, pending, None))
                elif known is None or known.record_offset < pending.record_offset:
                    self.offsets.setdefault(group, {})[where] = pending
                    taken.append((group, where, pending))
                else:
                    dropped.append(Dropped(group, where, pending, known))
        return taken, dropped

    def pending_of(self, group: str) -> Iterator[tuple[int, TopicPartition, OffsetAndMetadata]]:
        """Yield what waits for transaction markers: producer id, topic partition and commit."""
        for producer, groups in self.pending.items():
            for where, pending in groups.get(group, {}).items():
                yield producer, where, pending


@dataclass(slots=True)
class GroupState:
    """The state that the records of a partition of `__consumer_offsets` make.

    Attributes:
        name: ``topic-partition``.
        path: the partition directory, for findings.
        era: the era of the rules.
        groups: the groups by id, even those that only commits name.
        table: committed and pending offsets.
        findings: the findings about what could not be read.
        failure: why a broker's load would fail; None: it succeeds. The other records are loaded
            all the same.
        newest_era: the oldest coordinator that can have written all of the records.
        records: how many were read.
        unreadable: how many of them a broker's load fails at; the first 100 are findings.
        end_offset: where reading ended.
    """

    name: str
    path: str
    era: CoordinatorEra
    groups: dict[str, Group] = field(default_factory=dict)
    table: OffsetTable = field(default_factory=OffsetTable)
    findings: list[Finding] = field(default_factory=list)
    failure: str | None = None
    newest_era: CoordinatorEra = CoordinatorEra.BEFORE_2_1
    records: int = 0
    unreadable: int = 0
    end_offset: int = 0


@dataclass(slots=True, kw_only=True)
class GroupLoad(GroupState):
    """The contents of a loaded partition of `__consumer_offsets`.

    Attributes:
        partition: the loaded partition.
        bound: offset at which the load stopped, excluded; None: the log end offset.
    """

    partition: DiskPartition
    bound: int | None = None


def load_group_partition(
    partition: DiskPartition,
    era: CoordinatorEra,
    *,
    end: int | None = None,
    observer: Observer | None = None,
    stop_at_newer: bool = False,
    each_commit: bool = True,
) -> GroupLoad:
    """Load a partition as the coordinator of an era does when it becomes the leader.

    Args:
        partition: a partition of `__consumer_offsets`.
        era: the era of the rules.
        end: offset at which to stop, such as the high watermark; None: the log end offset.
        observer: receives a `Step` for each record, of `steps.LOAD_KINDS`.
        stop_at_newer: stop at the first record that a newer coordinator must have written.
        each_commit: report a step for each commit; otherwise runs of plain commits are one step,
            which saves most of the time.

    Raises:
        OSError: a file cannot be read.
    """
    load = GroupLoad(partition.name, partition.path, era, partition=partition, bound=end)
    replay = GroupReplay(load, observer, each_commit=each_commit)
    limit = "" if end is None else f", up to offset {end}"
    replay.step("load started", f"rules of {era}{limit}", era=str(era))
    # An observer is not ours: what it makes may need the collector.
    with gc_paused() if observer is None else nullcontext():
        for chunk in read_log_chunks(partition, load.findings, end=end):
            replay.take_chunk(chunk)
            if stop_at_newer and load.newest_era > era:
                break
    replay.finish()
    return load


def _about(record: LogRecord, group: str, where: TopicPartition) -> dict[str, Any]:
    """Return the numbers of a step about an offset."""
    return {
        "at": record.offset,
        "time": record.timestamp,
        "group": group,
        "topic": where.topic,
        "partition": where.partition,
    }


def _each_commit(
    commits: dict[int, dict[CommitKey, LogRecord]],
) -> Iterator[tuple[int, str, TopicPartition, LogRecord]]:
    """Yield producer, group, partition and record of each commit."""
    for producer, found in commits.items():
        for (group, where), record in found.items():
            yield producer, group, where, record


class GroupReplay:
    """Process the records of a partition one after the other.

    Args:
        load: the state that the records change.
        observer: receives a `Step` for each record, of `steps.LOAD_KINDS`.
        each_commit: see `load_group_partition`.

    Kafka: GroupCoordinatorShard.replay (4.2)
    """

    def __init__(
        self, load: GroupState, observer: Observer | None, *, each_commit: bool = True
    ) -> None:
        self.load = load
        self._observer = observer
        self._takes_runs = observer is None or not each_commit
        self._is_new = load.era is CoordinatorEra.KIP_848
        self._table = load.table
        self._commits = CommitReader()
        self._newest_commit = _FIRST_NEWER_VERSION - 1  # version of values, of those noted

    def step(self, kind: str, reason: str = "", **numbers: Any) -> None:
        """Report a step to the observer, if there is one."""
        if self._observer is not None:
            self._observer(Step(kind, self.load.name, reason, numbers))

    def take_chunk(self, chunk: LogChunk) -> None:
        """Take in some records; of a run of plain commits the last of each key, unless observed.

        With ``each_commit`` false, runs are taken as such even if they are observed.
        """
        done = 0
        if self._takes_runs:
            is_quiet = self._observer is None
            usual, versions = usual_commits(chunk, in_transactions=is_quiet)
            if is_quiet:
                usual |= chunk.rows["is_control"][chunk.columns.batch]
            for first, end in runs_of(usual):
                if end - first >= _SHORTEST_RUN:
                    self._take_each(chunk, done, first)
                    self._take_run(chunk, first, end, int(versions[first:end].max()))
                    done = end
        self._take_each(chunk, done, len(chunk))

    def _take_each(self, chunk: LogChunk, first: int, end: int) -> None:
        if first < end:
            for record in chunk.records(first, end):
                self.take(record)

    def _take_run(self, chunk: LogChunk, first: int, end: int, version: int) -> None:
        records = chunk.records(first, end)
        commits = [each for each in records if isinstance(each, LogRecord)]
        try:
            keys = {
                key: self._commits.keys.get(key) or self._commits.key(key or b"")
                for key in dict.fromkeys([each.key for each in commits])
            }
        except CorruptRecordError:
            self._take_each(chunk, first, end)
            return
        self._note_era(_COMMIT_TYPE, version)
        if self._is_new:
            for group, _ in keys.values():
                if group not in self.load.groups:
                    self.load.groups[group] = ClassicGroup(group)
        newest = self._newest_of(records, keys)
        for producer, group, where, record in newest:
            value = read_commit(record.value or b"", record.offset)
            if producer == NO_PRODUCER:
                self._table.put(group, where, value)
            else:
                self._table.put_pending(producer, group, where, value)
        self.load.records += len(records)
        self.load.end_offset = records[-1].offset + 1 if records else self.load.end_offset
        if self._observer is not None:
            at, last, count = records[0].offset, records[-1].offset, len(records)
            reason = f"{count} plain commits, of which the last for each partition counts"
            self.step("commits loaded", reason, at=at, last=last, count=count)

    def _newest_of(
        self, records: list[LogRecord | Marker], keys: dict[bytes | None, CommitKey]
    ) -> Iterator[tuple[int, str, TopicPartition, LogRecord]]:
        """Yield the commits that count after a run, as producer, group, partition and record.

        The producer is `NO_PRODUCER` for those in force; of the others the transaction is open.
        """
        newest: dict[CommitKey, LogRecord] = {}
        pending: dict[int, dict[CommitKey, LogRecord]] = {}
        for record in records:
            if isinstance(record, LogRecord):
                if record.producer_id == NO_PRODUCER:
                    newest[keys[record.key]] = record
                else:
                    pending.setdefault(record.producer_id, {})[keys[record.key]] = record
                continue
            theirs = pending.pop(record.producer_id, {})
            if record.producer_id in self._table.pending:  # of an earlier run
                yield from _each_commit({NO_PRODUCER: newest, record.producer_id: theirs})
                newest.clear()
                self._complete(record)
            elif record.is_commit:
                for key, commit in theirs.items():
                    known = newest.get(key)
                    if known is None:
                        stored = self._table.offsets.get(key.group, {}).get(key.where)
                        last = -1 if stored is None else stored.record_offset
                    else:
                        last = known.offset
                    if last < commit.offset:  # otherwise a plain one comes after it
                        newest[key] = commit
        yield from _each_commit({NO_PRODUCER: newest, **pending})

    def take(self, record: LogRecord | Marker) -> None:
        """Process the next record or transaction marker of the log."""
        self.load.records += 1
        self.load.end_offset = record.offset + 1
        if isinstance(record, Marker):
            self._complete(record)
            return
        try:
            known = self._commits.keys.get(record.key)
            if known is not None:
                self._apply_offset(record, known)
            else:
                self._apply(record, key_of(record, TYPES))
        except (CorruptRecordError, UnsupportedFormatError) as error:
            self._fail(record, problem_of(error))
        except GroupStateError as error:
            self._fail(record, str(error))

    def _apply(self, record: LogRecord, key: Key) -> None:
        assert record.key is not None
        if key.type_id in OFFSET_TYPES:
            self._apply_offset(record, self._commits.key(record.key))
            return
        if key.type is None or (key.type_id > GROUP_METADATA and not self._is_new):
            self._note_era(key.type_id, None)
            reason = unknown_type(key)
            self.step("record ignored", reason, at=record.offset, time=record.timestamp)
            return
        version, fields = None, None
        if record.value is not None:
            refines = key.type_id != GROUP_METADATA
            version, fields = read_value(key.type, record.value, refines=refines)
        self._note_era(key.type_id, version)
        if key.type_id == GROUP_METADATA:
            is_ignored = self.load.era is CoordinatorEra.UNSTAMPED
            if is_ignored and fields is not None and (version or 0) >= _VERSION_OF_2_3:
                fields = {**fields, "currentStateTimestamp": -1}
            self._apply_group(record, key.fields["group"], fields)
        else:
            self._apply_modern(record, key, fields)

    def _note_era(self, type_id: int, version: int | None) -> None:
        newest = era_of_record(type_id, version)
        if newest > self.load.newest_era and type_id in TYPES:
            self.load.newest_era = newest

    def _apply_offset(self, record: LogRecord, key: CommitKey) -> None:
        group, where = key
        if record.value is None:
            self._remove_offset(record, group, where)
            return
        value = read_commit(record.value, record.offset)
        if value.version > self._newest_commit:
            self._newest_commit = value.version
            self._note_era(_COMMIT_TYPE, value.version)
        if self._is_new and group not in self.load.groups:
            self.load.groups[group] = ClassicGroup(group)
        if record.producer_id == NO_PRODUCER:
            replaced = self._table.put(group, where, value)
            kind, reason = "offset loaded", "the commit is the first for this partition"
        else:
            replaced = self._table.put_pending(record.producer_id, group, where, value)
            kind, reason = (
                "offset pending",
                f"the transaction of producer {record.producer_id} is open",
            )
        if self._observer is None:
            return
        if replaced is not None:
            reason = f"the commit replaces the one at offset {replaced.record_offset}"
        self.step(
            kind,
            reason,
            **_about(record, group, where),
            value=value,
            producer_id=record.producer_id,
            replaced=None if replaced is None else replaced.record_offset,
        )

    def _remove_offset(self, record: LogRecord, group: str, where: TopicPartition) -> None:
        about = _about(record, group, where)
        is_plain = record.producer_id == NO_PRODUCER
        taken_back = []
        if self._is_new:
            taken_back = [
                producer
                for producer in self._table.pending
                if self._table.remove_pending(producer, group, where)
            ]
        elif not is_plain and self._table.remove_pending(record.producer_id, group, where):
            taken_back = [record.producer_id]
        removed = self._table.remove(group, where) if is_plain or self._is_new else None
        for producer in taken_back:
            reason = f"a tombstone removes the offset; producer {producer} may still commit"
            self.step("pending offset removed", reason, **about, producer_id=producer)
        if removed is not None:
            reason = f"a tombstone removes the commit at offset {removed.record_offset}"
            self.step("offset removed", reason, **about, replaced=removed.record_offset)
        elif not taken_back:
            self.step("record ignored", "the tombstone has no offset to remove", **about)

    def _apply_group(self, record: LogRecord, name: str, fields: dict[str, Any] | None) -> None:
        about = {"at": record.offset, "time": record.timestamp, "group": name}
        if fields is None:
            known = self.load.groups.pop(name, None)
            if known is None:
                self.step("record ignored", "the tombstone has no group to remove", **about)
            else:
                self.step("group removed", EVENTS[REMOVED], **about)
            return
        group = group_of_record(name, fields, record.offset, record.timestamp)
        self.load.groups[name] = group
        reason = (
            f"{group.state}, generation {group.generation}, {plural(len(group.members), 'member')}"
        )
        self.step("group loaded", reason, **about, value=group)

    def _apply_modern(self, record: LogRecord, key: Key, fields: dict[str, Any] | None) -> None:
        assert key.type is not None
        about = {"at": record.offset, "time": record.timestamp, "group": key.fields["groupId"]}
        place = (record.offset, record.timestamp)
        ignored = apply_modern(self.load.groups, key.type_id, key.fields, fields, place)
        if ignored == "the group is removed":
            self.step("group removed", EVENTS[REMOVED], **about)
        elif ignored:
            self.step("record ignored", f"{key.type.name}: a tombstone; {ignored}", **about)
        else:
            what = "a tombstone" if fields is None else "a value"
            about |= {"type": key.type_id, "key": key.fields, "value": fields}
            self.step("group changed", f"{key.type.name}: {what}", **about)

    def _complete(self, marker: Marker) -> None:
        about = {"at": marker.offset, "producer_id": marker.producer_id}
        if marker.producer_id not in self._table.pending:
            reason = f"producer {marker.producer_id} has no pending commit"
            self.step("record ignored", f"a transaction marker: {reason}", **about)
            return
        taken, dropped = self._table.complete(marker.producer_id, is_commit=marker.is_commit)
        if self._observer is None:
            return
        kind = "transaction committed" if marker.is_commit else "transaction aborted"
        counts = f"commits in force: {len(taken)}, dropped: {len(dropped)}"
        self.step(kind, counts, **about)
        for group, where, value in taken:
            self.step(
                "pending offset loaded",
                "the transaction committed",
                **about, group=group, topic=where.topic, partition=where.partition, value=value,
            )  # fmt: skip
        for group, where, value, newer in dropped:
            reason = "the transaction aborted"
            if newer is not None:
                reason = f"the plain commit at {newer.record_offset} is newer"
            self.step(
                "pending offset dropped",
                reason,
                **about, group=group, topic=where.topic, partition=where.partition, value=value,
                replaced=None if newer is None else newer.record_offset,
            )  # fmt: skip

    def _fail(self, record: LogRecord, problem: str) -> None:
        """Note a record at which a broker's load fails, and continue for inspection."""
        if self.load.failure is None:
            self.load.failure = f"offset {record.offset}: {problem}"
        self.step("record unreadable", problem, at=record.offset, time=record.timestamp)
        self.load.unreadable += 1
        if self.load.unreadable > _MOST_FINDINGS:
            return
        self.load.findings.append(
            Finding(
                "group-record",
                "error",
                self.load.path,
                None,
                record.offset,
                problem,
                f"a record that the coordinator of {self.load.era} can read",
                _FAILS[self._is_new],
            )
        )

    def finish(self) -> None:
        """Create the groups that only commits name, if a load creates them at its end."""
        if not self._is_new:
            pending = (group for groups in self._table.pending.values() for group in groups)
            for name in [*self._table.offsets, *pending]:
                self.load.groups.setdefault(name, ClassicGroup(name))
        self.step(
            "load finished",
            self.load.failure or "",
            groups=len(self.load.groups),
            records=self.load.records,
            end_offset=self.load.end_offset,
        )
