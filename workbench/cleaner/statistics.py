"""What a round of cleaning read and wrote.

Kafka: CleanerStats (4.2)
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
