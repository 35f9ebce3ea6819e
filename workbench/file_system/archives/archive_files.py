"""The members of an archive as a file system.

A member of a plain tar, or one that a zip stores, is read in place. Of a compressed tar, all
is decompressed once, and of a zip each compressed member when it is opened.

Archives may come from anywhere: names cannot lead out, links and devices are not followed, and
members, headers and decompressed bytes are limited.
"""

import errno
import gzip
import os
import struct
import sys
import threading
import zipfile
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

from workbench.errors import LogDirectoryError
from workbench.file_system.archives.members import (
    LONGEST_HEADER,
    MOST_DIRECTORY,
    Headers,
    Member,
    of_tar,
    of_zip,
    tar_members,
)
from workbench.file_system.archives.unpacking import (
    ERRORS,
    MOST_BYTES,
    ArchiveTooLargeError,
    Opener,
    Unpacked,
    tar_kind,
    words_of,
)
from workbench.file_system.source import RemoteEntry, open_regular

_MOST_ENTRIES: Final = 250_000  # files and folders
_LONGEST_NAME: Final = 4096
_MOST_NAMES: Final = 64 << 20  # bytes of all names, and of the paths of folders
_MOST_RUNS: Final = 250_000  # of all members: a plain file is one
_DEEPEST: Final = 32  # folders in each other
_MOST_REFUSED: Final = 1000  # members that are named as not read
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)
_ZIP_HEADER: Final = struct.Struct("<4s22xHH")  # of a member, before its name


Version = tuple[int, ...]


def version_of(found: os.stat_result) -> Version:
    """Return what distinguishes versions of an archive."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def _place_in_file(run: tuple[int, int, int]) -> int:
    return run[1]


class MemberFile:
    """An open member. Threads may share it."""

    def __init__(self, archive: "ArchiveFiles", descriptor: int, member: Member) -> None:
        self._archive = archive  # which closes the file
        self._descriptor = descriptor
        self._runs = member.runs
        self._size = member.entry.size

    def size(self) -> int:
        """Return how many bytes it has."""
        return self._size

    def version(self) -> int:
        """Return 0: an archive does not change."""
        return 0

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end; zeros where a sparse file has holes."""
        end = min(offset + nbytes, self._size)
        if len(self._runs) == 1 and self._runs[0][1:] == (0, self._size):
            return os.pread(self._descriptor, max(0, end - offset), self._runs[0][0] + offset)
        data = bytearray(max(0, end - offset))
        first = bisect_right(self._runs, offset, key=_place_in_file) - 1
        for index in range(max(first, 0), len(self._runs)):
            position, at, size = self._runs[index]
            if at >= end:
                break
            low, high = max(at, offset), min(at + size, end)
            if low < high:
                found = os.pread(self._descriptor, high - low, position + low - at)
                data[low - offset : low - offset + len(found)] = found
        return bytes(data)

    def close(self) -> None:
        """Do nothing: the archive stays open."""


