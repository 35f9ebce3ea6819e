"""A bucket that exists in names and sizes alone, as large as wanted, and counts what is asked."""

import sys
from collections import Counter
from typing import Final

from workbench.file_system.mounts import RemoteEntry, RemoteFile, mount

PREFIX: Final = "simulated://bucket/broker-1"
KINDS: Final = ("log", "index", "timeindex", "snapshot")
PAGE: Final = 1000
"""Files that one listing request returns, as in S3."""


class Bucket:
    """A log directory of partitions with equal segments; a file cannot be read.

    Args:
        partitions: the number of partitions.
        segments: the number of segments of each.
        size: bytes of each `.log`.

    Attributes:
        asked: requests by kind: "list", "head" and "open".
    """

    def __init__(self, partitions: int, segments: int, size: int) -> None:
        self.asked: Counter[str] = Counter()
        self.file_count = partitions * segments * len(KINDS)
        self._folders = [f"events-{number}" for number in range(partitions)]
        self._segments = segments
        self._size = size
        mount(PREFIX, self)

    def open(self, path: str) -> RemoteFile:
        """Refuse."""
        self.asked["open"] += 1
        raise FileNotFoundError(path)

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
        return [
            RemoteEntry(
                sys.intern(f"{number * 1_000_000:020d}.{kind}"),
                False,  # noqa: FBT003 - names would take a second for a million
                self._size if kind == "log" else self._size // 512,
                1_700_000_000_000 + number,
            )
            for number in range(self._segments)
            for kind in KINDS
        ]
