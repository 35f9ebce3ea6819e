"""What a cluster says of a remote segment: its id, offsets, leader epochs, size and state.

From a record of `__remote_log_metadata`, or from the files beside the segment in the remote tier.

Kafka: RemoteLogSegmentMetadata, RemoteLogSegmentState, RemotePartitionDeleteState (4.2)
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from workbench.files.leader_epochs import EpochEntry

COPY_STARTED: Final = 0
COPY_FINISHED: Final = 1
DELETE_STARTED: Final = 2
DELETE_FINISHED: Final = 3

DELETE_PARTITION_FINISHED: Final = 2
_NEXT_STATES: Final[Mapping[int | None, frozenset[int]]] = {
    None: frozenset({COPY_STARTED}),
    COPY_STARTED: frozenset({COPY_STARTED, COPY_FINISHED, DELETE_STARTED}),
    COPY_FINISHED: frozenset({COPY_FINISHED, DELETE_STARTED}),
    DELETE_STARTED: frozenset({DELETE_STARTED, DELETE_FINISHED}),
}


class RemoteSegmentMetadata(NamedTuple):
    """The metadata of one remote segment.

    Attributes:
        segment_id: 22 characters; every copy of a segment has its own.
        start_offset, end_offset: the first and the last offset, both included.
        leader_epochs: the epochs of its records with their first offsets, ascending by epoch.
        state: `COPY_STARTED`, `COPY_FINISHED`, `DELETE_STARTED` or `DELETE_FINISHED`.
        size: bytes of the `.log` file before compression and encryption; None: unknown.
        broker_id: the broker that copied it, or that changed its state last; None: unknown.
        max_timestamp: the largest timestamp of its records, ms; None: unknown.
        event_timestamp: when it got its state, ms; None: unknown.
    """

    segment_id: str
    start_offset: int
    end_offset: int
    leader_epochs: tuple[EpochEntry, ...]
    state: int = COPY_FINISHED
    size: int | None = None
    broker_id: int | None = None
    max_timestamp: int | None = None
    event_timestamp: int | None = None

    def epoch_ranges(self) -> list[tuple[int, int, int]]:
        """Return (epoch, first offset, last offset) of each leader epoch, ascending by epoch.

        Kafka: RemoteLogMetadataCache.highestOffsetForEpoch (4.2)
        """
        ends = [entry.start_offset - 1 for entry in self.leader_epochs[1:]] + [self.end_offset]
        return [
            (entry.epoch, entry.start_offset, end)
            for entry, end in zip(self.leader_epochs, ends, strict=True)
        ]

    def end_of(self, epoch: int) -> int:
        """Return the last offset that the segment has of an epoch, one of its own."""
        slot = bisect_right(self.leader_epochs, epoch, key=lambda entry: entry.epoch)
        if slot < len(self.leader_epochs):
            return self.leader_epochs[slot].start_offset - 1
        return self.end_offset


def is_valid_transition(before: int | None, after: int) -> bool:
    """Return whether a segment can get a state after another; None: it had none.

    Kafka: RemoteLogSegmentState.isValidTransition (4.2)
    """
    return after in _NEXT_STATES.get(before, frozenset())


def metadata_of(data: Mapping[str, Any]) -> RemoteSegmentMetadata:
    """Return what a decoded `RemoteLogSegmentMetadataRecord` says."""
    return RemoteSegmentMetadata(
        segment_id=data["remoteLogSegmentId"]["id"],
        start_offset=data["startOffset"],
        end_offset=data["endOffset"],
        leader_epochs=sorted_epochs(
            (each["leaderEpoch"], each["offset"]) for each in data["segmentLeaderEpochs"]
        ),
        state=data["remoteLogSegmentState"],
        size=data["segmentSizeInBytes"],
        broker_id=data["brokerId"],
        max_timestamp=data["maxTimestampMs"],
        event_timestamp=data["eventTimestampMs"],
    )


def sorted_epochs(epochs: Iterable[tuple[int, int]]) -> tuple[EpochEntry, ...]:
    """Return epochs and their first offsets ascending by epoch, each epoch once."""
    return tuple(EpochEntry(*each) for each in sorted(dict(epochs).items()))
