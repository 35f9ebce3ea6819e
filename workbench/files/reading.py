"""Read small files, strictly or for inspection: what the readers of this folder share.

Every kind of file has a class with `decode(data)` and `read(path)`. Both are strict: the first
problem raises, with path and position. With ``strict=False`` no problem raises; the result holds
what can be read, and its ``problems`` say what is wrong with the rest. A file that does not exist
or cannot be read raises OSError either way.

Problems of one kind are reported once per file, at the first position, with their number: a
megabyte of garbage gives a handful, not a million.
"""

import os
from typing import ClassVar, Final, Literal, NamedTuple, NoReturn, Self

from workbench.errors import (
    CorruptCheckpointError,
    CorruptFileError,
    CorruptSnapshotError,
    UnsupportedFormatError,
)
from workbench.file_system.source import THIS_MACHINE, Files, open_regular

ProblemKind = Literal[
    "unknown version",    # brokers of the versions known here reject it
    "malformed",          # text or structure does not parse
    "missing",            # something required is missing
    "bad value",          # parses, but is not allowed
    "wrong count",        # the number of entries differs from the one written before them
    "wrong crc",
    "unfinished entry",   # the file ends inside an entry
    "left over bytes",    # after the last entry
    "wrong order",        # entries do not ascend
    "below base offset",  # an entry points before its segment
    "too large",          # only the beginning was read
]  # fmt: skip

KIB: Final = 1024
MIB: Final = 1024 * KIB


class FileProblem(NamedTuple):
    """One thing wrong with a file; `str()` says it in one line.

    Attributes:
        kind: the sort of problem.
        position: byte where it begins; None for the whole file.
        found: what is there.
        expected: what should be there.
    """

    kind: ProblemKind
    position: int | None
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.kind}: found {self.found}, expected {self.expected}"


class ProblemList:
    """Collect problems while a file is read: the first of each kind, and how many there are."""

    def __init__(self) -> None:
        self._first: dict[ProblemKind, FileProblem] = {}
        self._counts: dict[ProblemKind, int] = {}

    def add(
        self, kind: ProblemKind, position: int | None, found: str, expected: str, count: int = 1
    ) -> None:
        """Note ``count`` problems of a kind, the first of them as described."""
        self._first.setdefault(kind, FileProblem(kind, position, found, expected))
        self._counts[kind] = self._counts.get(kind, 0) + count

    def found(self) -> tuple[FileProblem, ...]:
        """Return the first of each kind, in the order found, with the number of others."""
        return tuple(
            problem._replace(found=f"{problem.found} (and {more} more)")
            if (more := self._counts[kind] - 1)
            else problem
            for kind, problem in self._first.items()
        )


def raise_problem(
    error: type[CorruptFileError], path: str | None, problem: FileProblem
) -> NoReturn:
    """Raise a problem as the error of its kind of file; an unknown version as such."""
    if problem.kind == "unknown version":
        raise UnsupportedFormatError(path, problem.position, str(problem))
    raise error(path, problem.position, str(problem))


class SmallFile:
    """A file that is small enough to be read whole, and what is wrong with it.

    Attributes:
        problems: what is wrong; always empty after a strict read.
    """

    __slots__ = ()
    corrupt_error: ClassVar[type[CorruptCheckpointError] | type[CorruptSnapshotError]]
    size_limit: ClassVar[int]  # bytes; far above the size of a broker's files
    problems: tuple[FileProblem, ...]

    @classmethod
    def decode(cls, data: bytes, path: str | None = None, *, strict: bool = True) -> Self:
        """Parse the file's bytes.

        Args:
            data: the whole file.
            path: named in errors.
            strict: raise the first problem instead of keeping it.

        Raises:
            CorruptFileError: the bytes break the format; which subclass depends on the file.
            UnsupportedFormatError: the file's version is unknown.
        """
        problems = ProblemList()
        if len(data) > cls.size_limit:
            problems.add("too large", cls.size_limit, "more bytes", f"at most {cls.size_limit}")
        contents = cls._parse(data[: cls.size_limit], problems)
        if strict and contents.problems:
            raise_problem(cls.corrupt_error, path, contents.problems[0])
        return contents

    @classmethod
    def read(cls, path: str, *, strict: bool = True, fs: Files = THIS_MACHINE) -> Self:
        """Read and parse the file; see `decode`, and `Files` for ``fs``.

        Raises:
            OSError: the file cannot be read, or is not a regular one (`NotRegularFileError`).
        """
        remote = fs.read_remote(path, cls.size_limit + 1)
        if remote is not None:
            return cls.decode(remote[0], path, strict=strict)
        with open(open_regular(path), "rb") as file:
            try:
                size = os.fstat(file.fileno()).st_size
                # `read` takes memory for all it may get; one byte more meets the end or an error
                data = file.read(min(size, cls.size_limit) + 1)
            except OSError as error:  # which knows no name
                error.filename = path
                raise
        return cls.decode(data, path, strict=strict)

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        """Return what can be read, with all problems. Never raises, whatever the bytes.

        Args:
            data: the file, up to the limit.
            problems: those found before.
        """
        raise NotImplementedError

    def encode(self) -> bytes:
        """Return the bytes that a broker would write for this."""
        raise NotImplementedError
