"""Judge whether a log belongs to a replica of its broker, by the metadata that the node has.

Kafka: LogManager.isStrayKraftReplica (4.2)
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from workbench.config.broker_rules import MODELED_RULES, BrokerRules, StrayRule
from workbench.config.internal_topics import RESERVED_IDS
from workbench.files import names
from workbench.files.quorum_state import QuorumState
from workbench.files.text import format_uuid, parse_uuid
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Root
from workbench.inspection.node_start.metadata_log import (
    LogRange,
    newest_snapshot,
    recovered_range,
    state_until,
)
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.runtime.times import time_text

NO_TOPIC_ID = "the log has no topic id: partition.metadata is missing"


@dataclass(frozen=True, slots=True)
class KnownTopics:
    """The topics and replicas that a node knows when it loads its logs.

    Attributes:
        node_id: the node's id; None if it is not known.
        cluster: the cluster's state that the metadata log holds after its recovery.
        until: the first offset that is not in that state.
        is_cut: whether records were lost in the recovery, or the log is not there at all.
        others: ids of further nodes that may send what is lost; None if that is not known.
        is_controller: whether the node is a voter of the quorum; None if no file names the voters.
        time: when the last record of the log was written, ms; None if it has none.
    """

    node_id: int | None
    cluster: StoredCluster
    until: int = 0
    is_cut: bool = False
    others: frozenset[int] | None = frozenset()
    is_controller: bool | None = True
    time: int | None = None

    @property
    def may_learn_more(self) -> bool:
        """Whether other nodes may send records that this one has lost."""
        return self.is_cut and self.others != frozenset()

    def later(self, rules: BrokerRules) -> str:
        """Return what the node may learn before it loads its logs; empty for the only controller.

        A node first fetches the metadata up to the end of the leader's log.

        Kafka: BrokerServer.startup, MetadataLoader.maybePublishMetadata (3.3 to 4.4)
        """
        if not self.others:
            return ""
        role = {
            True: "is one of several controllers", False: "is not a controller",
            None: "may not be a controller",
        }  # fmt: skip
        who = f"node {self.node_id} {role[self.is_controller]}"
        when = "" if self.time is None else f", of {time_text(self.time)}"
        done = "deletes" if rules.strays is StrayRule.DELETED else "sets aside as stray"
        return (
            f"{who}: its copy of the metadata log ends at offset {self.until}{when}. Before it "
            f"serves its logs, it fetches what follows from {_nodes(self.others)}, and then {done} "
            "each log whose topic was deleted, made again or moved to other nodes meanwhile"
        )

    def unserved_reason(
        self, topic: str, topic_id: UUID, partition: int, directory_ids: Collection[UUID]
    ) -> str:
        """Return why no client reaches a log that is not stray; empty if one does.

        Args:
            topic: the name in the name of its folder.
            topic_id: of its `partition.metadata`.
            partition: its number.
            directory_ids: the ids of the node's log directories.

        Kafka: Partition.checkOrSetTopicId, ReplicaManager.getOrCreatePartition (3.0 to 4.4)
        """
        text = format_uuid(topic_id)
        own = next((name for name, each in self.cluster.topic_ids.items() if each == text), topic)
        if own != topic:
            named = f"its topic id {text} is that of topic {own}"
            if topic not in self.cluster.topic_ids:
                return f"{named}: no topic of the cluster has this name"
            return f"{named}: neither of them is served, and other partitions may have no leader"
        assigned = self.lost_directory(text, partition, directory_ids)
        if not assigned:
            return ""
        return (
            f"the controller has it in log directory {assigned}, which is none of these: it may "
            "remain without a leader"
        )

    def lost_directory(self, topic_id: str, partition: int, directory_ids: Collection[UUID]) -> str:
        """Return the log directory that the controller has a replica of this node in, if lost.

        If the node is unfenced before the controller has the new directory, no leader is elected.

        Args:
            topic_id: the topic's id, as Kafka writes it.
            partition: its number.
            directory_ids: the ids of the node's log directories.

        Kafka: ReplicationControlManager.isAcceptableLeader, handleAssignReplicasToDirs (3.7)
        """
        known = self.cluster.partitions.get((topic_id, partition))
        if known is None or self.node_id not in known.replicas or not known.directories:
            return ""
        at = known.replicas.index(self.node_id)
        assigned = known.directories[at] if at < len(known.directories) else ""
        parsed = parse_uuid(assigned)
        if parsed is None or parsed.int < RESERVED_IDS or parsed in directory_ids:
            return ""
        return assigned

    def stray_reason(self, topic_id: UUID | None, partition: int) -> str | None:
        """Return why a log is stray; None if it is not, or if that is not known.

        Args:
            topic_id: of its `partition.metadata`; None without one.
            partition: its number.
        """
        if topic_id is None:
            return NO_TOPIC_ID
        known = self.cluster.partitions.get((format_uuid(topic_id), partition))
        if known is not None:
            if self.node_id is None or self.node_id in known.replicas:
                return None
            return f"its replicas are {list(known.replicas)}, and not on this node, {self.node_id}"
        if self.may_learn_more:
            return None
        named = f"topic id {format_uuid(topic_id)}"
        if format_uuid(topic_id) in self.cluster.topic_ids.values():
            return f"the topic with its {named} has no partition {partition}"
        return f"its {named} is in no topic of the metadata log, which ends at {self.until}"

    def is_assigned_to(self, topic_id: UUID, partition: int, directory_id: UUID | None) -> bool:
        """Return whether the controller assigned this node's replica to a log directory."""
        known = self.cluster.partitions.get((format_uuid(topic_id), partition))
        if known is None or directory_id is None or self.node_id not in known.replicas:
            return False
        at = known.replicas.index(self.node_id)
        return known.directories[at : at + 1] == (format_uuid(directory_id),)

    def lost_directories(self, roots: Iterable[Root]) -> tuple[str, ...]:
        """Return the ids of the node's directories that it registered and that no root has.

        Args:
            roots: the log directories.
        """
        broker = None if self.node_id is None else self.cluster.brokers.get(self.node_id)
        found = (if_readable(partial(getattr, root, "meta_properties")) for root in roots)
        here = {
            format_uuid(meta.directory_id)
            for meta in found
            if meta is not None and meta.directory_id is not None
        }
        known = () if broker is None else broker.log_dirs
        return tuple(each for each in known if each not in here)

    def replicas_here(self) -> Collection[tuple[str, int]]:
        """Return topic and number of the partitions that are assigned to this node."""
        by_id = {topic_id: name for name, topic_id in self.cluster.topic_ids.items()}
        return [
            (by_id[topic_id], number)
            for (topic_id, number), partition in self.cluster.partitions.items()
            if self.node_id in partition.replicas and topic_id in by_id
        ]


