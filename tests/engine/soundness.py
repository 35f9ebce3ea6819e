"""What must be true of every log that was opened, whatever was done to its files before."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.engine.file_systems import tree
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.file_system.local import LOCAL
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.names import LEADER_EPOCHS
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.log import Log
from workbench.log.producers.state import ProducerStateManager
from workbench.log.producers.update import load_producers
from workbench.log.segments.segment import LogSegment
from workbench.record.crc import crc32c
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock

Rows = npt.NDArray[Any]

_CRC_FROM = 21  # byte of a batch of magic 2 that its checksum begins at


class StoredBatch(NamedTuple):
    """One batch of a log: its first and last offset, leader epoch, producer (or -1), and bytes."""

    first_offset: int
    last_offset: int
    epoch: int
    producer_id: int
    data: bytes


def _batch(row: Any, data: bytes) -> StoredBatch:
    first, last = int(row["base_offset"]), int(row["last_offset"])
    epoch, producer_id = int(row["partition_leader_epoch"]), int(row["producer_id"])
    return StoredBatch(first, last, epoch, producer_id, data)


def batches_in(records: MemoryRecords) -> Iterator[StoredBatch]:
    """Yield the whole batches of what was read; their checksums must be right."""
    data = bytes(records)
    for row in records.batches().rows:
        start, size = int(row["position"]), int(row["size"])
        batch = data[start : start + size]
        assert crc32c(batch[_CRC_FROM:]) == int(row["crc"])
        yield _batch(row, batch)


def stored_batches(segment: LogSegment) -> list[StoredBatch]:
    """Return the batches of a segment's file; they must fill it, and their checksums be right."""
    found = list(batches_in(segment.log.read(0, segment.size)))
    assert sum(len(batch.data) for batch in found) == segment.size
    return found


def segments_in_use(log: Log) -> list[LogSegment]:
    """Return the segments that are not wholly before the log start offset: nobody reads those."""
    segments = log.segments
    start = log.log_start_offset
    following = [*(segment.base_offset for segment in segments[1:]), start + 1]
    return [one for one, base in zip(segments, following, strict=True) if base > start]


def all_batches(log: Log) -> list[StoredBatch]:
    """Return the batches of the segments in use."""
    return [batch for segment in segments_in_use(log) for batch in stored_batches(segment)]


def read_batches(log: Log, max_bytes: int = 1 << 20) -> Iterator[StoredBatch]:
    """Yield the batches that a reader gets, from the log's start to its end."""
    position = log.log_start_offset
    while position < log.log_end_offset:
        found = list(batches_in(log.read(position, max_bytes).records))
        if not found:
            return  # what is after it was taken out of the last segment
        yield from found
        position = found[-1].last_offset + 1


def assert_sound(log: Log, *, is_loaded: bool = True) -> list[StoredBatch]:
    """Compare everything that a log reports with its batches; return these.

    Offsets ascend, within segments and from one to the next; the log ends after the last; readers
    get them all; indexes are those of the batches.

    Args:
        log: open.
        is_loaded: it was opened and not used since. After a truncation within a batch a log ends
            after a gap, and what was cut from an index is still in its file.
    """
    segments = segments_in_use(log)
    found: list[StoredBatch] = []
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        batches = stored_batches(segment)
        expected = segment.base_offset
        for batch in batches:
            assert batch.first_offset >= expected
            assert batch.last_offset >= batch.first_offset
            expected = batch.last_offset + 1
        assert following is None or expected <= following.base_offset
        assert following is not None or expected <= log.log_end_offset
        assert following is not None or not is_loaded or expected == log.log_end_offset
        assert_indexes_sound(segment, is_loaded=is_loaded)
        found += batches
    assert segments[0].base_offset <= log.log_start_offset <= log.log_end_offset
    high = log.log_end_offset if log.commits_appends else log.log_start_offset
    assert not is_loaded or log.high_watermark == high
    assert log.recovery_point <= log.log_end_offset
    visible = [batch for batch in found if batch.last_offset >= log.log_start_offset]
    assert list(read_batches(log)) == visible
    return found


