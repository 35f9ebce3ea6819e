"""The offsets up to which consumers may read: the high watermark and the last stable offset.

Kafka: UnifiedLog's highWatermarkMetadata and firstUnstableOffsetMetadata (4.2)
"""

import threading
from collections.abc import Callable

from workbench.errors import OffsetOutOfRangeError
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.local_log import LocalLog
from workbench.log.producers.state import ProducerStateManager


class Watermarks:
    """The high watermark of one log and the first offset of an undecided transaction.

    Attributes:
        log_start_offset: no record before it can be read; the log raises it.
        listeners: called after each change of the high watermark, with the log's lock held.
    """

    def __init__(
        self,
        local: LocalLog,
        producer_state: ProducerStateManager,
        log_start_offset: int,
        lock: threading.RLock,
    ) -> None:
        self.log_start_offset = log_start_offset
        self.listeners: list[Callable[[], None]] = []
        self._local = local
        self._producers = producer_state
        self.lock = lock
        self._high = LogOffsetMetadata(log_start_offset)
        self._first_unstable: LogOffsetMetadata | None = None
        self.update_first_unstable()

    @property
    def high(self) -> int:
        """The high watermark: every in-sync replica has the records before it."""
        return self._high.offset

    @property
    def first_unstable(self) -> int | None:
        """First offset of the oldest transaction whose end consumers cannot see yet; None: none."""
        first = self._first_unstable
        return None if first is None else first.offset

    @property
    def last_stable(self) -> int:
        """The offset where read_committed consumers must stop: no transaction before it is open.

        Kafka: UnifiedLog.lastStableOffset (4.2)
        """
        first, high = self._first_unstable, self._high
        return first.offset if first is not None and first.offset < high.offset else high.offset

    def update(self, high: LogOffsetMetadata) -> int:
        """Set the high watermark, limited to log start offset and log end offset; return it.

        Kafka: UnifiedLog.updateHighWatermark (4.2)
        """
        end = self._local.end
        if high.offset < self.log_start_offset:
            high = LogOffsetMetadata(self.log_start_offset)
        elif high.offset >= end.offset:
            high = end
        self._set(high)
        return high.offset

    def _set(self, high: LogOffsetMetadata) -> None:
        """Set the high watermark as given.

        Kafka: UnifiedLog.updateHighWatermarkMetadata (4.2)
        """
        with self.lock:
            self._high = high
            self._producers.on_high_watermark_updated(high.offset)
            self.update_first_unstable()
        for listener in self.listeners:
            listener()

    def raise_log_start(self, offset: int) -> None:
        """Raise the log start offset; the high watermark and recovery point follow it.

        Kafka: UnifiedLog.updateLogStartOffset (4.2)
        """
        self.log_start_offset = offset
        if self._high.offset < offset:
            self.update(LogOffsetMetadata(offset))
        self._local.recovery_point = max(self._local.recovery_point, offset)

    def increase(self, high: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """Raise the high watermark; return the old one, None if it did not rise.

        The same offset on a newer segment is higher, because a roll moves it there.

        Raises:
            ValueError: it would be above the log end offset.

        Kafka: UnifiedLog.maybeIncrementHighWatermark (4.2)
        """
        end = self._local.end
        if high.offset > end.offset:
            raise ValueError(
                f"high watermark {high.offset} is above the log end offset {end.offset}"
            )
        with self.lock:
            before = self.high_metadata()
            moved = before.offset == high.offset and (
                before.segment_base_offset < high.segment_base_offset
            )
            if before.offset < high.offset or moved:
                self._set(high)
                return before
            return None

    def commit(self) -> None:
        """Raise the high watermark to the log end offset.

        Kafka: Partition.maybeIncrementLeaderHW (4.2), of a leader without followers
        """
        with self.lock:
            end = self._local.end
            if self._high.offset < end.offset:
                self._set(end)

    def follow_end(self) -> None:
        """Update the position of a high watermark at the log end offset, after an append or roll.

        Kafka: UnifiedLog.updateHighWatermarkWithLogEndOffset (4.2)
        """
        if self._high.offset >= self._local.end.offset:
            self._set(self._local.end)

    def high_metadata(self) -> LogOffsetMetadata:
        """Return the high watermark and its position.

        Kafka: UnifiedLog.fetchHighWatermarkMetadata (4.2)
        """
        high = self._high
        if not high.is_offset_only:
            return high
        with self.lock:
            full = self.locate(self._high.offset)
            self._set(full)
            return full

    def stable_metadata(self) -> LogOffsetMetadata:
        """Return the last stable offset and its position.

        Kafka: UnifiedLog.fetchLastStableOffsetMetadata (4.2)
        """
        high, first = self.high_metadata(), self._first_unstable
        if first is None or first.offset >= high.offset:
            return high
        if not first.is_offset_only:
            return first
        with self.lock:
            full = self.locate(first.offset)
            if self._first_unstable == first:  # otherwise another is the oldest by now
                self._first_unstable = full
            return full

    def update_first_unstable(self) -> None:
        """Ask the producer state again for the oldest undecided transaction.

        Kafka: UnifiedLog.maybeIncrementFirstUnstableOffset (4.2)
        """
        first = self._producers.first_unstable_offset
        if first is not None and (first.is_offset_only or first.offset < self.log_start_offset):
            first = self.locate(max(first.offset, self.log_start_offset))
        self._first_unstable = first

    def locate(self, offset: int) -> LogOffsetMetadata:
        """Return an offset and its position, or only the offset if the log does not have it.

        Kafka: UnifiedLog.maybeConvertToOffsetMetadata (4.2)
        """
        try:
            return self._local.locate(offset)
        except OffsetOutOfRangeError:
            return LogOffsetMetadata(offset)
