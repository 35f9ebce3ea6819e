"""The files of a log's segments: deleting, creating and replacing segments.

A deleted segment is renamed to `.deleted` at once and removed later, so that readers which have it
open are not disturbed. Segments that replace others are written as `.cleaned`, renamed to `.swap`
when all are complete, and lose that suffix when the old ones are `.deleted`. A crash at any moment
leaves names that show the loader whether to undo or finish the replacement.

Errors are those of the operating system; the caller then takes the log directory offline.

Kafka: LocalLog, its static part (4.2)
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from workbench.errors import CorruptLogError
from workbench.files.names import CLEANED, DELETED, SEGMENT_KINDS, SWAP, file_name
from workbench.log.context import LogContext
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment


class SplitResult(NamedTuple):
    """The result of splitting a segment.

    Attributes:
        deleted: removed segments whose base offset no new one has; their snapshots must go too.
        new: the segments that hold the batches now, ascending.

    Kafka: LocalLog.SplitSegmentResult (4.2)
    """

    deleted: list[LogSegment]
    new: list[LogSegment]


def delete_segment_files(
    context: LogContext,
    segments: Sequence[LogSegment],
    *,
    asynchronous: bool,
    reason: str,
) -> None:
    """Rename the files of segments to `.deleted` and remove them, now or later.

    Args:
        context: the log's context.
        segments: segments that are no longer part of the log.
        asynchronous: whether to remove the files `file.delete.delay.ms` from now, after renaming.
        reason: why, for the observer.

    Raises:
        OSError: a file cannot be renamed.
        StorageError: a file cannot be removed (even in the scheduled task); the log directory
            is offline.

    Kafka: LocalLog.deleteSegmentFiles (4.2)
    """
    doomed = list(segments)
    context.names_changed = True
    for segment in doomed:
        if not segment.is_marked_deleted:
            segment.change_suffix("", DELETED)
        if context.observer is not None:
            numbers = {"base_offset": segment.base_offset, "size": segment.size}
            context.tell("segment marked deleted", reason, segment.log.path, **numbers)
    log_directory = context.log_directory  # a log that moves leaves these files behind

    def remove() -> None:
        with context.failures.guard(log_directory, f"delete segments of {context.topic_partition}"):
            for segment in doomed:
                segment.delete_if_exists()
                if context.observer is not None:
                    context.tell("segment files removed", reason, segment.log.path)

    if asynchronous:
        context.scheduler.schedule("delete-file", remove, context.config.file_delete_delay_ms)
    else:
        remove()


def remove_and_delete_segments(
    context: LogContext,
    segments: LogSegments,
    doomed: Sequence[LogSegment],
    *,
    asynchronous: bool,
    reason: str,
) -> None:
    """Take segments out of the log and delete their files.

    Args:
        context: the log's context.
        segments: the log's segments; reads no longer find the doomed ones.
        doomed: segments to delete; may be a view of ``segments``.
        asynchronous: see `delete_segment_files`.
        reason: why, for the observer.

    Raises:
        OSError, StorageError: see `delete_segment_files`.

    Kafka: LocalLog.removeAndDeleteSegments (4.2)
    """
    if not doomed:
        return
    doomed = list(doomed)
    for segment in doomed:
        segments.remove(segment.base_offset)
    delete_segment_files(context, doomed, asynchronous=asynchronous, reason=reason)


def create_and_delete_segment(
    context: LogContext,
    segments: LogSegments,
    new_offset: int,
    doomed: LogSegment,
    *,
    asynchronous: bool,
    reason: str,
) -> LogSegment:
    """Replace the active segment with an empty one; there is always an active segment.

    Args:
        context: the log's context.
        segments: the log's segments.
        new_offset: base offset of the new segment; may be the old one's.
        doomed: the segment to delete.
        asynchronous: see `delete_segment_files`.
        reason: why, for the observer.

    Raises:
        OSError, StorageError: see `delete_segment_files`.

    Kafka: LocalLog.createAndDeleteSegment (4.2)
    """
    if new_offset >= doomed.base_offset:
        # Both must not exist after a crash here: the old one may reach beyond the new one's base
        # offset. (Kafka does it only if both begin at the same offset.)
        doomed.change_suffix("", DELETED)
    new = LogSegment.open(context, new_offset)
    context.names_changed = True
    segments.add(new)
    if new_offset != doomed.base_offset:
        segments.remove(doomed.base_offset)
    delete_segment_files(context, [doomed], asynchronous=asynchronous, reason=reason)
    return new


def create_new_cleaned_segment(context: LogContext, base_offset: int) -> LogSegment:
    """Create an empty `.cleaned` segment, replacing one that an earlier attempt left.

    Raises:
        OSError: an old file cannot be removed, or the new one not created.

    Kafka: LocalLog.createNewCleanedSegment (4.2)
    """
    for kind in SEGMENT_KINDS:
        path = context.path(file_name(kind, base_offset, CLEANED))
        if context.fs.exists(path):
            context.fs.remove(path)
    return LogSegment.open(context, base_offset, suffix=CLEANED)


def replace_segments(
    context: LogContext,
    segments: LogSegments,
    new_segments: Sequence[LogSegment],
    old_segments: Sequence[LogSegment],
    *,
    reason: str,
) -> list[LogSegment]:
    """Replace old segments with new ones so that a crash leaves all old or all new ones.

    The new ones become `.swap` from the last to the first: while one is still `.cleaned`, every
    `.swap` at or after it is ignored. The directory is synced between the phases, which Kafka
    leaves to the journal of the file system.

    Args:
        context: the log's context.
        segments: the log's segments; holds the new ones afterwards.
        new_segments: complete, flushed segments whose files are `.cleaned`.
        old_segments: those whose records the new ones hold; removed ones are ignored.
        reason: why, for the observer.

    Returns:
        The old segments whose base offset no new one has, ascending; their snapshots must go.

    Raises:
        OSError: a file cannot be renamed.

    Kafka: LocalLog.replaceSegments (4.2)
    """
    new = sorted(new_segments, key=lambda segment: segment.base_offset)
    old = sorted(
        (segment for segment in old_segments if segment.base_offset in segments),
        key=lambda segment: segment.base_offset,
    )
    new_bases = {segment.base_offset for segment in new}
    for segment in reversed(new):
        segment.change_suffix(CLEANED, SWAP)
        context.fs.sync_directory(context.directory)
        segments.add(segment)
        context.tell("segment ready to swap", reason, segment.log.path)
    for segment in old:
        if segment.base_offset != new[0].base_offset:
            segments.remove(segment.base_offset)
        delete_segment_files(context, [segment], asynchronous=True, reason=reason)
    context.fs.sync_directory(context.directory)
    for segment in new:
        segment.change_suffix(SWAP, "")
        context.tell("segment swapped in", reason, segment.log.path)
    context.fs.sync_directory(context.directory)
    return [segment for segment in old if segment.base_offset not in new_bases]


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
    context.tell("segment split", reason, segment.log.path, **numbers)
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
    """
    row = segment.log.first_batch(position)
    assert row is not None  # the caller has already walked over the segment's batches
    if row["base_offset"] >= 0:
        return int(row["base_offset"])
    records = segment.log.read(position, int(row["size"]))
    return records.records(segment.log.largest_content)[0].offset


