import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import CorruptIndexError, OffsetOverflowError
from workbench.files.indexes.time_index import TimeIndex, TimestampOffset, encode_entry, read_last

BASE = 45
ALLOCATED = 10 * 1024 * 1024 // 12 * 12

INDEXES = st.tuples(
    st.lists(st.integers(1, 1000), unique=True, max_size=30).map(sorted),
    st.lists(st.integers(0, 100), min_size=30, max_size=30).map(sorted),
).map(
    lambda columns: [
        TimestampOffset(timestamp, BASE + relative)
        for timestamp, relative in zip(*columns, strict=False)
    ]
)


def encoded(entries: list[TimestampOffset]) -> bytes:
    return b"".join(encode_entry(BASE, *entry) for entry in entries)


@given(INDEXES, st.integers(-1, 1010))
def test_lookup_gives_what_a_linear_scan_finds(entries: list[TimestampOffset], time: int) -> None:
    index = TimeIndex.decode(encoded(entries), BASE)
    found = TimestampOffset(-1, BASE)
    for entry in entries:
        if entry.timestamp <= time:
            found = entry
    assert index.lookup(time) == found


def test_lookup_gives_the_last_entry_at_or_before_a_time() -> None:
    """TI-1."""
    assert TimeIndex.decode(b"", BASE).lookup(100) == (-1, BASE)
    entries = [TimestampOffset(10 * n, BASE + 10 * n) for n in (1, 2, 3, 4)]
    index = TimeIndex.decode(encoded(entries), BASE)
    assert index.lookup(9) == (-1, 45)
    assert index.lookup(25) == (20, 65)
    assert index.lookup(30) == (30, 75)


def test_the_last_entry_of_an_empty_index_is_the_segment_s_start() -> None:
    """TI-5."""
    assert TimeIndex.decode(b"", BASE).last_entry == (-1, BASE)
    assert TimeIndex.decode(encoded([TimestampOffset(7, BASE + 1)]), BASE).last_entry == (7, 46)


@given(INDEXES, st.integers(0, 4))
def test_entries_round_trip_whatever_zeros_stand_behind(
    entries: list[TimestampOffset], zeros: int
) -> None:
    """DU-3."""
    if not entries:
        zeros *= 2
    data = encoded(entries) + bytes(12 * zeros)
    index = TimeIndex.decode(data, BASE)
    assert list(index) == entries
    assert index.slack == 12 * zeros
    assert index.encode() == encoded(entries)


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (encoded([TimestampOffset(10, BASE), TimestampOffset(9, BASE + 1)]), 12),
        (encoded([TimestampOffset(10, BASE), TimestampOffset(10, BASE + 1)]), 12),
        (encoded([TimestampOffset(10, BASE + 5), TimestampOffset(11, BASE + 4)]), 12),
        (encode_entry(0, 10, 0) + b"\x00" * 7 + b"\x0b" + b"\xff\xff\xff\xfe", 12),
        (encoded([TimestampOffset(10, BASE)]) + b"\x00", 12),
    ],
)
def test_an_unsound_index_is_corrupt(data: bytes, position: int) -> None:
    """TI-4."""
    with pytest.raises(CorruptIndexError) as raised:
        TimeIndex.decode(data, BASE, "a.timeindex")
    assert raised.value.position == position
    assert raised.value.path == "a.timeindex"
    assert TimeIndex.decode(data, BASE, strict=False).problems


def test_entries_of_one_offset_may_follow_each_other() -> None:
    index = TimeIndex.decode(encoded([TimestampOffset(1, BASE), TimestampOffset(2, BASE)]), BASE)
    assert index.problems == ()


def test_times_that_fall_never_skip_records() -> None:
    data = encoded([TimestampOffset(10, BASE + 5), TimestampOffset(9, BASE + 6)])
    index = TimeIndex.decode(data, BASE, strict=False)
    assert not index.ascends
    assert index.lookup(100) == (-1, BASE)


def test_a_single_entry_for_1970_is_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "a.timeindex"
    path.write_bytes(bytes(12))
    assert list(TimeIndex.read(str(path), BASE)) == [(0, BASE)]
    assert list(TimeIndex.decode(bytes(12), BASE)) == [(0, BASE)]
    assert read_last(str(path), BASE) == (0, BASE)
    assert TimeIndex.decode(bytes(12), BASE).slack == 0


def test_a_first_entry_for_1970_is_an_entry_before_others() -> None:
    entries = [TimestampOffset(0, BASE), TimestampOffset(5, BASE + 1)]
    assert list(TimeIndex.decode(encoded(entries) + bytes(24), BASE)) == entries


@pytest.mark.parametrize("count", [0, 1, 2, 341, 342, 1000, ALLOCATED // 12])
def test_only_the_part_in_use_of_an_allocated_file_is_read(tmp_path: Path, count: int) -> None:
    path = tmp_path / "a.timeindex"
    entries = np.empty(count, [("timestamp", ">i8"), ("relative_offset", ">i4")])
    entries["timestamp"] = np.arange(1, count + 1) * 256
    entries["relative_offset"] = np.arange(count)
    path.write_bytes(entries.tobytes())
    os.truncate(path, ALLOCATED)
    index = TimeIndex.read(str(path), BASE)
    assert np.array_equal(index.timestamps, entries["timestamp"])
    assert index.slack == ALLOCATED - 12 * count
    assert read_last(str(path), BASE) == (index[-1] if count else None)


@given(st.binary(max_size=96), st.integers(0, 2**63 - 1))
def test_any_bytes_give_an_index_or_the_right_error(data: bytes, base_offset: int) -> None:
    index = TimeIndex.decode(data, base_offset, strict=False)
    if index.problems:
        with pytest.raises(CorruptIndexError):
            TimeIndex.decode(data, base_offset)
    assert index.encode() == data[: 12 * len(index)]
    index.lookup(3)


def test_an_offset_must_fit_behind_its_segment() -> None:
    with pytest.raises(OffsetOverflowError):
        encode_entry(BASE, 10, BASE - 1)
