"""Rebuild the producer state of a loaded or truncated log: the newest snapshot, then the batches.

Kafka: UnifiedLog.rebuildProducerState, loadProducersFromRecords (4.2)
"""

from typing import Any

import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.files.file_records import FileRecords
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.loading.segment_recovery import read_marker
from workbench.log.producers.append import (
    ProducerAppendInfo,
    producer_batches,
)
from workbench.log.producers.entry import CompletedTransaction
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import Observer, Step

Rows = npt.NDArray[Any]


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


def load_producers(producer_state: ProducerStateManager, log: FileRecords, rows: Rows) -> None:
    """Apply batches of a log to the state of their producers.

    Args:
        producer_state: the state to change; batches before ``rows`` must be in it.
        log: the file of the batches; markers are read from it.
        rows: BATCH_ROW[n].

    Raises:
        CorruptRecordError: a transaction marker cannot be read.

    Kafka: UnifiedLog.loadProducersFromRecords, updateProducers (4.2)
    """
    appends: dict[int, ProducerAppendInfo] = {}
    completed: list[CompletedTransaction] = []
    for batch in producer_batches(rows):
        append = appends.get(batch.producer_id)
        if append is None:
            append = producer_state.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
            appends[batch.producer_id] = append
        marker = None
        if batch.is_control and batch.record_count > 0:  # compaction may have emptied it
            row = rows[batch.row]
            position = int(row["position"])
            try:
                marker = read_marker(log.read(position, int(row["size"])).buffer)
            except CorruptRecordError as error:
                raise CorruptRecordError(log.path, position, error.problem) from error
        done = append.append(batch, marker)
        if done is not None:
            completed.append(done)
    for append in appends.values():
        producer_state.update(append)
    for transaction in completed:
        producer_state.complete_transaction(transaction)
