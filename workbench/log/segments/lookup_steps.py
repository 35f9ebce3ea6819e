"""What a lookup reports to an observer: each index entry compared, each batch header read.

Steps are made only for an observer; without one, a library searches the index and compiled code
walks over the headers, with the same result.
"""

from workbench.files.file_records import FileRecords, LogOffsetPosition
from workbench.files.indexes.offset_index import WritableOffsetIndex
from workbench.files.indexes.time_index import WritableTimeIndex
from workbench.log.context import LogContext
from workbench.runtime.times import ms_and_time


def tell_segment_found(
    context: LogContext, log: FileRecords, bases: tuple[int, int | None], target: int
) -> None:
    """Report the segment that a read of ``target`` begins with.

    Args:
        context: the log's context.
        log: the segment's batches.
        bases: base offsets of the segment and of the next one; None: it is the last.
        target: the offset.
    """
    base, following = bases
    after = "it is the last segment" if following is None else f"the next segment has {following}"
    context.tell(
        "segment found",
        log.path,
        f"base offset {base} is the largest at or before {target}; {after}",
        base_offset=base,
        target=target,
    )


def tell_segment_passed(context: LogContext, log: FileRecords, target: int) -> None:
    """Report that no batch of a segment reaches ``target``."""
    context.tell("segment passed", log.path, f"no batch of it reaches {target}", target=target)


def tell_offset_probes(context: LogContext, index: WritableOffsetIndex, offset: int) -> None:
    """Report the entries of an offset index that a lookup of ``offset`` compares."""
    for slot, entry in index.probes(offset):
        stored = entry.offset - index.base_offset
        context.tell(
            "index probed",
            index.path,
            f"offset {entry.offset} (stored as {stored}) is {_relation(entry.offset, offset)} "
            f"{offset}",
            slot=slot,
            offset=entry.offset,
            relative_offset=stored,
            position=entry.position,
            target=offset,
        )
    found = index.lookup(offset)
    context.tell(
        "index entry found",
        index.path,
        f"the last entry at or before {offset} says: offset {found.offset} is at or after byte "
        f"{found.position}",
        offset=found.offset,
        position=found.position,
        target=offset,
    )


def tell_time_probes(context: LogContext, index: WritableTimeIndex, timestamp: int) -> None:
    """Report the entries of a time index that a lookup of ``timestamp`` (ms) compares."""
    for slot, entry in index.probes(timestamp):
        context.tell(
            "index probed",
            index.path,
            f"timestamp {ms_and_time(entry.timestamp)} is {_relation(entry.timestamp, timestamp)} "
            f"{ms_and_time(timestamp)}",
            slot=slot,
            timestamp=entry.timestamp,
            offset=entry.offset,
            relative_offset=entry.offset - index.base_offset,
            target=timestamp,
        )
    found = index.lookup(timestamp)
    context.tell(
        "index entry found",
        index.path,
        f"the last entry at or before {ms_and_time(timestamp)} says: up to offset {found.offset} "
        f"no record is later than {ms_and_time(found.timestamp)}",
        timestamp=found.timestamp,
        offset=found.offset,
        target=timestamp,
    )


def tell_batches_passed(
    context: LogContext, log: FileRecords, start: int, offset: int, found: LogOffsetPosition | None
) -> None:
    """Report the batches whose headers are read on the way from a position to the batch found."""
    stop = log.size if found is None else found.position + found.size
    for row in log.batches(start, stop).rows:
        last_offset, position = int(row["last_offset"]), int(row["position"])
        reached = last_offset >= offset
        context.tell(
            "batch found" if reached else "batch passed",
            log.path,
            f"the batch's last offset {last_offset} is "
            f"{'at or after' if reached else 'before'} {offset}",
            position=position,
            size=int(row["size"]),
            last_offset=last_offset,
            target=offset,
        )


def tell_slice(
    context: LogContext,
    log: FileRecords,
    found: LogOffsetPosition,
    size: int,
    *,
    max_size: int,
    max_position: int,
    min_one_message: bool,
) -> None:
    """Report which bytes of a segment a read returns, and by which limit they end."""
    is_one = min_one_message and max_size < found.size
    end = found.position + size
    if is_one and size == found.size:
        why = (
            f"maxBytes = {max_size} is less than the first batch of {found.size} bytes, which "
            "minOneMessage returns whole"
        )
    elif end == max_position and size <= max_size:
        where = "the segment ends" if end == log.size else "the read's limit is"
        why = f"{where} there, before maxBytes = {max_size} are reached"
    else:
        why = f"at most maxBytes = {max_size}, so that the last batch may be incomplete"
    context.tell(
        "records sliced",
        log.path,
        f"bytes {found.position} to {end}: {why}",
        position=found.position,
        size=size,
        max_bytes=max_size,
        min_one_message=min_one_message,
        first_batch_size=found.size,
    )


def _relation(number: int, target: int) -> str:
    if number == target:
        return "equal to"
    return "above" if number > target else "below"
