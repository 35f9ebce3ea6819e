"""From the files of a partition directory, as a crash may have left them, to segments.

Four steps: remove files marked for deletion and undo incomplete replacements; remove the segments
that a complete replacement replaces; rename its files; open each `.log`, remove index files
without one, and recover segments whose indexes are missing or invalid. Before 3.0 the second and
third step came last, and were others: `loading.old_swaps`.

Kafka: LogLoader (4.2)
"""

import os
from collections.abc import Callable
from typing import Final

from workbench.config.broker_rules import IndexCheck, SwapRule
from workbench.errors import CorruptIndexError, CorruptNameError
from workbench.files.names import CLEANED, DELETED, MAX_OFFSET, SWAP, file_name
from workbench.files.text import JAVA_NUMBER
from workbench.log.context import LogContext
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import KINDS

Recover = Callable[[LogSegment, str], int]

_SNAPSHOT_DELETED: Final = ".checkpoint.deleted"  # a metadata snapshot; its own log removes it
_INDEX_ENDINGS: Final = (".index", ".timeindex", ".txnindex")


def offset_of(path: str) -> int:
    """Return the offset before the first dot of a file's name.

    Raises:
        CorruptNameError: there is no dot, or no 64-bit number before it.

    Kafka: LogFileUtils.offsetFromFileName (4.2)
    """
    number, dot, _ = os.path.basename(path).partition(".")
    if (
        not dot
        or JAVA_NUMBER.fullmatch(number) is None
        or not -MAX_OFFSET - 1 <= int(number) <= MAX_OFFSET
    ):
        problem = f"the name begins with {number!r}, expected an offset of 64 bits and a dot"
        raise CorruptNameError(path, None, problem)
    return int(number)


def file_names(context: LogContext) -> list[str]:
    """Return the sorted names of the files in the partition directory, without folders."""
    return [entry.name for entry in context.fs.list(context.directory) if not entry.is_directory]


def finish_replacements(context: LogContext) -> list[str]:
    """Remove what a crash left of deleting, cleaning and splitting, or finish that work.

    Returns:
        The sorted names of the remaining files.

    Raises:
        CorruptNameError: a `.cleaned` or `.swap` file has no offset in its name.
        CorruptRecordError: a `.swap` segment cannot be read to its end.
        OSError: a file cannot be read, removed or renamed. (Kafka continues if that happens to
            a file of a complete replacement, which can lose records.)

    Kafka: LogLoader.load, removeTempFilesAndCollectSwapFiles (4.2)
    """
    names = file_names(context)
    if not [name for name in names if name.endswith((DELETED, CLEANED, SWAP))]:
        return names
    swaps = _remove_temporary_files(context, names)
    if swaps and context.rules.swaps is SwapRule.RENAME_ALL:
        _remove_replaced(context, swaps)
        swaps = [name for name in file_names(context) if name.endswith(SWAP)]
        for name in swaps:  # including an index created by the search for a segment's end
            context.fs.rename(context.path(name), context.path(name.removesuffix(SWAP)))
            tell_file(context, "swap completed", name, "all files of the replacement exist")
        context.fs.sync_directory(context.directory)
    return file_names(context)


def _remove_temporary_files(context: LogContext, names: list[str]) -> list[str]:
    """Remove `.deleted` and `.cleaned` files, and the `.swap` files of incomplete replacements."""
    for name in names:
        if name.endswith(DELETED) and not name.endswith(_SNAPSHOT_DELETED):
            context.fs.remove(context.path(name))
            tell_file(context, "leftover removed", name, "the file was marked for deletion")
    cleaned = [name for name in names if name.endswith(CLEANED)]
    first_cleaned = min((offset_of(context.path(name)) for name in cleaned), default=None)
    # Files are renamed from .cleaned to .swap from the last to the first: while one is left, the
    # .swap files after it are not all, and the segments that they replace are still there.
    if not context.rules.undoes_partial_swaps:
        first_cleaned = None
    swaps = []
    for name in names:
        if not name.endswith(SWAP):
            continue
        if first_cleaned is None or offset_of(context.path(name)) < first_cleaned:
            swaps.append(name)
            continue
        context.fs.remove(context.path(name))
        reason = f"the replacement is not complete: offset {first_cleaned} is still .cleaned"
        tell_file(context, "swap undone", name, reason)
    for name in cleaned:
        context.fs.remove(context.path(name))
        tell_file(
            context,
            "leftover removed",
            name,
            "the cleaning or splitting that wrote the file did not finish",
        )
    return swaps


