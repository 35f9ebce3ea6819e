"""The files of a partition's folder, from what a crash may have left to segments.

Four passes: remove what was to be removed and undo replacements that were not complete; remove the
segments that a complete replacement takes the place of; rename its files; open each `.log`, remove
index files without one, and recover segments whose indexes are missing or wrong.

Kafka: LogLoader (4.2)
"""

import re
from collections.abc import Callable
from typing import Final

from workbench.errors import CorruptIndexError
from workbench.files.names import CLEANED, DELETED, MAX_OFFSET, SWAP, file_name
from workbench.log.context import LogContext
from workbench.log.segment import LogSegment
from workbench.log.segments import LogSegments

Recover = Callable[[LogSegment, str], int]

_SNAPSHOT_DELETED: Final = ".checkpoint.deleted"  # a metadata snapshot; its own log removes it
_INDEX_ENDINGS: Final = (".index", ".timeindex", ".txnindex")
_JAVA_LONG: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


def offset_of(name: str) -> int:
    """Return the number before the first dot of a file's name.

    Raises:
        ValueError: there is no dot, or no number of 64 bits before it.

    Kafka: LogFileUtils.offsetFromFileName (4.2)
    """
    number, dot, _ = name.partition(".")
    if (
        not dot
        or _JAVA_LONG.fullmatch(number) is None
        or not -MAX_OFFSET - 1 <= int(number) <= MAX_OFFSET
    ):
        raise ValueError(f"{name}: a file of this kind must begin with an offset and a dot")
    return int(number)


def file_names(context: LogContext) -> list[str]:
    """Return the names of the files in the partition's folder, sorted; folders left out."""
    return [entry.name for entry in context.fs.list(context.directory) if not entry.is_directory]


def finish_replacements(context: LogContext) -> list[str]:
    """Remove what a crash left of deleting, cleaning and splitting, or finish it.

    Returns:
        The names of the files that are there now, sorted.

    Raises:
        ValueError: a `.cleaned` or `.swap` file has no offset in its name.
        CorruptRecordError: a `.swap` segment cannot be read to its end.
        OSError: a file cannot be read, removed or renamed. (Kafka goes on where a file of a
            complete replacement cannot be, which can lose records.)

    Kafka: LogLoader.load, removeTempFilesAndCollectSwapFiles (4.2)
    """
    names = file_names(context)
    if not any(name.endswith((DELETED, CLEANED, SWAP)) for name in names):
        return names
    swaps = _remove_temporary_files(context, names)
    if swaps:
        _remove_replaced(context, swaps)
        swaps = [name for name in file_names(context) if name.endswith(SWAP)]
        for name in swaps:  # also an index that looking for a segment's end has made
            context.fs.rename(context.path(name), context.path(name.removesuffix(SWAP)))
            _tell_file(context, "swap completed", name, "all files of the replacement are there")
        context.fs.sync_directory(context.directory)
    return file_names(context)


def _remove_temporary_files(context: LogContext, names: list[str]) -> list[str]:
    """Remove `.deleted` and `.cleaned` files and the `.swap` files that count for nothing."""
    for name in names:
        if name.endswith(DELETED) and not name.endswith(_SNAPSHOT_DELETED):
            context.fs.remove(context.path(name))
            _tell_file(context, "leftover removed", name, "it was marked to be deleted")
    cleaned = [name for name in names if name.endswith(CLEANED)]
    first_cleaned = min((offset_of(name) for name in cleaned), default=None)
    swaps = []
    for name in names:
        if not name.endswith(SWAP):
            continue
        if first_cleaned is None or offset_of(name) < first_cleaned:
            swaps.append(name)
            continue
        context.fs.remove(context.path(name))
        reason = f"the replacement is not complete: offset {first_cleaned} is still .cleaned"
        _tell_file(context, "swap undone", name, reason)
    for name in cleaned:
        context.fs.remove(context.path(name))
        _tell_file(context, "leftover removed", name, "cleaning or splitting did not finish")
    return swaps


def _remove_replaced(context: LogContext, swaps: list[str]) -> None:
    """Remove the files of the segments whose offsets complete `.swap` segments hold."""
    first: int | None = None
    end = 0
    for name in swaps:
        if not name.endswith(f".log{SWAP}"):
            continue
        segment = LogSegment.open(context, offset_of(name), file_exists=True, suffix=SWAP)
        next_offset = segment.read_next_offset()
        segment.close_handlers()
        end = next_offset if first is None else max(end, next_offset)
        first = segment.base_offset if first is None else min(first, segment.base_offset)
        if context.observer is not None:
            numbers = {"base_offset": segment.base_offset, "next_offset": next_offset}
            path = context.path(name)
            context.tell("swap found", "a replacement was interrupted", path, **numbers)
    if first is None:
        return
    removed = False
    for name in file_names(context):
        offset = _offset_or_none(name)
        if name.endswith(SWAP) or offset is None or not first <= offset < end:
            continue
        context.fs.remove(context.path(name))
        removed = True
        reason = f"its records are in the .swap segments of offsets {first} to {end - 1}"
        _tell_file(context, "replaced file removed", name, reason)
    if removed:
        context.fs.sync_directory(context.directory)


def _offset_or_none(name: str) -> int | None:
    try:
        return offset_of(name)
    except ValueError:
        return None


def load_segment_files(
    context: LogContext, segments: LogSegments, names: list[str], recover: Recover
) -> None:
    """Open every `.log` and recover those whose indexes cannot be used.

    Of the indexes only whether the offset index is there and whether the transaction index is
    plausible is looked at, as Kafka does since 2.3.

    Args:
        context: of the log.
        segments: empty; gets the segments.
        names: of the files in the folder, sorted.
        recover: recovers a segment for a reason, and returns how many bytes it cut.

    Raises:
        ValueError: a `.log` or index file has no offset in its name.
        UnsupportedFormatError: a transaction index has a version that is not known.
        OffsetOverflowError: ``recover`` found a segment that must be split.
        OSError: a file cannot be read or written.

    Kafka: LogLoader.loadSegmentFiles (4.2)
    """
    present = set(names)
    for name in names:
        if name.endswith(_INDEX_ENDINGS):
            if file_name("log", offset_of(name)) not in present:
                context.fs.remove(context.path(name))
                _tell_file(context, "orphaned index removed", name, "it has no .log file")
        elif name.endswith(".log"):
            segment = LogSegment.open(context, offset_of(name), file_exists=True)
            present.add(file_name("log", segment.base_offset))  # "5.log" makes one of 20 digits
            problem = _index_problem(segment, present)
            if problem is not None:
                recover(segment, problem)
            segments.add(segment)


def _index_problem(segment: LogSegment, present: set[str]) -> str | None:
    """Return why a segment has to be recovered, from its files alone; None if it need not be.

    Kafka: LogSegment.sanityCheck (4.2)
    """
    base_offset = segment.base_offset
    if file_name("index", base_offset) not in present:
        return "its offset index is not there"
    if file_name("timeindex", base_offset) not in present:
        segment.time_index.resize(0)
    if file_name("txnindex", base_offset) in present:
        try:
            segment.transaction_index.sanity_check()
        except CorruptIndexError as error:
            return f"its transaction index is wrong: {error.problem}"
    return None


def _tell_file(context: LogContext, kind: str, name: str, reason: str) -> None:
    if context.observer is not None:
        context.tell(kind, reason, context.path(name))
