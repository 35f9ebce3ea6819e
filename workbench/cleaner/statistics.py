"""What a round of cleaning read and wrote, and what was found when choosing its log.

Kafka: CleanerStats, PreCleanStats (4.2)
"""

from dataclasses import dataclass, field

from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import Step


@dataclass(slots=True)
class CleanerStats:
    """The counts of one round.

    Attributes:
        end_offset: end of the log's clean section afterwards, exclusive.
        map_bytes_read, map_messages_read: read for the offset map.
        bytes_read, messages_read: read for the copy, without records of batches dropped unread.
        bytes_written, messages_written: what is kept.
        invalid_messages_read: number of records without a key.
        map_utilization: share of the map that was filled, 0 to 1.
        start_ms, map_done_ms, end_ms: times of the round's start, complete map, and end.

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
    start_ms: int = field(default=0, compare=False)
    map_done_ms: int = field(default=-1, compare=False)
    end_ms: int = field(default=-1, compare=False)

    @property
    def elapsed_secs(self) -> float:
        """The duration of the round.

        Kafka: CleanerStats.elapsedSecs (4.2)
        """
        return (self.end_ms - self.start_ms) / 1000


@dataclass(slots=True)
class PreCleanStats:
    """What was found when choosing a log.

    Attributes:
        max_compaction_delay_ms: longest time since `max.compaction.lag.ms` made a log due.
        delayed_partitions: number of logs that it made due.
        cleanable_partitions: number of logs that are dirty enough, or due.

    Kafka: PreCleanStats (4.2)
    """

    max_compaction_delay_ms: int = 0
    delayed_partitions: int = 0
    cleanable_partitions: int = 0

    def take_delay(self, delay_ms: int) -> None:
        """Count a log that became due ``delay_ms`` ago; 0 if it is not due.

        Kafka: PreCleanStats.updateMaxCompactionDelay (4.2)
        """
        self.max_compaction_delay_ms = max(self.max_compaction_delay_ms, delay_ms)
        self.delayed_partitions += delay_ms > 0


def step_of_segment(
    segment: LogSegment, target: LogSegment, before: CleanerStats, after: CleanerStats
) -> Step:
    """Return how much of a segment was copied into the new one, for an observer.

    Args:
        segment: the segment that was read.
        target: the first segment of its group.
        before, after: the round's statistics before and after the segment.
    """
    size = after.bytes_read - before.bytes_read
    new_size = after.bytes_written - before.bytes_written
    numbers = {
        "base_offset": segment.base_offset,
        "into": target.base_offset,
        "size": size,
        "new_size": new_size,
        "records_kept": after.messages_written - before.messages_written,
    }
    reason = f"{new_size} of {size} bytes are kept"
    return Step("segment cleaned", segment.log.path, reason, numbers)


def step_of_log(where: str, stats: CleanerStats) -> Step:
    """Return how a round ended, for an observer; ``where`` is the partition."""
    numbers = {
        "end_offset": stats.end_offset,
        "bytes_read": stats.bytes_read,
        "bytes_written": stats.bytes_written,
        "records_kept": stats.messages_written,
        "map_entries_share": round(stats.map_utilization, 4),
    }
    reason = (
        f"the log is clean up to offset {stats.end_offset}: "
        f"{stats.bytes_written} of {stats.bytes_read} bytes were kept"
    )
    return Step("log cleaned", where, reason, numbers)
