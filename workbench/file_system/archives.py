"""Read `.tar` and `.zip` archives as directories; nothing is unpacked beside them.

A member of a plain tar, or one that a zip stores, is read where it lies. Of a compressed tar, all
is decompressed once, and of a zip each compressed member when it is opened: into a temporary file
without a name, which lives as long as the process and does not hold runs of zeros.

Archives may come from anywhere: names cannot lead out, links and devices are not followed, and
members, headers and decompressed bytes are limited.
"""

import bz2
import errno
import gzip
import lzma
import os
import stat
import struct
import tarfile
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, NamedTuple

from workbench.errors import LogDirectoryError
from workbench.file_system.mounts import RemoteEntry, files_at, mount, mounted_at
from workbench.file_system.source import open_regular

_MOST_ENTRIES: Final = 250_000  # files and folders
_MOST_STORED: Final = 2 << 30  # decompressed bytes, without runs of zeros
_MOST_BYTES: Final = 16 << 30  # decompressed bytes of a compressed tar, with runs of zeros
_LONGEST_HEADER: Final = 16 << 10  # bytes that a header of a tar has after its block
_LONG: Final = 4 << 10  # bytes of a header that costs time: `tarfile` may need its square
_MOST_LONG: Final = 32  # such headers of the longest kind
_MOST_DIRECTORY: Final = 16 << 20  # bytes of a zip's list of members
_LONGEST_NAME: Final = 4096
_DEEPEST: Final = 32  # folders in each other
_MOST_REFUSED: Final = 1000  # members that are named as not read
_CHUNK: Final = 256 << 10
_MEMORY: Final = 128 << 20  # bytes that a decompressor may need
_LAST_TIME: Final = 1 << 52  # ms
_ENCRYPTED: Final = 1
_ZIP_HEADER: Final = struct.Struct("<4s22xHH")  # of a member, before its name

Opener = Callable[[IO[bytes]], Any]


class _Zstd:
    """Decompress zstd with limited memory."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        context = zstandard.ZstdDecompressor(max_window_size=_MEMORY)
        self._reader: Any = context.stream_reader(file, read_across_frames=True)

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; none at the end, also an early one."""
        try:
            return bytes(self._reader.read(size))
        except self._error as error:
            raise ValueError(str(error)) from None


class _Xz:
    """Decompress xz with limited memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        while True:
            data = b""
            if self._reader.eof:
                data = self._reader.unused_data.lstrip(b"\0") or self._file.read(_CHUNK)
                if not data.strip(b"\0"):
                    return b""
                self._reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
            elif self._reader.needs_input and not (data := self._file.read(_CHUNK)):
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            if found := self._reader.decompress(data, size):
                return found


_TARS: Final[tuple[tuple[tuple[str, ...], Opener | None, str], ...]] = (
    ((".tar",), None, "tar -xf"),
    ((".tar.gz", ".tgz"), lambda file: gzip.GzipFile(fileobj=file), "tar -xzf"),
    ((".tar.zst", ".tzst"), _Zstd, "tar --zstd -xf"),
    ((".tar.xz", ".txz"), _Xz, "tar -xJf"),
    ((".tar.bz2", ".tbz2"), bz2.BZ2File, "tar -xjf"),
)
_ERRORS: Final = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError,
    OverflowError, RecursionError, struct.error, NotImplementedError, IndexError, KeyError,
)  # fmt: skip
"""What the readers of archives raise at bad bytes, beside OSError."""

ENDINGS: Final = (*(ending for endings, *_ in _TARS for ending in endings), ".zip")
"""How the names of archives end."""


class _TooLargeError(ValueError):
    """An archive exceeds a limit."""


class _Member(NamedTuple):
    """A file or folder in an archive.

    Attributes:
        entry: what is said of it.
        runs: of a file: (position in the archive, position in the file, bytes), ascending.
        zipped: of a compressed member of a zip: what describes it.
    """

    entry: RemoteEntry
    runs: tuple[tuple[int, int, int], ...] = ()
    zipped: zipfile.ZipInfo | None = None


class _Headers:
    """A file of which headers are read: seekable, and never much at a time.

    Args:
        descriptor: the file.
        most: bytes that can be read at a time.
    """

    def __init__(self, descriptor: int, most: int) -> None:
        self._descriptor = descriptor
        self._most = most
        self._at = 0
        self._cost = 0.0  # of long headers, in the longest
        self.end = os.fstat(descriptor).st_size

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position."""
        size = self.end - self._at if size < 0 else min(size, self.end - self._at)
        if size > self._most:
            raise _TooLargeError(f"a header of {size:,} bytes (at most {self._most:,} are read)")
        self._cost += (size / self._most) ** 2 if size > _LONG else 0
        if self._cost > _MOST_LONG:
            raise _TooLargeError("too many long headers")
        data = os.pread(self._descriptor, max(size, 0), self._at)
        self._at += len(data)
        return data

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.end}[whence]
        if start + position < 0:
            raise ValueError("a header leads before the beginning of the archive")
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