def assert_indexes_sound(segment: LogSegment, *, is_loaded: bool) -> None:
    """Hold the entries of a segment's indexes, on the disk, against its batches."""
    rows = segment.log.batches().rows
    base = segment.base_offset
    index, time_index = segment.offset_index, segment.time_index
    segment.write_out()
    path, size = index.path, None if is_loaded else index.size_in_bytes
    offsets = OffsetIndex.decode(_bytes_of(path, size), base, path)
    by_position = {int(row["position"]): int(row["last_offset"]) for row in rows}
    for offset, position in zip(offsets.offsets.tolist(), offsets.positions.tolist(), strict=True):
        assert by_position.get(position) == offset, (path, offset, position)
    path, size = time_index.path, None if is_loaded else time_index.size_in_bytes
    times = TimeIndex.decode(_bytes_of(path, size), base, path)
    largest = np.maximum.accumulate(rows["max_timestamp"]) if len(rows) else rows["max_timestamp"]
    last_offsets = rows["last_offset"].tolist()
    first_with = dict(zip(largest[::-1].tolist(), last_offsets[::-1], strict=True))
    for timestamp, offset in zip(times.timestamps.tolist(), times.offsets.tolist(), strict=True):
        assert first_with.get(timestamp) == offset, (path, timestamp, offset)
    assert (len(offsets), len(times)) == (index.entries, time_index.entries)


def _bytes_of(path: str, size: int | None) -> bytes:
    return Path(path).read_bytes()[:size] if Path(path).exists() else b""


def assert_epochs_sound(log: Log, log_start: int) -> None:
    """Hold the leader epochs against those in the batches.

    Args:
        log: may start before ``log_start``, which was not checkpointed.
        log_start: epochs before it may be unknown.
    """
    for batch in all_batches(log):
        epoch = log.leader_epochs.epoch_for_offset(batch.first_offset)
        is_forgotten = epoch is None and batch.first_offset < log_start
        assert is_forgotten or epoch == batch.epoch, batch[:3]


def producers(log: Log) -> dict[int, ProducerEntry]:
    """Return what a log knows of its producers, as a snapshot would keep it."""
    return {one.producer_id: one.stored() for one in log.producer_state.producers.values()}


def rebuilt_producers(log: Log) -> dict[int, ProducerEntry]:
    """Return what the batches that are left say of their producers, from the first on."""
    with TemporaryDirectory() as empty:
        state = ProducerStateManager(
            log.topic_partition, empty, LOCAL, ProducerStateConfig(), ManualClock(0)
        )
        for segment in segments_in_use(log):
            rows = segment.log.batches().rows
            rows = rows[rows["last_offset"] >= log.log_start_offset]
            load_producers(state, segment.log, rows)
        return {one.producer_id: one.stored() for one in state.producers.values()}


def assert_producers_sound(log: Log) -> None:
    """Hold the producers against those of the batches that are left.

    What came before the log's start is known from snapshots only: more producers, the beginnings of
    transactions, the batches before a marker, earlier coordinators.
    """
    known = producers(log)
    for producer_id, rebuilt in rebuilt_producers(log).items():
        found, expected = known[producer_id], rebuilt
        first = found.current_transaction_first_offset
        if first is not None and first < log.log_start_offset:
            assert rebuilt.current_transaction_first_offset is not None
            expected = expected._replace(current_transaction_first_offset=first)
        if rebuilt.last_offset is None:
            assert found.last_offset is None or found.last_offset < log.log_start_offset
            expected = expected._replace(
                last_sequence=found.last_sequence,
                last_offset=found.last_offset,
                offset_delta=found.offset_delta,
            )
        if rebuilt.coordinator_epoch is None:
            expected = expected._replace(coordinator_epoch=found.coordinator_epoch)
        assert found == expected


def assert_snapshots_sound(log: Log) -> None:
    """The newest snapshot can be read, and all are within the log.

    Older ones may be torn: a snapshot that was not synced is refused when it is needed, and made
    again from the batches.
    """
    paths = sorted(Path(log.directory).glob("*.snapshot"))
    for path in paths:
        assert log.log_start_offset <= int(path.stem) <= log.log_end_offset, path.name
    if paths:
        ProducerSnapshot.decode(paths[-1].read_bytes(), str(paths[-1]))


def lasting_files(log: Log) -> dict[str, bytes | None]:
    """Return the files of a log that loading it again and again must not change.

    Without the zeros that indexes are allocated with. A log that is empty loses its leader epochs,
    and its snapshot at one load and gets it back at the next, as Kafka's do.
    """
    return {
        name: data.rstrip(b"\0") if data and name.endswith("index") else data
        for name, data in tree(log.directory).items()
        if name != LEADER_EPOCHS
        and not (name.endswith(".snapshot") and int(name[:20]) <= log.log_start_offset)
    }
