"""The batches of a file, against Kafka's tests and searches in the plainest Python."""

import errno
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive
from tests.engine.file_systems import FailingFileSystem
from tests.naive import Record, batch, message, wrapper
from tests.strategies import logs
from workbench.errors import CorruptFileError, CorruptRecordError
from workbench.file_system.local import LOCAL
from workbench.files.file_records import MAX_SIZE, FileRecords
from workbench.record.memory_records import MemoryRecords

ONE = batch([Record(0, 1, b"abcd", b"efgh")])


def in_file(tmp_path: Path, data: bytes = b"") -> FileRecords:
    path = tmp_path / "0.log"
    path.write_bytes(data)
    return FileRecords.open(LOCAL, str(path))


def sparse(path: Path, size: int) -> FileRecords:
    """Return the records of a file of zeros that takes no space."""
    path.touch()
    os.truncate(path, size)
    return FileRecords.open(LOCAL, str(path))


# --- changing -----------------------------------------------------------------------------------


def test_a_segment_grows_no_larger_than_an_int(tmp_path: Path) -> None:
    """FR-1."""
    records = sparse(tmp_path / "0.log", MAX_SIZE - len(ONE) + 1)
    with pytest.raises(ValueError, match="too many for a segment"):
        records.append(ONE)
    records.truncate_to(MAX_SIZE - len(ONE))
    assert records.append(ONE) == len(ONE)
    assert records.size == MAX_SIZE
    os.remove(records.path)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """FR-2."""
    with pytest.raises(CorruptFileError, match="2147483648 bytes"):
        sparse(tmp_path / "0.log", MAX_SIZE + 1)
    assert sparse(tmp_path / "1.log", MAX_SIZE).size == MAX_SIZE


def test_what_is_appended_is_there(tmp_path: Path) -> None:
    records = FileRecords.open(LOCAL, str(tmp_path / "0.log"), exists=False)
    for data in (ONE, MemoryRecords.copy_of(ONE), np.frombuffer(ONE, np.uint8), memoryview(ONE)):
        assert records.append(data) == len(ONE)
    assert len(records.batches()) == 4
    assert (tmp_path / "0.log").read_bytes() == 4 * ONE == bytes(records.read(0, records.size))
    again = FileRecords.open(LOCAL, records.path)
    assert again.size == 4 * len(ONE)


def test_a_failed_append_does_not_count(tmp_path: Path) -> None:
    fs = FailingFileSystem(1, "short", only=lambda operation: operation.kind == "write")
    records = FileRecords.open(fs, str(tmp_path / "0.log"), exists=False)
    records.append(ONE)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        records.append(ONE)
    assert records.size == len(ONE)
    assert len(records.batches()) == 1
    records.append(ONE)
    assert (tmp_path / "0.log").read_bytes() == 2 * ONE


def test_a_file_is_cut_to_a_size(tmp_path: Path) -> None:
    """FR-10."""
    records = in_file(tmp_path, 3 * ONE)
    assert records.truncate_to(2 * len(ONE)) == len(ONE)
    assert records.size == os.path.getsize(records.path) == 2 * len(ONE)
    assert len(records.batches()) == 2


def test_a_cut_to_the_same_size_does_not_touch_the_file(tmp_path: Path) -> None:
    """FR-10."""
    records = in_file(tmp_path, ONE)
    LOCAL.set_modified(records.path, 1000)
    assert records.truncate_to(len(ONE)) == 0
    records.trim()
    assert LOCAL.stat(records.path).modified_ms == 1000


@pytest.mark.parametrize("size", [len(ONE) + 1, -1])
def test_a_file_is_not_cut_to_what_it_is_not(tmp_path: Path, size: int) -> None:
    """FR-10."""
    records = in_file(tmp_path, ONE)
    with pytest.raises(ValueError, match="cannot be truncated"):
        records.truncate_to(size)


def test_a_file_may_be_allocated_ahead(tmp_path: Path) -> None:
    """FR-11."""
    path = str(tmp_path / "0.log")
    records = FileRecords.open(LOCAL, path, exists=False, preallocate_size=1 << 20)
    assert records.size == 0
    assert os.path.getsize(path) == 1 << 20
    records.append(ONE)
    assert records.size == len(ONE)
    assert os.path.getsize(path) == 1 << 20
    plain = FileRecords.open(LOCAL, str(tmp_path / "1.log"), exists=False)
    assert plain.size == os.path.getsize(plain.path) == 0


