import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptIndexError, OffsetOverflowError
from workbench.files.indexes.offset_index import (
    OffsetIndex,
    OffsetPosition,
    encode_entry,
    read_last,
)

BASE = 345
ALLOCATED = 10 * 1024 * 1024

INDEXES = st.tuples(
    st.lists(st.integers(0, 1000), unique=True, max_size=30).map(sorted),
    st.lists(st.integers(1, 100_000), unique=True, min_size=30, max_size=30).map(sorted),
).map(
    lambda columns: [
        OffsetPosition(BASE + relative, position)
        for relative, position in zip(*columns, strict=False)
    ]
)


def encoded(entries: list[OffsetPosition]) -> bytes:
    return b"".join(encode_entry(BASE, *entry) for entry in entries)


def naive_lookup(entries: list[OffsetPosition], target: int) -> OffsetPosition:
    found = OffsetPosition(BASE, 0)
    for entry in entries:
        if entry.offset <= target:
            found = entry
    return found


@given(INDEXES, st.integers(BASE - 5, BASE + 1010))
def test_lookup_gives_what_a_linear_scan_finds(entries: list[OffsetPosition], target: int) -> None:
    """OI-1."""
    index = OffsetIndex.decode(encoded(entries), BASE)
    assert index.lookup(target) == naive_lookup(entries, target)


@given(INDEXES, st.integers(0, 100_000), st.integers(0, 5000))
def test_the_upper_bound_is_what_a_linear_scan_finds(
    entries: list[OffsetPosition], position: int, size: int
) -> None:
    index = OffsetIndex.decode(encoded(entries), BASE)
    bounds = [entry for entry in entries if entry.position >= position + size]
    assert index.fetch_upper_bound(position, size) == (bounds[0] if bounds else None)


@given(INDEXES, st.integers(0, 4))
def test_entries_round_trip_whatever_zeros_stand_behind(
    entries: list[OffsetPosition], zeros: int
) -> None:
    """DU-3: an index that was not cut to size shows the entries in use and no mismatch."""
    data = encoded(entries) + bytes(8 * zeros)
    index = OffsetIndex.decode(data, BASE)
    assert list(index) == entries
    assert [index[slot] for slot in range(len(index))] == entries
    assert (index.slack, index.file_size) == (8 * zeros, len(data))
    assert index.encode() == encoded(entries)


def test_an_index_starts_at_the_segment_when_it_has_no_entries() -> None:
    """OI-2, DU-4."""
    index = OffsetIndex.decode(b"", BASE)
    assert len(index) == 0
    assert index.lookup(BASE + 10) == (BASE, 0)
    assert index.last_offset == BASE
    assert index.fetch_upper_bound(0, 0) is None
    with pytest.raises(IndexError):
        index[0]


def test_an_entry_is_reached_by_its_number() -> None:
    """OI-2."""
    entries = [OffsetPosition(BASE + n, 10 * n) for n in (51, 52, 53, 54)]
    index = OffsetIndex.decode(encoded(entries), BASE)
    assert [index[n] for n in range(4)] == entries
    assert index[-1] == entries[3]


def test_the_upper_bound_of_a_fetch_is_the_first_entry_behind_it() -> None:
    """OI-4."""
    entries = [OffsetPosition(BASE + n, p) for n, p in enumerate((0, 10, 23, 37))]
    index = OffsetIndex.decode(encoded(entries), BASE)
    first, second, third, fourth = entries
    assert index.fetch_upper_bound(first.position, 5) == second
    assert index.fetch_upper_bound(first.position, 10) == second
    assert index.fetch_upper_bound(first.position, 22) == third
    assert index.fetch_upper_bound(first.position, 23) == third
    assert index.fetch_upper_bound(second.position, 24) == fourth
    assert index.fetch_upper_bound(fourth.position, 1) is None
    assert index.fetch_upper_bound(first.position, 200) is None


def test_a_read_only_index_sees_what_was_trimmed_on_close(tmp_path: Path) -> None:
    """OI-5."""
    path = tmp_path / "00000000000000000345.index"
    entries = [OffsetPosition(BASE + 51, 0x1234), OffsetPosition(BASE + 52, 0x1235)]
    path.write_bytes(encoded(entries))
    index = OffsetIndex.read(str(path), BASE)
    assert list(index) == entries
    assert index.last_offset == BASE + 52
    assert index.slack == 0


def test_a_last_offset_equal_to_the_base_offset_is_sound() -> None:
    """OI-7."""
    index = OffsetIndex.decode(encoded([OffsetPosition(BASE, 10)]), BASE)
    assert index.problems == ()
    assert index.last_offset == BASE


def test_an_offset_must_fit_behind_its_segment() -> None:
    assert encode_entry(BASE, BASE + 2**31 - 1, 0)
    for offset in (BASE - 1, BASE + 2**31):
        with pytest.raises(OffsetOverflowError):
            encode_entry(BASE, offset, 0)


