"""Logs that wait to be deleted: renamed to `-delete`, removed after file.delete.delay.ms.

Kafka: LogManager.addLogToBeDeleted, deleteLogs (4.2)
"""

from collections import deque
from collections.abc import Callable

from workbench.errors import StorageError
from workbench.log.log import Log
from workbench.runtime.clock import Clock


class DeletionQueue:
    """Logs to be deleted, the longest waiting first. Threads may add to it.

    Args:
        clock: the clock that measures a log's wait.
        delay_ms: returns how long a log waits, ms; called each time, as it may change.
    """

    def __init__(self, clock: Clock, delay_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._delay_ms = delay_ms
        self._waiting: deque[tuple[Log, int]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def logs(self) -> tuple[Log, ...]:
        """The logs that wait."""
        return tuple(log for log, _ in self._waiting)

    def add(self, log: Log) -> None:
        """Add a log; its wait starts now."""
        self._waiting.append((log, self._clock.now()))

    def delete_due(self) -> int:
        """Delete the logs that have waited long enough; return the ms until the next one is due.

        A log whose directory fails is kept on the disk; the directory is offline by then.

        Kafka: LogManager.deleteLogs (4.2)
        """
        while (wait := self._next_wait()) <= 0:
            log, _ = self._waiting.popleft()
            try:
                log.delete()
            except StorageError:
                continue  # the failure was recorded where it happened
        return wait

    def drop_directory(self, path: str) -> list[Log]:
        """Remove and return the logs of a log directory."""
        dropped = [log for log in self.logs if log.parent_directory == path]
        kept = [(log, since) for log, since in self._waiting if log.parent_directory != path]
        self._waiting = deque(kept)
        return dropped

    def _next_wait(self) -> int:
        delay = self._delay_ms()
        if not self._waiting:
            return max(delay, 1)
        return self._waiting[0][1] + delay - self._clock.now()
