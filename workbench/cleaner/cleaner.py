"""Clean a log: keep the newest record of each key, and what transactions and producers need.

`clean_log` decides and executes; `plan_cleaning` decides by the same code and writes nothing.
Both may run beside appends; only one thread at a time may clean a log.

Kafka: Cleaner (4.2)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Decisions, DecisionsBuilder
from workbench.cleaner.filtering import Filter
from workbench.cleaner.group_cleaning import GroupCleaner
from workbench.cleaner.map_building import MapBuilder
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.rules import RoundRules
from workbench.cleaner.statistics import CleanerStats, step_of_log
from workbench.cleaner.transactions import CleanedTransactions
from workbench.errors import CleaningAbortedError, OffsetOverflowError
from workbench.files.indexes.entry_run import MAX_RELATIVE_OFFSET
from workbench.log.damage import raise_as_corrupt
from workbench.log.log import Log
from workbench.log.segments.log_segments import total_size
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import Step, wants_details
from workbench.runtime.workers import ObjectPool, useful, worker_count


def group_segments(
    segments: Sequence[LogSegment], most_bytes: int, most_index_bytes: int, upper_bound: int
) -> list[list[LogSegment]]:
    """Return the segments in groups, each of which fits into one segment.

    Args:
        segments: ascending.
        most_bytes: limit for the batches of a group.
        most_index_bytes: limit for its offset index, and for its time index.
        upper_bound: first offset that the round does not clean.

    Kafka: Cleaner.groupSegmentsBySize (4.2)
    """
    starts: list[int] = []  # of the groups, in the list of segments
    room = (0, 0, 0)
    for number, segment in enumerate(segments):
        sizes = _sizes(segment)
        following = segments[number + 1] if number + 1 < len(segments) else None
        last_offset = (upper_bound if following is None else following.base_offset) - 1
        is_fitting = (
            bool(starts)
            and all(size <= left for size, left in zip(sizes, room, strict=True))
            and (
                segment.size == 0
                or last_offset - segments[starts[-1]].base_offset <= MAX_RELATIVE_OFFSET
            )
        )
        if not is_fitting:
            starts.append(number)
            room = (most_bytes, most_index_bytes, most_index_bytes)
        room = (room[0] - sizes[0], room[1] - sizes[1], room[2] - sizes[2])
    return [list(segments[start:end]) for start, end in pairwise([*starts, len(segments)])]


def steps_of_groups(groups: Sequence[Sequence[LogSegment]]) -> Iterator[Step]:
    """Yield which segments are cleaned into one, for an observer."""
    for group in groups:
        bases = [segment.base_offset for segment in group]
        size = sum(segment.size for segment in group)
        together = "the segment is cleaned by itself"
        if len(group) > 1:
            together = f"{len(group)} segments of {size} bytes together fit into one"
        numbers = {"base_offsets": bases, "bytes": size}
        yield Step("segments grouped", group[0].log.path, together, numbers)


def _sizes(segment: LogSegment) -> tuple[int, int, int]:
    return segment.size, segment.offset_index.size_in_bytes, segment.time_index.size_in_bytes


Check = Callable[[], None]
Throttle = Callable[[int], None]


def _go_on(_size: int = 0) -> None:
    """Let the cleaning continue."""


class Cleaning(NamedTuple):
    """The outcome of a round."""

    stats: CleanerStats
    decisions: Decisions


def clean_log(
    log: Log,
    first_dirty_offset: int,
    upper_bound: int,
    now: int,
    config: CleanerConfig | None = None,
    *,
    offset_map: OffsetMap | None = None,
    check: Check | None = None,
    throttle: Throttle | None = None,
    collects: bool = True,
) -> Cleaning:
    """Clean a log once.

    Args:
        log: a compacted topic's log.
        first_dirty_offset: where the last round ended.
        upper_bound: base offset of the first segment that must not be cleaned.
        now: ms; delete horizons depend on it.
        config: the memory and buffers to use.
        offset_map: used instead of one with ``config``'s memory; it can be reused.
        check: called between reads; ends the cleaning by raising `CleaningAbortedError`.
        throttle: receives the bytes of each read and write; may sleep.
        collects: whether `Cleaning.decisions` are wanted, at 25 bytes per record; otherwise they
            are made only if an observer wants single batches.

    Raises:
        ValueError: no offset is between the two bounds.
        CleaningAbortedError: ``check`` raised it, or a segment had to be split; the log is as it
            was, except for the groups of segments that were finished.
        CorruptFileError: a batch cannot be read or rewritten.
        ConfigError: the memory is too small for an offset map.
        UnsupportedFormatError: see `Filter.filter`.
        StorageError: files could not be changed; the log directory is offline.

    Kafka: Cleaner.doClean (4.2)
    """
    return _clean(
        log,
        first_dirty_offset,
        upper_bound,
        now,
        config or CleanerConfig(),
        offset_map,
        check=check or _go_on,
        throttle=throttle or _go_on,
        collects=collects,
        writes=True,
    )


def plan_cleaning(
    log: Log,
    first_dirty_offset: int,
    upper_bound: int,
    now: int,
    config: CleanerConfig | None = None,
    *,
    offset_map: OffsetMap | None = None,
    workers: int | None = 1,
) -> Cleaning:
    """Return what `clean_log` would do with the same arguments; nothing is written.

    Args:
        log, first_dirty_offset, upper_bound, now, config, offset_map: see `clean_log`.
        workers: threads that decompress and decide side by side; None: one per core, at most 8.
            The outcome does not depend on it. Each takes up to 64 MiB.

    Raises:
        See `clean_log`; a segment that would have to be split is left as it is.
    """
    size = total_size(log.local.segments.values(0, upper_bound))
    return _clean(
        log,
        first_dirty_offset,
        upper_bound,
        now,
        config or CleanerConfig(),
        offset_map,
        workers=useful(worker_count(workers), size),
    )


def _clean(
    log: Log,
    first_dirty: int,
    upper_bound: int,
    now: int,
    config: CleanerConfig,
    offset_map: OffsetMap | None,
    *,
    check: Check = _go_on,
    throttle: Throttle = _go_on,
    collects: bool = True,
    writes: bool = False,
    workers: int = 1,
) -> Cleaning:
    """Clean a log once, or only decide.

    Kafka: Cleaner.doClean (4.2)
    """
    if first_dirty >= upper_bound:
        raise ValueError(
            f"{log.topic_partition}: nothing to clean from offset {first_dirty} up to {upper_bound}"
        )
    stats = CleanerStats(start_ms=log.context.clock.now())
    observer = log.context.observer
    guard = log.context.guard("clean", changes_nothing=True) if writes else nullcontext()
    with guard, raise_as_corrupt(log.directory, "cleaned"):
        segments, size = log.local.segments, config.buffer_size
        if offset_map is None:  # of as many keys as there are offsets
            keys = upper_bound - first_dirty
            offset_map = OffsetMap(config.map_memory, config.load_factor, keys=keys)
        clean = segments.values(0, first_dirty)
        old_horizon = clean[-1].last_modified - log.config.delete_retention_ms if clean else 0
        dirty_aborted = log.collect_aborted_transactions(first_dirty, upper_bound)
        aborted = log.collect_aborted_transactions(log.segments[0].base_offset, upper_bound)
        transactions = CleanedTransactions(dirty_aborted)
        rules = RoundRules(
            CleanedTransactions(aborted),
            {},
            upper_bound,
            now,
            log.config.delete_retention_ms,
            broker=log.context.rules,
        )
        builder = MapBuilder(
            offset_map, transactions, size, stats, check, throttle, workers=workers
        )
        builder.build(log, first_dirty, upper_bound)
        stats.map_done_ms = log.context.clock.now()
        stats.end_offset = offset_map.latest_offset + 1
        groups = group_segments(
            segments.values(0, stats.end_offset),
            log.config.segment_bytes,
            log.config.segment_index_bytes,
            upper_bound,
        )
        if observer is not None:
            for step in steps_of_groups(groups):
                observer(step)
        decisions = DecisionsBuilder()
        is_wanted = collects or wants_details(observer)
        cleaner = GroupCleaner(
            log,
            rules,
            ObjectPool(partial(Filter, offset_map, collects=is_wanted)),
            stats,
            decisions if is_wanted else None,
            buffer_size=size,
            old_horizon=old_horizon,
            check=check,
            throttle=throttle,
            writes=writes,
            workers=workers,
        )
        try:
            for group in groups:
                cleaner.clean(group)
        except OffsetOverflowError as error:
            if writes and cleaner.segment is not None:  # the `.cleaned` files are removed by now
                log.split_overflowed_segment(cleaner.segment)
            raise CleaningAbortedError(f"{error}; cleaning starts again") from error
        stats.map_utilization = offset_map.utilization
        stats.end_ms = log.context.clock.now()
        if observer is not None:
            observer(step_of_log(str(log.topic_partition), stats))
    return Cleaning(stats, decisions.finish())
