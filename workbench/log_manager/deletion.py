"""Logs that wait for their deletion: renamed to `-delete`, removed after file.delete.delay.ms.

Kafka: LogManager.addLogToBeDeleted, deleteLogs (4.2)
"""

from collections import deque
from collections.abc import Callable

from workbench.errors import StorageError
from workbench.log.clock import Clock
from workbench.log.log import Log


class DeletionQueue:
    """Logs to be deleted, the one that waits longest first. Threads may add to it.

    Args:
        clock: by which a log's wait is measured.
        delay_ms: returns how long a log waits, ms; asked anew each time, as it may be changed.
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
        """Let a log wait from now on."""
        self._waiting.append((log, self._clock.now()))

    def delete_due(self) -> int:
        """Delete the logs that have waited long enough; return ms until there is more to do.

        A log whose directory fails stays where it is, for the directory is offline by then.

        Kafka: LogManager.deleteLogs (4.2)
        """
        while (wait := self._next_wait()) <= 0:
            log, _ = self._waiting.popleft()
            try:
                log.delete()
            except StorageError:
                continue  # the failure is noted where it happened
        return wait

    def drop_directory(self, path: str) -> list[Log]:
        """Forget, and return, the logs of a log directory."""
        dropped = [log for log in self.logs if log.parent_directory == path]
        kept = [(log, since) for log, since in self._waiting if log.parent_directory != path]
        self._waiting = deque(kept)
        return dropped

    def _next_wait(self) -> int:
        delay = self._delay_ms()
        if not self._waiting:
            return max(delay, 1)
        return self._waiting[0][1] + delay - self._clock.now()
