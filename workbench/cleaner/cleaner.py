"""Clean a log: keep the newest record of each key, and what transactions and producers need.

`clean_log` decides and executes; `plan_cleaning` decides by the same code and writes nothing.
Both may run beside appends; only one thread at a time may clean a log.

Kafka: Cleaner (4.2)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.cleaning_steps import (
    tell_chunk,
    tell_groups,
    tell_log_cleaned,
    tell_segment_cleaned,
)
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Decisions, DecisionsBuilder
from workbench.cleaner.filtering import Filter
from workbench.cleaner.grouping import group_segments
from workbench.cleaner.map_building import MapBuilder
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.rules import LastRecord, Rules
from workbench.cleaner.statistics import CleanerStats
from workbench.cleaner.transactions import CleanedTransactions
from workbench.errors import CleaningAbortedError, OffsetOverflowError
from workbench.log.damage import damage_is_told
from workbench.log.log import Log
from workbench.log.segments.files import create_new_cleaned_segment
from workbench.log.segments.segment import LogSegment, fits
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.steps import wants_details

Check = Callable[[], None]
Throttle = Callable[[int], None]


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
        ValueError: no offset lies between the two bounds.
        CleaningAbortedError: ``check`` raised it, or a segment had to be split; the log is as it
            was, except for the groups of segments that were finished.
        CorruptFileError: a batch cannot be read or rewritten.
        ConfigError: the memory is too small for an offset map.
        UnsupportedFormatError: see `Filter.filter`.
        StorageError: files could not be changed; the log directory is offline.

    Kafka: Cleaner.doClean (4.2)
    """
    cleaner = _Round(
        log,
        first_dirty_offset,
        upper_bound,
        now,
        config or CleanerConfig(),
        check=check or _go_on,
        throttle=throttle or _go_on,
        collects=collects,
    )
    with log.context.guard("clean"), damage_is_told(log.directory, "cleaned"):
        return cleaner.run(offset_map, writes=True)


def plan_cleaning(
    log: Log,
    first_dirty_offset: int,
    upper_bound: int,
    now: int,
    config: CleanerConfig | None = None,
    *,
    offset_map: OffsetMap | None = None,
) -> Cleaning:
    """Return what `clean_log` would do with the same arguments; nothing is written.

    Raises:
        See `clean_log`; a segment that would have to be split stays as it is.
    """
    cleaner = _Round(log, first_dirty_offset, upper_bound, now, config or CleanerConfig())
    with damage_is_told(log.directory, "cleaned"):
        return cleaner.run(offset_map, writes=False)


def _go_on(_size: int = 0) -> None:
    """Let the cleaning continue."""


