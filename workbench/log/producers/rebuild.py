"""Rebuild the producer state of a loaded or truncated log: the newest snapshot, then the batches.

Kafka: UnifiedLog.rebuildProducerState (4.2)
"""

from workbench.log.producers.state import ProducerStateManager
from workbench.log.producers.update import load_producers
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import Observer, Step


def rebuild_producer_state(
    producer_state: ProducerStateManager,
    segments: LogSegments,
    log_start_offset: int,
    last_offset: int,
    now: int,
    *,
    reload_from_clean_shutdown: bool,
    observer: Observer | None = None,
) -> None:
    """Advance producer state to ``last_offset`` and take a snapshot there.

    After a clean shutdown without any snapshot, the log is assumed to be older than snapshots: it
    is not read, and empty snapshots are written for its last two segments and its end.

    Args:
        producer_state: the state to advance; its snapshots out of range are removed.
        segments: the log's segments, at least those before ``last_offset``.
        log_start_offset: batches before it are not read, snapshots up to it are removed.
        last_offset: exclusive end.
        now: ms; expired producers are omitted.
        reload_from_clean_shutdown: whether the log was shut down cleanly.
        observer: receives the step that says what was read.

    Raises:
        CorruptRecordError: a batch's size is invalid.
        OSError: a snapshot cannot be written, or a segment not read.
    """
    bases = _snapshot_bases(segments)
    if producer_state.latest_snapshot_offset is None and reload_from_clean_shutdown:
        for offset in (*bases, last_offset):
            producer_state.update_map_end_offset(offset)
            producer_state.take_snapshot()
        return
    was_empty = producer_state.is_empty and producer_state.map_end_offset >= last_offset
    producer_state.truncate_and_reload(log_start_offset, last_offset, now)
    loaded_to = producer_state.map_end_offset
    if last_offset > loaded_to and not was_empty:
        for segment in segments.values(loaded_to, last_offset):
            start = max(segment.base_offset, producer_state.map_end_offset, log_start_offset)
            producer_state.update_map_end_offset(start)
            if segment.base_offset in bases:
                producer_state.take_snapshot()
            holds_end = segment is segments.floor(last_offset)
            _load_from_segment(producer_state, segment, start, last_offset if holds_end else None)
        if observer is not None:
            reason = (
                f"no snapshot is newer than offset {loaded_to}; batches were read to {last_offset}"
            )
            numbers = {"start": loaded_to, "end": last_offset}
            observer(
                Step("producer state read", str(producer_state.topic_partition), reason, numbers)
            )
    producer_state.update_map_end_offset(last_offset)
    producer_state.take_snapshot()


def _snapshot_bases(segments: LogSegments) -> list[int]:
    """Return the base offsets of the last two segments: the log may be truncated to them soon."""
    last = segments.last
    if last is None:
        return []
    before = segments.lower(last.base_offset)
    return [last.base_offset] if before is None else [before.base_offset, last.base_offset]


def _load_from_segment(
    producer_state: ProducerStateManager, segment: LogSegment, start: int, end: int | None
) -> None:
    """Apply the batches of one segment from offset ``start`` to before the one with ``end``."""
    first = segment.translate_offset(start)
    if first is None:
        return
    stop = None if end is None else segment.translate_offset(end)
    rows = segment.log.batches(first.position, None if stop is None else stop.position).rows
    load_producers(producer_state, segment.log, rows)
