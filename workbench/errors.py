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
    ├── AppendError (ValueError)              records that a broker refuses to append
    │   ├── RecordTooLargeError                 a batch above max.message.bytes
    │   ├── RecordBatchTooLargeError            an append above segment.bytes
    │   ├── InvalidRecordError                  records that break a rule; .record_errors
    │   │   └── InvalidTimestampError             too far from the time of the append
    │   ├── UnsupportedForMessageFormatError    producer ids or codecs that an old format lacks
    │   ├── OffsetsOutOfOrderError              a follower's append whose offsets fall
    │   ├── UnexpectedAppendOffsetError         … that begins before the log's end
    │   ├── OutOfOrderSequenceError             sequence numbers of a producer with a gap
    │   ├── InvalidProducerEpochError           a producer with an older epoch than is known
    │   ├── InvalidTransactionStateError        not in a transaction, or still in one
    │   └── CoordinatorFencedError              a marker of an older transaction coordinator
    ├── InconsistentTopicIdError (ValueError) a log's topic id is another than the one given
    ├── CleaningAbortedError (RuntimeError)   a round of compaction was given up
    ├── ConfigError (ValueError)              a name that is not known, a value out of bounds
    ├── LogDirectoryError (OSError)           not a log directory, locked, or offline
    │   └── StorageError                        a write failed: its log directory is offline
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


class StorageError(LogDirectoryError):
    """A log directory failed and is offline; nothing more is read from it or written to it.

    Kafka: KafkaStorageException (4.2)
    """


class AppendError(WorkbenchError, ValueError):
    """Records that a broker refuses to append; nothing of them was written."""


class RecordTooLargeError(AppendError):
    """A batch is larger than `max.message.bytes`."""


class RecordBatchTooLargeError(AppendError):
    """An append is larger than `segment.bytes`."""


class InvalidRecordError(AppendError):
    """Records break a rule; if one of a batch does, the whole batch is refused.

    Attributes:
        record_errors: index of the record in its batch -> what is wrong with it; may be empty
            where the whole batch is wrong.
    """

    def __init__(self, problem: str, record_errors: dict[int, str] | None = None) -> None:
        super().__init__(problem)
        self.record_errors = record_errors or {}


class InvalidTimestampError(InvalidRecordError):
    """Records have timestamps too far before or after the time of the append."""


class UnsupportedForMessageFormatError(AppendError):
    """Producer ids, transactions or a codec that the wanted message format does not have."""


class OffsetsOutOfOrderError(AppendError):
    """Offsets that a follower is to keep do not ascend."""


class UnexpectedAppendOffsetError(AppendError):
    """Offsets that a follower is to keep begin before the log's end.

    Attributes:
        first_offset: of the append.
        last_offset: of the append, inclusive.
    """

    def __init__(self, problem: str, first_offset: int, last_offset: int) -> None:
        super().__init__(problem)
        self.first_offset = first_offset
        self.last_offset = last_offset


class OutOfOrderSequenceError(AppendError):
    """Sequence numbers of a producer do not follow those that the log has."""


class InvalidProducerEpochError(AppendError):
    """A producer's epoch is older than the newest known of its id."""


class InvalidTransactionStateError(AppendError):
    """Records outside a transaction while one of their producer is open, or the other way."""


class CoordinatorFencedError(AppendError):
    """A transaction marker of a coordinator that has been replaced."""


class InconsistentTopicIdError(WorkbenchError, ValueError):
    """A log belongs to another topic id than the one it is to be used for."""


class CleaningAbortedError(WorkbenchError, RuntimeError):
    """A round of cleaning was given up; the log is whole, and a later round may succeed."""


class ConfigError(WorkbenchError, ValueError):
    """A configuration name that is not known, or a value that it may not have.

    Attributes:
        name: as it was given.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


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
