"""Judge the metadata log of a KRaft node: where its recovery ends, and which snapshot it reads.

A node always recovers this log, whatever its shutdown was: it reads every batch and truncates the
log at the first that is damaged. Snapshots hold the state up to the offset in their names.

Kafka: KafkaMetadataLog.apply, recoverSnapshots, truncateToLatestSnapshot (4.2)
"""

from typing import NamedTuple

from workbench.files import names
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.node_start.refusal import ILLEGAL_STATE, Refusal
from workbench.inspection.partition import DiskPartition
from workbench.record.reading.recovery import whole_batches


class LogRange(NamedTuple):
    """The range of a metadata log after its recovery.

    Attributes:
        start: log start offset: the base offset of the first segment; 0 without segments.
        end: log end offset.
        epoch: leader epoch of the last batch; 0 without batches.
        cut: bytes that the recovery truncates, and of the segments that it removes.
        time: largest timestamp of the last batch, ms; None without batches.
    """

    start: int
    end: int
    epoch: int
    cut: int
    time: int | None = None


class MetadataSnapshot(NamedTuple):
    """A `.checkpoint` file.

    Attributes:
        offset: the first offset that it does not cover.
        epoch: leader epoch of the last record that it covers.
        entry: the file.
    """

    offset: int
    epoch: int
    entry: FileEntry


def recovered_range(partition: DiskPartition) -> LogRange:
    """Return the range of a metadata log after the recovery that every start does.

    Raises:
        OSError: a file cannot be read.

    Kafka: LogLoader.recoverLog, LogSegment.recover (4.2)
    """
    segments = partition.segments
    start = end = segments[0].base_offset if segments else 0
    epoch = cut = 0
    time = None
    for segment in segments:
        if cut:  # later segments are removed
            cut += segment.size
            continue
        end = max(end, segment.base_offset)
        reached = 0
        with segment.open() as source:
            size = source.size
            for batches in whole_batches(source, size):
                if len(batches.rows):
                    last = batches.rows[-1]
                    end, epoch = int(last["last_offset"]) + 1, int(last["partition_leader_epoch"])
                    time = int(last["max_timestamp"])
                    reached = int(last["position"]) + int(last["size"])
        cut = size - reached
    return LogRange(start, end, epoch, cut, time)


def newest_snapshot(partition: DiskPartition, log_start: int) -> MetadataSnapshot | None:
    """Return the snapshot that a node reads; None if there is none at or after the log start."""
    found = [
        MetadataSnapshot(name.offset, name.epoch or 0, entry)
        for entry in partition.metadata_snapshots
        if (name := names.parse_file_name(entry.name)) is not None and name.offset >= log_start
    ]
    return max(found, default=None)


def judge_snapshots(partition: DiskPartition, log_start: int) -> Refusal | None:
    """Return why a node does not start with the snapshots beside its metadata log.

    Kafka: KafkaMetadataLog.recoverSnapshots (4.2)
    """
    if log_start <= 0 or newest_snapshot(partition, log_start) is not None:
        return None
    offsets = [
        name.offset
        for entry in partition.metadata_snapshots
        if (name := names.parse_file_name(entry.name)) is not None
    ]
    found = f"the log begins at offset {log_start}, " + (
        f"the newest snapshot ends at {max(offsets)}" if offsets else "and there is no snapshot"
    )
    finding = Finding(
        "metadata-snapshot-missing", "error", partition.path, None, log_start, found,
        f"a snapshot up to {log_start} or later",
        "The controller does not start (IllegalStateException).",
    )  # fmt: skip
    return Refusal(finding, ILLEGAL_STATE)


def state_until(log: LogRange, snapshot: MetadataSnapshot | None) -> int:
    """Return the first offset that is not in the state that a node has once it has started.

    If the newest snapshot is ahead of the log, the node drops the log and begins at the snapshot.

    Kafka: KafkaMetadataLog.truncateToLatestSnapshot (4.2)
    """
    if snapshot is None:
        return log.end
    is_ahead = snapshot.epoch > log.epoch
    is_ahead |= snapshot.epoch == log.epoch and snapshot.offset > log.end
    return snapshot.offset if is_ahead else log.end
