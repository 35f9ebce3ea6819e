"""The transaction index that is written, against Kafka's tests and the index read whole."""

import os
import struct
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.waiting import HANGS_AFTER_S
from workbench.errors import CorruptIndexError, InvalidOffsetError, UnsupportedFormatError
from workbench.file_system.local import LOCAL, FileSystem, Stat
from workbench.files.indexes.transaction_index import (
    AbortedTxn,
    TransactionIndex,
    WritableTransactionIndex,
    encode_entry,
)

FOUR = [
    AbortedTxn(0, 0, 10, 11),
    AbortedTxn(1, 5, 15, 13),
    AbortedTxn(2, 18, 35, 25),
    AbortedTxn(3, 32, 50, 40),
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "0.txnindex")


@pytest.fixture
def index(path: str) -> WritableTransactionIndex:
    return WritableTransactionIndex(LOCAL, path, 0)


def fill(index: WritableTransactionIndex) -> None:
    for transaction in FOUR:
        index.append(transaction)


def test_entries_are_kept_and_more_follow_them(index: WritableTransactionIndex, path: str) -> None:
    """TX-1."""
    fill(index)
    index.close()
    again = WritableTransactionIndex(LOCAL, path, 0)
    more = AbortedTxn(4, 54, 60, 55)
    again.append(more)
    assert again.all_aborted() == [*FOUR, more]
    assert list(TransactionIndex.read(path, 0)) == [*FOUR, more]


def test_entries_before_the_segment_are_not_sane(
    index: WritableTransactionIndex, path: str
) -> None:
    """TX-2."""
    fill(index)
    index.sanity_check()
    with pytest.raises(CorruptIndexError, match="ends at 10, below base offset 100"):
        WritableTransactionIndex(LOCAL, path, 100).sanity_check()


@pytest.mark.parametrize("last_offset", [10, 9])
def test_markers_must_ascend(index: WritableTransactionIndex, last_offset: int) -> None:
    """TX-3."""
    index.append(FOUR[0])
    with pytest.raises(InvalidOffsetError, match="not after the last one, which ends at 10"):
        index.append(AbortedTxn(1, 5, last_offset, 9))
    assert index.all_aborted() == FOUR[:1]


def test_the_aborted_transactions_of_a_range(index: WritableTransactionIndex) -> None:
    """TX-4."""
    fill(index)
    for start, end, wanted, is_complete in (
        (0, 100, FOUR, False),
        (0, 32, FOUR[:3], True),
        (0, 35, FOUR, True),
        (10, 35, FOUR, True),
        (11, 35, FOUR[1:], True),
        (20, 41, FOUR[2:], False),
    ):
        assert index.collect_aborted(start, end) == (tuple(wanted), is_complete)


def test_entries_are_cut_by_offset(index: WritableTransactionIndex, path: str) -> None:
    """TX-5."""
    fill(index)
    index.truncate_to(51)
    assert index.collect_aborted(0, 100) == (tuple(FOUR), False)
    index.truncate_to(50)
    assert index.collect_aborted(0, 100) == (tuple(FOUR[:3]), False)
    index.append(AbortedTxn(3, 32, 36, 40))
    index.reset()
    assert index.collect_aborted(0, 100) == ((), False)
    assert os.path.getsize(path) == 0
    index.append(FOUR[0])
    index.truncate_to(0)
    index.append(FOUR[0])
    assert index.all_aborted() == FOUR[:1]


def test_a_renamed_index_goes_on(index: WritableTransactionIndex, path: str) -> None:
    """TX-6."""
    index.append(FOUR[0])
    index.rename_to(path + ".swap")
    index.append(FOUR[1])
    assert index.all_aborted() == FOUR[:2]
    assert os.path.getsize(path + ".swap") == 2 * 34


def test_an_index_is_made_by_its_first_entry(index: WritableTransactionIndex, path: str) -> None:
    """TX-6."""
    assert index.size_in_bytes == 0
    assert index.collect_aborted(0, 100) == ((), False)
    index.sanity_check()
    index.truncate_to(0)
    index.reset()
    index.flush()
    index.close()
    index.rename_to(path + ".swap")
    index.update_directory(os.path.dirname(path))
    assert not index.delete_if_exists()
    assert os.listdir(os.path.dirname(path)) == []
    index.append(FOUR[0])
    index.flush()
    assert os.path.getsize(path + ".swap") == index.size_in_bytes == 34
    assert not index.is_empty
    assert index.delete_if_exists()
    assert os.listdir(os.path.dirname(path)) == []
    assert index.all_aborted() == []


def entry(transaction: AbortedTxn, version: int = 0) -> bytes:
    return struct.pack(">hqqqq", version, *transaction)


