"""A log of the engine as clients see it: the same questions that a `ServedLog` answers.

Kafka: Partition, UnifiedLog (4.2)
"""

import numpy as np

from workbench.file_system.source import THIS_MACHINE, Files
from workbench.files.producer_snapshot import ProducerEntry
from workbench.inspection.listing import list_log_directories
from workbench.inspection.lookups.time_lookup import OffsetAtTime
from workbench.layout.attributes import ZSTD
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.log import Isolation, Log
from workbench.log.timestamp_search import MAX_TIMESTAMP
from workbench.server.logs.log_read import UnsupportedCompressionError
from workbench.server.logs.served_log import NO_EPOCH, FetchedRecords, ServedLog, Tell


class LiveLog:
    """A partition that the engine leads; threads may share it.

    Args:
        log: the log.
        leader_epoch: in which it is led.
        tell: receives what clients get otherwise than it is on the disk.

    Attributes:
        log: the log.
        leader_epoch: in which it is led.
        has_converted: whether messages of old formats were read.
    """

    def __init__(self, log: Log, leader_epoch: int, tell: Tell) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        self._tell = tell
        self.has_converted = False

    @property
    def leader_epochs(self) -> LeaderEpochCache:
        """Where leader epochs start."""
        return self.log.leader_epochs

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch of an offset; `NO_EPOCH` if unknown."""
        epoch = self.log.leader_epochs.epoch_for_offset(offset)
        return NO_EPOCH if epoch is None else epoch

    @property
    def directory(self) -> str:
        """Path of the log directory that holds the log."""
        return self.log.parent_directory

    @property
    def path(self) -> str:
        """Path of the log's own directory."""
        return self.log.directory

    @property
    def fs(self) -> Files:
        """What reads that directory."""
        return THIS_MACHINE

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.log.size

    @property
    def log_start_offset(self) -> int:
        """First offset that is served."""
        return self.log.log_start_offset

    @property
    def local_log_start_offset(self) -> int:
        """The log start offset: the engine has no remote tier."""
        return self.log.log_start_offset

    @property
    def highest_remote_offset(self) -> None:
        """None: the engine has no remote tier."""
        return None

    @property
    def high_watermark(self) -> int:
        """The offset after the last committed record."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """First offset of the oldest open transaction; without one the high watermark."""
        return self.log.last_stable_offset

    def read(
        self, offset: int, end: int, most: int, *, committed: bool, first: bool, zstd: bool
    ) -> FetchedRecords:
        """Return the batches from an offset on; see `ServedLog.read`.

        Kafka: ReplicaManager.readFromLog (4.2)
        """
        isolation: Isolation = "read_committed" if committed else "high_watermark"
        found = self.log.read(offset, most, isolation, min_one_message=first)
        records = found.records
        rows = records.batches().rows
        if (rows["magic"] < 2).any():
            self.has_converted = True
            return self._converted().read(
                offset, end, most, committed=committed, first=first, zstd=zstd
            )
        if not zstd and (rows["codec"] == ZSTD).any():
            rows = rows[: int(np.argmax(rows["codec"] == ZSTD))]
            if not len(rows):
                raise UnsupportedCompressionError
        if not len(rows):
            return FetchedRecords([], 0, offset)
        size = int(rows["position"][-1] + rows["size"][-1])
        part = records.part(0, size).buffer.tobytes()
        following = int(rows["last_offset"][-1]) + 1
        aborted = found.aborted_transactions or ()
        return FetchedRecords([part], size, following, records.size - size, aborted)

    def _converted(self) -> ServedLog:
        """Return the log as its files are now: messages of old formats have to be converted."""
        (partition,) = list_log_directories(self.log.directory).partitions.values()
        return ServedLog(partition, self._tell)

    def offset_for_timestamp(self, timestamp: int, end: int) -> OffsetAtTime | None:
        """Return the first record at or after a time and below ``end``; None without one."""
        found = self.log.offset_for_timestamp(timestamp)
        if found is None or found.offset < 0 or found.offset >= end:
            return None
        return OffsetAtTime(found.timestamp, found.offset)

    def producers(self) -> list[ProducerEntry]:
        """Return the producers that the log knows, in the order of a broker's map."""
        with self.log.lock:
            return self.log.producer_state.active_producers()

    def max_timestamp(self) -> OffsetAtTime | None:
        """Return the first record with the largest time; None without any."""
        return self.offset_for_timestamp(MAX_TIMESTAMP, self.high_watermark)
