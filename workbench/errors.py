"""Every error of the workbench.

    WorkbenchError
    ├── CorruptFileError (ValueError)         bytes break the format; .path .position .problem
    │   ├── CorruptRecordError                  a batch or record: length, CRC, excess bytes
    │   ├── CorruptIndexError                   offset, time or transaction index
    │   ├── CorruptSnapshotError                producer snapshot
    │   ├── CorruptCheckpointError              checkpoint, leader epochs, metadata and state files
    │   ├── CorruptTopicIdError                 a topic id at which a broker does not start
    │   ├── CorruptNameError                    a file's name without the required offset
    │   └── CorruptLogError                     files or records of a log that contradict each other
    ├── UnsupportedFormatError (ValueError)   unknown magic, codec or file version
    ├── OffsetOutOfRangeError (LookupError)   outside the log's offsets; .offset .low .high
    ├── StateUnknownError (LookupError)       a cluster's state is not in the files; .path .problem
    ├── InvalidOffsetError (ValueError)       an append with offsets below those in the log
    ├── OffsetOverflowError (OverflowError)   relative offset does not fit in 4 bytes
    ├── AppendError (ValueError)              records that a broker rejects
    │   ├── RecordTooLargeError                 a batch above max.message.bytes
    │   ├── RecordBatchTooLargeError            an append above segment.bytes
    │   ├── InvalidRecordError                  records that break a rule; .record_errors
    │   │   └── InvalidTimestampError             too far from the time of the append
    │   ├── UnsupportedForMessageFormatError    producer ids or codecs that an old magic lacks
    │   ├── OffsetsOutOfOrderError              a follower's append whose offsets fall
    │   ├── UnexpectedAppendOffsetError         a follower's append below the log end offset
    │   ├── OutOfOrderSequenceError             a gap in a producer's sequence numbers
    │   ├── InvalidProducerEpochError           a producer epoch below the newest known one
    │   ├── InvalidTransactionStateError        not in a transaction, or still in one
    │   └── CoordinatorFencedError              a marker of an older transaction coordinator
    ├── InconsistentTopicIdError (ValueError) a log's topic id differs from the given one
    ├── InvalidTransitionError (RuntimeError) a coordinator's state cannot follow the one before
    ├── CleaningAbortedError (RuntimeError)   a cleaning was aborted
    ├── CoordinatorError (RuntimeError)       a coordinator refuses a request; .code .error
    ├── GroupStateError (RuntimeError)        a group must not do this in its state
    ├── ReplicationError (ValueError)         a simulated cluster cannot do that
    ├── PlayerError (ValueError)              a player was given what it cannot play
    ├── ConfigError (ValueError)              an unknown name, or a value out of bounds
    ├── SchemaError (ValueError)              a schema, decoding or mask that cannot be used
    ├── QueryError (ValueError)               a query on records that cannot be read
    ├── NotRegularFileError (OSError)         a folder, FIFO, socket or device; .path .found
    ├── LinkError (OSError)                   a link out of the directory, or to nothing; .path
    ├── LogDirectoryError (OSError)           not a log directory, locked, or offline
    │   ├── StorageError                        a write failed: its log directory is offline
    │   └── RemoteStorageError                  a remote segment is damaged, or its key is missing
    ├── ServerError (OSError)                 a server must not, or cannot, listen there
    ├── ReplayError (OSError)                 a cluster does not take records; .where .problem
    ├── OutputError (OSError)                 a file or folder must not be created there
    └── MissingDependencyError (ImportError)  a loader needs a package; names the command

Two warnings are here, too: `CorruptDataWarning` and `UncommittedRecordsWarning`.

Messages read *where: what is wrong (found, expected)* and are made here, from the attributes. Every
error can be pickled, so it arrives complete from a worker process.
"""

from typing import Any, Final

NOT_THERE: Final = "there is no such file or directory"


class WorkbenchError(Exception):
    """The base of every error raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes: the constructors take other arguments."""
        return (_rebuild, (type(self), self.args, vars(self)))


