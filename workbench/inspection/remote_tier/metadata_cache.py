"""The remote segments of one partition, and which of them a broker reads at an offset.

As in a broker, the order of the events matters: of copies that overlap within a leader epoch, a
later and longer one replaces an earlier one.

Kafka: RemoteLogMetadataCache, RemoteLogLeaderEpochState (4.2)
"""

from bisect import bisect_left, bisect_right

from workbench.inspection.remote_tier.segment_metadata import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    DELETE_STARTED,
    RemoteSegmentMetadata,
    is_valid_transition,
)


class EpochSegments:
    """The segments that can be read in one leader epoch, by the first offset they have of it."""

    def __init__(self) -> None:
        self.starts: list[int] = []  # ascending
        self.ids: list[str] = []
        self.highest: int | None = None

    def add(self, start: int, segment_id: str, end: int) -> None:
        """Add a segment; those that it replaces are no longer found.

        Kafka: RemoteLogLeaderEpochState.handleSegmentWithCopySegmentFinishedState (4.2)
        """
        while self.starts and self.starts[-1] >= start and (self.highest or 0) <= end:
            self.starts.pop()
            self.ids.pop()
        slot = bisect_left(self.starts, start)
        if slot < len(self.starts) and self.starts[slot] == start:
            self.ids[slot] = segment_id
        else:
            self.starts.insert(slot, start)
            self.ids.insert(slot, segment_id)
        if self.highest is None or end > self.highest:
            self.highest = end

    def remove(self, start: int, segment_id: str) -> None:
        """Remove a segment that is being deleted."""
        slot = bisect_left(self.starts, start)
        if slot < len(self.starts) and (self.starts[slot], self.ids[slot]) == (start, segment_id):
            del self.starts[slot], self.ids[slot]

    def at(self, offset: int) -> tuple[str | None, int | None]:
        """Return the last segment that begins at or before an offset, and where the next begins."""
        slot = bisect_right(self.starts, offset)
        following = self.starts[slot] if slot < len(self.starts) else None
        return (self.ids[slot - 1] if slot else None), following


class MetadataCache:
    """The metadata of a partition's remote segments.

    Attributes:
        segments: id → metadata, of every segment that is not deleted.
        deleted: id → metadata of segments that were deleted; a broker forgets them.
        size: how many segments there are, and leader epochs of these.
        dropped: events that a broker drops: not allowed after the state before, or of a segment
            that was never copied.
        partition_state: state of the partition's deletion; None: it is not being deleted.
    """

    def __init__(self) -> None:
        self.segments: dict[str, RemoteSegmentMetadata] = {}
        self.deleted: dict[str, RemoteSegmentMetadata] = {}
        self.size = 0
        self.dropped = 0
        self.partition_state: int | None = None
        self._epochs: dict[int, EpochSegments] = {}

    def add(self, metadata: RemoteSegmentMetadata) -> None:
        """Take the record of a new segment; its copy has only begun.

        Kafka: RemoteLogMetadataCache.addCopyInProgressSegment (4.2)
        """
        known = self.segments.get(metadata.segment_id)
        state = None if known is None else known.state
        if metadata.state != COPY_STARTED or not is_valid_transition(state, metadata.state):
            self.dropped += 1
            return
        if known is None:
            self.size += 1 + len(metadata.leader_epochs)
        self.segments[metadata.segment_id] = metadata

    def add_finished(self, metadata: RemoteSegmentMetadata) -> None:
        """Take a segment whose copy is known to be complete."""
        self.add(metadata._replace(state=COPY_STARTED))
        self.update(metadata.segment_id, COPY_FINISHED, metadata.broker_id, None)

    def update(
        self, segment_id: str, state: int, broker_id: int | None, event_timestamp: int | None
    ) -> None:
        """Take a change of state.

        Kafka: RemoteLogMetadataCache.updateRemoteLogSegmentMetadata (4.2)
        """
        known = self.segments.get(segment_id)
        if known is None or state == COPY_STARTED or not is_valid_transition(known.state, state):
            self.dropped += 1
            return
        changed = known._replace(state=state, broker_id=broker_id, event_timestamp=event_timestamp)
        for epoch, start, end in known.epoch_ranges():
            readable = self._epochs.setdefault(epoch, EpochSegments())
            if state == COPY_FINISHED:
                readable.add(start, segment_id, end)
            elif state == DELETE_STARTED:
                readable.remove(start, segment_id)
        if state == DELETE_FINISHED:
            del self.segments[segment_id]
            self.deleted[segment_id] = changed
        else:
            self.segments[segment_id] = changed

    def highest_offset(self, epoch: int) -> int | None:
        """Return the last offset of a leader epoch that was ever copied; None: none was.

        Kafka: RemoteLogMetadataCache.highestOffsetForEpoch (4.2)
        """
        readable = self._epochs.get(epoch)
        return None if readable is None else readable.highest

    def find(self, epoch: int, offset: int) -> tuple[RemoteSegmentMetadata | None, int | None]:
        """Return the segment that a broker reads at an offset of a leader epoch.

        Returns:
            The segment, or None; and the last offset for which this holds (None: all later ones of
            the epoch).

        Kafka: RemoteLogMetadataCache.remoteLogSegmentMetadata (4.2)
        """
        readable = self._epochs.get(epoch)
        if readable is None:
            return None, None
        segment_id, following = readable.at(offset)
        last = None if following is None else following - 1
        if segment_id is None:
            return None, last
        metadata = self.segments[segment_id]
        end = metadata.end_of(epoch)
        if offset > end:
            return None, last
        return metadata, end if last is None else min(end, last)
