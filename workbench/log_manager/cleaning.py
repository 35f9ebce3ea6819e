"""What a log manager asks of the cleaner, so that both do not work on one log at a time.

Kafka: the calls of LogManager on LogCleaner (4.2)
"""

from collections.abc import Iterable
from typing import Protocol

from workbench.files.names import TopicPartition


class Cleaning(Protocol):
    """The side of a log cleaner that a log manager knows. All calls come from any thread."""

    def pause_all_but_compacted(self) -> Iterable[TopicPartition]:
        """Pause, and return, the partitions that are not compacted: retention may work on them.

        Kafka: LogCleaner.pauseCleaningForNonCompactedPartitions (4.2)
        """
        ...

    def abort_and_pause(self, topic_partition: TopicPartition) -> None:
        """End the cleaning of a partition, and do not begin another until `resume`."""
        ...

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Let partitions be cleaned again that were paused."""
        ...

    def abort(self, topic_partition: TopicPartition) -> None:
        """End the cleaning of a partition and forget it."""
        ...

    def forget(self, directory: str, topic_partition: TopicPartition | None) -> None:
        """Take a partition, and all that are gone, out of a directory's checkpoint."""
        ...

    def move(self, topic_partition: TopicPartition, source: str, target: str) -> None:
        """Move a partition's checkpoint to the log directory that it is in now."""
        ...

    def truncate_checkpoint(
        self, directory: str, topic_partition: TopicPartition, offset: int
    ) -> None:
        """Lower a partition's first dirty offset to ``offset`` if it is above."""
        ...

    def leave_directory(self, directory: str) -> None:
        """Work no more in a log directory that failed."""
        ...

    def shutdown(self) -> None:
        """Return when nothing is cleaned any more."""
        ...
