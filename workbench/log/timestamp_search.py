"""Offsets by time, and the special ones: earliest, latest, largest timestamp.

Kafka: UnifiedLog.fetchOffsetByTimestamp, ListOffsetsRequest (4.2)
"""

from typing import Any, Final

import numpy as np

from workbench.files.file_records import TimestampAndOffset
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.local_log import LocalLog
from workbench.log.segments.segment import LogSegment
from workbench.record.reading.batch_times import batch_times

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6


def find_offset(
    local: LocalLog, leader_epochs: LeaderEpochCache, log_start_offset: int, timestamp: int
) -> TimestampAndOffset | None:
    """Return the first record at or after a time.

    Args:
        local: the segments.
        leader_epochs: the log's leader epochs.
        log_start_offset: the log's log start offset.
        timestamp: ms since the epoch, or `LATEST`, `EARLIEST`, `MAX_TIMESTAMP`, `EARLIEST_LOCAL`,
            `LATEST_TIERED`, `EARLIEST_PENDING_UPLOAD`.

    Returns:
        Timestamp in ms, offset and leader epoch; None if no record is that late.

    Raises:
        OSError: a file cannot be read.

    Kafka: UnifiedLog.fetchOffsetByTimestamp (4.2)
    """
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        first = leader_epochs.earliest
        epoch = first.epoch if first and first.start_offset <= log_start_offset else None
        return TimestampAndOffset(NO_TIMESTAMP, log_start_offset, epoch)
    if timestamp == LATEST:
        return TimestampAndOffset(NO_TIMESTAMP, local.end_offset, leader_epochs.latest_epoch)
    if timestamp in (
        LATEST_TIERED,
        EARLIEST_PENDING_UPLOAD,
    ):  # remote storage is not supported here
        return TimestampAndOffset(NO_TIMESTAMP, -1, -1)
    if timestamp == MAX_TIMESTAMP:
        return _largest(local)
    for segment in local.segments.all:
        if segment.largest_timestamp >= timestamp:
            return segment.find_offset_by_timestamp(timestamp, log_start_offset)
    return None


def _largest(local: LocalLog) -> TimestampAndOffset | None:
    segments = local.segments.all
    segment = max(segments, key=lambda each: each.max_timestamp_so_far.timestamp)  # the first
    largest = segment.max_timestamp_so_far
    start = segment.offset_index.lookup(largest.offset).position
    rows = segment.log.batches(start).rows
    found = np.flatnonzero(rows["max_timestamp"] == largest.timestamp)
    if not len(found):
        return None
    row = rows[int(found[0])]
    offset = _first_with(segment, row, largest.timestamp)
    if offset is None:
        return None
    epoch = int(row["partition_leader_epoch"])
    return TimestampAndOffset(largest.timestamp, offset, epoch if epoch >= 0 else None)


def _first_with(segment: LogSegment, row: Any, timestamp: int) -> int | None:
    """Return the offset of the first record of a batch that has the timestamp, -1 for none.

    None if none has it: compaction may keep a header's largest timestamp without its record.

    Kafka: RecordBatch.offsetOfMaxTimestamp (4.2)
    """
    if row["magic"] == 0:
        return None
    records = segment.log.read(int(row["position"]), int(row["size"]))
    times = batch_times(records.buffer, segment.log.largest_content)  # keys and values stay there
    found = np.flatnonzero(times.timestamps == timestamp)
    return int(times.offsets[found[0]]) if len(found) else None
