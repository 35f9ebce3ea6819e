"""Check a log directory's offset checkpoints: each by itself, and against logs and folders.

Kafka: OffsetCheckpointFile, LogManager.loadLogs, LogLoader.recoverLog (4.2)
"""

from collections.abc import Iterator, Mapping
from typing import Final

from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.listing import Root
from workbench.inspection.verify_partition import PartitionResult
from workbench.inspection.verify_situation import METADATA_TOPIC, Situation

Results = Mapping[TopicPartition, PartitionResult]
Checkpoints = Mapping[str, OffsetCheckpoint]

_OFFLINE: Final = (
    "the directory goes offline, and a broker with only this one exits (2.8 opens its port first)"
)
_SHOWN: Final = 5  # partitions that a finding names; the rest are counted


def checkpoints_of(root: Root) -> dict[str, OffsetCheckpoint]:
    """Return the offset checkpoints that are there, by file name."""
    return {
        name: checkpoint
        for name in names.OFFSET_CHECKPOINTS
        if (checkpoint := root.checkpoint(name)) is not None
    }


def verify_checkpoint_files(
    root: Root, checkpoints: Checkpoints, situation: Situation
) -> Iterator[Finding]:
    """Yield a finding for each checkpoint that cannot be read, or should be there."""
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


def _missing_checkpoints(root: Root, checkpoints: Checkpoints) -> Iterator[Finding]:
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


def verify_checkpoints(
    root: Root,
    checkpoints: Checkpoints,
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


def verify_folders(root: Root, checkpoints: Checkpoints, situation: Situation) -> Iterator[Finding]:
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


def _without_folder(root: Root, checkpoints: Checkpoints) -> Iterator[Finding]:
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