def _remove_replaced(context: LogContext, swaps: list[str]) -> None:
    """Remove the files of the segments whose offsets are in complete `.swap` segments."""
    # No .cleaned is left, so the .swap files are complete: together they hold what is left of all
    # offsets from the first to the last, and what has no .swap name there is older.
    first: int | None = None
    end = 0
    for name in swaps:
        if not name.endswith(f".log{SWAP}"):
            continue
        segment = LogSegment.open(
            context, offset_of(context.path(name)), file_exists=True, suffix=SWAP
        )
        next_offset = segment.read_next_offset()
        segment.close_handlers()
        end = next_offset if first is None else max(end, next_offset)
        first = segment.base_offset if first is None else min(first, segment.base_offset)
        if context.observer is not None:
            numbers = {"base_offset": segment.base_offset, "next_offset": next_offset}
            path = context.path(name)
            context.tell("swap found", path, KINDS["swap found"], **numbers)
    if first is None:
        return
    removed = False
    for name in file_names(context):
        offset = _offset_or_none(name)
        if name.endswith(SWAP) or offset is None or not first <= offset < end:
            continue
        context.fs.remove(context.path(name))
        removed = True
        reason = f"the segment's records are in the .swap segments of offsets {first} to {end - 1}"
        tell_file(context, "replaced file removed", name, reason)
    if removed:
        context.fs.sync_directory(context.directory)


def _offset_or_none(name: str) -> int | None:
    try:
        return offset_of(name)
    except CorruptNameError:
        return None


def load_segment_files(
    context: LogContext, segments: LogSegments, names: list[str], recover: Recover
) -> None:
    """Open every `.log` and recover those whose indexes cannot be used.

    Of the indexes only the existence of the offset index and the plausibility of the transaction
    index are checked, as Kafka does since 2.3; before, the other two as well.

    Args:
        context: the log's context.
        segments: an empty map; gets the segments.
        names: the sorted names of the files in the directory.
        recover: recovers a segment for a reason, and returns how many bytes it truncated.

    Raises:
        CorruptNameError: a `.log` or index file has no offset in its name.
        UnsupportedFormatError: a transaction index has an unknown version.
        OffsetOverflowError: ``recover`` found a segment that must be split.
        OSError: a file cannot be read or written.

    Kafka: LogLoader.loadSegmentFiles (4.2)
    """
    present = set(names)
    for name in names:
        if name.endswith(_INDEX_ENDINGS):
            if file_name("log", offset_of(context.path(name))) not in present:
                context.fs.remove(context.path(name))
                tell_file(context, "orphaned index removed", name, "the index has no .log file")
        elif name.endswith(".log"):
            segment = LogSegment.open(context, offset_of(context.path(name)), file_exists=True)
            present.add(file_name("log", segment.base_offset))  # "5.log" is opened with 20 digits
            problem = _index_problem(segment, present)
            if problem is not None:
                recover(segment, problem)
            segments.add(segment)


def _index_problem(segment: LogSegment, present: set[str]) -> str | None:
    """Return why a segment must be recovered, from its files alone; None if it need not be.

    Kafka: LogSegment.sanityCheck (4.2)
    """
    rules = segment.context.rules
    if os.path.basename(segment.offset_index.path) not in present:
        if not rules.leaves_missing_index:
            return "the segment has no offset index"
        segment.offset_index.resize()  # which makes it: an empty one
    if os.path.basename(segment.time_index.path) not in present:
        segment.time_index.resize(0)
    if rules.index_check is IndexCheck.REBUILDS and (problem := implausible_index(segment)):
        return problem
    transactions = os.path.basename(segment.transaction_index.path)
    if rules.has_producer_state and transactions in present:
        try:
            segment.transaction_index.sanity_check()
        except CorruptIndexError as error:
            return f"the segment's transaction index is invalid: {error.problem}"
    return None


def implausible_index(segment: LogSegment) -> str | None:
    """Return why the offset or time index of a segment fails its check; None if they pass.

    Kafka: LogSegment.sanityCheck (2.2), OffsetIndex.sanityCheck (1.1)
    """
    rules, base_offset = segment.context.rules, segment.base_offset
    index = segment.offset_index
    try:
        index.sanity_check()
        if index.entries and not rules.indexes_last_offset and index.last_offset == base_offset:
            return f"the segment's offset index is invalid: its last offset is {base_offset}"
        if rules.has_time_index:
            segment.time_index.sanity_check()
    except CorruptIndexError as error:
        kind = "offset" if error.path == index.path else "time"
        return f"the segment's {kind} index is invalid: {error.problem}"
    return None


def tell_file(context: LogContext, kind: str, name: str, reason: str) -> None:
    """Report to the observer what is done with a file, and why."""
    if context.observer is not None:
        context.tell(kind, context.path(name), reason)
