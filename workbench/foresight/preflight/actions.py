"""The step to take for each reason for which a node does not start."""

from typing import Final

_IDENTITY: Final = (
    "Start with directories of one cluster and one node: take out the one with the other id, or "
    "give --cluster-id and --node-id of the node that is to serve these logs and correct "
    "meta.properties in every directory. Topic ids must be those of that cluster, too"
)
_METADATA: Final = (
    "Take __cluster_metadata-0 as a whole from another controller of the cluster, or from the same "
    "backup as the logs; with other voters alive, move it away and the node fetches it again"
)

_STEPS: Final = {
    "meta-properties-missing": (
        "Format the directory for its cluster: kafka-storage.sh format --ignore-formatted "
        "--cluster-id ID --config server.properties"
    ),
    "meta-properties-damaged": (
        "Restore meta.properties from a backup, or write it again with the cluster.id and node.id "
        "of the other directories and a directory.id of its own"
    ),
    "meta-properties-mismatch": _IDENTITY,
    "metadata-log-place": (
        "Name the directory that holds __cluster_metadata-0 in metadata.log.dir, or list it first "
        "in log.dirs"
    ),
    "metadata-log": _METADATA,
    "metadata-record": _METADATA,
    "metadata-snapshot-damaged": _METADATA,
    "metadata-snapshot-missing": _METADATA,
    "topic-id": _METADATA,
    "quorum-state-damaged": (
        "Remove quorum-state from __cluster_metadata-0: the node writes it again at its start. "
        "With other voters, do so on this node alone"
    ),
    "bootstrap-damaged": "Restore bootstrap.checkpoint from a backup, or from another controller",
    "metadata-version": (
        "Start a version that knows this metadata.version, and change the level there with "
        "kafka-features.sh before the other version starts"
    ),
    "duplicate-partition": (
        "Move one of the two directories of the partition out of log.dirs: keep the one that the "
        "checkpoints of its log directory name and whose log ends later; "
        "kafka-workbench compare-replicas a=DIR b=DIR shows both"
    ),
    "partition": (
        "Move the directory that is named out of log.dirs; kafka-workbench verify says what is "
        "wrong with it"
    ),
}


def step_for(kind: str) -> str:
    """Return the step to take for a reason of a start; a general one if there is none of its own.

    Args:
        kind: as `startup.node.Reason` has it.
    """
    return _STEPS.get(kind, "Run kafka-workbench verify on the directory for what is wrong")
