"""What the headers of an archive say of its members; any bytes are read or refused.

A tar's header may ask for much memory or time: what is read of it is limited.
"""

import io
import os
import stat
import tarfile
import time
import zipfile
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from workbench.file_system.archives.unpacking import ArchiveTooLargeError
from workbench.file_system.source import RemoteEntry

LONGEST_HEADER: Final = 16 << 10  # bytes that a header of a tar has after its block
_LONG: Final = 4 << 10  # bytes of a header that costs time: `tarfile` may need its square
_MOST_LONG: Final = 32  # such headers of the longest kind
MOST_DIRECTORY: Final = 16 << 20  # bytes of a zip's list of members
_LAST_TIME: Final = 1 << 52  # ms
_ENCRYPTED: Final = 1
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others expand without a limit
_MOST_OF_MEMBER: Final = 1 << 20  # bytes of all headers of a member: a sparse map may have many


class Member(NamedTuple):
    """A file or folder in an archive.

    Attributes:
        entry: what is said of it.
        runs: of a file: (position in the archive, position in the file, bytes), ascending by both.
        zipped: of a compressed member of a zip: what describes it.
    """

    entry: RemoteEntry
    runs: tuple[tuple[int, int, int], ...] = ()
    zipped: zipfile.ZipInfo | None = None


class Headers:
    """A file of which headers are read: seekable, and never much at a time.

    Args:
        descriptor: the file.
        most: bytes that can be read at a time.
        most_of_member: bytes that can be read before another member begins.
    """

    def __init__(self, descriptor: int, most: int, most_of_member: int = _MOST_OF_MEMBER) -> None:
        self._descriptor = descriptor
        self._most = most
        self._most_of_member = most_of_member
        self._at = 0
        self._cost = 0.0  # of long headers, in the longest
        self._of_member = 0  # bytes read
        self.end = os.fstat(descriptor).st_size

    def begin_member(self) -> None:
        """Count the headers of another member of a tar."""
        self._of_member = 0

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position.

        Raises:
            TooLargeError: the headers have more bytes than are read.
        """
        size = self.end - self._at if size < 0 else min(size, self.end - self._at)
        if size > self._most:
            raise ArchiveTooLargeError(
                f"a header of {size:,} bytes (at most {self._most:,} are read)"
            )
        self._cost += (size / self._most) ** 2 if size > _LONG else 0
        if self._cost > _MOST_LONG:
            raise ArchiveTooLargeError("too many long headers")
        self._of_member += max(size, 0)
        if self._of_member > self._most_of_member:
            raise ArchiveTooLargeError(
                f"a member with more than {self._most_of_member >> 10:,} KiB of headers"
            )
        data = os.pread(self._descriptor, max(size, 0), self._at)
        self._at += len(data)
        return data

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.end}[whence]
        if start + position < 0:
            raise io.UnsupportedOperation("a header leads before the beginning of the archive")
        self._at = start + position
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seekable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: others use the file."""


def tar_members(headers: Headers) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar.

    Raises:
        tarfile.TarError: a header is damaged, or the archive ends early.
    """
    file: Any = headers
    with tarfile.open(fileobj=file, mode="r:") as tar:
        last = -1
        while (member := _next(tar, headers)) is not None:
            if member.offset <= last:
                raise tarfile.ReadError("a header leads backwards")
            last = member.offset
            yield member
            vars(tar).update(members=[], pax_headers={})  # they would grow with the archive
        headers.seek(tar.offset)  # where `tarfile` stops, also at a damaged header
        if headers.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError(f"it ends early, or a header is damaged at byte {tar.offset}")


def _next(tar: tarfile.TarFile, headers: Headers) -> tarfile.TarInfo | None:
    headers.begin_member()
    return tar.next()


def of_tar(member: tarfile.TarInfo, end: int) -> tuple[RemoteEntry, Member]:
    """Return what a member of a tar is; ``end`` is the size of the archive."""
    entry = RemoteEntry(
        "", member.isdir(), 0 if member.isdir() else member.size, _time(member.mtime)
    )
    runs: tuple[tuple[int, int, int], ...] = ()
    kinds = (
        (member.issym(), "a symbolic link"),
        (member.islnk(), "a hard link"),
        (member.isfifo(), "a FIFO"),
        (member.isdev(), "a device"),
        (not member.isreg() and not member.isdir(), "an unknown kind of member"),
    )
    refusal = next((words for is_one, words in kinds if is_one), None)
    if refusal is None and member.isreg():
        position = member.offset_data
        sparse: Any = member.sparse  # a list of (position in the file, bytes), or None
        pieces = [(0, member.size)] if sparse is None else sparse
        found = []
        done = 0
        for at, size in pieces:
            if size and at < done:
                raise tarfile.ReadError(f"a sparse map leads backwards in {member.name[:80]!r}")
            done = max(done, at + size)
            if size < 0 or at < 0 or position + size > end or at + size > member.size:
                raise tarfile.ReadError(f"unexpected end of data in {member.name[:80]!r}")
            found.append((position, at, size))
            position += size
        runs = tuple(run for run in found if run[2])
    entry = entry._replace(refusal=refusal)
    return entry, Member(entry, runs)


def of_zip(info: zipfile.ZipInfo) -> tuple[RemoteEntry, Member]:
    """Return what a member of a zip is."""
    mode = stat.S_IFMT(info.external_attr >> 16)
    refusal = None
    if info.flag_bits & _ENCRYPTED:
        refusal = "an encrypted member"
    elif mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
        refusal = "a symbolic link" if mode == stat.S_IFLNK else "not a regular file"
    elif info.compress_type not in _METHODS:
        refusal = f"compressed by method {info.compress_type} of zip (expected deflate)"
    try:
        modified = time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        modified = 0.0
    is_folder = info.filename.endswith("/")  # zipfile's own question fails without a name
    size = 0 if is_folder else info.file_size
    entry = RemoteEntry("", is_folder, size, _time(modified), refusal)
    return entry, Member(entry, zipped=None if is_folder else info)


def _time(seconds: float) -> int:
    """Return a time in ms; 0 where it is none."""
    try:
        return min(max(int(seconds * 1000), 0), _LAST_TIME)
    except (ValueError, OverflowError):
        return 0
