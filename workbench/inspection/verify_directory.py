"""Check a log directory's own files: checkpoints against logs, `meta.properties`, names of folders.

Kafka: LogManager.loadLogs, MetaPropertiesEnsemble, OffsetCheckpointFile, LogCleanerManager (4.2)
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.meta_properties import MetaProperties
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.listing import Root
from workbench.inspection.verify_metadata_log import verify_metadata_snapshot
from workbench.inspection.verify_partition import Era, PartitionResult
from workbench.inspection.verify_situation import METADATA_TOPIC, Situation, has_own_files

Results = Mapping[TopicPartition, PartitionResult]

_OFFLINE: Final = (
    "the directory goes offline, and a broker with only this one exits (2.8 opens its port first)"
)
_SHOWN: Final = 5  # partitions that a finding names; the rest are counted


def era_of(root: Root) -> Era:
    """Return what the partitions of a log directory should hold, by what most of them do."""
    used = [partition for partition in root.partitions if partition.kind == "log"]
    timed = any("timeindex" in s.files for partition in used for s in partition.segments)
    epochs = any(partition.file(names.LEADER_EPOCHS) for partition in used)
    metadata = any(partition.file(names.PARTITION_METADATA) for partition in used)
    meta = root.file(names.META_PROPERTIES)
    version = MetaProperties.read(meta.path, strict=False).version if meta else None
    kraft = version == 1 or (version is None and metadata)
    return Era(timed or epochs or metadata, epochs or metadata, metadata, kraft)


def checkpoints_of(root: Root) -> dict[str, OffsetCheckpoint]:
    """Return the offset checkpoints that are there, by file name."""
    return {
        name: checkpoint
        for name in names.OFFSET_CHECKPOINTS
        if (checkpoint := root.checkpoint(name)) is not None
    }


def verify_root(
    root: Root, checkpoints: Mapping[str, OffsetCheckpoint], situation: Situation, era: Era
) -> Iterator[Finding]:
    """Yield what is wrong with a log directory's plain files and with the names in it."""
    if not root.is_log_directory:
        return
    for name, checkpoint in checkpoints.items():
        entry = root.file(name)
        assert entry is not None
        for problem in checkpoint.problems[:1]:
            severity, broker = _damaged_checkpoint(name)
            yield Finding(
                "checkpoint-damaged", severity, entry.path, problem.position, None, problem.found,
                problem.expected, broker,
            )  # fmt: skip
    if situation.stop == "clean":
        yield from _missing_checkpoints(root, checkpoints)
    yield from _meta_properties(root, era)
    flag = root.file(names.CLEAN_SHUTDOWN)
    if flag is not None:
        for problem in CleanShutdown.read(flag.path, strict=False).problems:
            broker = "It still counts as a clean stop; only the broker's epoch is lost."
            yield Finding(
                "clean-shutdown-damaged", "info", flag.path, problem.position, None, problem.found,
                problem.expected, broker,
            )  # fmt: skip
    bootstrap = root.file(names.BOOTSTRAP_CHECKPOINT)
    if bootstrap is not None:
        yield from verify_metadata_snapshot(bootstrap, deep=True)
    yield from _names(root)


def _damaged_checkpoint(name: str) -> tuple[Severity, str]:
    if name == names.RECOVERY_POINTS:
        return "error", f"Recovery points count as 0, and all the same {_OFFLINE}."
    if name == names.LOG_START_OFFSETS:
        return "error", f"Log start offsets count as 0, and all the same {_OFFLINE}."
    if name == names.CLEANER_OFFSETS:
        return "error", (
            f"With the cleaner on {_OFFLINE}; with log.cleaner.enable=false it is not read."
        )
    return "error", f"When the broker looks for the high watermarks {_OFFLINE}."


def _meta_properties(root: Root, era: Era) -> Iterator[Finding]:
    entry = root.file(names.META_PROPERTIES)
    if entry is None:
        if era.epochs_and_snapshots and has_own_files(root):
            broker = (
                "A broker in KRaft mode (3.x, 4.x) does not start: the directory is not formatted. "
                "With ZooKeeper it makes a new one."
            )
            kind = "meta-properties-missing"
            yield Finding(kind, "error", root.path, None, None, "no meta.properties", "one", broker)
        return
    meta = MetaProperties.read(entry.path, strict=False)
    broker = "A broker since 3.x exits; one with ZooKeeper (2.8) starts with what it can read."
    for problem in meta.problems[:1]:
        yield Finding(
            "meta-properties-damaged", "error", entry.path, problem.position, None, problem.found,
            problem.expected, broker,
        )  # fmt: skip
    if not meta.problems and meta.node_id is None:
        found, wanted = "neither node.id nor broker.id", "the id of the broker it belongs to"
        kind = "meta-properties-damaged"
        yield Finding(kind, "error", entry.path, None, None, found, wanted, broker)


