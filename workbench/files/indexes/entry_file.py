"""Write a file of entries of one size: what the offset and the time index share.

A new file is allocated in full, so its size does not show the entries in use; it is trimmed to them
when its segment is rolled or closed. An existing file is trusted: all of it is entries, even the
allocated zeros that a crash left.

Kafka maps the file into memory. Here entries are kept in memory, from the first lookup or append
until the file is trimmed, and are written later, many at a time. That is as safe: a crash may also
lose what was not flushed from a mapped file, and an index that was not flushed belongs to a segment
that recovery reads, which rebuilds the index. Only a file above 32 MiB, larger than a broker makes
by default, is searched in the file until entries are appended to it.

Kafka: AbstractIndex, LazyIndex (4.2)
"""

import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np

from workbench.errors import CorruptIndexError, OffsetOverflowError
from workbench.file_system.local import File, FileSystem
from workbench.files.indexes.entry_columns import EntryColumns
from workbench.files.indexes.entry_run import MAX_RELATIVE_OFFSET
from workbench.files.indexes.search import largest_lower_bound
from workbench.files.indexes.stored_columns import StoredColumns
from workbench.layout.integers import INT32_MAX

_MOST: Final = 128 << 20  # bytes of entries of all indexes of the process


class KeptIndex(Protocol):
    """An index that holds its entries in memory."""

    def forget(self) -> None:
        """Drop the entries, if they can be read again."""


