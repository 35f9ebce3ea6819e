"""Clean groups of segments, each into one segment: the second pass of a round.

Kafka: Cleaner.cleanSegments, cleanInto (4.2)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.cleaning_steps import steps_of_chunk
from workbench.cleaner.decisions import BatchesDecided, DecisionsBuilder
from workbench.cleaner.filtering import Filter, Filtered
from workbench.cleaner.rules import LastRecord, RoundRules, decide_about_batches
from workbench.cleaner.statistics import CleanerStats, step_of_segment
from workbench.errors import OffsetOverflowError
from workbench.log.log import Log
from workbench.log.segments.segment import LogSegment, create_new_cleaned_segment, fits
from workbench.record.buffers import BufferPool
from workbench.record.compaction.locating import SurveyedBatches
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.steps import wants_details, wants_records
from workbench.runtime.workers import ObjectPool, in_order


class GroupCleaner:
    """Cleans the groups of one round, one after the other.

    Args:
        log: the log.
        rules: the round's rules.
        filters: filter what is read and hold what is kept.
        stats: the counts to raise.
        decisions: collects each decision; None: none are wanted.
        buffer_size: bytes read at a time.
        old_horizon: ms; a segment modified later has a new file; see `RoundRules`.
        check: called between reads; ends the cleaning by raising.
        throttle: receives the bytes of each read and write; may sleep.
        writes: whether segments are replaced; otherwise it is only decided.
        workers: threads that filter chunks side by side; 1 if it writes.

    Attributes:
        segment: the segment that is read; None before the first.
    """

    def __init__(
        self,
        log: Log,
        rules: RoundRules,
        filters: ObjectPool[Filter],
        stats: CleanerStats,
        decisions: DecisionsBuilder | None,
        *,
        buffer_size: int,
        old_horizon: int,
        check: Callable[[], None],
        throttle: Callable[[int], None],
        writes: bool,
        workers: int,
    ) -> None:
        self.segment: LogSegment | None = None
        self._log = log
        self._rules = rules
        self._filters = filters
        self._stats = stats
        self._decisions = decisions
        self._observer = log.context.observer
        self._buffer_size = buffer_size
        self._old_horizon = old_horizon
        self._check = check
        self._throttle = throttle
        self._writes = writes
        self._workers = workers
        self._pool = BufferPool() if workers > 1 else None

    def clean(self, group: Sequence[LogSegment]) -> None:
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
        if self._writes:
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
        self._rules.is_file_new = segment.last_modified > self._old_horizon
        self._check()
        size, max_offset = 0, -1  # of what waits to be written
        pieces = self._pieces(segment)
        with closing(in_order(pieces, self._filtered, self._workers, _size_of)) as found:
            for piece, kept in found:
                chunk = piece.chunk
                self._throttle(chunk.size)
                self._count(chunk.size, kept)
                self._tell(piece, kept, segment.base_offset)
                size, max_offset = size + kept.size, max(max_offset, kept.max_offset)
                is_last = chunk.position + chunk.size >= segment.size
                if size >= self._buffer_size or (is_last and size):
                    if cleaned is not None:
                        with self._filters.lent() as kept_bytes:
                            cleaned.append(max_offset, MemoryRecords(kept_bytes.take()))
                        self._throttle(size)
                    elif not fits(max_offset, base_offset):
                        raise OffsetOverflowError(max_offset, base_offset, segment.log.path)
                    size, max_offset = 0, -1
                self._check()

    def _pieces(self, segment: LogSegment) -> Iterator["_Piece"]:
        """Yield the chunks of a segment in their order, and what is decided without records."""
        for chunk in read_chunks(segment.log, 0, self._buffer_size, self._pool):
            followed = self._rules.transactions.follow(chunk)
            yield _Piece(chunk, decide_about_batches(self._rules, chunk, followed))

    def _filtered(self, piece: "_Piece") -> Iterator[tuple["_Piece", Filtered]]:
        """Yield a piece and what is kept of it."""
        with self._filters.lent() as one:
            kept = one.filter(*piece)
            if not self._writes:
                one.take()
        yield piece, kept

    def _count(self, size: int, kept: Filtered) -> None:
        """Raise the counts by those of a chunk of ``size`` bytes."""
        stats = self._stats
        stats.bytes_read += size
        stats.bytes_written += kept.size
        stats.messages_read += kept.messages_read
        stats.messages_written += kept.messages_kept
        stats.invalid_messages_read += kept.invalid_messages

    def _tell(self, piece: "_Piece", kept: Filtered, base_offset: int) -> None:
        """Collect the decisions on a chunk of a segment, and report them."""
        if self._decisions is None:
            return
        self._decisions.add_chunk(piece.chunk, base_offset, piece.batches, kept.records)
        if self._observer is not None and wants_details(self._observer):
            for step in steps_of_chunk(
                piece.chunk.path,
                self._decisions.last_chunk(),
                with_records=wants_records(self._observer),
            ):
                self._observer(step)


class _Piece(NamedTuple):
    """A chunk, and what is decided about its batches."""

    chunk: SurveyedBatches
    batches: BatchesDecided


def _size_of(result: tuple[_Piece, Filtered]) -> int:
    """Return how many bytes wait with a result."""
    piece, kept = result
    return len(piece.chunk.buffer) + sum(part.newer_offsets.nbytes * 3 for part in kept.records)
