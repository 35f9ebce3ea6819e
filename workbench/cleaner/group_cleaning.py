"""Clean groups of segments, each into one segment: the second pass of a round.

Kafka: Cleaner.cleanSegments, cleanInto (4.2)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final, NamedTuple

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.decisions import (
    BatchesDecided,
    Decisions,
    DecisionsBuilder,
    Keeping,
    Reason,
    Verdict,
)
from workbench.cleaner.filtering import Filter, Filtered
from workbench.cleaner.rules import LastRecord, RoundRules, decide_about_batches
from workbench.cleaner.statistics import CleanerStats, step_of_segment
from workbench.errors import OffsetOverflowError
from workbench.log.log import Log
from workbench.log.segments.segment import LogSegment, create_new_cleaned_segment, fits
from workbench.record.buffers import BufferPool
from workbench.record.compaction.locating import SurveyedBatches
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.steps import Step, wants_details, wants_records
from workbench.runtime.workers import ObjectPool, in_order

# Steps are made only for an observer, from what the cleaner decided by.
_KEEPINGS: Final = {
    Keeping.LAST_OF_PRODUCER: "the batch is the last one of a producer that is still known",
    Keeping.LAST_OF_ROUND: "the batch ends where the round ends",
}
_HORIZONS: Final = frozenset(
    {Reason.TOMBSTONE_HORIZON_SET, Reason.TOMBSTONE_HORIZON_AHEAD}
    | {Reason.MARKER_HORIZON_SET, Reason.MARKER_HORIZON_AHEAD}
)


def steps_of_chunk(path: str, decisions: Decisions, *, with_records: bool) -> Iterator[Step]:
    """Yield the outcome for each batch of a chunk, and before it those for its records."""
    first = 0
    for row in decisions.batches:
        end = first + int(row["record_count"])
        if with_records:
            yield from _steps_of_records(path, int(row["delete_horizon"]), decisions, first, end)
        yield _step_of_batch(path, row, int(decisions.is_kept[first:end].sum()))
        first = end


def _steps_of_records(
    path: str, horizon: int, decisions: Decisions, first: int, end: int
) -> Iterator[Step]:
    columns = (decisions.offsets, decisions.reasons, decisions.newer_offsets)
    for offset, code, newer in zip(*(each[first:end].tolist() for each in columns), strict=True):
        reason = Reason(code)
        text, numbers = reason.text, {"offset": offset}
        if reason == Reason.SUPERSEDED:
            text, numbers["newer_offset"] = f"superseded by offset {newer}, of the same key", newer
        elif reason in _HORIZONS:
            numbers["delete_horizon"] = horizon
        yield Step("record kept" if reason.is_kept else "record dropped", path, text, numbers)


def _step_of_batch(path: str, row: Any, kept: int) -> Step:
    count, verdict = int(row["record_count"]), Verdict(int(row["verdict"]))
    numbers = {
        name: int(row[name])
        for name in ("position", "size", "new_size", "base_offset", "last_offset")
    }
    all_stay = "the batch's record is kept" if count == 1 else f"all {count} records are kept"
    if verdict == Verdict.COPIED:
        return Step("batch copied", path, all_stay, numbers)
    if verdict == Verdict.REBUILT:
        horizon = int(row["delete_horizon"])
        if horizon >= 0:
            numbers["delete_horizon"] = horizon
        stays = f"{kept} of {count} records are kept" if kept < count else all_stay
        return Step("batch rebuilt", path, stays, numbers)
    if verdict == Verdict.EMPTIED:
        keeping = _KEEPINGS[Keeping(int(row["keeping"]))]
        return Step("batch emptied", path, f"no record is kept, but {keeping}", numbers)
    return Step("batch removed", path, f"0 of {count} records are kept", numbers)


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
        log = self._log
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
                is_last = is_last or not log.context.rules.indexes_each_batch  # one entry per read
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
