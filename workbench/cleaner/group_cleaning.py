"""Clean groups of segments, each into one segment: the second pass of a round.

Kafka: Cleaner.cleanSegments, cleanInto (4.2)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.cleaning_steps import steps_of_chunk
from workbench.cleaner.decisions import DecisionsBuilder
from workbench.cleaner.filtering import Filter
from workbench.cleaner.rules import LastRecord, Rules, decide_about_batches
from workbench.cleaner.statistics import CleanerStats, step_of_segment
from workbench.errors import OffsetOverflowError
from workbench.log.log import Log
from workbench.log.segments.segment import LogSegment, create_new_cleaned_segment, fits
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.steps import wants_details, wants_records


class GroupCleaner:
    """Cleans the groups of one round, one after the other.

    Args:
        log: the log.
        rules: the round's rules.
        kept: filters what is read and holds what is kept.
        stats: the counts to raise.
        decisions: collects each decision; None: none are wanted.
        buffer_size: bytes read at a time.
        old_horizon: ms; a segment modified later keeps tombstones of magic 0 and 1.
        check: called between reads; ends the cleaning by raising.
        throttle: receives the bytes of each read and write; may sleep.

    Attributes:
        segment: the segment that is read; None before the first.
    """

    def __init__(
        self,
        log: Log,
        rules: Rules,
        kept: Filter,
        stats: CleanerStats,
        decisions: DecisionsBuilder | None,
        *,
        buffer_size: int,
        old_horizon: int,
        check: Callable[[], None],
        throttle: Callable[[int], None],
    ) -> None:
        self.segment: LogSegment | None = None
        self._log = log
        self._rules = rules
        self._kept = kept
        self._stats = stats
        self._decisions = decisions
        self._observer = log.context.observer
        self._buffer_size = buffer_size
        self._old_horizon = old_horizon
        self._check = check
        self._throttle = throttle

    def clean(self, group: Sequence[LogSegment], *, writes: bool) -> None:
        """Clean segments into one and replace them with it, or only decide.

        Raises:
            OffsetOverflowError: `segment` must be split; nothing was replaced.

        Kafka: Cleaner.cleanSegments (4.2)
        """
        log = self._log
        with log.lock:  # Kafka: UnifiedLog.lastRecordsOfActiveProducers (4.2)
            self._rules.last_records = {
                producer_id: LastRecord(entry.last_data_offset, entry.producer_epoch)
                for producer_id, entry in log.producer_state.producers.items()
            }
        cleaned = None
        if writes:
            cleaned = create_new_cleaned_segment(log.context, group[0].base_offset)
            self._rules.transactions.index = cleaned.transaction_index
        try:
            for segment in group:
                before = replace(self._stats)
                self._copy(segment, cleaned, group[0].base_offset)
                if self._observer is not None:
                    self._observer(step_of_segment(segment, group[0], before, self._stats))
            if cleaned is None:
                return
            cleaned.on_become_inactive()
            cleaned.flush()
            cleaned.set_last_modified(group[-1].last_modified)
        except OSError:  # nothing more is written to a disk that failed; a start removes the files
            if cleaned is not None:
                cleaned.close_handlers()
            raise
        except BaseException:
            if cleaned is not None:
                cleaned.close_handlers()
                cleaned.delete_if_exists()
            raise
        log.replace_segments([cleaned], group, "cleaned")

    def _copy(self, segment: LogSegment, cleaned: LogSegment | None, base_offset: int) -> None:
        """Copy what is kept of a segment.

        Kafka: Cleaner.cleanInto (4.2)
        """
        self.segment = segment
        rules = self._rules
        rules.retains_old_tombstones = segment.last_modified > self._old_horizon
        chunks = read_chunks(segment.log, 0, self._buffer_size)
        self._check()
        for chunk in chunks:
            self._throttle(chunk.size)
            followed = rules.transactions.follow(chunk)
            batches = decide_about_batches(rules, chunk, followed)
            records = self._kept.filter(chunk, batches)
            if self._decisions is not None:
                self._decisions.add_chunk(chunk, segment.base_offset, batches, records)
                if self._observer is not None and wants_details(self._observer):
                    for step in steps_of_chunk(
                        chunk.path,
                        self._decisions.last_chunk(),
                        with_records=wants_records(self._observer),
                    ):
                        self._observer(step)
            is_last = chunk.position + chunk.size >= segment.size
            if self._kept.size >= self._buffer_size or (is_last and self._kept.size):
                data, max_offset = self._kept.take()
                if cleaned is not None:
                    cleaned.append(max_offset, MemoryRecords(data))
                    self._throttle(len(data))
                elif not fits(max_offset, base_offset):
                    raise OffsetOverflowError(max_offset, base_offset, segment.log.path)
            self._check()