def _missing_checkpoints(
    root: Root, checkpoints: Mapping[str, OffsetCheckpoint]
) -> Iterator[Finding]:
    """Yield a finding for each checkpoint that a clean stop writes and that is not there."""
    used = [p for p in root.partitions if p.kind == "log" and p.topic != METADATA_TOPIC]
    if not any(partition.segments for partition in used):
        return
    for name, broker in (
        (
            names.RECOVERY_POINTS,
            "Stopped cleanly, a broker takes the log ends for recovery points.",
        ),
        (names.HIGH_WATERMARKS, "A broker begins with high watermarks of 0 until replicas report."),
    ):
        if name not in checkpoints:
            kind = "checkpoint-missing"
            path = f"{root.path}/{name}"
            yield Finding(
                kind, "warning", path, None, None, "no such file", "one, as a clean stop leaves it",
                broker,
            )  # fmt: skip


def _names(root: Root) -> Iterator[Finding]:
    for entry in root.unknown:
        broker = "A broker takes no notice of it."
        found = f"{entry.size} bytes"
        yield Finding("unknown-file", "info", entry.path, None, None, found, "", broker)
    for entry in root.files:
        if entry.name.endswith(names.TEMPORARY) and entry not in root.unknown:
            broker = "It was being written when the broker stopped: the next writing replaces it."
            found = f"{entry.size} bytes"
            yield Finding("leftover-temporary", "info", entry.path, None, None, found, "", broker)
    for folder in root.unknown_folders:
        broker = (
            "A broker does not start: it takes every folder for a partition's (KafkaException)."
        )
        path = f"{root.path}/{folder}"
        wanted = "a name like topic-0"
        yield Finding("unknown-folder", "error", path, None, None, "a folder", wanted, broker)
    for partition in root.partitions:
        problem = names.topic_name_problem(partition.topic)
        if problem is not None and partition.kind == "log":
            broker = "A broker loads it as a log, but no topic of this name can be in the cluster."
            yield Finding("topic-name", "warning", partition.path, None, None, problem, "", broker)
        kind = {"delete": "deleted"}.get(partition.kind, partition.kind)
        if partition.kind != "log":
            broker = _FOLDERS[partition.kind]
            found = f"{len(partition.files)} files"
            yield Finding(
                f"directory-{kind}", "info", partition.path, None, None, found, "", broker
            )


_FOLDERS: Final = {
    "delete": "A broker deletes the folder when it starts, or a minute after it was renamed.",
    "stray": "A broker leaves it aside: it belonged to no partition that the cluster gave it.",
    "future": "A broker goes on copying, and swaps it in when it has caught up.",
}


def verify_checkpoints(
    root: Root,
    checkpoints: Mapping[str, OffsetCheckpoint],
    results: Results,
    situation: Situation,
) -> Iterator[Finding]:
    """Yield what the offset checkpoints and the logs contradict each other in.

    Args:
        root: the log directory.
        checkpoints: of `checkpoints_of`, read before the logs: both grow on a live broker.
        results: of its partitions that are in use.
        situation: how its broker stopped.
    """
    for name, checkpoint in checkpoints.items():
        entry = root.file(name)
        assert entry is not None
        if checkpoint.problems:
            continue
        for partition, offset in checkpoint.offsets.items():
            result = results.get(partition)
            if result is None or result.log_end is None:
                continue
            if offset > result.log_end:
                yield _beyond_end(name, entry.path, partition, offset, result.log_end)
            elif (
                name == names.RECOVERY_POINTS
                and situation.stop == "clean"
                and offset < result.log_end
            ):
                broker = (
                    "Stopped cleanly, a broker takes the log end for its recovery point. But a "
                    "clean stop writes the log end here: the log has grown since, or the file is "
                    "older."
                )
                found, wanted = f"{partition} {offset}", f"{result.log_end}, the log end"
                kind = "checkpoint-stale"
                yield Finding(kind, "warning", entry.path, None, offset, found, wanted, broker)
            elif offset < 0:
                broker = "A broker takes the offset as it is."
                found = f"{partition} {offset}"
                kind = "checkpoint-damaged"
                yield Finding(kind, "warning", entry.path, None, offset, found, "0 or more", broker)


def _beyond_end(
    name: str, path: str, partition: TopicPartition, offset: int, log_end: int
) -> Finding:
    severity: Severity = "warning"
    if name == names.RECOVERY_POINTS:
        broker = (
            f"Records up to {offset - 1} were on disk once and are gone. A broker takes the log "
            f"end for the recovery point, and this replica begins again at {log_end}."
        )
    elif name == names.LOG_START_OFFSETS:
        severity = "error"
        broker = (
            f"A broker deletes all segments of the partition and begins an empty one at {offset}."
        )
    elif name == names.HIGH_WATERMARKS:
        broker = (
            f"Records up to {offset - 1} were committed and are gone from this replica. A broker "
            f"lowers the high watermark to {log_end}."
        )
    else:
        broker = "The cleaner begins again at the log start."
    found, wanted = f"{partition} {offset}", f"at most {log_end}, the log end"
    return Finding("checkpoint-beyond-end", severity, path, None, offset, found, wanted, broker)