def known_topics(
    partition: DiskPartition,
    node_id: int | None,
    log: LogRange | None = None,
    rules: BrokerRules = MODELED_RULES,
) -> KnownTopics:
    """Return what a node knows once it has recovered its metadata log.

    Args:
        partition: the metadata log.
        node_id: the node's id.
        log: the range that its recovery leaves; None finds it.
        rules: how nodes of the version that is assumed behave.

    Raises:
        OSError: a file cannot be read.
    """
    log = recovered_range(partition) if log is None else log
    snapshot = newest_snapshot(partition, log.start)
    until = state_until(log, snapshot)
    from_snapshot = rules.reads_snapshots_at_start or log.start > 0
    cluster = read_stored_cluster(partition, until, from_snapshot=from_snapshot)
    voters = _all_voters(partition, cluster)
    nodes = set(cluster.supported) if voters is None else voters
    return KnownTopics(
        node_id,
        cluster,
        until,
        is_cut=log.cut > 0,
        others=frozenset(nodes - {node_id}) if nodes else None,
        is_controller=None if voters is None else node_id in voters,
        time=log.time,
    )


def _all_voters(partition: DiskPartition, cluster: StoredCluster) -> set[int] | None:
    """Return the ids of the voters; None if no file names them."""
    state = partition.file(names.QUORUM_STATE)
    found = None if state is None else if_readable(lambda: _voters(state))
    if found is None and cluster.voters is not None:
        found = {voter for voter, _ in cluster.voters}
    return found


def _nodes(ids: Collection[int]) -> str:
    return f"node{'s' * (len(ids) > 1)} {', '.join(map(str, sorted(ids)))}"


def _voters(state: FileEntry) -> set[int] | None:
    voters = state.read(QuorumState).current_voters
    return set(voters) if voters else None