class CorruptFileError(WorkbenchError, ValueError):
    """Bytes break the format of their file.

    Attributes:
        path: the file; None when the bytes came from memory.
        position: byte where the wrong bytes begin; None for the whole file.
        problem: what was found and what was expected.
    """

    def __init__(self, path: str | None, position: int | None, problem: str) -> None:
        super().__init__(f"{_place(path, position)}: {problem}")
        self.path = path
        self.position = position
        self.problem = problem


class CorruptRecordError(CorruptFileError):
    """A batch or record is wrong: length, CRC, structure, or excess bytes."""


class CorruptIndexError(CorruptFileError):
    """An offset, time or transaction index is wrong."""


class CorruptSnapshotError(CorruptFileError):
    """A producer snapshot is wrong."""


class CorruptCheckpointError(CorruptFileError):
    """A checkpoint, leader epoch, topic id, broker id or election file is wrong."""


class CorruptTopicIdError(CorruptFileError):
    """`partition.metadata` lacks a line, or its id has a wrong length: a broker does not start.

    Attributes:
        is_short: whether a line is missing.
    """

    def __init__(self, path: str | None, problem: str, *, is_short: bool) -> None:
        super().__init__(path, None, problem)
        self.is_short = is_short


class CorruptNameError(CorruptFileError):
    """A file's name does not begin with the offset that a broker needs there."""


class CorruptLogError(CorruptFileError):
    """Files or records of a log contradict each other, so that no broker can work with them."""


class UnsupportedFormatError(WorkbenchError, ValueError):
    """A magic, codec or file version that this version does not know.

    Attributes:
        path: the file; None when the bytes came from memory.
        position: byte of the unknown number; None for the whole file.
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
        offset: the requested offset.
        low: log start offset, inclusive.
        high: log end offset, exclusive.
    """

    def __init__(self, offset: int, low: int, high: int, where: str = "the log") -> None:
        super().__init__(f"offset {offset} is not in {where}, which holds [{low}, {high})")
        self.offset = offset
        self.low = low
        self.high = high


class StateUnknownError(WorkbenchError, LookupError):
    """The state of a cluster, or what it was at some time, is not in the files that are there.

    Attributes:
        path: the directory.
        problem: what is not there, and what is.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class InvalidOffsetError(WorkbenchError, ValueError):
    """An append with offsets below those in the log."""


class OffsetOverflowError(WorkbenchError, OverflowError):
    """An offset is too far from its segment's base offset for a relative offset of 4 bytes.

    Attributes:
        offset: the offset that does not fit.
        base_offset: the segment's base offset.
    """

    def __init__(self, offset: int, base_offset: int, where: str = "a segment") -> None:
        super().__init__(
            f"offset {offset} does not fit in {where} with base offset {base_offset}: "
            f"the difference must be 0 to 2147483647"
        )
        self.offset = offset
        self.base_offset = base_offset


class NotRegularFileError(WorkbenchError, OSError):
    """A folder, FIFO, socket or device has the name of a file; it was not opened.

    Attributes:
        path: the name that was not opened.
        found: what it is: "a FIFO".
    """

    def __init__(self, path: str, found: str) -> None:
        super().__init__(f"{path}: not opened (found {found}, expected a regular file)")
        self.path = path
        self.found = found


class LinkError(WorkbenchError, OSError):
    """A symbolic link leads out of the directory, nowhere, or in a circle; it was not followed.

    Attributes:
        path: the link.
        found: what it is: "a link to /etc/hosts, outside of the directory".
    """

    def __init__(self, path: str, found: str) -> None:
        super().__init__(
            f"{path}: not followed (found {found}, expected a target inside the directory)"
        )
        self.path = path
        self.found = found


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
    """A log directory failed and is offline: all reads and writes there are rejected.

    Kafka: KafkaStorageException (4.2)
    """


class RemoteStorageError(LogDirectoryError):
    """A file of a remote tier is damaged, or cannot be decrypted with the keys that were given.

    Kafka: RemoteStorageException (4.2)
    """


class OutputError(WorkbenchError, OSError):
    """A file or folder must not be created there: it is inside the input, or exists already.

    Attributes:
        path: the file or folder.
        problem: why it must not be created.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class ReplayError(WorkbenchError, OSError):
    """A running cluster cannot be reached, or does not take the records of a replay.

    Attributes:
        where: the broker that was named.
        problem: what it refused.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class ServerError(WorkbenchError, OSError):
    """A server must not listen at an address, or cannot.

    Attributes:
        where: the host, or host and port.
        problem: why not.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class AppendError(WorkbenchError, ValueError):
    """Records that a broker rejects; none of them was written."""


