"""Decompress the members of an archive into a temporary file, within limits.

The file has no name, lives as long as the archive is open, and does not hold runs of zeros.
"""

import bz2
import gzip
import lzma
import os
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, Final

MOST_STORED: Final = 2 << 30  # decompressed bytes, without runs of zeros
MOST_BYTES: Final = 16 << 30  # decompressed bytes of a compressed tar, with runs of zeros
_CHUNK: Final = 256 << 10
_MEMORY: Final = 128 << 20  # bytes that a decompressor may need

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

ERRORS: Final = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError,
    OverflowError, RecursionError, struct.error, NotImplementedError, IndexError, KeyError,
)  # fmt: skip
"""What the readers of archives raise at bad bytes, beside OSError."""

ENDINGS: Final = (*(ending for endings, *_ in _TARS for ending in endings), ".zip")
"""How the names of archives end."""


class ArchiveTooLargeError(ValueError):
    """An archive exceeds a limit."""


class Unpacked:
    """A temporary file without a name for decompressed bytes.

    Attributes:
        descriptor: the file.
    """

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self.descriptor = os.dup(file.fileno())
        self._end = 0
        self._stored = 0

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        """Close the file, which removes it; at the interpreter's exit there is no `os` any more."""
        _close(self.descriptor)

    def add(self, reader: Any, most: int) -> tuple[int, int]:
        """Append what a reader gives; return position and size.

        Raises:
            TooLargeError: it is more than the limits allow.
        """
        start = self._end
        while data := reader.read(_CHUNK):
            if data.count(0) != len(data):
                self._stored += len(data)
                os.pwrite(self.descriptor, data, self._end)
            self._end += len(data)
            if self._stored > MOST_STORED or self._end - start > most:
                limit = MOST_STORED if self._stored > MOST_STORED else most
                raise ArchiveTooLargeError(
                    f"it has more than {limit >> 20:,} MiB when decompressed"
                )
        os.ftruncate(self.descriptor, self._end)
        return start, self._end - start


def tar_kind(path: str) -> tuple[Opener | None, str]:
    """Return what decompresses a tar, None for a plain one, and the command that unpacks it."""
    return next((opener, unpack) for endings, opener, unpack in _TARS if path.endswith(endings))


def words_of(error: BaseException) -> str:
    """Return the first line of an error, for a message."""
    return str(error).partition("\n")[0] or type(error).__name__
