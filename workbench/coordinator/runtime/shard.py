"""What a coordinator's runtime needs: the state of a partition, and a way to append to its log.

Kafka: CoordinatorShard, CoordinatorPlayback, PartitionWriter (4.2)
"""

from collections.abc import Callable
from typing import Any, Protocol

from workbench.coordinator.runtime.log_records import LogChunk, LogRecord, Marker
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

Append = Callable[[Log, MemoryRecords, int, int], Any]
"""Append a batch to a log as the leader of an epoch, with a transaction version.

Kafka: PartitionWriter.append (4.2)
"""


class CoordinatorShard(Protocol):
    """The state of one partition.

    Kafka: CoordinatorShard, CoordinatorPlayback (4.2)
    """

    def replay_chunk(self, chunk: LogChunk) -> None:
        """Replay records while the partition is loaded.

        Raises:
            CorruptRecordError, UnsupportedFormatError: a record cannot be read, so the load fails.
        """
        ...

    def replay(self, record: LogRecord | Marker) -> None:
        """Replay a record or transaction marker that was just written."""
        ...

    def on_loaded(self) -> None:
        """Receive that the partition is loaded and will be served.

        Raises:
            WorkbenchError: the records contradict each other, so the load fails.
        """
        ...

    def on_unloaded(self) -> None:
        """Receive that the partition is no longer served."""
        ...
