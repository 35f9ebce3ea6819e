"""How much memory and time public calls take, measured in a process of their own.

Run as a module it is that process: a line of JSON in for each call, a line out. Before the first
call of a kind it is made on a small log, and memory counts from what the process holds right before
a call, so that imports, compiled code and what calls before it left are not charged to it.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from workbench.runtime.workers import worker_count

MIB: Final = 1 << 20
MOST: Final = 200 * MIB
"""What any input may take beyond what the process held before, in bytes, with one worker."""

MOST_OF_WORKERS: Final = (worker_count(None) - 1) * 64 * MIB
"""What further workers may take."""

_ADDRESS_SPACE: Final = 16 << 30
_MOST_SECONDS: Final = 60


class Cost(NamedTuple):
    """What a call took.

    Attributes:
        result: see `CALLS`; the error as text where it raised.
        grown: bytes of memory at the most, beyond what the process held before the call.
        seconds: that its threads computed.
    """

    result: Any
    grown: int
    seconds: float


def _verify(path: str) -> list[str]:
    import workbench

    return [finding.kind for finding in workbench.verify(path)]


def _scan(path: str) -> list[Any]:
    import workbench

    scan = workbench.open_log_directory(path).scan()
    count = sum(batch.num_rows for batch in scan.batches())
    return [count, *(finding.kind for finding in scan.findings)]


def _batches(path: str) -> int:
    import workbench

    return int(workbench.open_log_directory(path).inspect.batches().num_rows)


def _predict(path: str) -> bool:
    import workbench

    return workbench.open_log_directory(path).predict_startup().starts


def _dump(path: str) -> int:
    from workbench.cli.main import main

    there = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        return int(main(["dump", "--json", path], standalone_mode=False) or 0)
    finally:
        os.dup2(there, 1)
        os.close(there)
        os.close(nowhere)


CALLS: Final[dict[str, Callable[[str], Any]]] = {
    "verify": _verify,  # kinds of the findings
    "scan": _scan,  # number of records, kinds of the findings
    "batches": _batches,  # number of batches
    "dump": _dump,  # exit status
    "predict": _predict,  # whether a broker starts
}


class Meter:
    """The other process.

    Args:
        small: a log directory that needs no memory to speak of.
    """

    def __init__(self, small: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.memory", str(small)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def cost(self, call: str, path: Path) -> Cost:
        """Make one of `CALLS` there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([call, str(path)]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the process has died"
        return Cost(*json.loads(answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def in_memory(name: str, process: int | str = "self") -> int:
    """Return the bytes of VmRSS, VmSize, or VmHWM, the highest VmRSS since `start_over`."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) << 10


def start_over(process: int | str = "self") -> None:
    """Let the VmHWM of a process begin with its VmRSS."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def _give_back() -> None:
    """Give back what allocators keep of the calls before: reused, it would not count."""
    import pyarrow as pa

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()


def _too_late(_number: int, _frame: Any) -> None:
    raise TimeoutError(f"no answer after {_MOST_SECONDS} s of computing")


def _serve(small: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    signal.signal(signal.SIGPROF, _too_late)
    warnings.simplefilter("ignore")
    warm: set[str] = set()
    for line in sys.stdin:
        name, path = json.loads(line)
        if name not in warm:
            CALLS[name](small)
            warm.add(name)
        _give_back()
        before = in_memory("VmRSS")
        start_over()
        signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)
        start = time.process_time()
        try:
            result = CALLS[name](path)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            result = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([result, in_memory("VmHWM") - before, seconds]), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve(sys.argv[1])