class KeptIndexes:
    """The indexes whose entries are in memory: above a limit, the oldest drop theirs."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._indexes: deque[tuple[weakref.ref[KeptIndex], int]] = deque()
        self._lock = threading.Lock()

    def add(self, index: KeptIndex, size: int) -> None:
        """Add an index that takes ``size`` bytes."""
        with self._lock:
            self._indexes.append((weakref.ref(index), size))
            self._size += size
            while self._size > self._limit and len(self._indexes) > 1:
                oldest, its_size = self._indexes.popleft()
                self._size -= its_size
                found = oldest()
                if found is not None and found is not index:
                    found.forget()


KEPT: Final = KeptIndexes(_MOST)


_FIRST_ROOM: Final = 64  # entries
_LARGEST_SIZE: Final = INT32_MAX  # bytes that a broker can map into memory
LARGEST_HELD: Final = 32 << 20  # bytes of entries held in memory only to search them
_STEP: Final = 1 << 14  # entries read at a time
_SMALL: Final = 1 << 16  # bytes: to ask for holes costs more than to read so many
MOST_BEHIND: Final = 64  # entries in memory that are not written yet


Entry = TypeVar("Entry", bound=tuple[int, int])


class EntryFile(Generic[Entry]):
    """The entries of an offset or time index; the file is not opened until it is needed.

    Only the thread that holds the log's lock may change an index. Any number may look up meanwhile,
    and one may flush.

    Attributes:
        path: follows `rename_to` and `update_directory`.
        base_offset: the segment's base offset.
        max_size: the file's largest size in bytes, allocated for a new one.

    Kafka: AbstractIndex, LazyIndex (4.2)
    """

    entry: ClassVar[np.dtype[Any]]  # big-endian: the two numbers of an entry
    reserved: ClassVar[int] = 0  # slots that only the segment's last entry may take

    def __init__(self, fs: FileSystem, path: str, base_offset: int, max_size: int = -1) -> None:
        self.path = path
        self.base_offset = base_offset
        self.max_size = max_size
        self._fs = fs
        self._file: File = fs.open(path)
        self._file_size = -1  # bytes; -1: not opened yet
        self._count = 0
        self._written = 0  # first entries that the file has; later ones are in `_appended`
        self._max_entries = 0
        self._columns: EntryColumns | StoredColumns | None = None
        self._appended: EntryColumns | None = None  # the same, once entries are appended to them
        self._lock = threading.RLock()  # held while file and columns are opened or dropped

    def _parse_entry(self, key: int, value: int) -> Entry:
        """Return an entry from its two numbers.

        Kafka: AbstractIndex.parseEntry (4.2)
        """
        raise NotImplementedError

    def _offsets(self, columns: EntryColumns | StoredColumns) -> Sequence[int]:
        """Return the column of relative offsets."""
        raise NotImplementedError

    def _note_last(self) -> None:
        """Keep the numbers of the last entry."""
        raise NotImplementedError

    # --- size --------------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """How many entries there are."""
        self._open()
        return self._count

    @property
    def max_entries(self) -> int:
        """How many entries the file has room for."""
        self._open()
        return self._max_entries

    def _full(self) -> ValueError:
        return ValueError(f"{self.path}: the index is full, it has {self._count} entries")

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another entry, but for the segment's last.

        Kafka: AbstractIndex.isFull, TimeIndex.isFull (4.2)
        """
        if self._file_size < 0:
            self._open()
        return self._count >= self._max_entries - self.reserved

    @property
    def file_size(self) -> int:
        """Bytes of the file, including allocated ones.

        Kafka: AbstractIndex.length (4.2)
        """
        self._open()
        return self._file_size

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the entries.

        Kafka: AbstractIndex.sizeInBytes (4.2)
        """
        return self.entries * self.entry.itemsize

    def entry_at(self, slot: int) -> Entry:
        """Return an entry by its number.

        Raises:
            IndexError: there are fewer.

        Kafka: OffsetIndex.entry, TimeIndex.entry (4.2)
        """
        columns = self._load()
        if not 0 <= slot < self._count:
            raise IndexError(f"{self.path}: no entry {slot}, there are {self._count}")
        return self._parse_entry(columns.key_view[slot], columns.value_view[slot])

    def can_append_offset(self, offset: int) -> bool:
        """Return whether an offset is near enough to the segment's base offset.

        Creates the file if it does not exist.

        Kafka: AbstractIndex.canAppendOffset (4.2)
        """
        if self._file_size < 0:
            self._open()
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def sanity_check(self) -> None:
        """Check the last entry and the size.

        Raises:
            CorruptIndexError: they cannot be right.

        Kafka: AbstractIndex.sanityCheck (4.2)
        """
        if self.file_size % self.entry.itemsize:
            problem = f"{self._file_size} bytes are not a multiple of {self.entry.itemsize}"
            raise CorruptIndexError(self.path, None, problem)

    # --- changing ----------------------------------------------------------------------------

    def truncate(self) -> None:
        """Remove all entries; the file keeps its size, and their bytes until new ones replace them.

        Kafka: AbstractIndex.truncate (4.2)
        """
        with self._lock:
            self._open()
            self._columns = self._appended = None
            self._cut(0)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries for ``offset`` and above.

        Kafka: AbstractIndex.truncateTo (4.2)
        """
        with self._lock:
            offsets = self._offsets(self._load())
            target = offset - self.base_offset
            slot = largest_lower_bound(offsets, self._count, target, self.entry.itemsize)
            self._cut(slot if slot >= 0 and offsets[slot] == target else slot + 1)

    def resize(self, size: int | None = None) -> bool:
        """Make the file ``size`` bytes long, rounded down to whole entries; default `max_size`.

        Returns:
            Whether the size changed.

        Raises:
            ValueError: there are more entries than that.

        Kafka: AbstractIndex.resize (4.2)
        """
        with self._lock:
            self._open()
            self.write_out()
            wanted = self._whole(self.max_size if size is None else size)
            if wanted == self._file_size:
                return False
            if wanted < self._count * self.entry.itemsize:
                msg = f"{self.path}: {self._count} entries do not fit into {wanted} bytes"
                raise ValueError(msg)
            self._file.truncate(wanted)
            self._file.close()  # an open file for each index would soon be too many
            self._file_size = wanted
            self._max_entries = wanted // self.entry.itemsize
            return True

    def trim_to_valid_size(self) -> None:
        """Trim the file to its entries, and drop them from memory.

        Kafka: AbstractIndex.trimToValidSize (4.2)
        """
        with self._lock:
            self._open()
            self.resize(self._count * self.entry.itemsize)
            self._columns = self._appended = None

    def reset(self) -> None:
        """Remove all entries and allocate the file in full.

        Kafka: AbstractIndex.reset (4.2)
        """
        self.truncate()
        self.resize()

    # --- the file ----------------------------------------------------------------------------

    def write_out(self) -> None:
        """Write the entries that are only in memory, without a sync.

        Raises:
            OSError: the write failed; the next call writes them.
        """
        with self._lock:
            start, end, columns = self._written, self._count, self._appended
            if columns is None or start == end:
                return
            entries = np.empty(end - start, self.entry)
            for name, column in zip(self.entry.names or (), columns.both, strict=True):
                entries[name] = column[start:end]
            self._file.write(entries.view(np.uint8), start * self.entry.itemsize)
            self._written = end

    def flush(self) -> None:
        """Write the entries to the disk before returning.

        Kafka: AbstractIndex.flush (4.2)
        """
        with self._lock:
            self._open()
            self.write_out()
            self._file.sync()

    def close(self) -> None:
        """Trim the file to its entries, sync and close it; an index never used is left alone.

        After a clean shutdown, zeros that a crash left after the entries would be read as entries.

        Kafka: AbstractIndex.close, LazyIndex.close (4.2)
        """
        with self._lock:
            if self._file_size >= 0:
                self.trim_to_valid_size()
                self._file.sync()
            self.close_handler()

    def forget(self) -> None:
        """Drop the entries from memory unless appends use them; a later lookup reads them again.

        Does nothing while another thread works on the file.
        """
        if self._lock.acquire(blocking=False):
            if self._appended is None:
                self._columns = None
            self._lock.release()

    def close_handler(self) -> None:
        """Close the file as it is; entries that are not written yet remain in memory.

        Kafka: AbstractIndex.closeHandler (4.2)
        """
        with self._lock:
            self._file.close()
            if self._written == self._count:
                self._columns = self._appended = None

    def rename_to(self, path: str) -> None:
        """Rename the file; one that was not used yet need not exist.

        Kafka: AbstractIndex.renameTo, LazyIndex.renameTo (4.2)
        """
        with self._lock, self._file.naming:
            try:
                self._fs.rename(self.path, path)
            except FileNotFoundError:
                if self._file_size >= 0:
                    raise
            finally:
                self._set_path(path)

    def hold_name(self, stack: ExitStack) -> None:
        """Keep all threads from opening the file by its name until ``stack`` is closed."""
        stack.enter_context(self._lock)
        stack.enter_context(self._file.naming)

    def update_directory(self, directory: str) -> None:
        """Update the path after the folder was renamed.

        Kafka: AbstractIndex.updateParentDir (4.2)
        """
        self._set_path(os.path.join(directory, os.path.basename(self.path)))

    def delete_if_exists(self) -> bool:
        """Remove the file; return whether it existed. Later appends fail.

        Kafka: AbstractIndex.deleteIfExists (4.2)
        """
        with self._lock:
            self.close_handler()
            self._file_size = -1
            try:
                self._fs.remove(self.path)
            except FileNotFoundError:
                return False
            self._columns = self._appended = None
            self._count = self._written = 0  # for other readers it is empty
            self._max_entries = self._file_size = 0
            self._note_last()
            return True

    # --- for the kinds of index ---------------------------------------------------------------

    def _open(self) -> None:
        """Find out how many entries there are; create and allocate a missing file.

        Raises:
            CorruptIndexError: the file is larger than a broker can map.
        """
        if self._file_size >= 0:
            return
        with self._lock:
            if self._file_size >= 0:
                return
            entry_size = self.entry.itemsize
            try:
                size = self._fs.stat(self.path).size
                if size > _LARGEST_SIZE:
                    problem = f"{size} bytes, expected at most {_LARGEST_SIZE}"
                    raise CorruptIndexError(self.path, None, problem)
                self._count = size // entry_size
            except FileNotFoundError:
                if self.max_size < entry_size:
                    msg = f"{self.path}: an index of {self.max_size} bytes has no room for entries"
                    raise ValueError(msg) from None
                size = self._whole(self.max_size)
                self._fs.create(self.path).truncate(size)
                self._count = 0
            self._written = self._count
            self._max_entries = size // entry_size
            self._note_last()
            self._file_size = size  # at last: other threads look at it

    def _whole(self, size: int) -> int:
        return size - size % self.entry.itemsize

    def _set_path(self, path: str) -> None:
        self.path = self._file.path = path

    def _cut(self, count: int) -> None:
        """Use only the first ``count`` entries from now on."""
        self._count = count
        self._written = min(self._written, count)
        if self._columns is None and count == 0:
            self._columns = self._columns_with_room(_FIRST_ROOM)
        self._note_last()

    def _read_last(self) -> bytes:
        """Return the bytes of the last entry; there must be one."""
        entry = np.empty(self.entry.itemsize, np.uint8)
        self._file.read_into(entry, (self._count - 1) * len(entry))
        if self._columns is None:
            self._file.close()
        return entry.tobytes()

    def _load(self) -> EntryColumns | StoredColumns:
        """Return the entries, read from the file if they are not in memory and can be."""
        columns = self._columns
        if columns is None:
            with self._lock:
                self._open()
                columns = self._columns
                if columns is None:
                    size = self._count * self.entry.itemsize
                    if size > LARGEST_HELD:
                        columns = StoredColumns(self._file, self.entry, self._count)
                    else:
                        columns = self._read_all()
                        KEPT.add(self, size)
                    self._columns = columns
        return columns

    def _read_all(self) -> EntryColumns:
        """Return the entries, read from the file but for its holes, which are zeros."""
        columns = self._columns_with_room(self._count)
        entries = np.empty(min(_STEP, self._count), self.entry)
        size, start = self._count * self.entry.itemsize, 0
        while start < self._count:
            if size > _SMALL:
                at = self._file.past_hole(start * self.entry.itemsize, size)
                start = at // self.entry.itemsize
            part = entries[: self._count - start]
            got = self._file.read_into(part.view(np.uint8), start * self.entry.itemsize)
            part.view(np.uint8)[got:] = 0  # truncated by another program
            for name, column in zip(self.entry.names or (), columns.both, strict=True):
                column[start : start + len(part)] = part[name]
            start += len(part)
        if self._count:
            self._file.close()
        return EntryColumns(*columns.both, self._count, self.entry.itemsize)

    def _columns_with_room(self, room: int) -> EntryColumns:
        """Return columns without entries, with room for ``room`` of them: zeros."""
        key, value = [
            np.zeros(max(room, 1), self.entry[name].newbyteorder("="))
            for name in self.entry.names or ()
        ]
        return EntryColumns(key, value, 0, self.entry.itemsize)

    def _to_append(self) -> EntryColumns:
        """Return the entries, and keep them in memory."""
        with self._lock:
            columns = self._load()
            if isinstance(columns, StoredColumns):
                columns = self._columns = self._read_all()
            self._appended = columns
            return columns

    def _room_for(self, columns: EntryColumns, count: int) -> EntryColumns:
        """Return columns with room for ``count`` entries in all."""
        if count <= len(columns.keys):
            return columns
        room = max(count, min(2 * len(columns.keys), self._max_entries), _FIRST_ROOM)
        self._columns = self._appended = grown = columns.grown(self._count, room)
        return grown

    def _relative(self, offset: int) -> int:
        relative = offset - self.base_offset
        if not 0 <= relative <= MAX_RELATIVE_OFFSET:
            raise OffsetOverflowError(offset, self.base_offset, self.path)
        return relative
