"""Every checkpoint and metadata file of log directories in one table, beside what the logs hold.

One row per directory and one per partition that has a directory or that a checkpoint names. What
contradicts what is decided by `inspection.verify`, whose findings are sorted into the rows.

Kafka: LogManager, OffsetCheckpointFile, LeaderEpochFileCache, MetaPropertiesEnsemble (4.2)
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.leader_epochs import EpochEntry
from workbench.files.names import TopicPartition
from workbench.files.quorum_state import QuorumState
from workbench.files.text import format_uuid
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing, Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.inspection.verify.checkpoints import checkpoints_of
from workbench.inspection.verify.shutdown_state import Stop, shutdown_state_of

LOG_START: Final = "log_start"
RECOVERY_POINT: Final = "recovery_point"
HIGH_WATERMARK: Final = "high_watermark"
CLEANER_OFFSET: Final = "cleaner_offset"
LEADER_EPOCH: Final = "leader_epoch"
TOPIC_ID: Final = "topic_id"
QUORUM: Final = "quorum"
DIRECTORY: Final = "directory"

COLUMN_OF: Final[Mapping[str, str]] = {
    names.LOG_START_OFFSETS: LOG_START,
    names.RECOVERY_POINTS: RECOVERY_POINT,
    names.HIGH_WATERMARKS: HIGH_WATERMARK,
    names.CLEANER_OFFSETS: CLEANER_OFFSET,
    names.LEADER_EPOCHS: LEADER_EPOCH,
    names.PARTITION_METADATA: TOPIC_ID,
    names.QUORUM_STATE: QUORUM,
}
"""Name of a file → what it says of a partition."""

_COLUMN_OF_KIND: Final[Mapping[str, str]] = {
    "duplicate-partition": DIRECTORY,
    "leader-epochs-missing": LEADER_EPOCH,
    "metadata-snapshot-missing": QUORUM,
    "not-checkpointed": RECOVERY_POINT,
    "partition-metadata-missing": TOPIC_ID,
    "no-segments": DIRECTORY,
    "topic-name": DIRECTORY,
}

Findings = dict[str, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class DirectoryCheckpoints:
    """What a log directory's own files say.

    Attributes:
        path: as it was opened.
        stop: how its broker stopped; see `shutdown_state.ShutdownState`.
        broker_epoch: the stopped broker's epoch; None if it is not written.
        version: of `meta.properties`; None without the file.
        cluster_id, node_id, directory_id: from `meta.properties`, as Kafka writes them.
        entries: name of an offset checkpoint → how many partitions it names.
        findings: name of a file → what is wrong with it; "" for the directory itself.
    """

    path: str
    stop: Stop
    broker_epoch: int | None
    version: int | None
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    entries: Mapping[str, int]
    findings: Findings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionCheckpoints:
    """What the checkpoints say of one partition, and what its log holds. None: nothing.

    Attributes:
        root: the log directory.
        name: name of the partition directory, or of the partition if there is none.
        path: the partition directory; None if checkpoints alone name the partition.
        kind: see `DiskPartition.kind`.
        first_offset: base offset of the first segment.
        log_end: log end offset, from the batches.
        offsets: `LOG_START`, `RECOVERY_POINT`, `HIGH_WATERMARK`, `CLEANER_OFFSET` → the offset in
            that checkpoint, if it names the partition.
        leader_epoch: the latest entry of `leader-epoch-checkpoint`.
        topic_id: as Kafka writes it.
        quorum: `quorum-state`, in the metadata log only.
        findings: `LOG_START`, …, `LEADER_EPOCH`, `TOPIC_ID`, `QUORUM` or `DIRECTORY` → what
            contradicts it.
    """

    root: str
    name: str
    path: str | None
    kind: str
    first_offset: int | None
    log_end: int | None
    offsets: Mapping[str, int] = field(default_factory=dict)
    leader_epoch: EpochEntry | None = None
    topic_id: str | None = None
    quorum: QuorumState | None = None
    findings: Findings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of log directories.

    Attributes:
        directories: in the order in which they were opened.
        partitions: by directory, sorted by topic and number.
    """

    directories: tuple[DirectoryCheckpoints, ...]
    partitions: tuple[PartitionCheckpoints, ...]

    def with_findings(self, findings: Iterable[Finding]) -> "Checkpoints":
        """Return the table with the findings of `verify_listing` that are about these files."""
        of_directory: dict[str, dict[str, list[Finding]]] = {}
        of_partition: dict[tuple[str, str], dict[str, list[Finding]]] = {}
        roots = {each.path for each in self.directories}
        rows = {each.path: each for each in self.partitions if each.path is not None}
        entries = {
            (each.root, column, f"{each.name} {offset}"): each
            for each in self.partitions
            for column, offset in each.offsets.items()
        }
        for finding in findings:
            folder, name = os.path.split(finding.path)
            column = COLUMN_OF.get(name)
            at: PartitionCheckpoints | None = None
            if finding.path in rows:
                at, column = rows[finding.path], _COLUMN_OF_KIND.get(finding.kind)
            elif folder in rows:
                at = rows[folder]
            elif column is not None:
                at = entries.get((folder, column, finding.found))
            if at is not None and column is not None:
                key = (at.root, at.name)
                of_partition.setdefault(key, {}).setdefault(column, []).append(finding)
            elif finding.path in roots:
                of_directory.setdefault(finding.path, {}).setdefault("", []).append(finding)
            elif at is None and folder in roots:
                of_directory.setdefault(folder, {}).setdefault(name, []).append(finding)
        return Checkpoints(
            tuple(
                replace(each, findings=_frozen(of_directory.get(each.path)))
                for each in self.directories
            ),
            tuple(
                replace(each, findings=_frozen(of_partition.get((each.root, each.name))))
                for each in self.partitions
            ),
        )


