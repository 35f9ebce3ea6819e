"""Operations that run later unless they are canceled or put off: session and rebalance timeouts.

Kafka: CoordinatorTimer, CoordinatorRuntime.EventBasedCoordinatorTimer (4.2)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.coordinator.runtime.records import CoordinatorResult, nothing_to_write
from workbench.runtime.scheduler import Scheduler, Task

Operation = Callable[[], CoordinatorResult[Any]]


class CoordinatorTimer:
    """Runs operations by key: a new one under a key replaces the old one.

    Args:
        scheduler: runs them when they are due.
        write: receives each operation that is due, as any other write of the coordinator: after
            those before it, it runs the operation, writes the records and reports the append.
    """

    def __init__(self, scheduler: Scheduler, write: Callable[[Operation], None]) -> None:
        self._scheduler = scheduler
        self._write = write
        self._waiting: dict[str, _Waiting] = {}

    def schedule(self, key: str, delay_ms: int, operation: Operation) -> None:
        """Run an operation after ``delay_ms``, in place of the one that waits under the key."""
        self.cancel(key)
        waiting = _Waiting(key, operation)
        self._waiting[key] = waiting
        expire = partial(self._write, partial(self._run, waiting))
        waiting.task = self._scheduler.schedule(key, expire, delay_ms)

    def cancel(self, key: str) -> None:
        """Do not run the operation that waits under a key, if there is one."""
        waiting = self._waiting.pop(key, None)
        if waiting is not None and waiting.task is not None:
            waiting.task.cancel()

    def cancel_all(self) -> None:
        """Run none of the operations that wait: the coordinator leaves its partition."""
        for key in list(self._waiting):
            self.cancel(key)

    def is_scheduled(self, key: str) -> bool:
        """Return whether an operation waits under a key."""
        return key in self._waiting

    def _run(self, waiting: "_Waiting") -> CoordinatorResult[Any]:
        """Run an operation, unless it was canceled or replaced while others ran before it."""
        if self._waiting.get(waiting.key) is not waiting:
            return nothing_to_write()
        del self._waiting[waiting.key]
        return waiting.operation()


@dataclass(slots=True, eq=False)
class _Waiting:
    key: str
    operation: Operation
    task: Task | None = None
