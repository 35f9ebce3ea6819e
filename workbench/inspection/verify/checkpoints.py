"""Check a log directory's offset checkpoints: each by itself, and against its partitions.

Kafka: OffsetCheckpointFile, LogManager.loadLogs, LogLoader.recoverLog (4.2)
"""

from collections.abc import Iterator, Mapping
from typing import Final

from workbench.config.broker_rules import FailedDirectoryRule
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.listing import Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import unreadable
from workbench.inspection.verify.partition import PartitionResult
from workbench.inspection.verify.shutdown_state import ShutdownState

Results = Mapping[TopicPartition, PartitionResult]
Checkpoints = Mapping[str, OffsetCheckpoint]

_OFFLINE: Final = {
    FailedDirectoryRule.ENDS_IN_A_LOG: (
        "the log directory goes offline, and a broker with only this one exits (2.8 first opens "
        "its port)"
    ),
    FailedDirectoryRule.MAKES_LOGS_AGAIN: (
        "the log directory goes offline, and a broker with others makes its logs again there, "
        "empty; one with only this directory exits"
    ),
    FailedDirectoryRule.KEEPS_PLACES: (
        "the log directory goes offline, and a broker with only this one, or its metadata log in "
        "it, exits"
    ),
}
_SHOWN: Final = 5  # partitions that a finding names; it counts the rest


def checkpoints_of(root: Root) -> tuple[dict[str, OffsetCheckpoint], list[Finding]]:
    """Return the offset checkpoints by file name, and findings for the unreadable ones."""
    found: dict[str, OffsetCheckpoint] = {}
    findings: list[Finding] = []
    for name in names.OFFSET_CHECKPOINTS:
        entry = root.file(name)
        if entry is not None:
            _ = entry.modified_ms  # as it was before it is read: a running broker writes another
        try:
            checkpoint = root.checkpoint(name)
        except OSError as error:
            findings += unreadable(f"{root.path}/{name}", error)
            continue
        if checkpoint is not None:
            found[name] = checkpoint
    return found, findings


def verify_checkpoint_files(
    root: Root, checkpoints: Checkpoints, situation: ShutdownState
) -> Iterator[Finding]:
    """Yield a finding for each checkpoint that cannot be read, or is missing."""
    if not root.is_log_directory:
        return
    for name, checkpoint in checkpoints.items():
        entry = root.file(name)
        assert entry is not None
        for problem in checkpoint.problems[:1]:
            severity, broker = _damaged_checkpoint(name, _OFFLINE[situation.rules.failed_directory])
            yield Finding(
                "checkpoint-damaged", severity, entry.path, problem.position, None, problem.found,
                problem.expected, broker,
            )  # fmt: skip
    if situation.stop == "clean":
        yield from _missing_checkpoints(root)


def _damaged_checkpoint(name: str, offline: str) -> tuple[Severity, str]:
    if name == names.RECOVERY_POINTS:
        return "error", f"A broker uses 0 as recovery points; even so, {offline}."
    if name == names.LOG_START_OFFSETS:
        return "error", f"A broker uses 0 as log start offsets; even so, {offline}."
    if name == names.CLEANER_OFFSETS:
        return "error", (
            f"With the cleaner on, {offline}; with log.cleaner.enable=false a broker does not "
            "read the file."
        )
    return "error", f"When the broker reads the high watermarks, {offline}."


def _missing_checkpoints(root: Root) -> Iterator[Finding]:
    """Yield a finding for each checkpoint that a clean shutdown writes and that is missing."""
    used = [p for p in root.partitions if p.kind == "log" and p.topic != METADATA_TOPIC]
    if not any(partition.segments for partition in used):
        return
    for name, broker in (
        (
            names.RECOVERY_POINTS,
            "After the clean shutdown, a broker uses the log end offsets as recovery points.",
        ),
        (
            names.HIGH_WATERMARKS,
            "A broker begins with high watermarks of 0 until the replicas fetch.",
        ),
    ):
        if not root.has_name(name):
            kind = "checkpoint-missing"
            path = f"{root.path}/{name}"
            yield Finding(
                kind, "warning", path, None, None, "no such file",
                "the file that a clean shutdown writes", broker,
            )  # fmt: skip


