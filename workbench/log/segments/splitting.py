"""Split a segment whose offsets are too far from its base offset.

Errors are those of the operating system; the caller then takes the log directory offline.

Kafka: LocalLog.splitOverflowedSegment (4.2)
"""

from typing import NamedTuple

from workbench.errors import CorruptLogError
from workbench.log.context import LogContext
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.replacing import replace_segments
from workbench.log.segments.segment import LogSegment, create_new_cleaned_segment


class SplitResult(NamedTuple):
    """The result of splitting a segment.

    Attributes:
        deleted: removed segments whose base offset no new one has; their snapshots must go too.
        new: the segments that hold the batches now, ascending.

    Kafka: LocalLog.SplitSegmentResult (4.2)
    """

    deleted: list[LogSegment]
    new: list[LogSegment]


def split_overflowed_segment(
    context: LogContext, segments: LogSegments, segment: LogSegment
) -> SplitResult:
    """Split a segment whose offsets are too far from its base offset; no record changes.

    Brokers before 1.1 could write such segments. Each part starts at its first batch.

    Args:
        context: the log's context.
        segments: the log's segments; holds the parts afterwards.
        segment: the one to split.

    Raises:
        CorruptLogError: the segment has no such offsets, or its parts cannot hold all the bytes.
        ValueError: the segment is not one in use.
        OSError: writing fails, and the unfinished parts are removed; or renaming fails, and the
            next load undoes or finishes the replacement. (Kafka also removes the parts then.)

    Kafka: LocalLog.splitOverflowedSegment (4.2)
    """
    if not segment.log.path.endswith(".log"):
        raise ValueError(f"{segment.log.path}: only a .log file can be split")
    if not segment.has_overflow:
        problem = (
            f"no offset is too far above the base offset {segment.base_offset}, so an index that "
            f"does not accept one cannot be repaired by splitting the segment"
        )
        raise CorruptLogError(segment.log.path, None, problem)
    reason = f"the segment has offsets 2^31 or more above base offset {segment.base_offset}"
    parts: list[LogSegment] = []
    try:
        _write_parts(context, segment, parts)
    except BaseException:
        for part in parts:
            part.close_handlers()
            part.delete_if_exists()
        raise
    deleted = replace_segments(context, segments, parts, [segment], reason=reason)
    bases = [part.base_offset for part in parts]
    numbers = {"base_offset": segment.base_offset, "size": segment.size, "parts": bases}
    context.tell("segment split", segment.log.path, reason, **numbers)
    return SplitResult(deleted, parts)


def _write_parts(context: LogContext, segment: LogSegment, parts: list[LogSegment]) -> None:
    source = segment.log
    position = 0
    while position < source.size:
        part = create_new_cleaned_segment(context, first_offset_at(segment, position))
        parts.append(part)
        appended = part.append_from_file(source, position)
        if appended == 0:
            problem = "no batch fits into a segment that begins with it"
            raise CorruptLogError(source.path, position, problem)
        position += appended
    modified = segment.last_modified
    for part in parts:
        part.on_become_inactive()
        part.flush()
        part.set_last_modified(modified)
    total = sum(part.size for part in parts)
    if total != source.size:
        problem = f"the size of the parts is wrong (found {total} bytes, expected {source.size})"
        raise CorruptLogError(source.path, None, problem)


def first_offset_at(segment: LogSegment, position: int) -> int:
    """Return the base offset of the batch at a position of the `.log`.

    A compressed message of magic 0 or 1 does not have it in its header and is decompressed.

    Kafka: FileChannelRecordBatch.baseOffset (4.2)

    Raises:
        CorruptLogError: no whole batch begins there, as in the torn tail of a segment that was not
            recovered; Kafka fails there, too.
    """
    row = segment.log.first_batch(position)
    if row is None:
        raise CorruptLogError(segment.log.path, position, "no whole batch begins there")
    if row["base_offset"] >= 0:
        return int(row["base_offset"])
    records = segment.log.read(position, int(row["size"]))
    return records.records(segment.log.largest_content)[0].offset