def test_a_file_allocated_ahead_is_trimmed_when_it_is_closed(tmp_path: Path) -> None:
    """FR-12."""
    path = str(tmp_path / "0.log")
    records = FileRecords.open(LOCAL, path, exists=False, preallocate_size=1 << 20)
    records.append(ONE)
    records.close()
    again = FileRecords.open(LOCAL, path, preallocate_size=1 << 20)
    assert again.size == os.path.getsize(path) == len(ONE)


def test_after_a_crash_all_that_was_allocated_counts(tmp_path: Path) -> None:
    path = str(tmp_path / "0.log")
    records = FileRecords.open(LOCAL, path, exists=False, preallocate_size=1 << 10)
    records.append(ONE)
    records.close_handler()
    crashed = FileRecords.open(LOCAL, path)
    assert crashed.size == 1 << 10
    with pytest.raises(
        CorruptRecordError, match=r"batch size is too small \(found 0, expected at least 14\)"
    ):
        crashed.batches()
    assert len(crashed.batches(0, len(ONE))) == 1


def test_records_go_with_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    records = in_file(folder, ONE)
    records.rename_to(str(folder / "0.log.deleted"))
    records.append(ONE)
    folder.rename(tmp_path / "orders-0-delete")
    records.update_directory(str(tmp_path / "orders-0-delete"))
    records.flush()
    records.close()
    assert len(records.batches()) == 2
    assert records.path == str(tmp_path / "orders-0-delete/0.log.deleted")
    assert records.delete_if_exists()
    assert not records.delete_if_exists()


# --- reading ------------------------------------------------------------------------------------


def test_what_lies_outside_is_refused_or_left_out(tmp_path: Path) -> None:
    """FR-3 FR-7."""
    records = in_file(tmp_path, 3 * ONE)
    size = len(ONE)
    for position, wanted in ((3 * size + 1, 15), (-1, 5), (0, -1)):
        with pytest.raises(ValueError, match=r"cannot read .* bytes from byte"):
            records.read(position, wanted)
    assert records.read(3 * size, 15).size == 0
    assert bytes(records.read(0, 10 * size)) == 3 * ONE
    assert bytes(records.read(size, 2**31 - 1)) == 2 * ONE
    assert bytes(records.read(size, size)) == ONE
    assert [row["position"] for row in records.read(size, 2 * size).batches().rows] == [0, size]


def test_what_was_read_stays_as_it_was(tmp_path: Path) -> None:
    """FR-5."""
    records = in_file(tmp_path, 2 * ONE)
    table = records.batches()
    taken = records.read(0, 2 * len(ONE) + 50)
    records.append(ONE)
    assert taken.size == 2 * len(ONE)
    assert len(table) == len(taken.batches()) == 2


def test_a_part_that_is_a_byte_short_has_no_batch(tmp_path: Path) -> None:
    """FR-9."""
    records = in_file(tmp_path, ONE)
    assert len(records.batches(0, len(ONE) - 1)) == 0
    assert len(records.read(0, len(ONE) - 1).batches()) == 0
    assert len(records.batches(0, len(ONE))) == 1


def test_first_and_last_batch(tmp_path: Path) -> None:
    large = batch([Record(7, 5, None, bytes(200_000))])
    records = in_file(tmp_path, large + ONE + ONE[:-1])
    first, last = records.first_batch(), records.last_batch()
    assert first is not None
    assert last is not None
    assert (first["base_offset"], first["size"], last["position"]) == (7, len(large), len(large))
    assert records.first_batch(len(large) + len(ONE)) is None
    assert records.last_batch(len(large) + len(ONE)) is None
    assert in_file(tmp_path).first_batch() is None


