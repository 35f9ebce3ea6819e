"""Take segments out of a log and delete their files.

A deleted segment is renamed to `.deleted` at once and removed later, so that readers which have it
open are not disturbed.

Errors are those of the operating system; the caller then takes the log directory offline.

Kafka: LocalLog, its static part (4.2)
"""

from collections.abc import Sequence

from workbench.files.names import DELETED
from workbench.log.context import LogContext
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment


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
            context.tell("segment marked deleted", segment.log.path, reason, **numbers)
    log_directory = context.log_directory  # a log that moves leaves these files behind

    def remove() -> None:
        with context.failures.guard(log_directory, f"delete segments of {context.topic_partition}"):
            for segment in doomed:
                segment.delete_if_exists()
                if context.observer is not None:
                    context.tell("segment files removed", segment.log.path, reason)

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
