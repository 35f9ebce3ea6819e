"""Open the log in a folder, whatever state it was left in.

Kafka: LogLoader (4.2); Log.loadSegments, completeSwapOperations, replaceSegments (0.8.2.2 to 2.8)
"""

from typing import NamedTuple

from workbench.config.broker_rules import IndexCheck, SwapRule
from workbench.errors import CorruptIndexError
from workbench.files.names import SEGMENT_KINDS, SWAP, file_name
from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loading.load_segments import (
    Recover,
    file_names,
    finish_replacements,
    implausible_index,
    load_segment_files,
    offset_of,
    tell_file,
)
from workbench.log.loading.recover_log import LogRecovery, Progress, RecoveryOffsets
from workbench.log.producers.rebuild import rebuild_producer_state
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.files import delete_segment_files
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import KINDS

# Brokers before 3.0 took a `.swap` file as a segment that had yet to replace others: it was read
# again, and then replaced what lay in its range. Which segments those are changed (`SwapRule`).
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
        recover(swap, KINDS["swap found"])
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


_NOT_RECOVERED = RecoveryOffsets(0, 0)


class LoadedOffsets(NamedTuple):
    """The start and end of a loaded log.

    Attributes:
        log_start_offset: first offset that can be read.
        recovery_point: records before it are on the disk.
        next_offset: the log end offset.

    Kafka: LoadedLogOffsets (4.2)
    """

    log_start_offset: int
    recovery_point: int
    next_offset: int


class LogLoader:
    """Loads one log, one time.

    Args:
        context: the log's context.
        segments: an empty map; gets the segments.
        had_clean_shutdown: whether the log was shut down cleanly; then nothing is recovered.
        log_start_offset_checkpoint: 0 if there is none.
        recovery_point_checkpoint: 0 if there is none.
        leader_epochs: the epochs read from their file; adjusted to the log.
        producer_state: an empty state; gets the state at the log end offset.
        remaining: receives the number of segments left to recover, finally 0.

    Kafka: LogLoader (4.2)
    """

    def __init__(
        self,
        context: LogContext,
        segments: LogSegments,
        *,
        had_clean_shutdown: bool,
        log_start_offset_checkpoint: int,
        recovery_point_checkpoint: int,
        leader_epochs: LeaderEpochCache,
        producer_state: ProducerStateManager,
        remaining: Progress | None = None,
    ) -> None:
        self._context = context
        self._segments = segments
        self._recovery = LogRecovery(
            context,
            segments,
            had_clean_shutdown,
            log_start_offset_checkpoint,
            recovery_point_checkpoint,
            leader_epochs,
            producer_state,
            remaining,
        )

    def load(self) -> LoadedOffsets:
        """Load the log.

        Raises:
            CorruptNameError: a file's name has no offset where a broker needs one. A broker does
                not start.
            CorruptLogError: an offset is before its segment's base offset. A broker does not
                start.
            CorruptRecordError: a segment that is not recovered cannot be read to its end. A broker
                does not start.
            UnsupportedFormatError: a transaction index has an unknown version. A broker does not
                start.
            StorageError: a file of the log could not be written; its directory is offline.
            OSError: a file cannot be read, written, renamed or removed. A broker takes the
                directory offline.

        Kafka: LogLoader.load (4.2)
        """
        context, segments, recovery = self._context, self._segments, self._recovery
        names: list[str] | None = finish_replacements(context)
        is_old = context.rules.swaps is not SwapRule.RENAME_ALL
        swaps = prepare_swaps(context) if is_old else []
        if is_old:
            names = None  # some of them are gone

        def load_files() -> None:
            nonlocal names
            segments.close()
            segments.clear()
            found, names = file_names(context) if names is None else names, None
            load_segment_files(context, segments, found, recovery.recover_segment)

        recovery.retry_on_overflow(load_files)
        complete_swaps(context, segments, swaps, recovery.recover_segment)
        if context.directory.endswith("-delete"):
            offsets = _NOT_RECOVERED
            if not segments:
                segments.add(LogSegment.open(context, 0))
        else:
            offsets = recovery.retry_on_overflow(recovery.recover_log)
            segments.active.resize_indexes()
        if context.rules.index_check is IndexCheck.REFUSES:
            _refuse_implausible_indexes(segments)
        log_start = self._bring_in_line(offsets.next_offset)
        for segment in segments.all:
            segment.log.close_handler()  # opens again at the next use: there may be thousands
        loaded = LoadedOffsets(log_start, offsets.recovery_point, offsets.next_offset)
        if context.observer is not None:
            context.tell("log loaded", segments=len(segments), **loaded._asdict())
        return loaded

    def _bring_in_line(self, next_offset: int) -> int:
        """Adjust leader epochs and producer state to the segments; return the log start offset."""
        recovery, segments = self._recovery, self._segments
        recovery.remove_stale_snapshots()
        recovery.leader_epochs.truncate_from_end_async_flush(next_offset)
        first = segments.all[0].base_offset
        log_start = max(recovery.log_start_offset, first)
        # The file may be older than the log start offset. Kafka rewrites it even if it is not.
        earliest = recovery.leader_epochs.earliest
        start = log_start if self._context.rules.moves_first_epoch else recovery.log_start_offset
        if earliest is not None and earliest.start_offset < start:
            recovery.leader_epochs.truncate_from_start_async_flush(start)
        if not recovery.producer_state.is_empty:
            raise RuntimeError("the producer state given to a loader must be empty")
        recovery.producer_state.remove_stray_snapshots(
            [segment.base_offset for segment in segments.all]
        )
        rebuild_producer_state(
            recovery.producer_state,
            segments,
            log_start,
            next_offset,
            self._context.clock.now(),
            reload_from_clean_shutdown=recovery.had_clean_shutdown,
            observer=self._context.observer,
        )
        return log_start


def _refuse_implausible_indexes(segments: LogSegments) -> None:
    """Kafka: Log.loadSegments (0.8.2.2), whose last lines check the index of every segment."""
    for segment in segments.all:
        problem = implausible_index(segment)
        if problem is not None:
            raise CorruptIndexError(segment.offset_index.path, None, problem)
