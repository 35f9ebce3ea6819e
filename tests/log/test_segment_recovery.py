"""Recovering a segment: what is whole is kept, and every index is rebuilt from it."""

import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import mutations
from tests.examples import examples
from tests.log.folder import Folder, batch, flip, keys, marker, produced
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.errors import InvalidOffsetError, OffsetOverflowError
from workbench.file_system.source import FileSource
from workbench.files.indexes.time_index import TimestampOffset
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loading.segment_recovery import recover_segment
from workbench.log.producers.producer import ProducerStateEntry
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.segment import LogSegment
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.recovery import whole_batches

FEW = examples(60)


class Recovered(NamedTuple):
    """A recovered segment and what was found out on the way."""

    segment: LogSegment
    cut: int
    producers: ProducerStateManager
    epochs: LeaderEpochCache

    @property
    def records(self) -> list[Any]:
        return self.segment.log.read(0, self.segment.size).records()


def producer_state(folder: Folder) -> ProducerStateManager:
    context = folder.context
    return ProducerStateManager(
        context.topic_partition,
        context.directory,
        context.fs,
        ProducerStateConfig(),
        context.clock,
    )


def recover(
    folder: Folder, base_offset: int = 0, producers: ProducerStateManager | None = None
) -> Recovered:
    segment = LogSegment.open(folder.context, base_offset, file_exists=True)
    producers = producers or producer_state(folder)
    epochs = LeaderEpochCache(folder.context)
    return Recovered(segment, recover_segment(segment, producers, epochs), producers, epochs)


def write_log(folder: Folder, *batches: MemoryRecords, base_offset: int = 0) -> Path:
    folder.write_raw(base_offset, *batches)
    return folder.file("log", base_offset)


def offset_entries(segment: LogSegment) -> list[tuple[int, ...]]:
    index = segment.offset_index
    return [tuple(index.entry_at(slot)) for slot in range(index.entries)]


def time_entries(segment: LogSegment) -> list[tuple[int, ...]]:
    index = segment.time_index
    return [tuple(index.entry_at(slot)) for slot in range(index.entries)]


def test_an_overwritten_offset_index_is_made_anew(tmp_path: Path) -> None:
    """LS-14."""
    folder = Folder(tmp_path)
    folder.write_segment(0, *(batch(offset) for offset in range(100)))
    folder.file("index", 0).write_bytes(random.Random(3).randbytes(800))
    segment = recover(folder).segment
    for offset in range(100):
        found = segment.read(offset, 1, segment.size, min_one_message=True)
        assert found is not None
        assert found.records.records()[0].offset == offset


def test_an_overwritten_time_index_is_made_anew(tmp_path: Path) -> None:
    """LS-17."""
    folder = Folder(tmp_path)
    batches = [MemoryRecords.of((10 * i, None, b""), base_offset=i) for i in range(100)]
    folder.write_segment(0, *batches)
    folder.file("timeindex", 0).write_bytes(random.Random(4).randbytes(1200))
    segment = recover(folder).segment
    for offset in range(100):
        for later in (0, 1):
            found = segment.find_offset_by_timestamp(10 * offset + later)
            expected = offset + later
            assert (None if found is None else found.offset) == (
                expected if expected < 100 else None
            )


def transactions() -> list[MemoryRecords]:
    """Two producers in turn: the second aborts at 106, the first commits at 107."""
    return [
        produced(100, 2, producer=1, transactional=True),
        produced(102, 2, producer=2, transactional=True),
        batch(104, 2),
        marker(106, producer=2, commit=False),
        marker(107, producer=1, commit=True),
    ]


def test_the_transaction_index_is_made_anew(tmp_path: Path) -> None:
    """LS-15."""
    folder = Folder(tmp_path)
    write_log(folder, *transactions(), base_offset=100)
    recovered = recover(folder, 100)
    assert recovered.segment.transaction_index.all_aborted() == [
        AbortedTxn(producer_id=2, first_offset=102, last_offset=106, last_stable_offset=100)
    ]
    assert recovered.producers.map_end_offset == 108


