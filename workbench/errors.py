"""Every error of the workbench.

    WorkbenchError
    ├── CorruptFileError (ValueError)         bytes break the format; .path .position .problem
    │   ├── CorruptRecordError                  a batch or record: length, CRC, bytes left over
    │   ├── CorruptIndexError                   offset, time or transaction index
    │   ├── CorruptSnapshotError                producer snapshot
    │   └── CorruptCheckpointError              checkpoint, leader epochs, metadata and state files
    ├── UnsupportedFormatError (ValueError)   magic, codec or file version we do not know
    ├── OffsetOutOfRangeError (LookupError)   below log start or past log end; .offset .low .high
    ├── InvalidOffsetError (ValueError)       an append that would go backwards
    ├── OffsetOverflowError (OverflowError)   relative offset does not fit in 4 bytes
    ├── LogDirectoryError (OSError)           not a log directory, locked, or offline
    └── MissingDependencyError (ImportError)  a loader needs a package; the message says how

Messages read *where: what is wrong (found, wanted)* and are made here, from the attributes. Every
error can be pickled, so that it comes back whole from a worker process.
"""

from typing import Any


class WorkbenchError(Exception):
    """The base of every error raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes: the constructors take other arguments."""
        return (_rebuild, (type(self), self.args, vars(self)))


class CorruptFileError(WorkbenchError, ValueError):
    """Bytes break the format of their file.

    Attributes:
        path: the file; None when the bytes came from memory.
        position: byte where the wrong bytes begin; None when the whole file is meant.
        problem: what was found and what was wanted.
    """

    def __init__(self, path: str | None, position: int | None, problem: str) -> None:
        super().__init__(f"{_place(path, position)}: {problem}")
        self.path = path
        self.position = position
        self.problem = problem


class CorruptRecordError(CorruptFileError):
    """A batch or record is wrong: length, CRC, structure, or bytes left over."""


class CorruptIndexError(CorruptFileError):
    """An offset, time or transaction index is wrong."""


class CorruptSnapshotError(CorruptFileError):
    """A producer snapshot is wrong."""


class CorruptCheckpointError(CorruptFileError):
    """A checkpoint, leader epoch, topic id, broker id or election file is wrong."""


class UnsupportedFormatError(WorkbenchError, ValueError):
    """A magic, codec or file version that this version does not know.

    Attributes:
        path: the file; None when the bytes came from memory.
        position: byte of the number that is not known; None when the whole file is meant.
        problem: what was found and what is known.
    """

    def __init__(self, path: str | None, position: int | None, problem: str) -> None:
        super().__init__(f"{_place(path, position)}: {problem}")
        self.path = path
        self.position = position
        self.problem = problem


class OffsetOutOfRangeError(WorkbenchError, LookupError):
    """An offset below the log start or past the log end.

    Attributes:
        offset: what was asked for.
        low: first offset there is, inclusive.
        high: log end offset, exclusive.
    """

    def __init__(self, offset: int, low: int, high: int, where: str = "the log") -> None:
        super().__init__(f"offset {offset} is not in {where}, which holds [{low}, {high})")
        self.offset = offset
        self.low = low
        self.high = high


class InvalidOffsetError(WorkbenchError, ValueError):
    """An append that would make offsets go backwards."""


class OffsetOverflowError(WorkbenchError, OverflowError):
    """An offset is too far from its segment's base offset for a relative offset of 4 bytes.

    Attributes:
        offset: what does not fit.
        base_offset: of the segment.
    """

    def __init__(self, offset: int, base_offset: int, where: str = "a segment") -> None:
        super().__init__(
            f"offset {offset} does not fit in {where} with base offset {base_offset}: "
            f"the difference must be 0 to 2147483647"
        )
        self.offset = offset
        self.base_offset = base_offset


class LogDirectoryError(WorkbenchError, OSError):
    """A path is not a log directory, or the directory is locked or offline.

    Attributes:
        path: the directory.
        problem: what is wrong with it.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class MissingDependencyError(WorkbenchError, ImportError):
    """A package is missing that only some calls need.

    Attributes:
        package: its name on PyPI.
        install: the command that installs it.
    """

    def __init__(self, package: str, install: str) -> None:
        super().__init__(f"{package} is not installed; run: {install}")
        self.package = package
        self.install = install


def _place(path: str | None, position: int | None) -> str:
    where = "bytes in memory" if path is None else path
    return where if position is None else f"{where} at byte {position}"


def _rebuild(
    cls: type[WorkbenchError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> WorkbenchError:
    error = cls.__new__(cls)
    error.args = args
    vars(error).update(attributes)
    return error
