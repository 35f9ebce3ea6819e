"""Tasks that run later, once or periodically, on threads or by a manual clock.

Kafka: Scheduler, KafkaScheduler, MockScheduler (4.2)
"""

import heapq
import logging
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Final, Protocol

from workbench.runtime.clock import ManualClock

_LOG: Final = logging.getLogger(__name__)
_MS: Final = 1000  # in a second
_LONGEST_WAIT: Final = 3600.0  # seconds; threads cannot wait for what Kafka calls "never", 2**63 ms


class Task:
    """One scheduled task.

    Attributes:
        name: what the task does, for people.
        period_ms: ms between two runs; None for a task that runs once.
        due: time of the next run: ms of the scheduler's clock.
    """

    __slots__ = ("action", "due", "is_cancelled", "name", "period_ms")

    def __init__(
        self, name: str, action: Callable[[], None], due: float, period_ms: int | None
    ) -> None:
        self.name = name
        self.action = action
        self.due = due
        self.period_ms = period_ms
        self.is_cancelled = False

    def cancel(self) -> None:
        """Do not run the task again; a run that has begun is completed."""
        self.is_cancelled = True


class Scheduler(Protocol):
    """Runs tasks later."""

    def schedule(
        self, name: str, task: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> Task:
        """Run ``task`` after ``delay_ms``, then every ``period_ms`` if that is given.

        After `shutdown` nothing runs: the returned task is canceled.
        """
        ...

    def shutdown(self) -> None:
        """Drop the tasks that are not due, and return when the running ones have ended."""
        ...


class _Queue:
    """Tasks ordered by due time; those due at the same time in the order they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Task]] = []
        self._numbers = count()

    def add(self, task: Task) -> None:
        heapq.heappush(self._heap, (task.due, next(self._numbers), task))

    def first(self) -> Task | None:
        """Return the task that is due first, ignoring canceled ones."""
        while self._heap and self._heap[0][2].is_cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def take(self) -> Task:
        """Remove and return what `first` returned."""
        return heapq.heappop(self._heap)[2]

    def repeat(self, task: Task) -> None:
        """Queue a periodic task that has run for its next run."""
        if task.period_ms:
            task.due += task.period_ms
            self.add(task)

    def tasks(self) -> tuple[Task, ...]:
        return tuple(task for _, _, task in sorted(self._heap) if not task.is_cancelled)

    def keep(self, is_kept: Callable[[Task], bool]) -> None:
        for task in self.tasks():
            if not is_kept(task):
                task.cancel()


class ManualScheduler:
    """Runs tasks in the caller's thread, when its clock reaches their due time.

    A task without delay runs at once, inside `schedule`. Tasks see the time that the clock was
    moved to, not their due time; a periodic task runs once for each period that passed.
    The call that moved the clock raises what a task raises.

    Kafka: MockScheduler (4.2)
    """

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self._queue = _Queue()
        self._is_open = True
        clock.listeners.append(self.run_due)

    @property
    def pending(self) -> tuple[Task, ...]:
        """The waiting tasks, by due time."""
        return self._queue.tasks()

    def schedule(
        self, name: str, task: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> Task:
        """Run ``task`` when the clock has advanced by ``delay_ms``; see `Scheduler.schedule`."""
        scheduled = Task(name, task, self.clock.now() + delay_ms, period_ms)
        if self._is_open:
            self._queue.add(scheduled)
            self.run_due()
        else:
            scheduled.cancel()
        return scheduled

    def run_due(self) -> None:
        """Run the tasks that are due, in the order of their due times."""
        while (task := self._queue.first()) is not None and task.due <= self.clock.now():
            self._queue.take()
            try:
                task.action()
            finally:
                self._queue.repeat(task)

    def shutdown(self) -> None:
        """Drop all tasks; tasks scheduled later do not run.

        Kafka's mock first runs the waiting tasks; a broker's scheduler, and this one, does not.
        """
        self._is_open = False
        self._queue.keep(lambda _: False)


class ThreadScheduler:
    """Runs tasks on its own threads, which do not keep the process alive.

    They start with the first task.

    An exception raised by a task is logged and does not end a periodic task.

    Args:
        threads: number of tasks that can run at the same time.
        name: prefix of the threads' names, followed by a number.

    Kafka: KafkaScheduler (4.2)
    """

    def __init__(self, threads: int, name: str = "kafka-scheduler-") -> None:
        self._queue = _Queue()
        self._changed = threading.Condition()
        self._is_open = True
        self._names = [f"{name}{number}" for number in range(threads)]
        self._threads: list[threading.Thread] = []

    @property
    def pending(self) -> tuple[Task, ...]:
        """The waiting tasks, by due time."""
        with self._changed:
            return self._queue.tasks()

    def schedule(
        self, name: str, task: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> Task:
        """Run ``task`` on a thread after ``delay_ms``; see `Scheduler.schedule`."""
        scheduled = Task(name, task, _monotonic_ms() + delay_ms, period_ms)
        with self._changed:
            if self._is_open:
                if not self._threads:
                    self._start()
                self._queue.add(scheduled)
                self._changed.notify()
            else:
                scheduled.cancel()
        return scheduled

    def shutdown(self, *, wait: bool = True) -> None:
        """Drop the tasks that are not due, and return when the others have ended.

        A task may call it: it does not wait for itself.

        Args:
            wait: False returns at once, while the tasks that are due still run.
        """
        with self._changed:
            self._is_open = False
            now = _monotonic_ms()
            self._queue.keep(lambda task: task.period_ms is None and task.due <= now)
            self._changed.notify_all()
        for thread in self._threads if wait else ():
            if thread is not threading.current_thread():
                thread.join()

    def _start(self) -> None:
        for name in self._names:
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            try:
                task.action()
            except Exception:  # noqa: BLE001 one task must not end the thread that all share
                _LOG.exception("uncaught error in scheduled task %r", task.name)
            with self._changed:
                if self._is_open:
                    self._queue.repeat(task)

    def _next(self) -> Task | None:
        """Wait for a task that is due; None when none will come."""
        with self._changed:
            while True:
                first = self._queue.first()
                wait = None if first is None else first.due - _monotonic_ms()
                if wait is not None and wait <= 0:
                    return self._queue.take()
                if not self._is_open and first is None:
                    return None
                self._changed.wait(None if wait is None else min(wait / _MS, _LONGEST_WAIT))


def _monotonic_ms() -> float:
    return time.monotonic() * _MS
