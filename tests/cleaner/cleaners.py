"""Logs in two log directories, and the cleaner of them all."""

from pathlib import Path
from typing import Any

from tests.cleaner.cleaning import Cleanable
from tests.log.logs import NOW
from workbench.cleaner.schedule.log_cleaner import LogCleaner
from workbench.config.broker_config import BrokerConfig
from workbench.file_system.local import LOCAL
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import CLEANER_OFFSETS, TopicPartition
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.runtime.clock import ManualClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.scheduler import Scheduler


class CleanedLogs:
    """Logs that come and go, and their cleaner.

    Args:
        root: holds the log directories `a` and `b`.
        config: the broker's.
        scheduler: the cleaner's; None gives it threads.
        clock: the cleaner's.

    Attributes:
        logs: by partition.
    """

    def __init__(
        self,
        root: Path,
        config: dict[str, Any] | None = None,
        scheduler: Scheduler | None = None,
        clock: ManualClock | None = None,
    ) -> None:
        self.a, self.b = str(root / "a"), str(root / "b")
        self.clock = ManualClock(NOW) if clock is None else clock
        self.failures = LogDirFailures()
        self.logs: dict[TopicPartition, Log] = {}
        self.moving: set[TopicPartition] = set()
        for path in (self.a, self.b):
            Path(path).mkdir()
        files = {
            path: OffsetCheckpointFile(path, CLEANER_OFFSETS, LOCAL, self.failures, None)
            for path in (self.a, self.b)
        }
        self.cleaner = LogCleaner(
            BrokerConfig.of(config or {}),
            self.logs,
            files,
            self.clock,
            scheduler,
            moving=self.moving,
        )
        self.manager = self.cleaner.manager

    def add(self, name: str, directory: str | None = None, **settings: Any) -> Cleanable:
        """Make an empty log."""
        log = Cleanable(Path(directory or self.a), name, **settings)
        self.logs[log.log.topic_partition] = log.log
        return log

    def dirty(self, name: str, clean: int, dirty: int, **settings: Any) -> Cleanable:
        """Make a log with that many clean and that many dirty segments of one batch each."""
        log = self.add(name, **settings)
        for number in range(clean + dirty):
            log.append(number % 3)
            log.roll()
        if clean:
            self.manager.checkpoints.update(
                log.log.parent_directory, {log.log.topic_partition: clean}
            )
        return log

    def checkpoint(self, directory: str | None = None) -> dict[str, int]:
        """Return what is in a directory's checkpoint."""
        path = Path(directory or self.a) / CLEANER_OFFSETS
        found = OffsetCheckpoint.read(str(path)).offsets
        return {str(partition): offset for partition, offset in found.items()}


def partition(name: str) -> TopicPartition:
    """Return the partition of a folder's name."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
