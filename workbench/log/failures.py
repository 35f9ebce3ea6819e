"""Which log directories have failed: after one failed write nothing more goes to a directory.

Kafka: LogDirFailureChannel (4.2)
"""

import threading
from collections.abc import Callable
from types import TracebackType

from workbench.errors import StorageError

FailureListener = Callable[[str, OSError], None]


class LogDirFailures:
    """The offline log directories of one log manager, and who wants to know of a new one.

    Threads may share it. `listeners` are called once a directory, by the thread that failed.
    """

    def __init__(self) -> None:
        self.listeners: list[FailureListener] = []
        self._offline: dict[str, OSError] = {}
        self._lock = threading.Lock()

    @property
    def any_offline(self) -> bool:
        """Whether any directory has failed."""
        return bool(self._offline)

    @property
    def offline(self) -> tuple[str, ...]:
        """The directories that failed, in the order they did."""
        return tuple(self._offline)

    def is_offline(self, directory: str) -> bool:
        """Return whether a directory has failed."""
        return directory in self._offline

    def check(self, directory: str) -> None:
        """Raise StorageError if a directory has failed before."""
        error = self._offline.get(directory)
        if error is not None:
            raise StorageError(directory, f"the directory is already offline: {error}")

    def add(self, directory: str, error: OSError) -> None:
        """Note that a directory failed; the first error of each counts."""
        with self._lock:
            if directory in self._offline:
                return
            self._offline[directory] = error
        for listener in self.listeners:
            listener(directory, error)

    def guard(self, directory: str, doing: str, of: object = "") -> "FailureGuard":
        """Turn an error of the operating system into `StorageError` and the directory offline.

        Args:
            directory: the log directory that the work is on.
            doing: what was tried, for the message: "append to".
            of: what it was tried with: the partition.

        Raises:
            StorageError: the directory has failed before, or fails now.

        Kafka: LocalLog.maybeHandleIOException (4.2)
        """
        return FailureGuard(self, directory, doing, of)


class FailureGuard:
    """For a ``with`` statement; see `LogDirFailures.guard`. No generator: every append has one."""

    __slots__ = ("_directory", "_doing", "_failures", "_of")

    def __init__(self, failures: LogDirFailures, directory: str, doing: str, of: object) -> None:
        self._failures = failures
        self._directory = directory
        self._doing = doing
        self._of = of

    def __enter__(self) -> None:
        if self._failures.any_offline:
            self._failures.check(self._directory)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError) and not isinstance(error, StorageError):
            self._failures.add(self._directory, error)
            problem = f"could not {self._doing} {self._of}".rstrip()
            raise StorageError(self._directory, f"{problem}: {error}") from error