def verify_folders(
    root: Root, checkpoints: Mapping[str, OffsetCheckpoint], situation: Situation
) -> Iterator[Finding]:
    """Yield what the folders and the partitions in the checkpoints contradict each other in."""
    yield from _without_folder(root, checkpoints)
    points = checkpoints.get(names.RECOVERY_POINTS)
    if situation.stop != "clean" or points is None or points.problems:
        return
    for partition in root.partitions:
        name = TopicPartition(partition.topic, partition.partition)
        is_log = partition.kind == "log" and partition.segments and name.topic != METADATA_TOPIC
        if is_log and name not in points.offsets:
            broker = (
                "The broker did not have this folder when it stopped. It loads it as if it had "
                "been closed cleanly; where the cluster knows no such partition, it is not "
                "served, or renamed to -stray."
            )
            found, wanted = f"nothing of {name} in {names.RECOVERY_POINTS}", "its log end there"
            kind = "not-checkpointed"
            yield Finding(kind, "warning", partition.path, None, None, found, wanted, broker)


def _without_folder(root: Root, checkpoints: Mapping[str, OffsetCheckpoint]) -> Iterator[Finding]:
    """Yield a finding when partitions are checkpointed and have no folder.

    The cleaner's checkpoint is left out: it keeps deleted topics until the cleaner writes again.
    """
    folders = {TopicPartition(p.topic, p.partition) for p in root.partitions if p.kind != "stray"}
    gone: dict[TopicPartition, str] = {}
    for name, checkpoint in checkpoints.items():
        if name != names.CLEANER_OFFSETS and not checkpoint.problems:
            for partition in checkpoint.offsets:
                if partition not in folders and partition.topic != METADATA_TOPIC:
                    gone.setdefault(partition, name)
    if not gone:
        return
    ordered = sorted(gone)
    entry = root.file(gone[ordered[0]])
    assert entry is not None
    shown = ", ".join(map(str, ordered[:_SHOWN]))
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    broker = (
        "Where the cluster still gives it such a partition, a broker begins an empty log, and "
        "followers fetch it again from the leader; else it drops the entry."
    )
    found, wanted = f"{shown}{more}", "their folders beside it"
    yield Finding("checkpoint-partition", "info", entry.path, None, None, found, wanted, broker)


def verify_roots(roots: Sequence[Root]) -> Iterator[Finding]:
    """Yield what log directories that were opened together contradict each other in."""
    directories = [root for root in roots if root.is_log_directory]
    first: dict[str, str] = {}
    for root in directories:
        for partition in root.partitions:
            if partition.kind != "log":
                continue
            if partition.name in first:
                broker = (
                    "A broker that has both in log.dirs does not start (IllegalStateException: "
                    "Duplicate log directories found)."
                )
                found = f"also in {first[partition.name]}"
                kind = "duplicate-partition"
                yield Finding(
                    kind, "error", partition.path, None, None, found, "one folder", broker
                )
            first.setdefault(partition.name, partition.path)
    yield from _same_owner(directories)
    yield from _topic_ids(directories)


def _same_owner(roots: Sequence[Root]) -> Iterator[Finding]:
    seen: dict[str, tuple[str, str]] = {}
    ids: dict[str, str] = {}
    for root in roots:
        entry = root.file(names.META_PROPERTIES)
        if entry is None:
            continue
        meta = MetaProperties.read(entry.path, strict=False)
        for name, value in (("node.id", meta.node_id), ("cluster.id", meta.cluster_id)):
            if value is None:
                continue
            known, where = seen.setdefault(name, (str(value), entry.path))
            if known != str(value):
                broker = "A broker that has both in log.dirs does not start."
                found, wanted = f"{name} {value}", f"{known}, as in {where}"
                kind = "meta-properties-mismatch"
                yield Finding(kind, "error", entry.path, None, None, found, wanted, broker)
        if meta.directory_id is not None:
            text = str(meta.directory_id)
            if text in ids:
                broker = "A broker that has both in log.dirs does not start."
                found, wanted = f"directory.id as in {ids[text]}", "one of its own"
                kind = "meta-properties-mismatch"
                yield Finding(kind, "error", entry.path, None, None, found, wanted, broker)
            ids.setdefault(text, entry.path)


def _topic_ids(roots: Sequence[Root]) -> Iterator[Finding]:
    by_topic: dict[str, tuple[str, str]] = {}
    by_id: dict[str, tuple[str, str]] = {}
    for partition in (p for root in roots for p in root.partitions if p.kind in {"log", "future"}):
        topic_id = partition.topic_id
        if topic_id is None:
            continue
        known, where = by_topic.setdefault(partition.topic, (topic_id, partition.name))
        topic, other = by_id.setdefault(topic_id, (partition.topic, partition.name))
        path = f"{partition.path}/{names.PARTITION_METADATA}"
        found = f"topic id {topic_id}"
        if known != topic_id:
            broker = "A broker takes the folder whose id is not the cluster's for a stray."
            wanted = f"{known}, as in {where}"
            yield Finding("topic-id", "warning", path, None, None, found, wanted, broker)
        elif topic != partition.topic:
            broker = "A broker compares ids, not names: it loads the folder, and nobody is served."
            wanted = f"one of its own; {other} has it"
            yield Finding("topic-id", "warning", path, None, None, found, wanted, broker)
