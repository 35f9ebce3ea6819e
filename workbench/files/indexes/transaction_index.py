"""Transaction index: the aborted transactions that ended in a segment.

A run of 34-byte entries (`ABORTED_TRANSACTION`) in the order of their ABORT markers, with absolute
offsets. Written only when a transaction with records aborts, so most segments have none. No
checksum, never preallocated; can be rebuilt from the log.

A broker reads only the first byte of an entry's two-byte version, and does not start if that is
above 0.

Kafka: TransactionIndex, AbortedTxn (4.0); since 0.11
"""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptIndexError, InvalidOffsetError, UnsupportedFormatError
from workbench.file_system.local import File, FileSystem
from workbench.files.indexes.entry_run import EntryProblems, EntryRun, IndexFile, falls
from workbench.files.reading import MIB, FileProblem
from workbench.layout.index_entries import ABORTED_TRANSACTION, ABORTED_TRANSACTION_VERSION
from workbench.layout.structure import as_struct

_ENTRY: Final = as_struct(ABORTED_TRANSACTION)
_MOST_ZEROS: Final = MIB // ABORTED_TRANSACTION.itemsize * ABORTED_TRANSACTION.itemsize


class AbortedTxn(NamedTuple):
    """A transaction whose records a read_committed reader leaves out.

    Attributes:
        producer_id: the transaction's producer.
        first_offset: its first record's offset in the partition.
        last_offset: its ABORT marker's offset.
        last_stable_offset: the partition's, once this transaction was decided.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions(NamedTuple):
    """What one segment's index says about a range of offsets.

    Attributes:
        transactions: in the order of their transaction markers.
        is_complete: False when the indexes of later segments must be read too.
    """

    transactions: tuple[AbortedTxn, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True, eq=False)
class TransactionIndex(IndexFile):
    """The entries of one .txnindex file; `len()` is their number.

    Attributes:
        base_offset: the segment's base offset.
        versions: int16[n]; 0.
        producer_ids: int64[n].
        first_offsets: int64[n].
        last_offsets: int64[n]; ascending in a sound index.
        last_stable_offsets: int64[n].
        file_size: in bytes.
        problems: see `reading`. An "unknown version" stops a broker; "below base offset" makes it
            rebuild the segment's indexes; it looks for none of the others.
    """

    base_offset: int
    versions: npt.NDArray[np.int16]
    producer_ids: npt.NDArray[np.int64]
    first_offsets: npt.NDArray[np.int64]
    last_offsets: npt.NDArray[np.int64]
    last_stable_offsets: npt.NDArray[np.int64]
    file_size: int
    problems: tuple[FileProblem, ...] = ()

    entry = ABORTED_TRANSACTION
    table = "aborted_transactions"
    most_bytes = 12 * MIB  # 370,000 aborted transactions in one segment

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        # This file is never preallocated, so zeros at the end are entries too.
        zeros = 0 if run.unread else min(run.slack, _MOST_ZEROS)
        entries = np.frombuffer(run.data + bytes(zeros), ABORTED_TRANSACTION)
        index = cls(
            base_offset=base_offset,
            versions=entries["version"].astype(np.int16),
            producer_ids=entries["producer_id"].astype(np.int64),
            first_offsets=entries["first_offset"].astype(np.int64),
            last_offsets=entries["last_offset"].astype(np.int64),
            last_stable_offsets=entries["last_stable_offset"].astype(np.int64),
            file_size=run.file_size,
        )
        return replace(index, problems=_problems(index, run))

    def encode(self) -> bytes:
        """Return the bytes of all entries."""
        entries = np.empty(len(self), ABORTED_TRANSACTION)
        entries["version"] = self.versions
        entries["producer_id"] = self.producer_ids
        entries["first_offset"] = self.first_offsets
        entries["last_offset"] = self.last_offsets
        entries["last_stable_offset"] = self.last_stable_offsets
        return entries.tobytes()

    def __len__(self) -> int:
        return len(self.producer_ids)

    def __getitem__(self, slot: int) -> AbortedTxn:
        return AbortedTxn(
            int(self.producer_ids[slot]),
            int(self.first_offsets[slot]),
            int(self.last_offsets[slot]),
            int(self.last_stable_offsets[slot]),
        )

    def __iter__(self) -> Iterator[AbortedTxn]:
        return map(
            AbortedTxn,
            self.producer_ids.tolist(),
            self.first_offsets.tolist(),
            self.last_offsets.tolist(),
            self.last_stable_offsets.tolist(),
        )

    def collect_aborted(self, fetch_offset: int, upper_bound: int) -> AbortedTransactions:
        """Return the aborted transactions with records in a range.

        Args:
            fetch_offset: first offset of the range, inclusive.
            upper_bound: end of the range, exclusive.

        Returns:
            Those of this segment; complete once an entry's last stable offset reaches
            ``upper_bound``: no later marker can then end a transaction in the range.

        Kafka: TransactionIndex.collectAbortedTxns (4.0)
        """
        beyond = np.flatnonzero(self.last_stable_offsets >= upper_bound)
        end = int(beyond[0]) + 1 if len(beyond) else len(self)
        wanted = (self.last_offsets[:end] >= fetch_offset) & (
            self.first_offsets[:end] < upper_bound
        )
        slots = np.flatnonzero(wanted).tolist()
        return AbortedTransactions(tuple(self[slot] for slot in slots), bool(len(beyond)))


def encode_entry(transaction: AbortedTxn) -> bytes:
    """Return the bytes of one entry."""
    return _ENTRY.pack(ABORTED_TRANSACTION_VERSION, *transaction)


def _problems(index: TransactionIndex, run: EntryRun) -> tuple[FileProblem, ...]:
    def describe(slot: int) -> str:
        transaction = index[slot]
        return (
            f"version {index.versions[slot]}, producer id {transaction.producer_id}, "
            f"offsets {transaction.first_offset} to {transaction.last_offset}"
        )

    problems = EntryProblems(run, ABORTED_TRANSACTION.itemsize, describe)
    refused = index.versions >> 8 > 0
    problems.add_where("unknown version", refused, "version 0")
    below = index.last_offsets < index.base_offset
    problems.add_where("below base offset", below, f"an end at {index.base_offset} or above")
    odd = (index.versions != ABORTED_TRANSACTION_VERSION) & ~refused
    # Up to 2.3, a marker whose records are no longer in the log begins its own transaction; a
    # marker at offset 0 has no records to lose.
    no_range = (index.first_offsets < 0) | (index.first_offsets > index.last_offsets)
    no_range |= index.last_offsets == 0
    problems.add_where("bad value", odd | no_range, "version 0 and a range of offsets")
    falling = falls(index.last_offsets, or_stays=True)
    problems.add_where("wrong order", falling, "an end after the previous entry's")
    return problems.found()


_ENTRY_SIZE: Final = ABORTED_TRANSACTION.itemsize
_STEP: Final = MIB // _ENTRY_SIZE * _ENTRY_SIZE  # bytes read at a time
_MOST_BYTES: Final = 1 << 30  # a segment of 2 GiB has no room for so many markers


class WritableTransactionIndex:
    """The aborted transactions of a segment; the file is not opened until it is needed.

    Only the thread that holds the log's lock may change it. Any number may read meanwhile.

    Attributes:
        path: follows `rename_to` and `update_directory`.
        base_offset: the segment's base offset.

    Kafka: TransactionIndex (4.2)
    """

    def __init__(self, fs: FileSystem, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._fs = fs
        self._file: File = fs.open(path)
        self._size: int | None = None  # bytes; -1: there is no file; None: not known yet
        self._naming = threading.RLock()  # held while the file is opened or renamed
        self._last_offset: int | None = None  # last one appended here; None: nothing was

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the file; 0 if there is none."""
        return max(self._find_size(), 0)

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry.

        Kafka: TransactionIndex.isEmpty (4.2)
        """
        return self._find_size() < _ENTRY_SIZE

    def append(self, transaction: AbortedTxn) -> None:
        """Append a transaction; the first creates the file.

        Raises:
            InvalidOffsetError: it does not end after the last one appended here.

        Kafka: TransactionIndex.append (4.2)
        """
        if self._last_offset is not None and transaction.last_offset <= self._last_offset:
            raise InvalidOffsetError(
                f"{self.path}: a transaction that ends at {transaction.last_offset} is not after "
                f"the last one, which ends at {self._last_offset}"
            )
        size = self._find_size()
        if size < 0:
            self._file = self._fs.create(self.path)
            size = 0
        self._file.write(encode_entry(transaction), size)
        self._size = size + _ENTRY_SIZE
        self._last_offset = transaction.last_offset

    def all_aborted(self) -> list[AbortedTxn]:
        """Return the transactions in the order of their transaction markers.

        Raises:
            CorruptIndexError: the file is larger than it can be.
            UnsupportedFormatError: an entry's version is unknown.

        Kafka: TransactionIndex.allAbortedTxns (4.2)
        """
        found: list[AbortedTxn] = []
        for first, entries in self._read():
            self._check_versions(first, entries)
            found += _transactions(entries)
        return found

    def collect_aborted(self, fetch_offset: int, upper_bound: int) -> AbortedTransactions:
        """Return the aborted transactions with records in a range; see `TransactionIndex`.

        Args:
            fetch_offset: first offset of the range, inclusive.
            upper_bound: end of the range, exclusive.

        Raises:
            CorruptIndexError: the file is larger than it can be.
            UnsupportedFormatError: an entry's version is unknown.

        Kafka: TransactionIndex.collectAbortedTxns (4.2)
        """
        found: list[AbortedTxn] = []
        is_complete = False
        for first, read in self._read():
            beyond = np.flatnonzero(read["last_stable_offset"] >= upper_bound)
            is_complete = bool(len(beyond))
            entries = read[: int(beyond[0]) + 1] if is_complete else read
            self._check_versions(first, entries)
            wanted = entries["last_offset"] >= fetch_offset
            wanted &= entries["first_offset"] < upper_bound
            found += _transactions(entries[wanted])
            if is_complete:
                break
        return AbortedTransactions(tuple(found), is_complete)

    def sanity_check(self) -> None:
        """Check every entry.

        Raises:
            CorruptIndexError: one ends before the segment begins, or the file is larger than it
                can be.
            UnsupportedFormatError: an entry's version is unknown.

        Kafka: TransactionIndex.sanityCheck (4.2)
        """
        for first, entries in self._read():
            below = np.flatnonzero(entries["last_offset"] < self.base_offset)
            self._check_versions(first, entries[: int(below[0]) + 1] if len(below) else entries)
            if len(below):
                slot = int(below[0])
                end = entries["last_offset"][slot]
                problem = f"a transaction ends at {end}, below base offset {self.base_offset}"
                raise CorruptIndexError(self.path, (first + slot) * _ENTRY_SIZE, problem)

    def truncate_to(self, offset: int) -> None:
        """Remove the first entry whose transaction ends at ``offset`` or above, and all after it.

        Raises:
            CorruptIndexError: the file is larger than it can be.
            UnsupportedFormatError: an entry's version is unknown.

        Kafka: TransactionIndex.truncateTo (4.2)
        """
        before: int | None = None  # last offset of the entry before
        for first, entries in self._read():
            doomed = np.flatnonzero(entries["last_offset"] >= offset)
            self._check_versions(first, entries[: int(doomed[0]) + 1] if len(doomed) else entries)
            if len(doomed):
                slot = int(doomed[0])
                size = (first + slot) * _ENTRY_SIZE
                self._file.truncate(size)
                self._size = size
                self._last_offset = int(entries["last_offset"][slot - 1]) if slot else before
                return
            before = int(entries["last_offset"][-1])

    def reset(self) -> None:
        """Remove all entries.

        Kafka: TransactionIndex.reset (4.2)
        """
        if self._find_size() >= 0:
            self._file.truncate(0)
            self._size = 0
        self._last_offset = None

    def flush(self) -> None:
        """Write the entries to the disk before returning.

        Kafka: TransactionIndex.flush (4.2)
        """
        if self._find_size() >= 0:
            self._file.sync()

    def close(self) -> None:
        """Close the file; it opens again when it is used again.

        Kafka: TransactionIndex.close (4.2)
        """
        self._file.close()

    def close_handler(self) -> None:
        """Close the file like `close`; the name is the same for all files of a segment."""
        self.close()

    def rename_to(self, path: str) -> None:
        """Rename the file, if there is one.

        Kafka: TransactionIndex.renameTo (4.2)
        """
        with self._naming, self._file.naming:
            try:
                self._fs.rename(self.path, path)
            except FileNotFoundError:
                if self._fs.exists(self.path):
                    raise
            finally:
                self.path = self._file.path = path

    def hold_name(self, stack: ExitStack) -> None:
        """Keep all threads from opening the file by its name until ``stack`` is closed."""
        stack.enter_context(self._naming)
        stack.enter_context(self._file.naming)

    def update_directory(self, directory: str) -> None:
        """Update the path after the folder was renamed.

        Kafka: TransactionIndex.updateParentDir (4.2)
        """
        self.path = self._file.path = os.path.join(directory, os.path.basename(self.path))

    def delete_if_exists(self) -> bool:
        """Remove the file; return whether it existed.

        Kafka: TransactionIndex.deleteIfExists (4.2)
        """
        self.close()
        self._size = self._last_offset = None
        try:
            self._fs.remove(self.path)
        except FileNotFoundError:
            return False
        return True

    def _find_size(self) -> int:
        size = self._size
        if size is None:
            with self._naming:
                size = self._size  # another thread found it, and may have created the file since
                if size is None:
                    try:
                        size = self._fs.stat(self.path).size
                    except FileNotFoundError:
                        size = -1
                    self._size = size
        return size

    def _read(self) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield runs of entries, ABORTED_TRANSACTION[n], each with the number of its first."""
        size = self._find_size()
        if size > _MOST_BYTES:
            problem = f"{size} bytes, expected at most {_MOST_BYTES}"
            raise CorruptIndexError(self.path, None, problem)
        end = size - size % _ENTRY_SIZE if size > 0 else 0
        for start in range(0, end, _STEP):
            data = np.empty(min(_STEP, end - start), np.uint8)
            got = self._file.read_into(data, start)
            entries = data[: got - got % _ENTRY_SIZE].view(ABORTED_TRANSACTION)
            if not len(entries):
                return
            yield start // _ENTRY_SIZE, entries

    def _check_versions(self, first: int, entries: npt.NDArray[Any]) -> None:
        """Reject entries of a version above the known one; a broker reads its first byte.

        Args:
            first: number of the first entry in the file.
            entries: a run of them.
        """
        refused = np.flatnonzero(entries["version"] >> 8 > ABORTED_TRANSACTION_VERSION)
        if len(refused):
            slot = int(refused[0])
            version = int(entries["version"][slot]) >> 8
            problem = f"unknown version of an aborted transaction (found {version}, expected 0)"
            raise UnsupportedFormatError(self.path, (first + slot) * _ENTRY_SIZE, problem)


def _transactions(entries: npt.NDArray[Any]) -> list[AbortedTxn]:
    return [AbortedTxn(*numbers[1:]) for numbers in entries.tolist()]
