"""Where the offsets of a piece are, once its file is gone or another file has its name.

A task lists the partition again and reads on from there. Lost is what is below the log's start
or above its end, and a segment that was deleted while the one before it, into which a cleaning
would have merged it, is still the same file.

Kafka: UnifiedLog.replaceSegments, UnifiedLog.deleteOldSegments, UnifiedLog.truncateTo (4.2)
"""

from collections.abc import Callable
from dataclasses import replace

from workbench.inspection.listing import list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.remote import all_opened
from workbench.loaders.scan.plan import SegmentRead
from workbench.spark_source.plan.reads import is_same, planned_reads
from workbench.spark_source.plan.remote_tier import TierOptions, listed_again

NoteLoss = Callable[[SegmentRead, str], None]
"""Raises or warns that data is lost: the read, and what has happened to its segment."""


def found_again(
    read: SegmentRead, paths: tuple[str, ...], tier: TierOptions | None, note_loss: NoteLoss
) -> list[SegmentRead]:
    """Return the reads that hold the offsets of a piece now, ascending.

    Args:
        read: the piece; nothing of it has been read.
        paths: the log directories.
        tier: the remote tier; None: there is none.
        note_loss: is called for what is lost.

    Raises:
        OSError: the partition cannot be listed.
        What ``note_loss`` raises.
    """
    partition = _partition_now(read, paths, tier)
    if partition is None:
        note_loss(read, "was deleted with its partition")
        return []
    if is_of_another_topic(read):
        note_loss(read, "was deleted with its topic, which was made again")
        return []
    if read.span is not None:
        return _same_bytes(read, partition, note_loss)
    low = max(read.low, read.floor, read.segment.base_offset)
    high = min(read.high, read.next_base)
    if (lost := _lost(read, partition, low, high)) is not None:
        note_loss(read, lost)
    found = planned_reads(partition, low, high, read_committed=read.log_end is not None)
    return [replace(each, metadata=read.metadata) for each in found]


def is_of_another_topic(read: SegmentRead) -> bool:
    """Return whether the directory has another `partition.metadata` than when it was planned."""
    if read.metadata is None or not read.metadata.is_here:
        return False
    try:
        return not is_same(read.metadata)
    except FileNotFoundError:  # moved to another log directory
        return False


def _partition_now(
    read: SegmentRead, paths: tuple[str, ...], tier: TierOptions | None
) -> DiskPartition | None:
    """Return a partition as it is now, perhaps in another log directory of the same broker."""
    planned = read.partition
    if tier is None:
        again = planned.listed_again()
        if again.segments:
            return again
        given, fs = all_opened(paths, planned.fs)
        listing = list_log_directories(given, fs=fs)
    else:
        listing = listed_again(paths, tier)
    found = [each for each in listing.partitions.values() if each.name == planned.name]
    here = [each for each in found if each.path == planned.path]
    named = here or (found if len(found) == 1 else [])
    if not named:
        return None
    (again,) = named
    return again if again.parts else None


def _same_bytes(
    read: SegmentRead, partition: DiskPartition, note_loss: NoteLoss
) -> list[SegmentRead]:
    """Return a piece that was planned by bytes alone in the segment that has its name now.

    Which offsets were meant is not known, so this counts as a loss.
    """
    base = read.segment.base_offset
    named = [each for each in partition.segments if each.base_offset == base]
    note_loss(read, "was replaced" if named else "was deleted")
    return [replace(read, partition=partition, segment=each, stop=None) for each in named]


def _lost(read: SegmentRead, partition: DiskPartition, low: int, high: int) -> str | None:
    """Return what has happened to a piece's segment if offsets of [low, high) are lost."""
    start = partition.log_start_offset
    if low < start:
        return f"was deleted: the log starts at offset {start} now; offsets from {low} on were lost"
    bases = {each.base_offset for each in partition.segments}
    if read.segment.base_offset not in bases and not read.is_remote and _has_same_before(read):
        return "was deleted"
    if high < HIGHEST:
        end = partition.log_end_offset
        return f"was truncated: the log ends at offset {end} now" if high > end else None
    planned, now = read.segment, partition.segments[-1] if partition.segments else None
    if now is None or now.base_offset != planned.base_offset:
        return None
    # A broker also shortens a file by the bytes that it has preallocated.
    is_cut = now.size < planned.size == planned.files["log"].occupied
    return f"has {now.size} bytes, not {planned.size}: it was truncated" if is_cut else None


def _has_same_before(read: SegmentRead) -> bool:
    """Return whether the segment before a piece's is still the same file."""
    if read.before is None:
        return False
    try:
        return is_same(read.before)
    except FileNotFoundError:
        return False