def test_a_newer_version_is_refused_when_it_is_come_to(path: str) -> None:
    """A broker reads one entry after the other, and of a version its first byte."""
    data = entry(FOUR[0], 1) + entry(FOUR[1]) + entry(FOUR[2], 0x100) + entry(FOUR[3])
    Path(path).write_bytes(data)
    index = WritableTransactionIndex(LOCAL, path, 0)
    assert index.collect_aborted(0, 13) == (tuple(FOUR[:2]), True)
    words = r"0\.txnindex at byte 68: unknown version .* \(found 1, expected 0\)"
    for look in (
        index.all_aborted,
        index.sanity_check,
        lambda: index.collect_aborted(0, 14),
        lambda: index.truncate_to(16),
    ):
        with pytest.raises(UnsupportedFormatError, match=words):
            look()
    index.truncate_to(15)
    assert index.all_aborted() == FOUR[:1]
    below = WritableTransactionIndex(LOCAL, path, 11)
    with pytest.raises(CorruptIndexError):
        below.sanity_check()


def test_an_entry_that_is_cut_short_does_not_count(path: str) -> None:
    Path(path).write_bytes(entry(FOUR[0]) + entry(FOUR[1])[:20])
    index = WritableTransactionIndex(LOCAL, path, 0)
    assert index.all_aborted() == FOUR[:1]
    index.sanity_check()


numbers = st.integers(0, 40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 9), numbers, numbers, numbers), max_size=8), numbers, numbers
)
def test_a_range_is_answered_as_by_one_entry_after_the_other(
    tmp_path: Path, entries: list[tuple[int, int, int, int]], start: int, end: int
) -> None:
    """Also where they do not ascend."""
    transactions = [AbortedTxn(*fields) for fields in entries]
    path = tmp_path / "0.txnindex"
    path.write_bytes(b"".join(map(entry, transactions)))
    found, is_complete = [], False
    for transaction in transactions:
        if transaction.last_offset >= start and transaction.first_offset < end:
            found.append(transaction)
        if transaction.last_stable_offset >= end:
            is_complete = True
            break
    index = WritableTransactionIndex(LOCAL, str(path), 0)
    assert index.collect_aborted(start, end) == (tuple(found), is_complete)
    index.truncate_to(start)
    kept = []
    for transaction in transactions:
        if transaction.last_offset >= start:
            break
        kept.append(transaction)
    assert index.all_aborted() == kept


def test_a_large_index_is_read_a_run_at_a_time(path: str) -> None:
    count = 100_000  # 3.4 MB
    entries = [AbortedTxn(7, at, at + 1, at) for at in range(count)]
    Path(path).write_bytes(b"".join(map(encode_entry, entries)))
    index = WritableTransactionIndex(LOCAL, path, 0)
    index.sanity_check()
    assert index.all_aborted() == entries
    assert index.collect_aborted(90_000, 95_000) == (tuple(entries[89_999:95_000]), True)
    assert index.collect_aborted(count - 1, count) == (tuple(entries[-2:]), False)
    for end in (95_000, 2 * 30_840, 5):  # the second: where a run begins
        index.truncate_to(end + 1)
        assert index.size_in_bytes == end * 34
        with pytest.raises(InvalidOffsetError):
            index.append(entries[end - 1])
    assert index.all_aborted() == entries[:5]
    index.close()


def test_an_index_larger_than_any_is_refused_and_not_read(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    index = WritableTransactionIndex(LOCAL, path, 0)
    for look in (index.sanity_check, index.all_aborted, lambda: index.collect_aborted(0, 1)):
        with pytest.raises(CorruptIndexError, match="1099511627776 bytes, expected at most"):
            look()
    index.close()


class SlowToLook(FileSystem):
    """A file system that looks while others go on: at the second look its answer is late."""

    def __init__(self) -> None:
        self.looks = 0
        self.is_looking = threading.Event()
        self.is_written = threading.Event()

    def stat(self, path: str) -> Stat:
        """Return what was there when the look began."""
        self.looks += 1
        is_first = self.looks == 1
        try:
            return super().stat(path)
        finally:
            if is_first:
                self.is_looking.set()
                time.sleep(0.05)  # so that the other thread waits for its turn to look
            else:
                self.is_written.wait(HANGS_AFTER_S)


def test_the_first_entry_is_kept_while_another_thread_looks_for_the_file(path: str) -> None:
    """A reader that looks late must not say that there is no file when one was just created."""
    disk = SlowToLook()
    index = WritableTransactionIndex(disk, path, 0)

    def look() -> None:
        disk.is_looking.wait(HANGS_AFTER_S)
        index.all_aborted()

    reader = threading.Thread(target=look)
    reader.start()
    index.append(FOUR[0])
    disk.is_written.set()
    reader.join(HANGS_AFTER_S)
    assert index.all_aborted() == FOUR[:1]
    index.append(FOUR[1])
    assert list(TransactionIndex.read(path, 0)) == FOUR[:2]
    index.close()
