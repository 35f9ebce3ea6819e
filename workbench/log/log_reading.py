"""Read a log: by offset, by time, with the transactions to leave out. Takes no lock.

Kafka: UnifiedLog.read, fetchOffsetByTimestamp, collectAbortedTransactions (4.2)
"""

from typing import Literal

from workbench.errors import OffsetOutOfRangeError
from workbench.files.file_records import TimestampAndOffset
from workbench.files.transaction_index import AbortedTransaction
from workbench.log.fetch import FetchData
from workbench.log.log_base import LogBase
from workbench.log.timestamp_search import find_offset

Isolation = Literal["log_end", "high_watermark", "read_committed"]


class LogReading(LogBase):
    """What a log gives; see `Log`."""

    def read(
        self,
        start_offset: int,
        max_bytes: int = 1 << 20,
        isolation: Isolation = "log_end",
        *,
        min_one_message: bool = True,
    ) -> FetchData:
        """Return batches from the one that holds ``start_offset``, of one segment.

        Args:
            start_offset: the first offset wanted; the batch may begin before it.
            max_bytes: the last batch may be cut by it.
            isolation: how far: to the end, to the high watermark, or to the last stable offset,
                then with the transactions to be left out.
            min_one_message: give the first batch whole, even if it is larger.

        Raises:
            OffsetOutOfRangeError: the log does not have the offset.
            StorageError: reading failed; the log directory is offline.

        Kafka: UnifiedLog.read (4.2)
        """
        if start_offset < self.log_start_offset:
            where = str(self.topic_partition)
            start, end = self.log_start_offset, self.log_end_offset
            raise OffsetOutOfRangeError(start_offset, start, end, where)
        with self.context.guard("read from"):
            if isolation == "log_end":
                limit = self.local.end
            elif isolation == "high_watermark":
                limit = self.watermarks.high_metadata()
            else:
                limit = self.watermarks.stable_metadata()
            return self.local.read(
                start_offset,
                max_bytes,
                limit,
                min_one_message=min_one_message,
                with_aborted=isolation == "read_committed",
            )

    def collect_aborted_transactions(
        self, start_offset: int, upper_bound: int
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions that began before ``upper_bound``.

        Those are left out that ended before the segment that holds ``start_offset``.

        Kafka: UnifiedLog.collectAbortedTransactions (4.2)
        """
        return self.local.collect_aborted(self.log_start_offset, start_offset, upper_bound)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record at or after a time in ms, or a special one; see `find_offset`.

        Kafka: UnifiedLog.fetchOffsetByTimestamp (4.2)
        """
        with self.context.guard("look up an offset of"):
            return find_offset(self.local, self.leader_epochs, self.log_start_offset, timestamp)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest leader epoch up to ``epoch`` and where it ends; None if unknown.

        Kafka: UnifiedLog.endOffsetForEpoch (4.2)
        """
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)