@pytest.mark.parametrize("size", [13, 0, -1])
@pytest.mark.parametrize("rest", [17, 18, 100])
def test_a_size_that_cannot_be_ends_every_walk(tmp_path: Path, size: int, rest: int) -> None:
    """17 bytes after the last batch are not looked at: no batch is so small."""
    bad = (bytes(8) + size.to_bytes(4, signed=True) + bytes(100))[:rest]
    records = in_file(tmp_path, ONE + bad)
    if rest == 17:
        assert len(records.batches()) == 1
        assert records.search_for_offset(5) is None
        assert records.search_for_timestamp(5, 0, 0) is None
        return
    words = (
        rf"at byte {len(ONE)}: the batch size is too small \(found {size}, expected at least 14\)"
    )
    for search in (
        records.batches,
        lambda: records.search_for_offset(5),
        lambda: records.search_for_timestamp(5, 0, 0),
        records.largest_timestamp_after,
    ):
        with pytest.raises(CorruptRecordError, match=words):
            search()
    assert records.search_for_timestamp(1, 0, 0) == (1, 0, 0)  # found before


# --- searching ----------------------------------------------------------------------------------


def test_an_offset_leads_to_the_batch_that_reaches_it(tmp_path: Path) -> None:
    """FR-8."""
    parts = [batch([Record(0)]), batch([Record(1)]), batch([Record(2)]), batch([Record(50)])]
    places = np.cumsum([0, *map(len, parts)]).tolist()
    records = in_file(tmp_path, b"".join(parts))
    assert records.search_for_offset(0) == (0, 0, len(parts[0]))
    assert records.search_for_offset(1) == (1, places[1], len(parts[1]))
    for offset in (3, 50):
        assert records.search_for_offset(offset) == (50, places[3], len(parts[3]))
    assert records.search_for_offset(1, places[2]) == (2, places[2], len(parts[2]))
    assert records.search_for_offset(51) is None
    assert in_file(tmp_path).search_for_offset(0) is None


def test_a_time_leads_to_the_first_record_at_or_after_it(tmp_path: Path) -> None:
    """FR-13."""
    records = in_file(tmp_path, batch([Record(5, 10)]) + batch([Record(6, 11)], leader_epoch=1))
    assert records.search_for_timestamp(10, 0, 0) == (10, 5, 0)
    assert records.search_for_timestamp(10, 0, 5) == (10, 5, 0)
    assert records.search_for_timestamp(10, 0, 6) == (11, 6, 1)
    assert records.search_for_timestamp(11, 0, 0) == (11, 6, 1)
    assert records.search_for_timestamp(12, 0, 0) is None
    assert records.largest_timestamp_after() == (11, 6, 1)


def test_old_messages_have_no_times_or_no_leader_epochs(tmp_path: Path) -> None:
    """FR-13."""
    without = in_file(tmp_path, message(0, Record(5)) + wrapper(0, [Record(6), Record(7)], 1))
    assert without.search_for_timestamp(0, 0, 0) is None
    assert without.largest_timestamp_after() == (-1, -1, None)
    records = in_file(tmp_path, wrapper(1, [Record(5, 10), Record(6, 11)], 2))
    assert records.search_for_timestamp(11, 0, 0) == (11, 6, None)
    assert records.largest_timestamp_after() == (11, 6, None)


def test_the_base_offset_of_a_wrapper_is_that_of_its_first_message(tmp_path: Path) -> None:
    """Its header has the last one."""
    first = wrapper(1, [Record(5), Record(9)], 1)
    records = in_file(tmp_path, first + wrapper(1, [Record(12), Record(13)], 2))
    for offset in (0, 5, 7, 9):
        assert records.search_for_offset(offset) == (5, 0, len(first))
    for offset in (10, 12, 13):
        found = records.search_for_offset(offset)
        assert found is not None
        assert (found.offset, found.position) == (12, len(first))


@pytest.mark.parametrize("codec", range(5))
def test_a_batch_that_cannot_be_read_is_told_with_its_place(tmp_path: Path, codec: int) -> None:
    bad = batch([Record(1, 20, b"k", b"v")], codec, payload=b"\xff" * 30)
    records = in_file(tmp_path, ONE + bad)
    with pytest.raises(CorruptRecordError, match=f"0.log at byte {len(ONE)}: "):
        records.search_for_timestamp(5, 0, 0)


