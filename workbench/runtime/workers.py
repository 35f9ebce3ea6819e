"""Work on pieces side by side, and give the results in the order of the pieces.

The threads take the pieces one by one, so what reads a file may give them, and each works on its
own. What waits for the caller is bounded. When the caller stops, for whatever reason, the threads
end, and then the pieces are closed.

An error comes after the results of all pieces before it, as if one thread did everything.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, Generic, TypeVar

from workbench.record.buffers import lent_pool, use_pool

P = TypeVar("P")
R = TypeVar("R")

AHEAD: Final = 4 << 20
"""Bytes of results that may wait for the caller, per worker."""

MOST_CORES: Final = 8
"""Workers without being asked: more would mostly wait for the interpreter."""

SHARE: Final = 8 << 20
"""Bytes of a file for which a worker is worth its start."""

_LEAST: Final = 1 << 20  # bytes that a result is charged at least: so very small ones are bounded


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_count(workers: int | None) -> int:
    """Return a number of workers that a caller gave; None: one per core, at most `MOST_CORES`.

    Raises:
        ValueError: it is below 1.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}, below 1")
    return min(cores(), MOST_CORES) if workers is None else workers


def useful(workers: int, size: int) -> int:
    """Return how many of ``workers`` have something to do in files of ``size`` bytes, 1 or more."""
    return max(1, min(workers, size // SHARE))


def in_order(
    pieces: Iterable[P],
    work: Callable[[P], Iterable[R]],
    workers: int,
    size_of: Callable[[R], int] = lambda _: 0,
) -> Generator[R, None, None]:
    """Yield the results of every piece, in the order of the pieces.

    Close it, or read it to its end: `contextlib.closing`. A worker's `thread_pool` keeps its memory
    for the workers after it.

    Args:
        pieces: what is to be done. They are taken from it by any thread, never by two at once.
        work: called with a piece, in any thread; its results are taken as they come.
        workers: threads; 1: everything is done in the caller's, nothing ahead of time.
        size_of: bytes of a result, of which `AHEAD` may wait per worker.
    """
    given = iter(pieces)
    try:
        if workers > 1:
            with closing(_Crew(given, work, workers, size_of).results()) as results:
                yield from results
        else:
            for piece in given:
                yield from work(piece)
    finally:
        if isinstance(given, Generator):
            given.close()


class ObjectPool(Generic[P]):
    """Objects with memory that is used again, of which each worker takes one at a time.

    Args:
        make: makes one, when none is left.
    """

    def __init__(self, make: Callable[[], P]) -> None:
        self._make = make
        self._left: list[P] = []

    @contextmanager
    def lent(self) -> Iterator[P]:
        """Lend one; no other caller has it then."""
        try:
            one = self._left.pop()
        except IndexError:
            one = self._make()
        try:
            yield one
        finally:
            self._left.append(one)


class _Job(Generic[P, R]):
    """A piece that a worker has taken, and its results that wait."""

    def __init__(self, piece: P | None, error: BaseException | None = None) -> None:
        self.piece = piece
        self.error = error
        self.results: deque[tuple[R, int]] = deque()
        self.is_done = error is not None


class _Crew(Generic[P, R]):
    """The workers of one `in_order`."""

    def __init__(
        self,
        pieces: Iterator[P],
        work: Callable[[P], Iterable[R]],
        workers: int,
        size_of: Callable[[R], int],
    ) -> None:
        self._pieces = pieces
        self._work = work
        self._size_of = size_of
        self._limit = AHEAD * workers
        self._taking = threading.Lock()
        self._moved = threading.Condition()  # held while what follows is changed
        self._jobs: deque[_Job[P, R]] = deque()  # in order; the caller waits for the first
        self._waiting = 0  # bytes of results
        self._no_more = False  # pieces
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._run, name=f"worker-{number}", daemon=True)
            for number in range(workers)
        ]

    def results(self) -> Generator[R, None, None]:
        """Start the threads and yield the results; end the threads."""
        started: list[threading.Thread] = []
        try:
            for thread in self._threads:
                thread.start()
                started.append(thread)
            while (found := self._take_result()) is not None:
                yield found.pop()  # nothing here holds it while the caller does
        finally:
            with self._moved:
                self._stopped = True
                self._moved.notify_all()
            for thread in started:
                if thread is not threading.current_thread():  # that collects garbage just now
                    thread.join()

    def _take_result(self) -> list[R] | None:
        """Return the next result in a list; None: there is none any more."""
        with self._moved:
            while True:
                self._moved.wait_for(self._has_news)
                if not self._jobs:
                    return None
                job = self._jobs[0]
                if job.results:
                    result, size = job.results.popleft()
                    self._waiting -= size
                    self._moved.notify_all()
                    return [result]
                self._jobs.popleft()
                self._moved.notify_all()
                if job.error is not None:
                    raise job.error

    def _has_news(self) -> bool:
        if not self._jobs:
            return self._no_more
        return bool(self._jobs[0].results) or self._jobs[0].is_done

    def _run(self) -> None:
        """Do jobs until there is none."""
        with lent_pool() as pool:
            use_pool(pool)
            while (job := self._take_job()) is not None:
                try:
                    self._do(job)
                except BaseException as error:  # noqa: BLE001 - the caller gets it
                    job.error = error
                with self._moved:
                    job.is_done = True
                    self._moved.notify_all()
                del job

    def _do(self, job: _Job[P, R]) -> None:
        piece: Any = job.piece
        job.piece = None
        for result in self._work(piece):
            size = max(self._size_of(result), _LEAST)
            with self._moved:
                self._moved.wait_for(lambda: self._has_room(job))
                if self._stopped:
                    return
                job.results.append((result, size))
                self._waiting += size
                self._moved.notify_all()
            del result  # before the next one is made

    def _has_room(self, job: _Job[P, R] | None) -> bool:
        """Return whether a result of ``job`` may wait, or a new one may begin (None).

        What the caller waits for always may: otherwise all would wait.
        """
        if self._stopped or self._waiting < self._limit:
            return True
        return not self._jobs or (self._jobs[0] is job and not job.results)

    def _take_job(self) -> _Job[P, R] | None:
        """Take the next piece, in turn; None: there is none."""
        with self._taking:
            with self._moved:
                self._moved.wait_for(lambda: self._has_room(None))
                if self._stopped or self._no_more:
                    return None
            job: _Job[P, R] | None = None
            try:
                for piece in self._pieces:
                    job = _Job(piece)
                    break
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                job = _Job(None, error)
            with self._moved:
                if job is not None:
                    self._jobs.append(job)
                self._no_more = job is None or job.is_done
                self._moved.notify_all()
            return None if self._no_more else job
