"""A clock for what a process does on a busy machine: it stands still while others have the cores.

So a server that computes, or waits for a lock, is measured; the machine's other work is not.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

_NS: Final = 1_000_000_000
_STEP: Final = 0.1  # seconds; the system counts what a process computed in hundredths


def in_line(process: int | str = "self") -> float:
    """Return the seconds in which threads of a process could have computed, had a core been free.

    Those of threads that have ended are not in it.
    """
    waited = 0
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):  # it has ended
            waited += int(thread.read_text().split()[1])
    return waited / _NS


class FairClock:
    """The time by the clock, without that in which a server or this process stood in line.

    It goes at least as fast as the server computes, and on an idle machine as any clock does.
    Threads may share it.

    Args:
        server: number of the process that is measured; this one is its client.
    """

    def __init__(self, server: int) -> None:
        self._server = psutil.Process(server)
        self._lock = threading.Lock()
        self._now = 0.0
        self._last = self._read()

    def _read(self) -> tuple[float, float, float]:
        times = self._server.cpu_times()
        waited = in_line(self._server.pid) + in_line(os.getpid())
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
