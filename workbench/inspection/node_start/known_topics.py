"""Judge whether a log belongs to a replica of its broker, by the metadata that the node has.

Kafka: LogManager.isStrayKraftReplica (4.2)
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from workbench.files import names
from workbench.files.quorum_state import QuorumState
from workbench.files.text import format_uuid
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.entries import FileEntry
from workbench.inspection.node_start.metadata_log import (
    LogRange,
    newest_snapshot,
    recovered_range,
    state_until,
)
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable

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
    """

    node_id: int | None
    cluster: StoredCluster
    until: int = 0
    is_cut: bool = False
    others: frozenset[int] | None = frozenset()

    @property
    def may_learn_more(self) -> bool:
        """Whether other nodes may send records that this one has lost."""
        return self.is_cut and self.others != frozenset()

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

    def replicas_here(self) -> Collection[tuple[str, int]]:
        """Return topic and number of the partitions that are assigned to this node."""
        by_id = {topic_id: name for name, topic_id in self.cluster.topic_ids.items()}
        return [
            (by_id[topic_id], number)
            for (topic_id, number), partition in self.cluster.partitions.items()
            if self.node_id in partition.replicas and topic_id in by_id
        ]


def known_topics(
    partition: DiskPartition, node_id: int | None, log: LogRange | None = None
) -> KnownTopics:
    """Return what a node knows once it has recovered its metadata log.

    Args:
        partition: the metadata log.
        node_id: the node's id.
        log: the range that its recovery leaves; None finds it.

    Raises:
        OSError: a file cannot be read.
    """
    log = recovered_range(partition) if log is None else log
    snapshot = newest_snapshot(partition, log.start)
    until = state_until(log, snapshot)
    cluster = read_stored_cluster(partition, until)
    others = _others(partition, cluster, node_id)
    return KnownTopics(node_id, cluster, until, is_cut=log.cut > 0, others=others)


def _others(
    partition: DiskPartition, cluster: StoredCluster, node_id: int | None
) -> frozenset[int] | None:
    """Return the ids of the other voters and controllers; None if no file names them."""
    state = partition.file(names.QUORUM_STATE)
    found = None if state is None else if_readable(lambda: _voters(state))
    if found is None and cluster.voters is not None:
        found = {voter for voter, _ in cluster.voters}
    if found is None and cluster.supported:
        found = set(cluster.supported)
    return None if found is None else frozenset(found - {node_id})


def _voters(state: FileEntry) -> set[int] | None:
    voters = state.read(QuorumState).current_voters
    return set(voters) if voters else None