class _MemberFile:
    """An open member. Threads may share it."""

    def __init__(self, archive: "ArchiveFiles", descriptor: int, member: _Member) -> None:
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
        for position, at, size in self._runs:
            low, high = max(at, offset), min(at + size, end)
            if low < high:
                found = os.pread(self._descriptor, high - low, position + low - at)
                data[low - offset : low - offset + len(found)] = found
        return bytes(data)

    def close(self) -> None:
        """Do nothing: the archive stays open."""


class _Unpacked:
    """A temporary file without a name for decompressed bytes.

    Attributes:
        descriptor: the file.
    """

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self.descriptor = os.dup(file.fileno())
        self._end = 0
        self._stored = 0

    def __del__(self) -> None:
        """Close the file, which removes it."""
        os.close(self.descriptor)

    def add(self, reader: Any, most: int) -> tuple[int, int]:
        """Append what a reader gives; return position and size.

        Raises:
            _TooLargeError: it is more than the limits allow.
        """
        start = self._end
        while data := reader.read(_CHUNK):
            if data.count(0) != len(data):
                self._stored += len(data)
                os.pwrite(self.descriptor, data, self._end)
            self._end += len(data)
            if self._stored > _MOST_STORED or self._end - start > most:
                limit = _MOST_STORED if self._stored > _MOST_STORED else most
                raise _TooLargeError(f"it has more than {limit >> 20:,} MiB when decompressed")
        os.ftruncate(self.descriptor, self._end)
        return start, self._end - start


class ArchiveFiles:
    """The members of an archive as a file system. Threads may share it.

    Args:
        path: the archive, absolute; also the prefix of the paths of its members.

    Raises:
        LogDirectoryError: it is not an archive of its kind, ends early, or exceeds a limit.
        OSError: it cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._folders: dict[str, dict[str, _Member]] = {"": {}}
        self._entries = 0
        self._refused = 0
        self._descriptor = open_regular(path)
        self._unpacked: _Unpacked | None = None
        self._opened: dict[str, _Member] = {}  # members of a zip that were decompressed
        self._zip: zipfile.ZipFile | None = None
        self._lock = threading.Lock()
        unpack = "unzip"
        try:
            if path.endswith(".zip"):
                self._read_zip()
            else:
                opener, unpack = _tar_kind(path)
                self._read_tar(opener)
        except _TooLargeError as error:
            raise LogDirectoryError(path, f"{error}; unpack it yourself: {unpack}") from None
        except _ERRORS as error:
            raise LogDirectoryError(path, f"not read as an archive: {_words(error)}") from None
        except OSError as error:
            if type(error) is not gzip.BadGzipFile and error.errno is not None:
                raise
            raise LogDirectoryError(path, f"not read as an archive: {_words(error)}") from None

    def __del__(self) -> None:
        """Close the archive."""
        descriptor = getattr(self, "_descriptor", -1)
        if descriptor >= 0:
            os.close(descriptor)

    # --- reading the list of members ---------------------------------------------------------

    def _read_tar(self, opener: Opener | None) -> None:
        descriptor = self._descriptor
        if opener is not None:
            self._unpacked = _Unpacked()
            with os.fdopen(os.dup(descriptor), "rb") as file:
                self._unpacked.add(opener(file), _MOST_BYTES)
            descriptor = self._unpacked.descriptor
        headers = _Headers(descriptor, _LONGEST_HEADER)
        for member in _tar_members(headers):
            self._add(member.name, *_of_tar(member, headers.end))

    def _read_zip(self) -> None:
        headers: Any = _Headers(self._descriptor, _MOST_DIRECTORY)
        self._zip = zipfile.ZipFile(headers)
        for info in self._zip.infolist():
            self._add(info.filename, *_of_zip(info))

    def _add(self, name: str, entry: RemoteEntry, member: _Member) -> None:
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
        self._count()
        names[parts[-1]] = member._replace(entry=entry._replace(name=parts[-1]))
        if entry.is_folder:
            self._folders["/".join(parts)] = {}

    def _folder(self, parts: list[str]) -> str | None:
        """Return the path of a folder, made if it is missing; None if a file has its name."""
        path = ""
        for part in parts:
            names = self._folders[path]
            found = names.get(part)
            path = f"{path}/{part}" if path else part
            if found is None:
                self._count()
                names[part] = _Member(RemoteEntry(part, is_folder=True, size=0, modified_ms=0))
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
            self._folders[folder][name] = _Member(entry)

    def _count(self) -> None:
        self._entries += 1
        if self._entries > _MOST_ENTRIES:
            raise _TooLargeError(f"it has more than {_MOST_ENTRIES:,} members")

    # --- as a file system --------------------------------------------------------------------

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._path).strip("/")

    def _member(self, path: str) -> _Member | None:
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

    def open(self, path: str) -> _MemberFile:
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
            return _MemberFile(self, self._zip_descriptor(member), member)
        is_unpacked = self._unpacked is not None
        descriptor = self._unpacked.descriptor if self._unpacked else self._descriptor
        assert is_unpacked or descriptor >= 0
        return _MemberFile(self, descriptor, member)

    def _zip_descriptor(self, member: _Member) -> int:
        if member.zipped is not None and member.zipped.compress_type == zipfile.ZIP_STORED:
            return self._descriptor
        assert self._unpacked is not None
        return self._unpacked.descriptor

    def _unzipped(self, path: str, info: zipfile.ZipInfo, member: _Member) -> _Member:
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
                    self._unpacked = _Unpacked()
                with self._zip.open(info) as reader:
                    start, size = self._unpacked.add(reader, info.file_size)
        except (*_ERRORS, RuntimeError, MemoryError) as error:
            raise OSError(errno.EIO, f"damaged in the archive: {_words(error)}", path) from None
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


def _tar_kind(path: str) -> tuple[Opener | None, str]:
    return next((opener, unpack) for endings, opener, unpack in _TARS if path.endswith(endings))


def _words(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _tar_members(headers: _Headers) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar.

    Raises:
        tarfile.TarError: a header is damaged, or the archive ends early.
    """
    file: Any = headers
    with tarfile.open(fileobj=file, mode="r:") as tar:
        last = -1
        while (member := tar.next()) is not None:
            if member.offset <= last:
                raise tarfile.ReadError("a header leads backwards")
            last = member.offset
            yield member
            vars(tar).update(members=[], pax_headers={})  # they would grow with the archive
        headers.seek(tar.offset)  # where `tarfile` stops, also at a damaged header
        if headers.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError(f"it ends early, or a header is damaged at byte {tar.offset}")