def verify_checkpoints(
    root: Root,
    checkpoints: Checkpoints,
    results: Results,
    situation: ShutdownState,
) -> Iterator[Finding]:
    """Yield the contradictions between the offset checkpoints and the logs.

    Args:
        root: the log directory.
        checkpoints: from `checkpoints_of`, read before the logs: both grow on a live broker.
        results: the results of its partitions in use.
        situation: how its broker stopped.
    """
    folders = {
        TopicPartition(each.topic, each.partition): each
        for each in root.partitions
        if each.kind == "log"
    }
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
                if situation.stop == "running" and _is_younger(folders.get(partition), entry):
                    continue  # the offset is of a deleted topic's; a broker soon writes another
                yield _beyond_end(name, entry.path, partition, offset, result.log_end)
            elif (
                name == names.RECOVERY_POINTS
                and situation.stop == "clean"
                and offset < result.log_end
            ):
                broker = (
                    "After the clean shutdown, a broker uses the log end offset as the recovery "
                    "point. But a clean shutdown writes the log end offset here: the log has "
                    "grown since, or the file is older."
                )
                found, wanted = f"{partition} {offset}", f"{result.log_end}, the log end offset"
                kind = "checkpoint-stale"
                yield Finding(kind, "warning", entry.path, None, offset, found, wanted, broker)
            elif offset < 0:
                broker = "A broker uses the offset as it is."
                found = f"{partition} {offset}"
                kind = "checkpoint-damaged"
                yield Finding(kind, "warning", entry.path, None, offset, found, "0 or more", broker)


def contradicted(checkpoints: Checkpoints, results: Results) -> set[TopicPartition]:
    """Return the partitions for which a checkpoint has an offset that their log cannot have."""
    ends = {name: each.log_end for name, each in results.items() if each.log_end is not None}
    return {
        partition
        for checkpoint in checkpoints.values()
        for partition, offset in checkpoint.offsets.items()
        if partition in ends and not 0 <= offset <= ends[partition]
    }


def _is_younger(log: DiskPartition | None, checkpoint: FileEntry) -> bool:
    """Whether a log was created after a checkpoint was written, by its `partition.metadata`."""
    created = None if log is None else log.file(names.PARTITION_METADATA)
    return created is not None and created.modified_ms >= checkpoint.modified_ms


def _beyond_end(
    name: str, path: str, partition: TopicPartition, offset: int, log_end: int
) -> Finding:
    severity: Severity = "warning"
    if name == names.RECOVERY_POINTS:
        broker = (
            f"Records up to offset {offset - 1} were flushed once and are lost. A broker uses the "
            f"log end offset as the recovery point, and this replica continues at {log_end}."
        )
    elif name == names.LOG_START_OFFSETS:
        severity = "error"
        broker = (
            f"A broker deletes all segments of the partition and creates an empty one at {offset}."
        )
    elif name == names.HIGH_WATERMARKS:
        broker = (
            f"Records up to offset {offset - 1} were committed, and this replica has lost them. A "
            f"broker lowers the high watermark to {log_end}."
        )
    else:
        broker = "The cleaner starts over at the log start offset."
    found, wanted = f"{partition} {offset}", f"at most {log_end}, the log end offset"
    return Finding("checkpoint-beyond-end", severity, path, None, offset, found, wanted, broker)


def verify_folders(
    root: Root, checkpoints: Checkpoints, situation: ShutdownState
) -> Iterator[Finding]:
    """Yield the contradictions between the partition directories and the checkpoints."""
    if root.is_log_directory:
        yield from _without_folder(root, checkpoints)
    points = checkpoints.get(names.RECOVERY_POINTS)
    if situation.stop != "clean" or points is None or points.problems:
        return
    for partition in root.partitions:
        name = TopicPartition(partition.topic, partition.partition)
        is_log = partition.kind == "log" and partition.segments and name.topic != METADATA_TOPIC
        if is_log and name not in points.offsets:
            broker = (
                "The broker did not have this directory when it stopped. It loads the log as "
                "after a clean shutdown; if the cluster has no such partition, it does not serve "
                "the log, or renames the directory to -stray."
            )
            found = f"no entry for {name} in {names.RECOVERY_POINTS}"
            wanted = "an entry with its log end offset"
            kind = "not-checkpointed"
            yield Finding(kind, "warning", partition.path, None, None, found, wanted, broker)


def _without_folder(root: Root, checkpoints: Checkpoints) -> Iterator[Finding]:
    """Yield a finding when partitions are checkpointed and have no directory.

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
        "If the cluster still assigns the partition to this broker, it creates an empty log, and a "
        "follower fetches the records again from the leader; otherwise it drops the entry."
    )
    found, wanted = f"{shown}{more}", "their directories beside the checkpoint"
    yield Finding("checkpoint-partition", "info", entry.path, None, None, found, wanted, broker)