class ArchiveFiles:
    """The members of an archive as a file system. Threads may share it.

    Args:
        path: the archive, absolute; also the prefix of the paths of its members.

    Attributes:
        version: what distinguishes the archive from another one in its place.

    Raises:
        LogDirectoryError: it is not an archive of its kind, ends early, or exceeds a limit.
        OSError: it cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._folders: dict[str, dict[str, Member]] = {"": {}}
        self._entries = 0
        self._names = 0  # bytes
        self._runs = 0
        self._refused = 0
        self._descriptor = open_regular(path)
        self.version = version_of(os.fstat(self._descriptor))
        self._unpacked: Unpacked | None = None
        self._opened: dict[str, Member] = {}  # members of a zip that were decompressed
        self._zip: zipfile.ZipFile | None = None
        self._lock = threading.Lock()
        unpack = "unzip"
        try:
            if path.endswith(".zip"):
                self._read_zip()
            else:
                opener, unpack = tar_kind(path)
                self._read_tar(opener)
        except ArchiveTooLargeError as error:
            raise LogDirectoryError(path, f"{error}; unpack it yourself: {unpack}") from None
        except ERRORS as error:
            raise LogDirectoryError(path, f"not read as an archive: {words_of(error)}") from None
        except OSError as error:
            if type(error) is not gzip.BadGzipFile and error.errno is not None:
                raise
            raise LogDirectoryError(path, f"not read as an archive: {words_of(error)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return ArchiveFiles, (self._path,)

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        """Close the archive; at the interpreter's exit there is no `os` any more."""
        descriptor = getattr(self, "_descriptor", -1)
        if descriptor >= 0:
            _close(descriptor)

    # --- reading the list of members ---------------------------------------------------------

    def _read_tar(self, opener: Opener | None) -> None:
        descriptor = self._descriptor
        if opener is not None:
            self._unpacked = Unpacked()
            with os.fdopen(os.dup(descriptor), "rb") as file:
                self._unpacked.add(opener(file), MOST_BYTES)
            descriptor = self._unpacked.descriptor
        headers = Headers(descriptor, LONGEST_HEADER)
        for member in tar_members(headers):
            self._add(member.name, *of_tar(member, headers.end))

    def _read_zip(self) -> None:
        headers: Any = Headers(self._descriptor, MOST_DIRECTORY, sys.maxsize)
        self._zip = zipfile.ZipFile(headers)
        self._zip.NameToInfo.clear()  # members are found here
        for info in self._zip.infolist():
            self._add(info.filename, *of_zip(info))
            info.date_time = _NO_DATE  # the entry has it
        self._zip.filelist.clear()

    def _add(self, name: str, entry: RemoteEntry, member: Member) -> None:
        """Put a member into its folder."""
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if not parts:
            return
        if ".." in parts or len(parts) > _DEEPEST or len(name) > _LONGEST_NAME:
            what = "leads out of the archive" if ".." in parts else "is too long"
            self._refuse("", parts[-1], f"a member whose name {what}: {name[:80]!r}")
            return
        folder = self._folder(parts[:-1])
        if folder is None:
            self._refuse("", parts[-1], f"a member below a file: {name[:80]!r}")
            return
        names = self._folders[folder]
        before = names.get(parts[-1])
        if before is not None and (entry.is_folder or before.entry.is_folder):
            if not (entry.is_folder and before.entry.is_folder):
                self._refuse(folder, parts[-1], "a file with the name of a folder")
            return
        if before is not None:
            self._refuse(folder, parts[-1], "an earlier member of this name; the last one is read")
        self._count(parts[-1])
        self._runs += len(member.runs)
        if self._runs > _MOST_RUNS:
            raise ArchiveTooLargeError(f"its members have more than {_MOST_RUNS:,} pieces")
        names[parts[-1]] = member._replace(entry=entry._replace(name=parts[-1]))
        if entry.is_folder:
            path = "/".join(parts)
            self._count(path, entries=0)
            self._folders[path] = {}

    def _folder(self, parts: list[str]) -> str | None:
        """Return the path of a folder, made if it is missing; None if a file has its name."""
        path = ""
        for part in parts:
            names = self._folders[path]
            found = names.get(part)
            path = f"{path}/{part}" if path else part
            if found is None:
                self._count(path)
                names[part] = Member(RemoteEntry(part, is_folder=True, size=0, modified_ms=0))
                self._folders[path] = {}
            elif not found.entry.is_folder:
                return None
        return path

    def _refuse(self, folder: str, name: str, why: str) -> None:
        """Name a member that is not read."""
        self._refused += 1
        if self._refused <= _MOST_REFUSED:
            name = f"{name} ({self._refused})"  # not the name of a file of Kafka's
            entry = RemoteEntry(name, is_folder=False, size=0, modified_ms=0, refusal=why)
            self._folders[folder][name] = Member(entry)

    def _count(self, name: str, entries: int = 1) -> None:
        """Count an entry, and a name that is kept.

        Raises:
            TooLargeError: they are too many, or too long together.
        """
        self._names += len(name) * (1 if name.isascii() else 4)
        if self._names > _MOST_NAMES:
            raise ArchiveTooLargeError(f"its names have more than {_MOST_NAMES >> 20} MiB")
        self._entries += entries
        if self._entries > _MOST_ENTRIES:
            raise ArchiveTooLargeError(f"it has more than {_MOST_ENTRIES:,} members")

    # --- as a file system --------------------------------------------------------------------

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._path).strip("/")

    def _member(self, path: str) -> Member | None:
        folder, _, name = self._inside(path).rpartition("/")
        return self._folders.get(folder, {}).get(name)

    def entry(self, path: str) -> RemoteEntry | None:
        """Return what is at a path; None when there is nothing."""
        if not self._inside(path):
            return RemoteEntry(os.path.basename(path), is_folder=True, size=0, modified_ms=0)
        member = self._member(path)
        return None if member is None else member.entry

    def entries(self, path: str) -> list[RemoteEntry]:
        """Return what is in a folder.

        Raises:
            FileNotFoundError: there is no such folder.
        """
        names = self._folders.get(self._inside(path))
        if names is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return [member.entry for member in names.values()]

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Return what is in a folder and in every folder below it, by the folders' paths."""
        inside = self._inside(path)
        return {
            f"{self._path}/{folder}" if folder else self._path: self.entries(folder)
            for folder in self._folders
            if not inside or folder == inside or folder.startswith(f"{inside}/")
        }

    def open(self, path: str) -> MemberFile:
        """Open a file.

        Raises:
            FileNotFoundError: there is none.
            OSError: it is not a file, or its bytes are damaged.
        """
        member = self._member(path)
        if member is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if member.entry.is_folder or member.entry.refusal is not None:
            raise OSError(errno.EINVAL, member.entry.refusal or "a folder", path)
        if member.zipped is not None:
            with self._lock:
                member = self._unzipped(path, member.zipped, member)
            return MemberFile(self, self._zip_descriptor(member), member)
        is_unpacked = self._unpacked is not None
        descriptor = self._unpacked.descriptor if self._unpacked else self._descriptor
        assert is_unpacked or descriptor >= 0
        return MemberFile(self, descriptor, member)

    def _zip_descriptor(self, member: Member) -> int:
        if member.zipped is not None and member.zipped.compress_type == zipfile.ZIP_STORED:
            return self._descriptor
        assert self._unpacked is not None
        return self._unpacked.descriptor

    def _unzipped(self, path: str, info: zipfile.ZipInfo, member: Member) -> Member:
        """Return a member of a zip with the place of its bytes, decompressed at the first time."""
        found = self._opened.get(path)
        if found is not None:
            return found
        assert self._zip is not None
        try:
            if info.compress_type == zipfile.ZIP_STORED:
                start, size = self._stored_at(info), info.file_size
            else:
                if self._unpacked is None:
                    self._unpacked = Unpacked()
                with self._zip.open(info) as reader:
                    start, size = self._unpacked.add(reader, info.file_size)
        except (*ERRORS, RuntimeError, MemoryError) as error:
            raise OSError(errno.EIO, f"damaged in the archive: {words_of(error)}", path) from None
        run = (start, 0, size)
        found = member._replace(entry=member.entry._replace(size=size), runs=(run,))
        self._opened[path] = found
        return found

    def _stored_at(self, info: zipfile.ZipInfo) -> int:
        """Return where the bytes of a member begin that a zip stores."""
        header = os.pread(self._descriptor, _ZIP_HEADER.size, info.header_offset)
        magic, name_size, extra_size = _ZIP_HEADER.unpack(header)
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("there is no header at its position")
        start = info.header_offset + len(header) + int(name_size) + int(extra_size)
        if start + info.file_size > os.fstat(self._descriptor).st_size:
            raise zipfile.BadZipFile("it ends after the archive")
        return start
