"""What the readers of this folder share: one way to read a file, strictly or for inspection.

Every kind of file has a class with `decode(data)` and `read(path)`. Both are strict: the first
thing wrong raises, with path and position. With ``strict=False`` nothing wrong raises; the result
holds what can be read, and its ``problems`` say what is wrong with the rest. A file that is not
there, or may not be read, raises OSError either way.

Problems of one kind are reported once a file, at the first place, with their number: a megabyte of
garbage gives a handful, not a million.
"""

from typing import ClassVar, Final, Literal, NamedTuple, NoReturn, Self

from workbench.errors import (
    CorruptCheckpointError,
    CorruptFileError,
    CorruptSnapshotError,
    UnsupportedFormatError,
)
from workbench.record.remote import read_whole

ProblemKind = Literal[
    "unknown version",    # a broker of the versions known here refuses it
    "malformed",          # text or structure does not parse
    "missing",            # something that must be there is not
    "bad value",          # parses, but may not be
    "wrong count",        # the number of entries is not the one written before them
    "wrong crc",
    "unfinished entry",   # the file ends inside an entry
    "left over bytes",    # behind the last entry
    "wrong order",        # entries do not ascend
    "below base offset",  # an entry points before its segment
    "too large",          # only the beginning was read
]  # fmt: skip

KIB: Final = 1024
MIB: Final = 1024 * KIB


class Problem(NamedTuple):
    """One thing wrong with a file; `str()` says it in a line.

    Attributes:
        kind: what sort of thing.
        position: byte where it begins; None when the whole file is meant.
        found: what stands there.
        expected: what should.
    """

    kind: ProblemKind
    position: int | None
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.kind}: found {self.found}, expected {self.expected}"


class ProblemList:
    """Collects problems while a file is read: of each kind the first, and how many there are."""

    def __init__(self) -> None:
        self._first: dict[ProblemKind, Problem] = {}
        self._counts: dict[ProblemKind, int] = {}

    def add(
        self, kind: ProblemKind, position: int | None, found: str, expected: str, count: int = 1
    ) -> None:
        """Note ``count`` problems of a kind, the first of them as described."""
        self._first.setdefault(kind, Problem(kind, position, found, expected))
        self._counts[kind] = self._counts.get(kind, 0) + count

    def found(self) -> tuple[Problem, ...]:
        """Return them in the order they came up, with the number of more of the same kind."""
        return tuple(
            problem._replace(found=f"{problem.found} (and {more} more)")
            if (more := self._counts[kind] - 1)
            else problem
            for kind, problem in self._first.items()
        )


def raise_problem(error: type[CorruptFileError], path: str | None, problem: Problem) -> NoReturn:
    """Raise a problem as the error of its kind of file; an unknown version as such."""
    if problem.kind == "unknown version":
        raise UnsupportedFormatError(path, problem.position, str(problem))
    raise error(path, problem.position, str(problem))


class SmallFile:
    """What a file says that is small enough to be read whole, and what is wrong with it.

    Attributes:
        problems: what is wrong; empty in whatever was read strictly.
    """

    __slots__ = ()
    corrupt_error: ClassVar[type[CorruptCheckpointError] | type[CorruptSnapshotError]]
    size_limit: ClassVar[int]  # bytes; a broker's own never come near it
    problems: tuple[Problem, ...]

    @classmethod
    def decode(cls, data: bytes, path: str | None = None, *, strict: bool = True) -> Self:
        """Return what the file's bytes say.

        Args:
            data: the whole file.
            path: named in errors.
            strict: raise the first problem instead of keeping it.

        Raises:
            CorruptFileError: the bytes break the format; which subclass depends on the file.
            UnsupportedFormatError: the file's version is not known.
        """
        problems = ProblemList()
        if len(data) > cls.size_limit:
            problems.add("too large", cls.size_limit, "more bytes", f"at most {cls.size_limit}")
        contents = cls._parse(data[: cls.size_limit], problems)
        if strict and contents.problems:
            raise_problem(cls.corrupt_error, path, contents.problems[0])
        return contents

    @classmethod
    def read(cls, path: str, *, strict: bool = True) -> Self:
        """Return what the file says; see `decode`.

        Raises:
            OSError: the file cannot be read.
        """
        data = read_whole(path, cls.size_limit + 1)
        if data is None:
            with open(path, "rb") as file:
                data = file.read(cls.size_limit + 1)
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