def test_a_transaction_may_have_begun_in_an_earlier_segment(tmp_path: Path) -> None:
    """LS-15: the producer state says that it began at 75."""
    folder = Folder(tmp_path)
    write_log(folder, *transactions(), base_offset=100)
    producers = producer_state(folder)
    entry = ProducerStateEntry(2, producer_epoch=0)
    entry.current_transaction_first_offset = 75
    producers.load_entries([entry])
    recovered = recover(folder, 100, producers)
    assert recovered.segment.transaction_index.all_aborted() == [
        AbortedTxn(producer_id=2, first_offset=75, last_offset=106, last_stable_offset=100)
    ]


def test_leader_epochs_come_from_the_batches(tmp_path: Path) -> None:
    """LS-16: one for each change."""
    folder = Folder(tmp_path)
    epochs = {104: 0, 105: 0, 106: 1, 108: 1, 110: 2, 111: 1}
    write_log(folder, *(batch(o, epoch=e) for o, e in epochs.items()), base_offset=104)
    recovered = recover(folder, 104)
    assert [tuple(entry) for entry in recovered.epochs.entries] == [(0, 104), (1, 106), (2, 110)]


def test_batches_without_an_epoch_and_of_old_magic_give_none(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    old = MemoryRecords.of((5, b"k0", b""), magic=1)
    write_log(folder, old, batch(1, epoch=-1), batch(2, epoch=4))
    assert [tuple(entry) for entry in recover(folder).epochs.entries] == [(4, 2)]


def test_what_follows_a_damaged_batch_is_cut(tmp_path: Path) -> None:
    """LS-18: whichever byte of it is damaged after its size, and whatever follows."""
    chosen = random.Random(5)
    folder = Folder(tmp_path)
    batches = [batch(offset) for offset in range(20)]
    size = batches[0].size
    for damaged in range(20):
        path = write_log(folder, *batches)
        whole = path.read_bytes()
        kept = size * damaged + chosen.randrange(17, size)
        path.write_bytes(whole[:kept] + bytes(byte ^ 0xFF for byte in whole[kept:]))
        before = len(whole)
        recovered = recover(folder)
        assert [record.key for record in recovered.records] == keys(0, damaged)
        assert path.stat().st_size == sum(one.size for one in batches[:damaged])
        assert recovered.cut == before - path.stat().st_size
        (step,) = (step for step in folder.steps if step.kind == "invalid batch found")
        assert step.numbers == {"position": path.stat().st_size}
        folder.steps.clear()


def test_zeros_behind_the_batches_are_cut(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = write_log(folder, batch(0, 3))
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(5000))
    assert recover(folder).cut == 5000
    assert path.read_bytes() == whole


@pytest.mark.parametrize("size", [13, 0, -1, -(2**31)])
def test_a_size_below_the_smallest_ends_the_batches(tmp_path: Path, size: int) -> None:
    folder = Folder(tmp_path)
    path = write_log(folder, batch(0, 3))
    whole = path.read_bytes()
    path.write_bytes(whole + struct.pack(">qi", 3, size) + bytes(100))
    recovered = recover(folder)
    assert recovered.cut == 112
    assert path.read_bytes() == whole


def test_an_offset_too_far_from_the_base_asks_for_a_split(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = write_log(folder, batch(0), batch(2**31))
    before = path.read_bytes()
    with pytest.raises(OffsetOverflowError):
        recover(folder)
    assert path.read_bytes() == before


def test_offsets_that_fall_cannot_be_indexed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    write_log(folder, batch(0), batch(6), batch(5))
    with pytest.raises(InvalidOffsetError):
        recover(folder)


def test_what_follows_an_unknown_marker_is_cut(tmp_path: Path) -> None:
    """A broker keeps the marker itself: it was counted before it was looked into."""
    folder = Folder(tmp_path)
    strange = MemoryRecords.of(
        (1, struct.pack(">hh", 0, 5), b""),
        base_offset=2,
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        is_control=True,
        is_transactional=True,
    )
    path = write_log(folder, batch(0, 2), strange, batch(3))
    recovered = recover(folder)
    assert path.stat().st_size == batch(0, 2).size + strange.size
    assert recovered.cut == batch(3).size


def test_a_recovered_segment_is_appended_to(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = write_log(folder, batch(0, 3), batch(3, 3))
    path.write_bytes(path.read_bytes()[:-1])
    recovered = recover(folder)
    recovered.segment.resize_indexes()
    recovered.segment.append(5, batch(3, 3))
    assert [record.key for record in recovered.records] == keys(0, 6)


def test_a_producer_that_writes_on_is_known_behind_the_segment(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    write_log(folder, produced(0, 3, producer=7), produced(3, producer=7, sequence=3))
    producers = recover(folder).producers
    entry = producers.last_entry(7)
    assert entry is not None
    assert entry.last_sequence == 3
    assert producers.map_end_offset == 4


def test_an_open_transaction_stays_open(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    write_log(folder, batch(0), produced(1, 2, producer=7, transactional=True))
    first = recover(folder).producers.first_unstable_offset
    assert first is not None
    assert first.offset == 1


# --- properties -----------------------------------------------------------------------------------

sizes = st.integers(0, 300)
times = st.integers(-1, 50)
lengths = st.lists(st.tuples(sizes, times, st.integers(1, 3)), max_size=12)


def written(shapes: list[tuple[int, int, int]]) -> list[MemoryRecords]:
    """Return batches of these shapes, with a gap after each third."""
    batches = []
    offset = 0
    for number, (size, timestamp, count) in enumerate(shapes):
        records = [(timestamp, None, bytes(size))] * count
        batches.append(
            MemoryRecords.of(*records, base_offset=offset, partition_leader_epoch=number // 2)
        )
        offset += count + (7 if number % 3 == 2 else 0)
    return batches


class Naive(NamedTuple):
    """What an indexed segment holds, one batch after the other."""

    offsets: list[tuple[int, ...]]
    times: list[tuple[int, ...]]
    largest: TimestampOffset


def retell(batches: list[MemoryRecords], interval: int, *, recovering: bool) -> Naive:
    """Index batches as LogSegment.append (or recover) does, the plainest way."""
    largest = TimestampOffset(-1, 0)
    offset_index: list[tuple[int, ...]] = []
    time_index: list[tuple[int, ...]] = []
    position = last_entry = 0
    for one in batches:
        row = one.batches().rows[0]
        last_offset, timestamp = int(row["last_offset"]), int(row["max_timestamp"])
        if timestamp > largest.timestamp:
            largest = TimestampOffset(timestamp, last_offset)
        if position - last_entry > interval:
            offset_index.append((last_offset, position))
            if largest.timestamp > (time_index[-1][0] if time_index else -1):
                time_index.append(tuple(largest))
            last_entry = position
        position += one.size
    if recovering and largest.timestamp > (time_index[-1][0] if time_index else -1):
        time_index.append(tuple(largest))
    return Naive(offset_index, time_index, largest)


@FEW
@given(shapes=lengths, interval=st.integers(0, 1000))
def test_index_entries_are_those_of_a_plain_telling(
    shapes: list[tuple[int, int, int]], interval: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("entries")
    folder = Folder(root, settings={"index.interval.bytes": interval})
    batches = written(shapes)
    segment = LogSegment.open(folder.context, 0)
    for one in batches:
        segment.append(int(one.batches().rows["last_offset"][-1]), one)
    told = retell(batches, interval, recovering=False)
    assert offset_entries(segment) == told.offsets
    assert time_entries(segment) == told.times
    assert segment.max_timestamp_so_far == told.largest
    segment.close()
    recovered = recover(folder).segment
    again = retell(batches, interval, recovering=True)
    assert offset_entries(recovered) == again.offsets
    assert time_entries(recovered) == again.times
    assert recovered.max_timestamp_so_far == again.largest


@FEW
@given(shapes=lengths.filter(bool), data=st.data())
def test_a_cut_anywhere_keeps_exactly_the_whole_batches(
    shapes: list[tuple[int, int, int]],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """LS-18."""
    folder = Folder(tmp_path_factory.mktemp("cut"), settings={"index.interval.bytes": 200})
    batches = written(shapes)
    path = write_log(folder, *batches)
    size = path.stat().st_size
    cut = data.draw(st.integers(0, size))
    path.write_bytes(path.read_bytes()[:cut])
    kept: list[MemoryRecords] = []
    for one in batches:
        if sum(each.size for each in kept) + one.size > cut:
            break
        kept.append(one)
    recovered = recover(folder)
    assert path.read_bytes() == b"".join(map(bytes, kept))
    assert recovered.cut == cut - sum(each.size for each in kept)
    told = retell(kept, 200, recovering=True)
    assert offset_entries(recovered.segment) == told.offsets
    assert time_entries(recovered.segment) == told.times
    first = {
        number // 2: int(one.batches().rows["base_offset"][0])
        for number, one in reversed(list(enumerate(kept)))
    }
    assert [tuple(entry) for entry in recovered.epochs.entries] == sorted(first.items())


@FEW
@given(shapes=lengths.filter(bool), data=st.data())
def test_a_changed_byte_ends_the_log_at_its_batch(
    shapes: list[tuple[int, int, int]],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """LS-18: base offset and leader epoch are outside the CRC, and no byte of them is changed."""
    folder = Folder(tmp_path_factory.mktemp("flip"))
    batches = written(shapes)
    path = write_log(folder, *batches)
    number = data.draw(st.integers(0, len(batches) - 1))
    start = sum(one.size for one in batches[:number])
    flip(path, start + data.draw(st.integers(16, batches[number].size - 1)))
    recover(folder)
    assert path.read_bytes() == b"".join(map(bytes, batches[:number]))


@FEW
@given(shapes=lengths.filter(bool), interval=st.integers(0, 600))
def test_lookups_are_those_of_a_scan(
    shapes: list[tuple[int, int, int]], interval: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """LS-3, LS-4, LS-5, LS-11."""
    root = tmp_path_factory.mktemp("lookups")
    folder = Folder(root, settings={"index.interval.bytes": interval})
    batches = written(shapes)
    segment = folder.write_segment(0, *batches)
    records = [record for one in batches for record in one.records()]
    edges = [0, *(int(one.batches().rows["last_offset"][-1]) + 1 for one in batches)]
    for offset in range(edges[-1] + 2):
        found = segment.read(offset, 1, segment.size, min_one_message=True)
        following = [stop for _, stop in pairwise(edges) if stop > offset]
        if not following:
            assert found is None
            continue
        assert found is not None
        last = found.records.records()[-1].offset
        assert last + 1 == following[0]
    for timestamp in range(52):
        hit = segment.find_offset_by_timestamp(timestamp)
        later = [r for r in records if r.timestamp is not None and r.timestamp >= timestamp]
        assert (None if hit is None else hit.offset) == (later[0].offset if later else None)


def test_a_file_that_becomes_shorter_while_it_is_read_ends_the_walk(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    data = (mutations.SAMPLES / "healthy-0" / path.name).read_bytes()
    first = mutations.batch_positions(data)[1]
    for size in (0, 5, 30, first - 1, first, first + 5, first + 70):
        path.write_bytes(data[:size])
        with FileSource(str(path)) as source:
            parts = list(whole_batches(source, len(data)))
        assert sum(len(part.rows) for part in parts) == (size >= first)