def _frozen(found: dict[str, list[Finding]] | None) -> Findings:
    return {column: tuple(findings) for column, findings in (found or {}).items()}


def checkpoint_table(listing: Listing) -> Checkpoints:
    """Read the checkpoints and metadata files of log directories, and where their logs end.

    What cannot be read is None; `Checkpoints.with_findings` adds why.
    """
    return Checkpoints(
        tuple(_directory(root) for root in listing.roots if root.is_log_directory),
        tuple(row for root in listing.roots for row in _partitions(root)),
    )


def _directory(root: Root) -> DirectoryCheckpoints:
    meta = if_readable(partial(getattr, root, "meta_properties"))
    flag = root.file(names.CLEAN_SHUTDOWN)
    shutdown = None
    if flag is not None:
        shutdown = if_readable(partial(flag.read, CleanShutdown))
    checkpoints, _ = checkpoints_of(root)
    return DirectoryCheckpoints(
        path=root.path,
        stop=shutdown_state_of(root).stop,
        broker_epoch=shutdown.broker_epoch if shutdown else None,
        version=meta.version if meta else None,
        cluster_id=meta.cluster_id if meta else None,
        node_id=meta.node_id if meta else None,
        directory_id=format_uuid(meta.directory_id) if meta and meta.directory_id else None,
        entries={name: len(each.offsets) for name, each in checkpoints.items()},
    )


def _partitions(root: Root) -> Iterator[PartitionCheckpoints]:
    checkpoints, _ = checkpoints_of(root)
    left = {at for checkpoint in checkpoints.values() for at in checkpoint.offsets}
    for partition in root.partitions:
        if partition.only is not None:
            continue
        at = TopicPartition(partition.topic, partition.partition)
        row = _partition(root.path, partition)
        if partition.kind != "log":  # checkpoints are about the directory in use
            yield row
            continue
        left.discard(at)
        yield replace(row, offsets=_offsets(checkpoints, at))
    for at in sorted(left):
        offsets = _offsets(checkpoints, at)
        yield PartitionCheckpoints(root.path, str(at), None, "log", None, None, offsets)


def _offsets(checkpoints: Mapping[str, OffsetCheckpoint], at: TopicPartition) -> dict[str, int]:
    return {
        COLUMN_OF[name]: checkpoint.offsets[at]
        for name, checkpoint in checkpoints.items()
        if at in checkpoint.offsets
    }


def _partition(root: str, partition: DiskPartition) -> PartitionCheckpoints:
    segments = partition.segments
    end = if_readable(partial(getattr, partition, "log_end_offset")) if segments else None
    epochs = if_readable(partial(getattr, partition, "leader_epochs"))
    state = partition.file(names.QUORUM_STATE)
    quorum = None
    if state is not None:
        with suppress(OSError):
            quorum = state.read(QuorumState)
    metadata = if_readable(partial(getattr, partition, "metadata"))
    topic_id = metadata.topic_id if metadata else None
    return PartitionCheckpoints(
        root=root,
        name=partition.name,
        path=partition.path,
        kind=partition.kind,
        first_offset=segments[0].base_offset if segments else None,
        log_end=end,
        leader_epoch=epochs.latest if epochs else None,
        topic_id=None if topic_id is None else format_uuid(topic_id),
        quorum=quorum,
    )