def delete_producer_snapshots(
    context: LogContext,
    producer_state: ProducerStateManager,
    segments: Sequence[LogSegment],
    *,
    asynchronous: bool,
) -> None:
    """Rename the producer snapshots at the base offsets of segments to `.deleted`; remove them.

    Args:
        context: the log's context.
        producer_state: the state, which forgets the snapshots.
        segments: segments that were removed from the log.
        asynchronous: whether to remove the files `file.delete.delay.ms` from now.

    Raises:
        OSError: a file cannot be renamed.
        StorageError: a file cannot be removed (even in the scheduled task); the log directory
            is offline.

    Kafka: UnifiedLog.deleteProducerSnapshots (4.2)
    """
    marked = [
        path
        for segment in segments
        if (path := producer_state.remove_and_mark_snapshot_for_deletion(segment.base_offset))
    ]
    if not marked:
        return
    context.names_changed = True
    log_directory = context.log_directory

    def remove() -> None:
        with context.failures.guard(
            log_directory, f"delete producer snapshots of {context.topic_partition}"
        ):
            for path in marked:
                with suppress(FileNotFoundError):  # its directory was renamed
                    context.fs.remove(path)
                    context.tell("snapshot removed", "the snapshot's segment was deleted", path)

    if asynchronous:
        context.scheduler.schedule(
            "delete-producer-snapshot", remove, context.config.file_delete_delay_ms
        )
    else:
        remove()
