"""Which log directories have failed: after one failed write nothing more is written there.

Kafka: LogDirFailureChannel (4.2)
"""

import threading
from collections.abc import Callable
from types import TracebackType

from workbench.errors import StorageError
from workbench.file_system.local import is_passing

FailureListener = Callable[[str, OSError], None]


class LogDirFailures:
    """The offline log directories of one log manager, and listeners for new ones.

    Threads may share it. `listeners` are called once per directory, by the thread that failed.

    Attributes:
        any_offline: whether any directory has failed.
    """

    def __init__(self) -> None:
        self.listeners: list[FailureListener] = []
        self.any_offline = False
        self._offline: dict[str, OSError] = {}
        self._lock = threading.Lock()

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
        """Note that a directory failed; only its first error is kept."""
        with self._lock:
            if directory in self._offline:
                return
            self._offline[directory] = error
            self.any_offline = True
        for listener in self.listeners:
            listener(directory, error)

    def failed(self, directory: str, doing: str, of: object, error: OSError) -> StorageError:
        """Take a directory offline for an error; return what to raise. Arguments: see `guard`."""
        self.add(directory, error)
        problem = f"could not {doing} {of}".rstrip()
        return StorageError(directory, f"{problem}: {error}")

    def guard(
        self, directory: str, doing: str, of: object = "", *, changes_nothing: bool = False
    ) -> "FailureGuard":
        """Turn an error of the operating system into `StorageError` and the directory offline.

        Args:
            directory: the log directory being worked on.
            doing: what was tried, for the message: "append to".
            of: the object of that work: the partition.
            changes_nothing: whether it only reads, or can be repeated, so that a lack of memory or
                of descriptors says nothing about the disk: that error is passed on. A broker's heap
                is not the disk's either, but it takes a lack of descriptors for a failed disk.

        Raises:
            StorageError: the directory has failed before, or fails now.

        Kafka: LocalLog.maybeHandleIOException (4.2)
        """
        return FailureGuard(self, directory, doing, of, changes_nothing=changes_nothing)


class FailureGuard:
    """For a ``with`` statement; see `LogDirFailures.guard`."""

    __slots__ = ("_changes_nothing", "_directory", "_doing", "_failures", "_of")

    def __init__(
        self,
        failures: LogDirFailures,
        directory: str,
        doing: str,
        of: object,
        *,
        changes_nothing: bool = False,
    ) -> None:
        self._changes_nothing = changes_nothing
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
            if self._changes_nothing and is_passing(error):
                return
            raise self._failures.failed(self._directory, self._doing, self._of, error) from error
