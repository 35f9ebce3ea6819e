"""High watermarks of loaded logs: their starting values and checkpoints.

Kafka: ReplicaManager.checkpointHighWatermarks, Partition.createLog, maybeIncrementLeaderHW (4.2)
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from workbench.errors import StorageError
from workbench.files.names import HIGH_WATERMARKS, TopicPartition
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext


class StartingHighWatermark(NamedTuple):
    """The high watermark that a log starts with.

    Attributes:
        offset: the offset of the high watermark.
        checkpointed: the offset in `replication-offset-checkpoint`; None if it does not name the
            log.
    """

    offset: int
    checkpointed: int | None

    @property
    def is_assumed(self) -> bool:
        """Whether the checkpoint does not show that all records before it are committed."""
        return self.checkpointed is None or self.checkpointed < self.offset

    def __str__(self) -> str:
        taken = f"high watermark taken as the log end offset {self.offset:,}"
        if self.checkpointed is None:
            return f"{taken}: no {HIGH_WATERMARKS} names the log"
        if self.is_assumed:
            return (
                f"{taken}: {HIGH_WATERMARKS} says {self.checkpointed:,}, and the leader raises it "
                "when all in-sync replicas have the records; a sole replica does so at startup"
            )
        return f"high watermark {self.offset:,}: {HIGH_WATERMARKS} says {self.checkpointed:,}"


def start_as_sole_replica(log: Log, checkpointed: int | None) -> StartingHighWatermark:
    """Give a log the high watermark of a leader that has no followers: its log end offset.

    Args:
        log: the loaded log.
        checkpointed: the high watermark in the checkpoint; None if it does not name the log.

    Kafka: Partition.createLog, makeLeader (4.2)
    """
    log.update_high_watermark(checkpointed or 0)
    log.commit()
    return StartingHighWatermark(log.high_watermark, checkpointed)


def restore_high_watermarks(
    context: ManagerContext,
) -> Mapping[TopicPartition, StartingHighWatermark]:
    """Set the high watermarks of the loaded logs; return those of the logs in use.

    A directory whose checkpoint cannot be read goes offline.

    Kafka: Partition.createLog (4.2)
    """
    by_directory = context.registry.by_directory()
    found = {}
    for directory in context.live:
        try:
            offsets = directory.checkpoint(HIGH_WATERMARKS).read()
        except StorageError:
            continue  # recorded where it happened: the directory is offline
        for partition, log in by_directory.get(directory.path, {}).items():
            checkpointed = offsets.get(partition)
            if context.commits_appends:
                start = start_as_sole_replica(log, checkpointed)
            else:
                log.update_high_watermark(checkpointed or 0)
                start = StartingHighWatermark(log.high_watermark, checkpointed)
            if not log.is_future:
                found[partition] = start
    return found


def checkpoint_high_watermarks(
    context: ManagerContext, directories: Iterable[str] | None = None
) -> None:
    """Write the high watermarks of all logs to the checkpoints of their directories.

    Args:
        context: the log manager's context.
        directories: paths; None takes all. Offline ones are left alone.

    Kafka: ReplicaManager.checkpointHighWatermarks (4.2)
    """
    by_directory = context.registry.by_directory()
    for path in [d.path for d in context.live] if directories is None else directories:
        logs = by_directory.get(path, {})
        context.write_checkpoint(
            path, HIGH_WATERMARKS, {name: log.high_watermark for name, log in logs.items()}
        )
