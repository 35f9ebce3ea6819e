"""A clock for what a process does on a busy machine: it stands still while others have the cores.

So a server that computes, or waits for a lock, is measured; the machine's other work is not.
"""

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

_NS: Final = 1_000_000_000
_STEP: Final = 0.1  # seconds; the system counts what a process computed in hundredths


class Line:
    """How long a process stood in line: its threads could have computed, had a core been free.

    Args:
        process: its number; None for this one.
    """

    def __init__(self, process: int | None = None) -> None:
        self._tasks = Path("/proc", "self" if process is None else str(process), "task")
        self._seen: dict[str, int] = {}  # thread -> ns, when it was last seen
        self._ended = 0  # ns, of threads that are not there any more

    def waited(self) -> float:
        """Return the seconds of all threads; it never falls, also when a thread ends.

        What a thread waited after it was last seen is not in it.
        """
        now: dict[str, int] = {}
        for thread in self._tasks.glob("*/schedstat"):
            with suppress(OSError):  # it has ended
                now[thread.parent.name] = int(thread.read_text().split()[1])
        for name, before in self._seen.items():
            if now.get(name, -1) < before:  # another may have its number
                self._ended += before
        self._seen = now
        return (self._ended + sum(now.values())) / _NS


class FairClock:
    """The time by the clock, without that in which a server or this process stood in line.

    It goes at least as fast as the server computes, and on an idle machine as any clock does.
    Threads may share it.

    Args:
        server: number of the process that is measured; this one is its client.
    """

    def __init__(self, server: int) -> None:
        self._server = psutil.Process(server)
        self._lines = Line(server), Line()
        self._lock = threading.Lock()
        self._now = 0.0
        self._last = self._read()

    def _read(self) -> tuple[float, float, float]:
        times = self._server.cpu_times()
        waited = sum(line.waited() for line in self._lines)
        return time.monotonic(), times.user + times.system, waited

    def now(self) -> float:
        """Return the seconds since the clock was made, as of at most 0.1 s ago."""
        with self._lock:
            if time.monotonic() - self._last[0] < _STEP:
                return self._now
            read = self._read()
            wall, computed, waited = (
                max(0.0, new - old) for new, old in zip(read, self._last, strict=True)
            )
            self._last = read
            self._now += max(wall - waited, min(wall, computed))
            return self._now
