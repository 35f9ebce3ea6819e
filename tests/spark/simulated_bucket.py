"""A bucket that holds names and sizes alone, as large as wanted, and counts what is asked.

What is read of a file is made as it is read: batches of equal size, and index entries for them.
"""

import sys
from collections import Counter
from typing import Final, NamedTuple

import numpy as np

from tests import naive
from workbench.file_system.source import THIS_MACHINE, RemoteEntry, RemoteFile, with_mount
from workbench.layout.index_entries import OFFSET_ENTRY

PREFIX: Final = "simulated://bucket/broker-1"
KINDS: Final = ("log", "index", "timeindex", "snapshot")
PAGE: Final = 1000
"""Files that one listing request returns, as in S3."""

_RECORDS: Final = 40  # of a batch of 16,000 bytes: 400 MB hold a million
_BATCH: Final = np.frombuffer(
    naive.batch([], last_offset=_RECORDS - 1, count=_RECORDS, payload=bytes(15_939)), np.uint8
)


class _File(NamedTuple):
    """An open file, a `.log` or an `.index`, of as many whole batches as fit."""

    bucket: "Bucket"
    base_offset: int
    is_index: bool
    nbytes: int

    def size(self) -> int:
        """Return how many bytes it has."""
        return self.nbytes

    def version(self) -> int:
        """Return the only version."""
        return 0

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end."""
        end = min(offset + nbytes, self.nbytes)
        self.bucket.asked["read"] += 1
        self.bucket.bytes_read += max(0, end - offset)
        if end <= offset:
            return b""
        row = OFFSET_ENTRY.itemsize if self.is_index else len(_BATCH)
        first = offset // row
        numbers = np.arange(first, -(-end // row))
        made = self._entries(numbers + 1) if self.is_index else self._batches(numbers)
        return made[offset - first * row : end - first * row]

    def _entries(self, numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> bytes:
        entries = np.empty(len(numbers), OFFSET_ENTRY)
        entries["relative_offset"] = (numbers + 1) * _RECORDS - 1
        entries["position"] = numbers * len(_BATCH)
        return entries.tobytes()

    def _batches(self, numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> bytes:
        batches = np.tile(_BATCH, (len(numbers), 1))
        offsets = (self.base_offset + numbers * _RECORDS).astype(">i8")
        batches[:, :8] = offsets.view(np.uint8).reshape(-1, 8)
        return batches.tobytes()

    def close(self) -> None:
        """Do nothing."""


class Bucket:
    """A log directory of partitions with equal segments.

    Args:
        partitions: the number of partitions.
        segments: the number of segments of each.
        size: bytes of each `.log`.

    Attributes:
        asked: requests by kind: "list", "head", "open" and "read".
        bytes_read: bytes that "read" returned.
        file_count: files in all.
        fs: what reads it.
    """

    def __init__(self, partitions: int, segments: int, size: int) -> None:
        self.asked: Counter[str] = Counter()
        self.bytes_read = 0
        self.file_count = partitions * segments * len(KINDS)
        self._folders = [f"events-{number}" for number in range(partitions)]
        self._segments = segments
        self._size = size
        self.fs = with_mount(THIS_MACHINE, "simulated://bucket", self)

    def open(self, path: str) -> RemoteFile:
        """Open a `.log` or `.index`; the other files cannot be read."""
        self.asked["open"] += 1
        base_offset, _, kind = path.rpartition("/")[2].partition(".")
        if kind not in {"log", "index"}:
            raise FileNotFoundError(path)
        return _File(self, int(base_offset), kind == "index", self._size_of(kind))

    def _size_of(self, kind: str) -> int:
        entries = (self._size // len(_BATCH) - 1) * OFFSET_ENTRY.itemsize
        return self._size if kind == "log" else entries

    def entry(self, path: str) -> RemoteEntry | None:
        """Return the entry of the log directory."""
        self.asked["head"] += 1
        return (
            RemoteEntry("broker-1", is_folder=True, size=0, modified_ms=0)
            if path == PREFIX
            else None
        )

    def entries(self, path: str) -> list[RemoteEntry]:
        """Return the entries of a directory."""
        self.asked["list"] += 1
        return self._entries(path)

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Return all entries, in pages."""
        self.asked["list"] += -(-self.file_count // PAGE)
        paths = [path, *(f"{path}/{folder}" for folder in self._folders)]
        return {each: self._entries(each) for each in paths}

    def _entries(self, path: str) -> list[RemoteEntry]:
        if path == PREFIX:
            return [
                RemoteEntry(name, is_folder=True, size=0, modified_ms=0) for name in self._folders
            ]
        sizes = {kind: self._size_of(kind) for kind in KINDS}
        return [
            RemoteEntry(
                sys.intern(f"{number * 1_000_000:020d}.{kind}"),
                False,  # noqa: FBT003 - names would take a second for a million
                sizes[kind],
                1_700_000_000_000 + number,
            )
            for number in range(self._segments)
            for kind in KINDS
        ]
