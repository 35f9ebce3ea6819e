"""What log directories hold besides records: checkpoints, snapshots, files, and what is wrong."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import (
    EpochStart,
    Int32,
    LeaderEpoch,
    PartitionNumber,
    ProducerEpoch,
    ProducerId,
    Time,
    Topic,
)

_Root = Annotated[str, "path of the log directory"]
_Occupied = Annotated[int, "bytes on the disk, without the holes of sparse files"]
NotRead = Annotated[tuple[str, ...], "what could not be read, and why"]
_FileName = Annotated[str, "name of the file"]


class ListingRow(NamedTuple):
    """A partition directory, or all partitions of a topic: one row per line of ls."""

    name: Annotated[str, "name of the partition directory, or of the topic"]
    topic: Topic
    partition: Annotated[Int32, "number of the partition; for a topic, how many it has"]
    kind: Annotated[str, "log, delete, stray or future; topic for a topic"]
    segments: Annotated[int, "how many segments are in use"]
    size: Annotated[int, "bytes of their .log files"]
    other_size: Annotated[int, "bytes of all other files; indexes may be preallocated"]
    occupied: Annotated[int, "bytes that the disk holds of all these files, without holes"]
    log_start_offset: Annotated[int | None, "first offset that can be read; null: a topic"]
    log_end_offset: Annotated[int | None, "offset of the next record; null: a topic"]
    offset_count: Annotated[int, "log end less log start offset: at least as many as records"]
    leftovers: Annotated[int, "files that a broker was about to remove or swap in"]
    unknown: Annotated[int, "files with names that no broker uses"]
    modified: Annotated[Time | None, "newest file time of a segment; a copy may have its own"]
    path: Annotated[str | None, "path of the partition directory; null: a topic"]
    not_read: NotRead
    remote_segments: Annotated[int, "complete segments in the remote tier; 0: no tier"]
    remote_size: Annotated[int, "bytes of their .log files as they were in the log"]
    records: Annotated[int | None, "that a read_uncommitted consumer gets; null: without --records"]
    records_read_committed: Annotated[
        int | None, "that a read_committed consumer gets; null: without --records"
    ]


class ProducerRow(NamedTuple):
    """The state of a producer in a snapshot: one row per entry of the .snapshot files."""

    topic: Topic
    partition: PartitionNumber
    snapshot_offset: Annotated[int, "the state covers the log up to this offset, exclusive"]
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    last_sequence: Annotated[Int32 | None, "sequence number of its last record; null: none"]
    last_offset: Annotated[int | None, "offset of its last record; null: none"]
    offset_delta: Annotated[Int32, "last offset less first offset of its last batch"]
    timestamp: Annotated[Time | None, "of its last batch or marker"]
    coordinator_epoch: Annotated[Int32 | None, "of its last marker; null: none"]
    current_transaction_first_offset: Annotated[int | None, "null: no transaction is open"]


class CheckpointRow(NamedTuple):
    """An entry of an offset checkpoint: one row per entry of the four files of each directory."""

    root: _Root
    checkpoint: _FileName
    topic: Topic
    partition: PartitionNumber
    offset: Annotated[int, "the checkpointed offset"]


class LeaderEpochRow(NamedTuple):
    """An entry of a leader epoch checkpoint: one row per epoch of a partition."""

    topic: Topic
    partition: PartitionNumber
    epoch: LeaderEpoch
    start_offset: EpochStart


class FileRow(NamedTuple):
    """A file: one row per file of the log directories and their partition directories."""

    root: _Root
    folder: Annotated[str | None, "null: the file is in the log directory itself"]
    name: _FileName
    kind: Annotated[str, "what a broker uses it for, or unknown"]
    size: Annotated[int, "bytes of the file"]
    occupied_bytes: _Occupied
    modified: Annotated[Time, "when it was modified"]
    by_hand: Annotated[str, "whether it may be deleted by hand, broker stopped: yes, no or look"]
    why: Annotated[str, "what a broker does with it, or without it"]


class DiskUsageRow(NamedTuple):
    """What fills the disk: one row per segment, kind of file and part of it."""

    topic: Annotated[str | None, "the topic; null: outside partition directories"]
    partition: Annotated[Int32 | None, "number of the partition; null: outside of them"]
    segment: Annotated[int | None, "base offset of the segment; null: no segment"]
    kind: Annotated[str, "the kind of the file"]
    part: Annotated[str, "the part of the file, such as keys, values, headers or overhead"]
    bytes: Annotated[int, "bytes of the part"]
    occupied_bytes: _Occupied
    uncompressed_bytes: Annotated[int | None, "null: the part is never compressed"]


class FindingRow(NamedTuple):
    """A finding of verify: one row per thing that is wrong, or worth knowing."""

    severity: Annotated[str, "error, warning or info"]
    kind: Annotated[str, "the kind of the finding"]
    path: Annotated[str, "the file or directory"]
    position: Annotated[int | None, "byte in the file; null: the whole file"]
    offset: Annotated[int | None, "the offset it is about; null: none"]
    found: Annotated[str, "what was found"]
    expected: Annotated[str, "what was expected"]
    broker: Annotated[str, "what a broker would do about it"]
