"""Replace segments of a log with new ones: after a cleaning or a split.

Segments that replace others are written as `.cleaned`, renamed to `.swap` when all are complete,
and lose that suffix when the old ones are `.deleted`. A crash at any moment leaves names that show
the loader whether to undo or finish the replacement.

Errors are those of the operating system; the caller then takes the log directory offline.

Kafka: LocalLog.replaceSegments (4.2)
"""

from collections.abc import Sequence

from workbench.files.names import CLEANED, SWAP
from workbench.log.context import LogContext
from workbench.log.segments.files import delete_segment_files
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment


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
        context.tell("segment ready to swap", segment.log.path, reason)
    segments.replace(old, new)
    for segment in old:
        delete_segment_files(context, [segment], asynchronous=True, reason=reason)
    context.fs.sync_directory(context.directory)
    for segment in new:
        segment.change_suffix(SWAP, "")
    context.fs.sync_directory(context.directory)
    for segment in new:
        context.tell("segment swapped in", segment.log.path, reason)
    return [segment for segment in old if segment.base_offset not in new_bases]