def _of_tar(member: tarfile.TarInfo, end: int) -> tuple[RemoteEntry, _Member]:
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
        for at, size in pieces:
            if size < 0 or at < 0 or position + size > end or at + size > member.size:
                raise tarfile.ReadError(f"unexpected end of data in {member.name[:80]!r}")
            found.append((position, at, size))
            position += size
        runs = tuple(run for run in found if run[2])
    entry = entry._replace(refusal=refusal)
    return entry, _Member(entry, runs)


def _of_zip(info: zipfile.ZipInfo) -> tuple[RemoteEntry, _Member]:
    """Return what a member of a zip is."""
    mode = stat.S_IFMT(info.external_attr >> 16)
    refusal = None
    if info.flag_bits & _ENCRYPTED:
        refusal = "an encrypted member"
    elif mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
        refusal = "a symbolic link" if mode == stat.S_IFLNK else "not a regular file"
    try:
        modified = time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        modified = 0.0
    size = 0 if info.is_dir() else info.file_size
    entry = RemoteEntry("", info.is_dir(), size, _time(modified), refusal)
    return entry, _Member(entry, zipped=None if info.is_dir() else info)


def _time(seconds: float) -> int:
    """Return a time in ms; 0 where it is none."""
    try:
        return min(max(int(seconds * 1000), 0), _LAST_TIME)
    except (ValueError, OverflowError):
        return 0


# --- opening ---------------------------------------------------------------------------------

_VERSIONS: Final[dict[str, tuple[int, ...]]] = {}  # archive → what tells its versions apart


def opened_archive(path: str) -> str:
    """Return a path that can be read; one of an archive, or into one, is mounted first.

    If an archive holds one folder and nothing else, as `tar -czf logs.tgz kafka-logs` makes it,
    that folder is meant.

    Raises:
        LogDirectoryError: it cannot be read as an archive, or exceeds a limit.
        OSError: it cannot be read.
    """
    archive = _archive_of(path)
    if archive is None:
        return path
    found = os.stat(archive)
    version = (found.st_ino, found.st_size, found.st_mtime_ns)
    if mounted_at(archive) is None or _VERSIONS.get(archive) != version:
        mount(archive, ArchiveFiles(archive))
        _VERSIONS[archive] = version
    whole = os.path.abspath(path)
    return _only_folder(archive) if whole == archive else whole


def _archive_of(path: str) -> str | None:
    """Return the absolute path of the archive that a path names or leads into."""
    at = os.path.abspath(path)
    if not any(ending in at for ending in ENDINGS):
        return None
    while not at.endswith(ENDINGS) or not os.path.isfile(at):
        above = os.path.dirname(at)
        if above == at or os.path.isdir(at):
            return None
        at = above
    return at


def _only_folder(path: str) -> str:
    """Return the folder that holds everything: ``path``, or one that is alone in it."""
    files = files_at(path)
    assert files is not None
    while True:
        there = [each for each in files.entries(path) if each.refusal is None]
        name = there[0].name if len(there) == 1 and there[0].is_folder else None
        if name is None or name.rpartition("-")[2].isdecimal():  # a partition directory
            return path
        path = f"{path}/{name}"
