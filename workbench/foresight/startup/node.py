"""Predict what a node does before it loads its logs, and what it knows then.

The engine recovers the metadata log on the file system that keeps every change in memory; the
other files are judged by `inspection.node_start`, as `verify` does.

Kafka: KafkaRaftServer.initializeLogDirs, KafkaMetadataLog.apply, KafkaRaftClient.initialize (4.2)
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from workbench.config.broker_rules import BrokerRules, StrayRule, TopicsFrom
from workbench.config.internal_topics import METADATA_LOG, METADATA_TOPIC
from workbench.config.kafka_versions import first_of, number_of
from workbench.errors import WorkbenchError
from workbench.files import names
from workbench.files.names import TopicPartition, directory_name
from workbench.files.text import format_uuid
from workbench.foresight.startup.prediction import BECOMES_LOG, MetadataStart, PartitionStart
from workbench.foresight.startup.start_rows import partition_start
from workbench.inspection.broker_version import metadata_versions_of
from workbench.inspection.cluster.image import METADATA_VERSION, StoredCluster
from workbench.inspection.listing import Root
from workbench.inspection.node_start.bootstrap import bootstrap_level, judge_bootstrap
from workbench.inspection.node_start.identity import (
    is_kraft_node,
    judge_alike,
    judge_cluster_id,
    judge_ids,
    judge_missing,
    judge_old_properties,
    judge_properties,
    judge_together,
    node_id_of,
    skips_properties,
)
from workbench.inspection.node_start.judge import judge_metadata_log
from workbench.inspection.node_start.known_topics import NO_TOPIC_ID, KnownTopics, known_topics
from workbench.inspection.node_start.membership import (
    judge_configs,
    judge_membership,
    judge_records,
)
from workbench.inspection.node_start.metadata_log import LogRange, newest_snapshot, recovered_range
from workbench.inspection.node_start.refusal import KAFKA, RUNTIME, Refusal
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.loading import Outcome
from workbench.log_manager.opening import StrayTest, open_log
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.steps import Step

_PARSE: Final = "org.apache.kafka.server.common.serialization.MetadataParseException"
_LATER_RECORDS: Final = ((30, "4.3"), (13, "3.6"))
"""Levels of `metadata.version` from which every metadata log has a record that only later versions
can parse: RegisterBrokerRecord of version 4, BeginTransactionRecord; and the first such version."""
_ILLEGAL_ARGUMENT: Final = "java.lang.IllegalArgumentException"
_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)
_LOST: Final = {
    StrayRule.KEPT: "keeps all of them",
    StrayRule.DELETED: "deletes all of them",
    StrayRule.RENAMED_AT_LOAD: "renames all of them as stray",
}


class StartProblem(NamedTuple):
    """Why a node does not start.

    Attributes:
        path: the log directory.
        kind: a kind of `inspection.findings.KINDS`, or of the reasons that only a start has:
            "metadata-log", the metadata log cannot be recovered; "metadata-version", its finalized
            level is unknown to the version.
        exception: the full name of the exception.
        problem: what is wrong, as one sentence.
    """

    path: str
    kind: str
    exception: str
    problem: str


class NodeStart:
    """Judge the identity of directories, then the metadata log, and keep what is known afterwards.

    Args:
        context: the directories on a file system that keeps changes in memory.
        roots: the same directories as they are listed.
        steps: returns the steps of loading since the last call.
        rules: how nodes of the version that is assumed behave.
        node_id, cluster_id: the node's; None takes those found.

    Attributes:
        rules: as given.
        is_kraft: whether the node runs without ZooKeeper.
        topics: what the node knows when it loads its logs; None if that cannot be said.
        metadata: what it did with its metadata log, as far as it got.
    """

    def __init__(
        self,
        context: ManagerContext,
        roots: Sequence[Root],
        steps: list[Step],
        rules: BrokerRules,
        *,
        node_id: int | None,
        cluster_id: str | None,
    ) -> None:
        self._context = context
        self._roots = {os.path.abspath(root.path): root for root in roots}
        self._steps = steps
        self.rules = rules
        self.is_kraft = is_kraft_node(rules, roots)
        self._node_id = node_id
        self._cluster_id = cluster_id
        metadata_dir = context.config.metadata_log_dir
        self._metadata_dir = (
            next(iter(context.directories))
            if metadata_dir is None
            else os.path.abspath(metadata_dir)
        )
        self.topics: KnownTopics | None = None
        self.metadata: MetadataStart | None = None

    @property
    def metadata_dir(self) -> str:
        """The log directory that has, or should have, the metadata log."""
        return self._metadata_dir

    def directory_id(self, path: str) -> UUID | None:
        """Return the id of a log directory; None if it has none."""
        root = self._roots.get(path)
        meta = None if root is None else if_readable(partial(getattr, root, "meta_properties"))
        return None if meta is None else meta.directory_id

    def new_directory(self, path: str) -> str:
        """Return what a broker with ZooKeeper does with a log directory without any log.

        Empty for a directory that has logs or a `meta.properties`, and for a KRaft node, which does
        not start with such a one.

        Kafka: KafkaServer.checkpointBrokerMetadata, LogManager.getOrCreateLog (0.8.2 to 3.9)
        """
        root = self._roots.get(path)
        if self.is_kraft or root is None:
            return ""
        if root.has_name(names.META_PROPERTIES) or root.partitions:
            return ""
        others = ", and that has no log in the other directories," if len(self._roots) > 1 else ""
        kraft = (
            "; without ZooKeeper, a broker does not start before kafka-storage.sh format"
            if self.rules.topics_from is TopicsFrom.EITHER and not others
            else ""
        )
        return (
            "has neither logs nor meta.properties: the broker takes it as new. Each partition that "
            f"ZooKeeper assigns to this node{others} is made empty and begins at offset 0, unless "
            f"another replica has its records{kraft}"
        )

    def refusals(self) -> Iterator[StartProblem]:
        """Yield why the node does not start, in the order in which it looks; then set `topics`."""
        yield from self._identity()
        if self.is_kraft:
            yield from self._metadata_log()

    def _read_as_they_are(self) -> Iterator[StartProblem]:
        """Yield what keeps a node before 3.7 from starting before it takes any id."""
        roots = list(self._roots.values())
        every = (judge_old_properties(root, self.rules) for root in roots)
        alike = judge_alike(roots, self.rules, is_kraft=self.is_kraft)
        for found in (*filter(None, every), *alike):
            yield _reason(os.path.dirname(os.path.abspath(found.finding.path)), found)

    def _identity(self) -> Iterator[StartProblem]:
        yield from self._read_as_they_are()
        damaged = {
            path: refusal
            for path, root in self._roots.items()
            if (refusal := judge_properties(root, self.rules)) is not None
        }
        has_sound = any(
            path not in damaged and root.has_name(names.META_PROPERTIES)
            for path, root in self._roots.items()
        )
        for path, refusal in damaged.items():
            is_skipped = skips_properties(self.rules, is_kraft=self.is_kraft)
            is_needed = self.is_kraft and path == self._metadata_dir
            if has_sound and not is_needed and is_skipped:
                self._context.failures.add(path, OSError(refusal.problem))
            else:
                yield _reason(path, refusal)
        for path, root in self._roots.items():
            if path in damaged:
                continue
            found = judge_ids(root)
            if found is None and self.is_kraft:
                found = judge_missing(root, self.rules) or judge_cluster_id(root)
            if found is not None:
                yield _reason(path, found)
        for found in judge_together(
            list(self._roots.values()), self._node_id, self._cluster_id, self.rules,
            is_kraft=self.is_kraft,
        ):  # fmt: skip
            path = os.path.dirname(os.path.abspath(found.finding.path))
            yield _reason(path, found)

    def _metadata_log(self) -> Iterator[StartProblem]:
        """Yield why the node does not start with its metadata log and the files beside it."""
        found = {path: partition for path, root in self._roots.items() if (partition := _log(root))}
        for path in found:
            if path != self._metadata_dir:
                expected = f"in {self._metadata_dir}, the first of log.dirs, or in metadata.log.dir"
                problem = f"{path}/{METADATA_LOG} is not where it should be ({expected})"
                yield StartProblem(path, "metadata-log-place", KAFKA, problem)
        root = self._roots.get(self._metadata_dir)
        if root is not None:
            bootstrap = judge_bootstrap(root)
            if bootstrap is not None:
                yield _reason(self._metadata_dir, bootstrap)
            yield from self._unknown_level(bootstrap_level(root), names.BOOTSTRAP_CHECKPOINT)
        partition = found.get(self._metadata_dir)
        if root is None or partition is None:
            self._without_log()
        else:
            yield from self._with_log(root, partition)

    def _with_log(self, root: Root, partition: DiskPartition) -> Iterator[StartProblem]:
        row, log = self._recover(partition)
        if log is None:
            problem = f"{METADATA_LOG}: {row.reason}"
            yield StartProblem(self._metadata_dir, "metadata-log", row.exception, problem)
            return
        epoch = log.leader_epochs.latest_epoch or 0
        time = recovered_range(partition).time
        range_ = LogRange(log.log_start_offset, log.log_end_offset, epoch, row.bytes_cut, time)
        snapshot = newest_snapshot(partition, range_.start)
        known = self.topics = known_topics(partition, self._node(), range_, self.rules)
        name = "" if snapshot is None else snapshot.entry.name
        self.metadata = MetadataStart(
            log=row, snapshot=name, known_until=known.until, topics=len(known.cluster.topic_ids),
            later=known.later(self.rules), note=self._note(row.bytes_cut),
        )  # fmt: skip
        for refusal in judge_metadata_log(partition, range_.start, self.rules):
            self.topics = None  # the node does not get to know them
            yield _reason(self._metadata_dir, refusal)
        yield from self._unknown_level(known.cluster.features.get(METADATA_VERSION), METADATA_LOG)
        for refused in (
            judge_records(partition, known),
            judge_configs(partition, known, self.rules),
            judge_membership(list(self._roots.values()), root, known),
        ):
            if refused is not None:
                yield _reason(self._metadata_dir, refused)

    def _unknown_level(self, level: int | None, where: str) -> Iterator[StartProblem]:
        """Yield why a node does not start with a finalized level of `metadata.version`.

        A level that the version has a name for, and does not allow yet, passes in
        `bootstrap.checkpoint`, and is refused in the metadata log.
        """
        least, most, named = metadata_versions_of(self.rules.version)
        allowed = named if where == names.BOOTSTRAP_CHECKPOINT else most
        if level is None or least <= level <= allowed:
            return
        problem = (
            f"{METADATA_VERSION} in {where} is {level}, which {self.rules.version} does not know "
            f"(expected a level from {least} to {most})"
        )
        exception = RUNTIME if most < level <= named else _ILLEGAL_ARGUMENT
        number = number_of(self.rules.version)
        unread = any(level >= first and number < first_of(it) for first, it in _LATER_RECORDS)
        if unread and where == METADATA_LOG:
            exception = _PARSE
        yield StartProblem(self._metadata_dir, "metadata-version", exception, problem)

    def _without_log(self) -> None:
        """Say what a node without a metadata log knows: nothing; or nothing is known here."""
        read = [partial(getattr, root, "meta_properties") for root in self._roots.values()]
        properties = list(map(if_readable, read))
        if any(each is not None and each.version == 0 for each in properties):
            self.topics = KnownTopics(self._node(), StoredCluster())
            note = "the directory is of a broker with ZooKeeper: the node begins without any topic"
            self.metadata = MetadataStart(note=note)
        else:
            note = (
                f"{METADATA_LOG} is in none of these directories: which topics the cluster has is "
                "not known here, and every log with a topic id is taken as known. A node that has "
                f"lost it and is the only controller {_LOST[self.rules.strays]}"
            )
            self.metadata = MetadataStart(note=note)

    def _note(self, cut: int) -> str:
        assert self.topics is not None
        if not cut or not self.topics.may_learn_more:
            return ""
        others = self.topics.others
        who = "other nodes" if others is None else f"nodes {', '.join(map(str, sorted(others)))}"
        return f"{who} may send again what is truncated: those topics are not taken as lost"

    def _node(self) -> int | None:
        return node_id_of(list(self._roots.values())) if self._node_id is None else self._node_id

    def _recover(self, partition: DiskPartition) -> tuple[PartitionStart, Log | None]:
        """Recover the metadata log, which every start does."""
        context, failures = self._context, self._context.failures
        folder = os.path.join(self._metadata_dir, partition.name)
        context.failures = LogDirFailures()
        log, error = None, None
        try:
            log = open_log(context, folder, _PARTITION, had_clean_shutdown=False)
            log.close_handlers()
        except (WorkbenchError, OSError) as problem:
            error = problem
        finally:
            context.failures = failures
        outcome = Outcome(self._metadata_dir, folder, log, error)
        row = partition_start(outcome, self._steps)
        return row, log


def _reason(path: str, refusal: Refusal) -> StartProblem:
    return StartProblem(path, refusal.finding.kind, refusal.exception, refusal.problem)


def _log(root: Root) -> DiskPartition | None:
    for partition in root.partitions:
        if partition.name == METADATA_LOG:
            return partition
    return None


def stray_test(node: NodeStart, topic_ids: Collection[UUID] | None) -> StrayTest | None:
    """Return what a node finds stray; None if it does not look, as with ZooKeeper.

    Args:
        node: what it knows.
        topic_ids: the ids of the cluster's topics, if they are given.

    Kafka: LogManager.isStrayKraftReplica (4.2)
    """
    known, rule = node.topics, node.rules.strays
    if not node.is_kraft or rule is StrayRule.KEPT:
        return None

    def is_stray(log: Log) -> str | None:
        partition = log.topic_partition.partition
        if log.topic_id is None:
            return None if rule is StrayRule.DELETED else NO_TOPIC_ID
        if topic_ids is not None:
            named = f"the log's topic id {format_uuid(log.topic_id)}"
            return None if log.topic_id in topic_ids else f"{named} is not known to the cluster"
        return None if known is None else known.stray_reason(log.topic_id, partition)

    return is_stray


def vanished_topics(rows: Iterable[PartitionStart], known: KnownTopics) -> tuple[str, ...]:
    """Return the topics with logs that become stray, and that are not known any more."""
    found = set()
    for row in rows:
        name = names.parse_directory_name(row.name)
        if row.verdict == "stray" and name is not None and not row.was_stray:
            found.add(name.topic)
    return tuple(sorted(found - known.cluster.topic_ids.keys()))


def becomes_log(copy: Log, node: NodeStart) -> bool:
    """Return whether a copy that was moving in becomes the log: the controller assigned it so.

    Kafka: LogManager.recoverAbandonedFutureLogs (3.7)
    """
    if node.topics is None or copy.topic_id is None or not node.rules.has_directory_ids:
        return False
    number = copy.topic_partition.partition
    directory_id = node.directory_id(copy.parent_directory)
    return node.topics.is_assigned_to(copy.topic_id, number, directory_id)


def promote_copies(
    rows: Sequence[PartitionStart], context: ManagerContext, node: NodeStart
) -> tuple[PartitionStart, ...]:
    """Return the rows, with copies that become the logs because the controller assigned them so.

    A broker that stopped between the assignment and the end of the move finds such a copy.

    Kafka: LogManager.recoverAbandonedFutureLogs (3.7)
    """
    changed: dict[str, PartitionStart] = {
        os.path.join(row.directory, row.name): row for row in rows
    }
    for partition, copy in context.registry.future.items():
        if not becomes_log(copy, node):
            continue
        name = directory_name(*partition)
        reason = f"the controller assigned this directory: {BECOMES_LOG} {name}"
        changed[copy.directory] = replace(changed[copy.directory], reason=reason)
        current = context.registry.current.get(partition)
        if current is not None and current.topic_id == copy.topic_id:
            reason = f"the copy in {copy.parent_directory} takes its place"
            row = replace(changed[current.directory], verdict="deleted", reason=reason)
            changed[current.directory] = row
    return tuple(changed.values())


def assigned_partitions(known: KnownTopics | None) -> Collection[TopicPartition] | None:
    """Return the partitions that are assigned to a node; None where that is not known."""
    if known is None or known.may_learn_more:
        return None
    return {TopicPartition(topic, number) for topic, number in known.replicas_here()}


def unserved_logs(
    rows: Iterable[PartitionStart], context: ManagerContext, node: NodeStart
) -> tuple[PartitionStart, ...]:
    """Return the rows, with the reason for which no client reaches a log that is loaded."""
    known = node.topics
    if known is None:
        return tuple(rows)
    ids = {each for path in context.directories if (each := node.directory_id(path)) is not None}
    logs = {log.directory: log for log in context.registry.current.values()}
    found = []
    for row in rows:
        log = logs.get(os.path.join(row.directory, row.name))
        if row.verdict in {"loads", "recovers"} and log is not None and log.topic_id is not None:
            topic, number = log.topic_partition
            reason = known.unserved_reason(topic, log.topic_id, number, ids)
            found.append(replace(row, unserved=reason))
        else:
            found.append(row)
    return tuple(found)
