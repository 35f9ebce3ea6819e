"""A process that makes calls on directories, within limits of time and memory.

A line on stdout says that it is ready. Each line of stdin is a round: a directory, a
scratch folder and the names of calls. Each call gives a line on stdout, and so does the round's
end. Run by `tests.campaign.worker_process`.
"""

import faulthandler
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

from tests.campaign import oracle
from tests.campaign.calls import CALLS, COMMANDS, Call
from tests.campaign.frames import deepest
from tests.campaign.pairs import PAIRS
from tests.fair_clock import Line
from tests.memory import in_memory, start_over

IS_CHECKED: Final = os.environ.get("KAFKA_WORKBENCH_KERNELS") == "checked"
SLOWER: Final = 3 if IS_CHECKED else 1
"""How much more a call may take with checked kernels. They get copies of whole arrays, so memory
that was only reserved is used, twice; a call with small arrays takes eight times as long."""
CPU_LIMIT: Final = 10.0 * SLOWER  # seconds of a call
WALL_LIMIT: Final = 15.0  # seconds in which a call must have computed something
LEAST_CPU: Final = 0.2  # seconds
WAKE_EVERY: Final = 1.0  # seconds; a thread that ends is seen before
LAST_LIMIT: Final = 600.0  # seconds until the process ends itself
GROWTH_LIMIT: Final = SLOWER * 200 << 20  # bytes above what was in use before a call
ADDRESSES: Final = (
    8 << 30
)  # bytes above what is mapped at the start, so that nothing fills the machine
LARGEST_FILE: Final = 256 << 20  # bytes
LOOK_EVERY: Final = 0.02  # seconds

ORACLE: Final = "oracle"
EVERY: Final = {
    call.name: call
    for call in (
        *CALLS,
        *COMMANDS,
        *PAIRS,
        Call(ORACLE, lambda directory, _: oracle.check(directory)),
    )
}


class TooLongError(BaseException):
    """A call took too long; no handler for errors may catch it."""


class MemoryWatch(threading.Thread):
    """Looks at the memory in use, and remembers where the main thread was when it was too much."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.baseline: int | None = None
        self.where = ""

    def run(self) -> None:
        """Look for ever."""
        main = threading.main_thread().ident
        assert main is not None
        while True:
            time.sleep(LOOK_EVERY)
            baseline = self.baseline
            if baseline is not None and not self.where and in_use() - baseline > GROWTH_LIMIT:
                frame = sys._current_frames().get(main)  # noqa: SLF001 - the documented way
                self.where = deepest(traceback.extract_stack(frame))


def in_use() -> int:
    """Return the bytes of memory that the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


class Clock:
    """Ends calls that take too long. What computes slowly only because the machine is busy may."""

    def __init__(self) -> None:
        self._line = Line()
        self._compiling = 0  # compilations that have begun, one within the other
        self._left = 0.0  # CPU seconds that the call has, once nothing is compiled
        if IS_CHECKED:
            self._leave_out_compilations()
        self._used, self._since = 0.0, 0.0  # seconds: used by the call, and the time when it was so
        signal.signal(signal.SIGPROF, self._computes)
        signal.signal(signal.SIGALRM, self._waits)

    def _leave_out_compilations(self) -> None:
        """Stop counting while numba compiles a checked kernel, which it does at its first call."""
        from numba.core import event

        clock = self

        class Listener(event.Listener):  # type: ignore[misc]
            def on_start(self, event: event.Event) -> None:
                del event
                if not clock._compiling:
                    clock._left = signal.setitimer(signal.ITIMER_PROF, 0)[0]
                clock._compiling += 1

            def on_end(self, event: event.Event) -> None:
                del event
                clock._compiling -= 1
                if not clock._compiling:
                    signal.setitimer(signal.ITIMER_PROF, clock._left)

        event.register("numba:compile", Listener())

    def _computes(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TooLongError("computes")

    def _waits(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._wanted() - self._used >= LEAST_CPU:
            self._note()
        elif time.monotonic() - self._since > WALL_LIMIT:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TooLongError("waits")

    def _note(self) -> None:
        self._used, self._since = self._wanted(), time.monotonic()

    def _wanted(self) -> float:
        """Return the seconds in which this process computed, or could have with a free core."""
        return time.process_time() + self._line.waited()

    @contextmanager
    def limit(self) -> Iterator[None]:
        """End what takes too long; what does not return to Python is ended with the process."""
        faulthandler.dump_traceback_later(LAST_LIMIT, exit=True)
        signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT)
        self._note()
        signal.setitimer(signal.ITIMER_REAL, WAKE_EVERY, WAKE_EVERY)
        try:
            yield
        finally:
            self._left = 0.0
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()


def make_call(call: Call, directory: Path, watch: MemoryWatch, clock: Clock) -> dict[str, Any]:
    """Make one call; return what is to be said of it."""
    start_over()
    before = in_use()
    watch.where, watch.baseline = "", before
    said: dict[str, Any] = {"call": call.name}
    began = time.monotonic()
    try:
        with clock.limit():
            said["refused"] = type(call.run(directory)).__name__
    except (Exception, TooLongError) as error:  # noqa: BLE001 - whatever it is, it is reported
        said["fault"] = fault_of(error, error.__traceback__)
    finally:
        watch.baseline = None
    said["seconds"] = round(time.monotonic() - began, 2)
    growth = in_memory("VmHWM") - before
    if growth > GROWTH_LIMIT and "fault" not in said and call.name != ORACLE:
        said["fault"] = {
            "type": "Growth",
            "where": watch.where or "unseen",
            "text": f"{growth >> 20} MiB",
        }
    return said


def fault_of(error: BaseException, trace: TracebackType | None) -> dict[str, str]:
    """Return what is to be known of an error that should not have left a call."""
    return {
        "type": type(error).__name__,
        "where": deepest(traceback.extract_tb(trace)),
        "text": str(error)[:300],
    }


def import_what_calls_import() -> None:
    """Import the libraries that a call imports when it needs them: no call is charged for them."""
    for name in ("duckdb", "pandas", "polars", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet"):
        importlib.import_module(name)


def left_behind(directory: Path, scratch: Path) -> str:
    """Return what a round left: open files, processes, files elsewhere; empty if nothing."""
    gc.collect()
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if path.startswith(str(directory)):
            return f"{Path(path).name} is still open"
    for task in Path("/proc/self/task").iterdir():
        if (task / "children").read_text():
            return "a process is left"
    if any(scratch.iterdir()):
        return "a file is left where temporary files are"
    return ""


def main() -> None:
    """Make calls until stdin ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a call prints must not come between
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ADDRESSES, mapped + ADDRESSES))
    import_what_calls_import()
    print(json.dumps({"ready": True}), file=out, flush=True)
    watch, clock = MemoryWatch(), Clock()
    watch.start()
    for line in sys.stdin:
        asked = json.loads(line)
        directory, scratch = Path(asked["directory"]), Path(asked["scratch"])
        tempfile.tempdir = str(scratch)
        for name in asked["calls"]:
            print(json.dumps(make_call(EVERY[name], directory, watch, clock)), file=out, flush=True)
        left = left_behind(directory, scratch)
        print(json.dumps({"done": True, "left": left}), file=out, flush=True)


if __name__ == "__main__":
    main()