def test_a_file_that_ends_inside_an_entry_is_corrupt_and_still_readable() -> None:
    data = encoded([OffsetPosition(BASE + 1, 10), OffsetPosition(BASE + 2, 20)]) + b"\x00\x00\x01"
    with pytest.raises(CorruptIndexError, match=r"^a\.index at byte 16: unfinished entry"):
        OffsetIndex.decode(data, BASE, "a.index")
    index = OffsetIndex.decode(data, BASE, strict=False)
    assert len(index) == 2
    assert [(problem.kind, problem.position) for problem in index.problems] == [
        ("unfinished entry", 16)
    ]


def test_an_entry_before_its_segment_is_corrupt() -> None:
    data = b"\xff\xff\xff\xff\x00\x00\x00\x05"
    with pytest.raises(CorruptIndexError, match="at byte 0: below base offset") as raised:
        OffsetIndex.decode(data, BASE)
    assert raised.value.position == 0
    assert OffsetIndex.decode(data, BASE, strict=False).last_offset == BASE - 1


def test_entries_that_do_not_ascend_are_corrupt_and_never_skip_records() -> None:
    entries = [OffsetPosition(BASE + 5, 10), OffsetPosition(BASE + 9, 20)]
    data = encoded(entries) + encoded([OffsetPosition(BASE + 7, 30)])
    with pytest.raises(CorruptIndexError, match="at byte 16: wrong order"):
        OffsetIndex.decode(data, BASE)
    index = OffsetIndex.decode(data, BASE, strict=False)
    assert not index.ascends
    assert index.lookup(BASE + 100) == (BASE, 0)
    assert index.fetch_upper_bound(0, 1) is None


def test_zeros_between_entries_are_a_problem() -> None:
    entries = [OffsetPosition(BASE + n, 10 * n) for n in range(1, 9)]
    data = corrupt.zero(encoded(entries), 16, 48)
    index = OffsetIndex.decode(data, BASE, strict=False)
    assert len(index) == 8
    assert [problem.position for problem in index.problems] == [16]
    assert "(and 3 more)" in index.problems[0].found


def test_megabytes_of_garbage_give_a_problem_of_each_kind() -> None:
    garbage = np.random.default_rng(3).bytes(1 << 20)
    index = OffsetIndex.decode(garbage, BASE, strict=False)
    kinds = [problem.kind for problem in index.problems]
    assert sorted(kinds) == ["bad value", "below base offset", "wrong order"]
    assert index.lookup(BASE + 1000) == (BASE, 0)


@given(st.binary(max_size=64), st.integers(0, 2**63 - 1))
def test_any_bytes_give_an_index_or_the_right_error(data: bytes, base_offset: int) -> None:
    index = OffsetIndex.decode(data, base_offset, strict=False)
    if index.problems:
        with pytest.raises(CorruptIndexError):
            OffsetIndex.decode(data, base_offset)
    assert index.encode() == data[: 8 * len(index)]
    index.lookup(base_offset + 3)


@pytest.mark.parametrize("count", [0, 1, 2, 511, 512, 513, 1000, 40_000, ALLOCATED // 8])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_only_the_part_in_use_of_an_allocated_file_is_read(
    tmp_path: Path, count: int, *, is_sparse: bool
) -> None:
    path = tmp_path / "a.index"
    entries = np.empty(count, [("relative_offset", ">i4"), ("position", ">i4")])
    entries["relative_offset"] = np.arange(count)
    entries["position"] = np.arange(1, count + 1) * 256  # the last byte of each is zero
    path.write_bytes(entries.tobytes())
    if is_sparse:
        os.truncate(path, ALLOCATED)
    else:
        corrupt.edit(path, lambda data: data + bytes(ALLOCATED - len(data)))
    index = OffsetIndex.read(str(path), BASE)
    assert len(index) == count
    assert index.slack == ALLOCATED - 8 * count
    assert np.array_equal(index.positions, entries["position"])
    last = read_last(str(path), BASE)
    assert last == (index[-1] if count else None)


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 5000])
@pytest.mark.parametrize("cut_size", [0, 3])
def test_the_last_entry_is_found_without_reading_the_rest(
    tmp_path: Path, count: int, cut_size: int
) -> None:
    path = tmp_path / "a.index"
    entries = [OffsetPosition(BASE + n, 4096 * n) for n in range(1, count + 1)]
    path.write_bytes(encoded(entries) + bytes(cut_size))
    assert read_last(str(path), BASE) == (entries[-1] if entries else None)


def test_entries_behind_a_megabyte_of_zeros_are_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    data = encoded([OffsetPosition(BASE + 1, 10)]) + bytes(1 << 20)
    path.write_bytes(data + encoded([OffsetPosition(BASE + 2, 20)]) + bytes(1 << 20))
    index = OffsetIndex.read(str(path), BASE, strict=False)
    assert index[-1] == (BASE + 2, 20)
    assert index.slack == 1 << 20
    assert [problem.kind for problem in index.problems] == ["wrong order"]


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    for read in (OffsetIndex.read, read_last):
        with pytest.raises(FileNotFoundError):
            read(str(tmp_path / "none.index"), BASE)


def test_an_index_can_be_pickled() -> None:
    index = OffsetIndex.decode(encoded([OffsetPosition(BASE + 1, 10)]), BASE)
    assert list(pickle.loads(pickle.dumps(index))) == [(BASE + 1, 10)]  # noqa: S301