class Plain(NamedTuple):
    """A batch as Kafka's searches see it."""

    position: int
    size: int
    base: int
    last: int
    max_timestamp: int
    epoch: int | None
    records: list[Record]


def plain_batches(data: bytes) -> Iterator[Plain]:
    """Walk over sound bytes of any mixture of formats."""
    position = 0
    while position < len(data):
        offset, length = struct.unpack_from(">qi", data, position)
        size = length + 12
        entry = data[position : position + size]
        records = naive.read(entry)
        if entry[16] == 2:
            epoch, delta = struct.unpack_from(">i", entry, 12), struct.unpack_from(">i", entry, 23)
            latest = struct.unpack_from(">q", entry, 35)[0]
            known = None if epoch[0] == -1 else epoch[0]
            yield Plain(position, size, offset, offset + delta[0], latest, known, records)
        else:
            time = struct.unpack_from(">q", entry, 18)[0] if entry[16] == 1 else -1
            yield Plain(position, size, records[0].offset, offset, time, None, records)
        position += size


def kafka_search_for_offset(data: bytes, target: int) -> tuple[int, int, int] | None:
    """Do what FileRecords.searchForOffsetFromPosition of Kafka 4.2 does."""
    before: Plain | None = None
    for found in plain_batches(data):
        if found.base == target:
            return found.base, found.position, found.size
        if found.base > target:
            if before is not None and before.last >= target:
                return before.base, before.position, before.size
            return found.base, found.position, found.size
        before = found
    if before is not None and before.last >= target:
        return before.base, before.position, before.size
    return None


def kafka_search_for_timestamp(
    data: bytes, target: int, start: int
) -> tuple[int, int, int | None] | None:
    """Do what FileRecords.searchForTimestamp of Kafka 4.2 does."""
    for found in plain_batches(data):
        if found.max_timestamp >= target:
            for record in found.records:
                if record.timestamp >= target and record.offset >= start:
                    return record.timestamp, record.offset, found.epoch
    return None


@given(logs, st.data())
def test_searches_find_what_kafka_s_find_whatever_the_batches(
    data: bytes, draw: st.DataObject
) -> None:
    """FR-8 FR-13 for all formats and codecs, even where offsets do not ascend."""
    batches = list(plain_batches(data))
    offsets = sorted({number for found in batches for number in (found.base, found.last)})
    times = sorted({record.timestamp for found in batches for record in found.records})
    near = st.sampled_from([0, *offsets]).flatmap(lambda at: st.integers(at - 2, at + 2))
    target = draw.draw(near)
    time = draw.draw(st.sampled_from([0, *times]).flatmap(lambda at: st.integers(at - 1, at + 1)))
    with tempfile.TemporaryDirectory() as folder:
        records = in_file(Path(folder), data)
        assert records.search_for_offset(target) == kafka_search_for_offset(data, target)
        found = records.search_for_timestamp(time, 0, target)
        assert found == kafka_search_for_timestamp(data, time, target)
        records.close()


@pytest.mark.parametrize("size", [10, 5000, 300_000])
def test_batches_are_found_however_far_away_and_however_large(tmp_path: Path, size: int) -> None:
    """In the first window or a later one, whatever the last search found."""
    count = 400 if size < 300_000 else 60
    one = bytearray(batch([Record(0, 0, b"k", bytes(size)), Record(1, 0, b"k", b"v")]))
    data = bytearray()
    for number in range(count):
        one[:8] = struct.pack(">q", 3 * number)  # every third offset is nowhere
        one[27:43] = struct.pack(">qq", 10 * number, 10 * number)
        data += one
    records = in_file(tmp_path, bytes(data))
    for number in range(0, count, 7):
        place = (3 * number, number * len(one), len(one))
        assert records.search_for_offset(3 * number) == place
        assert records.search_for_offset(3 * number + 1) == place
        if number:
            assert records.search_for_offset(3 * number - 1) == place
        assert records.search_for_timestamp(10 * number, 0, 0) == (10 * number, 3 * number, 0)
    assert records.search_for_offset(3 * count) is None
    start = (count - 2) * len(one)
    assert records.search_for_offset(0, start) == (3 * (count - 2), start, len(one))