class _Round:
    """One round of cleaning."""

    def __init__(
        self,
        log: Log,
        first_dirty_offset: int,
        upper_bound: int,
        now: int,
        config: CleanerConfig,
        *,
        check: Check = _go_on,
        throttle: Throttle = _go_on,
        collects: bool = True,
    ) -> None:
        if first_dirty_offset >= upper_bound:
            raise ValueError(
                f"{log.topic_partition}: nothing to clean from offset {first_dirty_offset} up to "
                f"{upper_bound}"
            )
        self._log = log
        self._first_dirty = first_dirty_offset
        self._upper_bound = upper_bound
        self._now = now
        self._config = config
        self._check = check
        self._throttle = throttle
        self._stats = CleanerStats(start_ms=log.context.clock.now())
        self._tells_chunks = wants_details(log.context.observer)
        self._decisions = DecisionsBuilder() if collects or self._tells_chunks else None

    def run(self, offset_map: OffsetMap | None, *, writes: bool) -> Cleaning:
        """Clean, or only decide.

        Kafka: Cleaner.doClean (4.2)
        """
        log, config, stats = self._log, self._config, self._stats
        clean = log.local.segments.values(0, self._first_dirty)
        self._old_horizon = clean[-1].last_modified - log.config.delete_retention_ms if clean else 0
        if offset_map is None:
            dirty = self._upper_bound - self._first_dirty  # offsets: each has at most one key
            offset_map = OffsetMap(config.map_memory, config.load_factor, keys=dirty)
        builder = MapBuilder(offset_map, config.buffer_size, stats, self._check, self._throttle)
        builder.build(log, self._first_dirty, self._upper_bound)
        stats.map_done_ms = log.context.clock.now()
        stats.end_offset = offset_map.latest_offset + 1
        groups = group_segments(
            log.local.segments.values(0, stats.end_offset),
            log.config.segment_bytes,
            log.config.segment_index_bytes,
            self._upper_bound,
        )
        tell_groups(log.context, groups)
        rules = Rules(offset_map, CleanedTransactions(), {}, self._upper_bound, self._now)
        self._filter = Filter(rules, log.config.delete_retention_ms, stats, self._decisions)
        for group in groups:
            rules.last_records = self._last_records()
            self._clean_group(group, rules, writes=writes)
        stats.map_utilization = offset_map.utilization
        stats.end_ms = log.context.clock.now()
        tell_log_cleaned(log.context, stats)
        decisions = self._decisions or DecisionsBuilder()
        return Cleaning(stats, decisions.finish())

    def _last_records(self) -> dict[int, LastRecord]:
        """Return the last known record of each producer.

        Kafka: UnifiedLog.lastRecordsOfActiveProducers (4.2)
        """
        with self._log.lock:
            return {
                producer_id: LastRecord(entry.last_data_offset, entry.producer_epoch)
                for producer_id, entry in self._log.producer_state.producers.items()
            }

    def _clean_group(self, group: Sequence[LogSegment], rules: Rules, *, writes: bool) -> None:
        """Clean segments into one, and replace them with it.

        Kafka: Cleaner.cleanSegments (4.2)
        """
        log = self._log
        if not writes:
            self._fill(None, group, rules)
            return
        cleaned = create_new_cleaned_segment(log.context, group[0].base_offset)
        rules.transactions.index = cleaned.transaction_index
        try:
            self._fill(cleaned, group, rules)
            cleaned.on_become_inactive()
            cleaned.flush()
            cleaned.set_last_modified(group[-1].last_modified)
        except OSError:  # nothing more is written to a disk that failed; a start removes the files
            cleaned.close_handlers()
            raise
        except BaseException:
            cleaned.close_handlers()
            cleaned.delete_if_exists()
            raise
        log.replace_segments([cleaned], group, "cleaned")

    def _fill(self, cleaned: LogSegment | None, group: Sequence[LogSegment], rules: Rules) -> None:
        for number, segment in enumerate(group):
            end = (
                group[number + 1].base_offset
                if number + 1 < len(group)
                else segment.read_next_offset()
            )
            rules.transactions.add_aborted(
                self._log.collect_aborted_transactions(segment.base_offset, end)
            )
            rules.retains_old_tombstones = segment.last_modified > self._old_horizon
            before = replace(self._stats)
            try:
                self._copy(segment, cleaned, group[0].base_offset)
                tell_segment_cleaned(self._log.context, segment, group[0], before, self._stats)
            except OffsetOverflowError as error:
                if cleaned is not None:
                    self._log.split_overflowed_segment(segment)
                raise CleaningAbortedError(f"{error}; cleaning starts again") from error

    def _copy(self, segment: LogSegment, cleaned: LogSegment | None, base_offset: int) -> None:
        """Copy what is kept of a segment.

        Kafka: Cleaner.cleanInto (4.2)
        """
        chunks = read_chunks(segment.log, 0, self._config.buffer_size)
        self._check()
        for chunk in chunks:
            self._throttle(chunk.size)
            self._filter.filter(chunk, segment.base_offset)
            if self._decisions is not None and self._tells_chunks:
                tell_chunk(self._log.context, chunk.path, self._decisions.last_chunk())
            if self._filter.size >= self._config.buffer_size:
                self._append(segment, cleaned, base_offset)
            self._check()
        self._append(segment, cleaned, base_offset)

    def _append(self, segment: LogSegment, cleaned: LogSegment | None, base_offset: int) -> None:
        """Append what has been kept so far to the new segment."""
        data, max_offset = self._filter.take()
        if not len(data):
            return
        if cleaned is not None:
            cleaned.append(max_offset, MemoryRecords(data))
            self._throttle(len(data))
        elif not fits(max_offset, base_offset):
            raise OffsetOverflowError(max_offset, base_offset, segment.log.path)
