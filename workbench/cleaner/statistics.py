"""What a round of cleaning read and wrote, and what was found when its log was chosen.

Kafka: CleanerStats, PreCleanStats (4.2)
"""

from dataclasses import dataclass


@dataclass(slots=True)
class CleanerStats:
    """Counts of one round.

    Attributes:
        end_offset: up to where the log is clean afterwards, exclusive.
        map_bytes_read, map_messages_read: for the offset map.
        bytes_read, messages_read: for the copy; records of batches that go unread do not count.
        bytes_written, messages_written: of what stays.
        invalid_messages_read: records without a key.
        map_utilization: how full the map became, 0 to 1.

    Kafka: CleanerStats (4.2)
    """

    end_offset: int = 0
    map_bytes_read: int = 0
    map_messages_read: int = 0
    bytes_read: int = 0
    messages_read: int = 0
    bytes_written: int = 0
    messages_written: int = 0
    invalid_messages_read: int = 0
    map_utilization: float = 0.0


@dataclass(slots=True)
class PreCleanStats:
    """What was found when a log was chosen.

    Attributes:
        max_compaction_delay_ms: how long ago `max.compaction.lag.ms` made a log due; the longest.
        delayed_partitions: logs that it made due.
        cleanable_partitions: logs that are dirty enough, or due.

    Kafka: PreCleanStats (4.2)
    """

    max_compaction_delay_ms: int = 0
    delayed_partitions: int = 0
    cleanable_partitions: int = 0

    def take_delay(self, delay_ms: int) -> None:
        """Count a log that was due ``delay_ms`` ago; 0 if it is not.

        Kafka: PreCleanStats.updateMaxCompactionDelay (4.2)
        """
        self.max_compaction_delay_ms = max(self.max_compaction_delay_ms, delay_ms)
        self.delayed_partitions += delay_ms > 0
