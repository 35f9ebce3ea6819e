"""Which files make up a log: segments that go, come, and take the place of others.

A segment that goes is renamed `.deleted` at once and removed later, so that readers which have it
open go on undisturbed. Segments that take the place of others are written as `.cleaned`, renamed
`.swap` when all are complete, and lose that suffix when the old ones are `.deleted`. A crash at any
moment leaves names that tell the loader whether to undo the replacement or to finish it.

Errors are those of the operating system; who calls turns them into an offline log directory.

Kafka: LocalLog, its static part (4.2)
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from workbench.files.names import CLEANED, DELETED, SEGMENT_KINDS, SWAP, file_name
from workbench.log.context import LogContext
from workbench.log.producer_state import ProducerStateManager
from workbench.log.segment import LogSegment
from workbench.log.segments import LogSegments


class SplitResult(NamedTuple):
    """What became of a segment that was split.

    Attributes:
        deleted: segments removed whose base offset no new one has; their snapshots go too.
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
        context: of the log.
        segments: which are no longer part of the log.
        asynchronous: remove the files `file.delete.delay.ms` from now; their names change at once.
        reason: why, for the observer.

    Raises:
        OSError: a file cannot be renamed.
        StorageError: a file cannot be removed (also out of the scheduled task); the log directory
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
    log_directory = context.log_directory  # a log that moves leaves these files where they are

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
        context: of the log.
        segments: of the log; reads find the doomed ones no longer.
        doomed: what goes; may be a view of ``segments``.
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
    """Put an empty segment in the place of the active one; there is always an active segment.

    Args:
        context: of the log.
        segments: of the log.
        new_offset: base offset of the new segment; may be that of the old one.
        doomed: the segment that goes.
        asynchronous: see `delete_segment_files`.
        reason: why, for the observer.

    Raises:
        OSError, StorageError: see `delete_segment_files`.

    Kafka: LocalLog.createAndDeleteSegment (4.2)
    """
    if new_offset >= doomed.base_offset:
        # Not beside each other, should a crash come now: the old one may reach beyond the new one's
        # beginning. (Kafka does it only where both begin at one offset.)
        doomed.change_suffix("", DELETED)
    new = LogSegment.open(context, new_offset)
    context.names_changed = True
    segments.add(new)
    if new_offset != doomed.base_offset:
        segments.remove(doomed.base_offset)
    delete_segment_files(context, [doomed], asynchronous=asynchronous, reason=reason)
    return new


def create_new_cleaned_segment(context: LogContext, base_offset: int) -> LogSegment:
    """Make an empty `.cleaned` segment, in the place of one that an earlier try left.

    Raises:
        OSError: an old file cannot be removed, or the new one not made.

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
    """Put new segments in the place of old ones so that a crash leaves all old or all new.

    The new ones become `.swap` from the last to the first: while one is still `.cleaned`, every
    `.swap` at or behind it counts for nothing. The folder is synced between the phases, which Kafka
    leaves to the journal of the file system.

    Args:
        context: of the log.
        segments: of the log; holds the new ones afterwards.
        new_segments: complete, flushed, their files `.cleaned`.
        old_segments: those whose records the new ones hold; who is gone already is left alone.
        reason: why, for the observer.

    Returns:
        The old segments whose base offset no new one has, ascending; their snapshots have to go.

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
    """Split a segment whose offsets lie too far from its base offset; no record changes.

    Brokers before 1.1 could write such segments. Each part starts at its first batch.

    Args:
        context: of the log.
        segments: of the log; holds the parts afterwards.
        segment: the one to split.

    Raises:
        ValueError: the segment has no such offsets, or it is not one in use.
        RuntimeError: the parts do not hold all the bytes.
        OSError: writing fails, and what was written of the parts is removed; or renaming does, and
            the next load undoes or finishes the replacement. (Kafka removes the parts then, too.)

    Kafka: LocalLog.splitOverflowedSegment (4.2)
    """
    if not segment.log.path.endswith(".log"):
        raise ValueError(f"{segment.log.path}: only a .log file can be split")
    if not segment.has_overflow:
        raise ValueError(f"{segment.log.path}: no offset is too far from the base offset")
    reason = f"offsets lie 2^31 or more from base offset {segment.base_offset}"
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
            raise RuntimeError(f"{source.path} at byte {position}: no batch could be copied")
        position += appended
    modified = segment.last_modified
    for part in parts:
        part.on_become_inactive()
        part.flush()
        part.set_last_modified(modified)
    total = sum(part.size for part in parts)
    if total != source.size:
        raise RuntimeError(f"{source.path}: {source.size} bytes became {total} by splitting")


def first_offset_at(segment: LogSegment, position: int) -> int:
    """Return the base offset of the batch at a position of the `.log`.

    A compressed message of magic 0 or 1 does not tell it in its header and is decompressed.

    Kafka: FileChannelRecordBatch.baseOffset (4.2)
    """
    row = segment.log.first_batch(position)
    assert row is not None  # who splits a segment has walked over its batches
    if row["base_offset"] >= 0:
        return int(row["base_offset"])
    return segment.log.read(position, int(row["size"])).records()[0].offset


def delete_producer_snapshots(
    context: LogContext,
    producer_state: ProducerStateManager,
    segments: Sequence[LogSegment],
    *,
    asynchronous: bool,
) -> None:
    """Rename the producer snapshots at the base offsets of segments to `.deleted`; remove them.

    Args:
        context: of the log.
        producer_state: forgets the snapshots.
        segments: which are gone from the log.
        asynchronous: remove the files `file.delete.delay.ms` from now.

    Raises:
        OSError: a file cannot be renamed.
        StorageError: a file cannot be removed (also out of the scheduled task); the log directory
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
                with suppress(FileNotFoundError):  # its folder was renamed
                    context.fs.remove(path)
                    context.tell("snapshot removed", "its segment is gone", path)

    if asynchronous:
        context.scheduler.schedule(
            "delete-producer-snapshot", remove, context.config.file_delete_delay_ms
        )
    else:
        remove()
