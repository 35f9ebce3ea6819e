"""Transaction index that aborted transactions are appended to.

The file is made by the first of them: most segments have none.

Kafka: TransactionIndex (4.2)
"""

import os
import threading
from contextlib import ExitStack
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptIndexError, InvalidOffsetError, UnsupportedFormatError
from workbench.file_system.local import File, FileSystem
from workbench.files.transaction_index import (
    AbortedTransaction,
    AbortedTransactions,
    encode_entry,
)
from workbench.layout.index_entries import ABORTED_TRANSACTION, ABORTED_TRANSACTION_VERSION

_ENTRY_SIZE: Final = ABORTED_TRANSACTION.itemsize
_NOTHING: Final = AbortedTransactions((), is_complete=False)


class WritableTransactionIndex:
    """The aborted transactions of a segment; the file is looked at when it is first asked for.

    One thread at a time may change it: who holds the log's lock. Any number may read meanwhile.

    Attributes:
        path: follows `rename_to` and `update_directory`.
        base_offset: of the segment.

    Kafka: TransactionIndex (4.2)
    """

    def __init__(self, fs: FileSystem, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._fs = fs
        self._file: File = fs.open(path)
        self._size: int | None = None  # bytes; -1: there is no file; None: not looked at yet
        self._naming = threading.RLock()  # held while it is looked for, or renamed
        self._last_offset: int | None = None  # of what was appended here; None: nothing was

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

    def append(self, transaction: AbortedTransaction) -> None:
        """Append a transaction; the first makes the file.

        Raises:
            InvalidOffsetError: it does not end behind the last that was appended here.

        Kafka: TransactionIndex.append (4.2)
        """
        if self._last_offset is not None and transaction.last_offset <= self._last_offset:
            raise InvalidOffsetError(
                f"{self.path}: a transaction that ends at {transaction.last_offset} is not behind "
                f"the last one, which ends at {self._last_offset}"
            )
        size = self._find_size()
        if size < 0:
            self._file = self._fs.create(self.path)
            size = 0
        self._file.write(encode_entry(transaction), size)
        self._size = size + _ENTRY_SIZE
        self._last_offset = transaction.last_offset

    def all_aborted(self) -> list[AbortedTransaction]:
        """Return the transactions in the order of their markers.

        Raises:
            UnsupportedFormatError: an entry's version is not known.

        Kafka: TransactionIndex.allAbortedTxns (4.2)
        """
        entries = self._read()
        self._check_versions(entries)
        return _transactions(entries)

    def collect_aborted(self, fetch_offset: int, upper_bound: int) -> AbortedTransactions:
        """Return the aborted transactions with records in a range; see `TransactionIndex`.

        Args:
            fetch_offset: first offset of the range, inclusive.
            upper_bound: end of the range, exclusive.

        Raises:
            UnsupportedFormatError: an entry's version is not known.

        Kafka: TransactionIndex.collectAbortedTxns (4.2)
        """
        entries = self._read()
        if not len(entries):
            return _NOTHING
        beyond = np.flatnonzero(entries["last_stable_offset"] >= upper_bound)
        if len(beyond):
            entries = entries[: int(beyond[0]) + 1]
        self._check_versions(entries)
        wanted = entries["last_offset"] >= fetch_offset
        wanted &= entries["first_offset"] < upper_bound
        return AbortedTransactions(tuple(_transactions(entries[wanted])), bool(len(beyond)))

    def sanity_check(self) -> None:
        """Look at every entry.

        Raises:
            CorruptIndexError: one ends before the segment begins.
            UnsupportedFormatError: an entry's version is not known.

        Kafka: TransactionIndex.sanityCheck (4.2)
        """
        entries = self._read()
        if not len(entries):
            return
        below = np.flatnonzero(entries["last_offset"] < self.base_offset)
        self._check_versions(entries[: int(below[0]) + 1] if len(below) else entries)
        if len(below):
            slot = int(below[0])
            last_offset = entries["last_offset"][slot]
            problem = f"a transaction ends at {last_offset}, below base offset {self.base_offset}"
            raise CorruptIndexError(self.path, slot * _ENTRY_SIZE, problem)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries from the first on whose transaction ends at ``offset`` or above.

        Raises:
            UnsupportedFormatError: an entry's version is not known.

        Kafka: TransactionIndex.truncateTo (4.2)
        """
        entries = self._read()
        doomed = np.flatnonzero(entries["last_offset"] >= offset)
        self._check_versions(entries[: int(doomed[0]) + 1] if len(doomed) else entries)
        if len(doomed):
            slot = int(doomed[0])
            self._file.truncate(slot * _ENTRY_SIZE)
            self._size = slot * _ENTRY_SIZE
            self._last_offset = int(entries["last_offset"][slot - 1]) if slot else None

    def reset(self) -> None:
        """Remove all entries.

        Kafka: TransactionIndex.reset (4.2)
        """
        if self._find_size() >= 0:
            self._file.truncate(0)
            self._size = 0
        self._last_offset = None

    def flush(self) -> None:
        """Return when the entries are on the disk.

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
        """Close the file, as `close` does; named as for the other files of a segment."""
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
        """Let nobody look for the file by its name before ``stack`` is closed."""
        stack.enter_context(self._naming)
        stack.enter_context(self._file.naming)

    def update_directory(self, directory: str) -> None:
        """Follow the folder, which was renamed.

        Kafka: TransactionIndex.updateParentDir (4.2)
        """
        self.path = self._file.path = os.path.join(directory, os.path.basename(self.path))

    def delete_if_exists(self) -> bool:
        """Remove the file; return whether it was there.

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
                try:
                    size = self._fs.stat(self.path).size
                except FileNotFoundError:
                    size = -1
                self._size = size
        return size

    def _read(self) -> npt.NDArray[Any]:
        """Return the entries, ABORTED_TRANSACTION[n]."""
        count = max(self._find_size(), 0) // _ENTRY_SIZE
        data = np.empty(count * _ENTRY_SIZE, np.uint8)
        got = self._file.read_into(data, 0) if count else 0
        return data[: got - got % _ENTRY_SIZE].view(ABORTED_TRANSACTION)

    def _check_versions(self, entries: npt.NDArray[Any]) -> None:
        """Refuse entries of a version above the known one; a broker looks at its first byte."""
        refused = np.flatnonzero(entries["version"] >> 8 > ABORTED_TRANSACTION_VERSION)
        if len(refused):
            slot = int(refused[0])
            version = int(entries["version"][slot]) >> 8
            problem = f"version {version} of an aborted transaction, 0 is known"
            raise UnsupportedFormatError(self.path, slot * _ENTRY_SIZE, problem)


def _transactions(entries: npt.NDArray[Any]) -> list[AbortedTransaction]:
    return [AbortedTransaction(*numbers[1:]) for numbers in entries.tolist()]
