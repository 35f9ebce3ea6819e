"""The segments that hold offsets of a partition as it is listed now, for the driver and for tasks.

A cleaning replaces files and keeps offsets: it merges several segments into one. So a piece of a
job is a range of offsets, and a task lists the partition again where its file is gone or changed.
A `DiskPartition` lists its directory while no cleaning is putting segments in place.

Kafka: LocalLog.replaceSegments (4.2)
"""

import os
import stat
from dataclasses import replace

from workbench.inspection.entries import FileEntry
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.loaders.scan.plan import LogEnd, SegmentRead, segments_within
from workbench.spark_source.plan.remote_tier import without_tier


def planned_reads(
    partition: DiskPartition, low: int, high: int, *, read_committed: bool
) -> list[SegmentRead]:
    """Return the segments that can hold offsets [low, high), as a task gets them."""
    log_end = None
    if read_committed and partition.segments:
        last = partition.segments[-1]
        log_end = LogEnd(last.base_offset, last.size)
    sent = without_tier(partition)
    before: dict[int, FileEntry] = {}
    for earlier, later in zip(partition.segments, partition.segments[1:], strict=False):
        before[later.base_offset] = earlier.files["log"]
    return [
        replace(
            read,
            partition=sent,
            # The last segment may grow before it is read: a retried task must read the same.
            stop=read.segment.size if read.segment.is_active else None,
            log_end=log_end,
            before=None if read.is_remote else before.get(read.segment.base_offset),
        )
        for read in segments_within(partition, low, high)
        if read.segment.size
    ]


def require_as_planned(segment: Segment) -> None:
    """Check that a segment's `.log` is still the file that was listed, which may have grown.

    What cannot be opened passes: reading it reports that.

    Raises:
        FileNotFoundError: it is gone, or another file has its name.
    """
    entry = segment.files["log"]
    if not entry.is_here:
        try:
            with entry.open() as source:
                size = source.size
        except FileNotFoundError:
            raise
        except OSError:
            return
        is_planned = size == entry.size or (segment.is_active and size > entry.size)
    else:
        is_planned = is_same(entry, may_grow=segment.is_active)
    if not is_planned:
        raise FileNotFoundError(entry.path)


def is_same(entry: FileEntry, *, may_grow: bool = False) -> bool:
    """Return whether a file of this machine is the one that was listed, unchanged.

    Args:
        entry: the file as listed.
        may_grow: whether it is also the same if it has grown.

    Raises:
        FileNotFoundError: it is gone.
    """
    try:
        now = os.stat(entry.path)
    except FileNotFoundError:
        raise
    except OSError:
        return True
    if not stat.S_ISREG(now.st_mode):
        return True
    if entry.inode not in {0, now.st_ino}:
        return False
    if may_grow:
        return now.st_size >= entry.size
    return (now.st_size, now.st_mtime_ns // 1_000_000) == (entry.size, entry.modified_ms)