class RecordTooLargeError(AppendError):
    """A batch is larger than `max.message.bytes`."""


class RecordBatchTooLargeError(AppendError):
    """An append is larger than `segment.bytes`."""


class InvalidRecordError(AppendError):
    """Records break a rule; one such record is enough to reject the batch.

    Attributes:
        record_errors: index of the record in its batch -> what is wrong with it; may be empty
            if the whole batch is wrong.
    """

    def __init__(self, problem: str, record_errors: dict[int, str] | None = None) -> None:
        super().__init__(problem)
        self.record_errors = record_errors or {}


class InvalidTimestampError(InvalidRecordError):
    """Records have timestamps too far before or after the time of the append."""


class UnsupportedForMessageFormatError(AppendError):
    """Producer ids, transactions or a codec that the requested magic does not have."""


class OffsetsOutOfOrderError(AppendError):
    """Offsets in a follower's append do not ascend."""


class UnexpectedAppendOffsetError(AppendError):
    """Offsets in a follower's append begin below the log end offset.

    Attributes:
        first_offset: the append's first offset.
        last_offset: the append's last offset, inclusive.
    """

    def __init__(self, problem: str, first_offset: int, last_offset: int) -> None:
        super().__init__(problem)
        self.first_offset = first_offset
        self.last_offset = last_offset


class OutOfOrderSequenceError(AppendError):
    """A producer's sequence numbers do not follow those in the log."""


class InvalidProducerEpochError(AppendError):
    """A producer's epoch is below the newest known one of its id."""


class InvalidTransactionStateError(AppendError):
    """Records outside a transaction while their producer has an open one, or the reverse."""


class CoordinatorFencedError(AppendError):
    """A transaction marker of a coordinator that has been replaced."""


class InconsistentTopicIdError(WorkbenchError, ValueError):
    """A log's topic id differs from the given one."""


class InvalidTransitionError(WorkbenchError, RuntimeError):
    """A coordinator's state cannot follow the one before.

    Kafka: the IllegalStateException of its coordinators (4.2)
    """


class CleaningAbortedError(WorkbenchError, RuntimeError):
    """A round of cleaning was aborted; the log is intact, and a later round may succeed."""


class CoordinatorError(WorkbenchError, RuntimeError):
    """A coordinator refuses a request, with the error code that a broker answers.

    Attributes:
        code: Kafka's number of the error, such as 16.
        error: Kafka's name of the error, such as ``"NOT_COORDINATOR"``.
        problem: why the coordinator refuses; empty if the name says it all.
    """

    def __init__(self, code: int, error: str, problem: str = "") -> None:
        super().__init__(f"{error} ({code})" + (f": {problem}" if problem else ""))
        self.code = code
        self.error = error
        self.problem = problem


class GroupStateError(WorkbenchError, RuntimeError):
    """A group must not do this in its state; Kafka throws IllegalStateException."""


class ReplicationError(WorkbenchError, ValueError):
    """A simulated cluster cannot do that: there is no such broker, or it does not run."""


class PlayerError(WorkbenchError, ValueError):
    """A player was given something that it cannot play."""


class ConfigError(WorkbenchError, ValueError):
    """An unknown configuration name, or a value that is not allowed.

    Attributes:
        name: as it was given.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


class SchemaError(WorkbenchError, ValueError):
    """A schema cannot be read, a decoding is unknown, or a mask has no meaning."""


class QueryError(WorkbenchError, ValueError):
    """A query on records cannot be read; the message says what was expected."""


class MissingDependencyError(WorkbenchError, ImportError):
    """A package that only some calls need is missing.

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


class CorruptDataWarning(UserWarning):
    """A scan left out batches, or made values null, that it cannot read; see `Scan.findings`."""


class UncommittedRecordsWarning(UserWarning):
    """A scan without an isolation level gave records of aborted or open transactions."""
