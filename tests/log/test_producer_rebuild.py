"""Producer state comes from the newest snapshot and the batches after it, and only those."""

from pathlib import Path

import pytest

from tests.log.folder import NOW, Folder, batch, marker, produced, snapshots
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.errors import CorruptRecordError
from workbench.log.loading.load_segments import offset_of
from workbench.log.producers.producer import BatchMetadata
from workbench.log.producers.rebuild import rebuild_producer_state
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import empty_batch_header


def three_producers(folder: Folder) -> LogSegments:
    """Write a segment of each producer, 5 records a batch, and return them opened."""
    for producer, base in enumerate((0, 5, 10), 1):
        folder.write_segment(base, produced(base, 5, producer=producer))
    return LogSegments(
        LogSegment.open(folder.context, base, file_exists=True) for base in (0, 5, 10)
    )


def state_of(folder: Folder) -> ProducerStateManager:
    context = folder.context
    return ProducerStateManager(
        context.topic_partition,
        context.directory,
        context.fs,
        ProducerStateConfig(),
        context.clock,
        context.observer,
    )


def rebuild(
    folder: Folder,
    state: ProducerStateManager,
    segments: LogSegments,
    end: int,
    *,
    start: int = 0,
    clean: bool = False,
) -> None:
    rebuild_producer_state(
        state,
        segments,
        start,
        end,
        NOW,
        reload_from_clean_shutdown=clean,
        observer=folder.context.observer,
    )


def test_all_is_read_where_there_is_no_snapshot(tmp_path: Path) -> None:
    """UL-37: snapshots are taken at the last two segments and the end."""
    folder = Folder(tmp_path)
    state = state_of(folder)
    rebuild(folder, state, three_producers(folder), 15)
    assert sorted(state.producers) == [1, 2, 3]
    assert state.map_end_offset == 15
    assert snapshots(folder) == [5, 10, 15]


def test_reading_begins_at_the_newest_snapshot(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segments = three_producers(folder)
    rebuild(folder, state_of(folder), segments, 10)
    folder.steps.clear()
    state = state_of(folder)
    rebuild(folder, state, segments, 15)
    (step,) = (step for step in folder.steps if step.kind == "producer state read")
    assert step.numbers == {"start": 10, "end": 15}
    assert sorted(state.producers) == [1, 2, 3]


def test_reading_ends_before_the_batch_with_the_end(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segments = three_producers(folder)
    state = state_of(folder)
    rebuild(folder, state, segments, 12)
    assert sorted(state.producers) == [1, 2]
    assert state.map_end_offset == 12


def test_what_lies_before_the_start_is_not_read(tmp_path: Path) -> None:
    """LO-8."""
    folder = Folder(tmp_path)
    state = state_of(folder)
    rebuild(folder, state, three_producers(folder), 15, start=10)
    assert sorted(state.producers) == [3]


def test_truncating_without_producers_reads_nothing(tmp_path: Path) -> None:
    """LO-5: the state ends at the offset that was truncated to."""
    folder = Folder(tmp_path)
    segments = three_producers(folder)
    state = state_of(folder)
    state.update_map_end_offset(15)
    rebuild(folder, state, segments, 7)
    assert state.is_empty
    assert state.map_end_offset == 7
    assert [step for step in folder.steps if step.kind == "producer state read"] == []


def test_after_a_clean_stop_without_snapshots_nothing_is_read(tmp_path: Path) -> None:
    """LO-5."""
    folder = Folder(tmp_path)
    state = state_of(folder)
    rebuild(folder, state, three_producers(folder), 15, clean=True)
    assert state.is_empty
    assert state.map_end_offset == 15
    assert snapshots(folder) == [5, 10, 15]


def test_producers_that_were_silent_too_long_are_left_out(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segments = three_producers(folder)
    rebuild(folder, state_of(folder), segments, 15)
    state = state_of(folder)
    late = NOW + ProducerStateConfig().producer_id_expiration_ms + 10
    rebuild_producer_state(state, segments, 0, 15, late, reload_from_clean_shutdown=False)
    assert sorted(state.producers) == [3]


def test_sequences_of_a_compacted_batch_are_those_of_its_header(tmp_path: Path) -> None:
    """UL-40: even where no record of it is left."""
    folder = Folder(tmp_path)
    gap = MemoryRecords.of(
        (NOW, b"k0", b"v"), base_offset=0, producer_id=1, producer_epoch=0, base_sequence=3
    )
    empty = empty_batch_header(
        base_offset=1,
        last_offset=4,
        producer_id=2,
        producer_epoch=7,
        base_sequence=10,
        max_timestamp=NOW,
    )
    folder.write_segment(0, gap, MemoryRecords.copy_of(empty))
    state = state_of(folder)
    segments = LogSegments([LogSegment.open(folder.context, 0, file_exists=True)])
    rebuild(folder, state, segments, 5)
    first, second = state.last_entry(1), state.last_entry(2)
    assert first is not None
    assert first.last_sequence == 3
    assert second is not None
    assert (second.producer_epoch, second.last_sequence, second.last_data_offset) == (7, 13, 4)
    assert list(second.batches) == [BatchMetadata(13, 4, 3, NOW)]


def test_transactions_that_end_in_another_segment_are_complete(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_segment(0, produced(0, 3, producer=1, transactional=True))
    folder.write_segment(
        3,
        produced(3, 2, producer=2, transactional=True),
        marker(5, producer=1, commit=True),
        batch(6),
    )
    segments = LogSegments(
        LogSegment.open(folder.context, base, file_exists=True) for base in (0, 3)
    )
    state = state_of(folder)
    rebuild(folder, state, segments, 7)
    assert state.first_undecided_offset == 3
    state.on_high_watermark_updated(7)
    unstable = state.first_unstable_offset
    assert unstable is not None
    assert unstable.offset == 3


def test_a_damaged_segment_that_must_be_read_stops_the_broker(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segments = three_producers(folder)
    data = bytearray(folder.file("log", 0).read_bytes())
    data[8:12] = bytes(4)
    folder.file("log", 0).write_bytes(data)
    with pytest.raises(CorruptRecordError):
        rebuild(folder, state_of(folder), segments, 15)


@pytest.mark.parametrize("kind", ["log", "index", "timeindex", "txnindex", "snapshot"])
def test_the_offset_of_a_file_is_the_number_before_its_first_dot(kind: str) -> None:
    """UL-64."""
    assert offset_of(f"00000000000000000042.{kind}") == 42
    assert offset_of(f"00000000000000000042.{kind}.deleted") == 42
