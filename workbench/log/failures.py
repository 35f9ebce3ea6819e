"""Which log directories have failed: after one failed write nothing more goes to a directory.

Kafka: LogDirFailureChannel (4.2)
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

    @contextmanager
    def guard(self, directory: str, doing: str) -> Iterator[None]:
        """Turn an error of the operating system into `StorageError` and the directory offline.

        Args:
            directory: the log directory that the work is on.
            doing: what was tried, for the message: "append to orders-0".

        Raises:
            StorageError: the directory has failed before, or fails now.

        Kafka: LocalLog.maybeHandleIOException (4.2)
        """
        self.check(directory)
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            self.add(directory, error)
            raise StorageError(directory, f"could not {doing}: {error}") from error
