"""Where a state comes from: which metadata log, how far it reaches, what it cannot say.

Kafka: MetadataProvenance, KafkaRaftClient, FileQuorumStateStore (4.2)
"""

from workbench.config.internal_topics import METADATA_LOG
from workbench.errors import StateUnknownError
from workbench.files import names
from workbench.files.quorum_state import QuorumState
from workbench.inspection.cluster.image import QuorumLeader
from workbench.inspection.cluster.loading import ClusterAt, end_of_log
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

_ZOOKEEPER = 0  # version of meta.properties


def require_metadata_log(listing: Listing) -> DiskPartition:
    """Return the metadata log among opened directories.

    Raises:
        StateUnknownError: it is not there; the message says where the cluster's state is.
    """
    found = listing.metadata_log
    if found is not None:
        return found
    path = listing.roots[0].path if listing.roots else METADATA_LOG
    for root in listing.roots:
        properties = if_readable(lambda root=root: root.meta_properties)  # type: ignore[misc]
        if properties is None:
            continue
        if properties.version == _ZOOKEEPER:
            raise StateUnknownError(
                root.path,
                f"no {METADATA_LOG}: meta.properties has version 0, that of a cluster with "
                "ZooKeeper, which keeps topics, configurations, ACLs and quotas in ZooKeeper alone",
            )
        raise StateUnknownError(
            root.path,
            f"no {METADATA_LOG}: a KRaft node keeps it in metadata.log.dir, otherwise in the first "
            "of log.dirs; open that directory, too",
        )
    raise StateUnknownError(
        path,
        f"no {METADATA_LOG}, and no meta.properties says whether the cluster used ZooKeeper, which "
        "then has topics, configurations, ACLs and quotas",
    )


def quorum_state(partition: DiskPartition) -> QuorumState | None:
    """Return the `quorum-state` beside a metadata log; None without one that can be read."""
    entry = partition.file(names.QUORUM_STATE)
    if entry is None:
        return None
    return if_readable(lambda: entry.read(QuorumState))


def with_leader(state: ClusterAt, partition: DiskPartition) -> ClusterAt:
    """Return a state whose leader is that of `quorum-state`, if it is the newer one.

    Only for a state at the end of the log, because the file has the last election alone.
    """
    found, known = quorum_state(partition), state.cluster.leader
    if found is None or found.leader_epoch is None or found.leader_id is None:
        return state
    if known is None or known.epoch < found.leader_epoch:
        state.cluster.leader = QuorumLeader(found.leader_id, found.leader_epoch)
    return state


def notes_on(state: ClusterAt, partition: DiskPartition, node_id: int | None) -> list[str]:
    """Return sentences on where a state comes from and how far it can be trusted.

    Args:
        state: the state.
        partition: the metadata log.
        node_id: the id of the node that has the log; None: unknown.
    """
    last = "no record" if state.end == 0 else f"offset {state.end - 1:,}"
    written = "" if state.timestamp is None else f", written {time_text(state.timestamp)}"
    base = "offset 0" if state.snapshot is None else state.snapshot.rpartition("/")[2]
    notes = [f"The state after {last}{written}, read from {base} on."]
    end = end_of_log(partition)
    if end > state.end:
        notes.append(f"{plural(end - state.end, 'later record')} of the log are not in it.")
    voters = state.cluster.voters
    ids = None if voters is None else {voter for voter, _ in voters}
    if ids is None:
        found = quorum_state(partition)
        ids = None if found is None or not found.current_voters else set(found.current_voters)
    if ids is None:
        notes.append("No file names the voters of the quorum.")
    elif node_id is not None and node_id not in ids:
        listed = ", ".join(map(str, sorted(ids)))
        notes.append(
            f"Node {node_id} is not a voter ({listed}): its log is a copy, which may be "
            "behind that of the controllers."
        )
    elif len(ids) > 1:
        notes.append(
            f"The quorum has {len(ids)} voters: the last records of one voter's log may be "
            "uncommitted, or the other voters may have more."
        )
    return notes
