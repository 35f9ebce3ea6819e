"""The step to take for each reason for which a node does not start."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from workbench.files.names import RECOVERY_POINTS, TopicPartition
from workbench.foresight.startup.prediction import DirectoryStart
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.runtime.words import named_or_more

_COMPARED: Final = 256 << 20  # bytes of a partition directory
_WINDOW: Final = 4 << 20  # bytes
_IDENTITY: Final = {
    "cluster.id": (
        "Take the directory with the other cluster.id out of log.dirs and mount the one that "
        "belongs there: its topic ids are those of the other cluster. Only if it is of this "
        "cluster, correct cluster.id in its meta.properties, or give --cluster-id"
    ),
    "node.id": (
        "Take the directory with the other node.id out of log.dirs: it is another node's, whose "
        "replicas are not this one's. Or start the node that it names (--node-id), with its "
        "directories alone"
    ),
    "directory.id": (
        "Give the second directory a directory.id of its own in meta.properties: it was copied "
        "from the first{lost}"
    ),
}
"""What differs between the directories → the step to take."""
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
    "topic-config": (
        "Set the topic's configuration to a value that the version allows: with kafka-configs.sh "
        "while the older version runs, or at kafka-workbench serve --writable"
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


def step_for(
    row: DirectoryStart, listing: Listing, missing: Sequence[str], lost_ids: Sequence[str]
) -> str:
    """Return the step to take for a directory that keeps a node from starting.

    Args:
        row: the directory, and why.
        listing: the log directories.
        missing: the partitions of the node that have no log here.
        lost_ids: the directories of the node that the metadata log knows, and that are not here.
    """
    root = next((each for each in listing.roots if os.path.abspath(each.path) == row.path), None)
    if row.kind == "duplicate-partition" and (step := _which_of_two(listing)):
        return step
    if row.kind == "meta-properties-missing" and root is not None and not root.partitions:
        return _mount(row.path, missing)
    if row.kind == "meta-properties-mismatch":
        named = (text for name, text in _IDENTITY.items() if f": {name} " in row.problem)
        known = f"; the cluster knows {', '.join(lost_ids)}, which is not here" if lost_ids else ""
        return next(named, _IDENTITY["cluster.id"]).format(lost=known)
    return _STEPS.get(row.kind, "Run kafka-workbench verify on the directory for what is wrong")


def _mount(path: str, missing: Sequence[str]) -> str:
    """Return the step to take for an entry of log.dirs that is empty."""
    step = f"Mount the disk that belongs at {path}"
    if missing:
        step += f": it has {named_or_more(missing)}"
    return (
        f"{step}. If the disk is new, kafka-storage.sh format --ignore-formatted --cluster-id ID "
        "--config server.properties lets the node start: it then makes these partitions again, "
        "empty, and fetches them only if another replica leads"
    )


class _Copy(NamedTuple):
    """One of several directories of a partition, by what decides which to keep.

    Attributes:
        is_named: whether the recovery points of its log directory name the partition.
        end: log end offset.
        path: of the directory.
    """

    is_named: bool
    end: int
    path: str

    def __str__(self) -> str:
        named = "" if self.is_named else ", not in the checkpoints of its log directory"
        return f"{self.path} (log end offset {self.end}{named})"


def _which_of_two(listing: Listing) -> str:
    """Return which directories to move away where a partition is in several; empty: unknown."""
    copies: dict[str, list[_Copy]] = {}
    partitions: dict[str, DiskPartition] = {}  # by path
    for root in listing.roots:
        checkpoint = root.checkpoint(RECOVERY_POINTS)
        named = {} if checkpoint is None else checkpoint.offsets
        for each in root.partitions:
            if each.kind == "log":
                where = TopicPartition(each.topic, each.partition)
                end = if_readable(partial(getattr, each, "log_end_offset"))
                found = _Copy(where in named, -1 if end is None else end, each.path)
                copies.setdefault(each.name, []).append(found)
                partitions[each.path] = each
    steps = []
    for each_copy in copies.values():
        *others, best = sorted(each_copy)
        for other in others:
            step = f"Move {other} out of log.dirs; keep {best}"
            same = partial(_have_same_bytes, partitions[other.path], partitions[best.path])
            if if_readable(same):
                step += "; both have the same bytes"
            elif other[:2] == best[:2]:
                step += "; neither is better"
            steps.append(step)
    return "; ".join(steps)


def _have_same_bytes(one: DiskPartition, other: DiskPartition) -> bool:
    """Whether two directories have the same `.log` files; not if they are too large to compare."""
    pairs = list(zip(one.segments, other.segments, strict=False))
    if len(one.segments) != len(other.segments) or one.size > _COMPARED:
        return False
    if any(a.base_offset != b.base_offset or a.size != b.size for a, b in pairs):
        return False
    for a, b in pairs:
        with a.open() as first, b.open() as second:
            for at in range(0, a.size, _WINDOW):
                count = min(_WINDOW, a.size - at)
                if first.read(at, count).tobytes() != second.read(at, count).tobytes():
                    return False
    return True
