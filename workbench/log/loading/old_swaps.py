"""Finish interrupted replacements of segments as brokers before 3.0 did.

A `.swap` file was taken as a segment that had yet to replace others: it was read again, and then
replaced what lay in its range. Which segments those are changed (`SwapRule`).

Kafka: Log.loadSegments, completeSwapOperations, replaceSegments (0.8.2.2 to 2.8)
"""

from workbench.config.broker_rules import SwapRule
from workbench.files.names import SEGMENT_KINDS, SWAP, file_name
from workbench.log.context import LogContext
from workbench.log.loading.load_segments import Recover, file_names, offset_of, tell_file
from workbench.log.segments.files import delete_segment_files
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment

_LOG_SWAP = f".log{SWAP}"


def prepare_swaps(context: LogContext) -> list[int]:
    """Remove the indexes that a `.swap` makes invalid; return the offsets of those to complete.

    Raises:
        CorruptNameError: a `.swap` file has no offset in its name.
        OSError: a file cannot be removed or renamed.

    Kafka: Log.removeTempFilesAndCollectSwapFiles (2.8)
    """
    names = file_names(context)
    found = sorted(offset_of(context.path(n)) for n in names if n.endswith(_LOG_SWAP))
    for base in found:
        for kind in SEGMENT_KINDS:
            for suffix in ("", SWAP):
                name = file_name(kind, base, suffix)
                if kind != "log" and name in names:
                    context.fs.remove(context.path(name))
                    tell_file(context, "index removed", name, "a .swap of the segment exists")
    if context.rules.swaps is not SwapRule.RENAME_LOG:
        return found
    for base in found:
        name = file_name("log", base, SWAP)
        context.fs.rename(context.path(name), context.path(file_name("log", base)))
        tell_file(context, "swap completed", name, "its indexes are rebuilt")
    return []


def complete_swaps(
    context: LogContext, segments: LogSegments, swaps: list[int], recover: Recover
) -> None:
    """Read each `.swap` segment again, and let it replace the loaded segments in its range.

    Args:
        context: the log's context.
        segments: the loaded segments; holds the new ones afterwards.
        swaps: base offsets of the `.swap` segments, ascending.
        recover: recovers a segment for a reason.

    Raises:
        OffsetOverflowError: a `.swap` segment has offsets too far from its base offset.
        OSError: a file cannot be read or renamed.

    Kafka: Log.completeSwapOperations (0.9 to 2.8)
    """
    takes_floor = context.rules.swaps is SwapRule.RECOVER_FROM_FLOOR
    for base in swaps:
        swap = LogSegment.open(context, base, file_exists=True, suffix=SWAP)
        recover(swap, "a replacement of segments was interrupted")
        end = swap.read_next_offset()
        floor = segments.values(base, end)  # begins with the segment at or before the offset
        old = [one for one in floor if takes_floor or one.read_next_offset() > base]
        reason = f"the segment is replaced by the .swap of offsets {base} to {end - 1}"
        segments.replace(old, [swap])
        delete_segment_files(context, old, asynchronous=True, reason=reason)
        swap.change_suffix(SWAP, "")
        tell_file(context, "swap completed", file_name("log", base), "all its batches were read")
    if swaps:
        context.fs.sync_directory(context.directory)
