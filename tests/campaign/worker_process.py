"""Starts workers, hands them rounds, and starts others in the place of those that die."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tests.campaign.frames import ROOT

PATIENCE: Final = 660.0  # seconds without a line; the worker ends itself before
CHECKED_MEMORY: Final = {
    "LD_PRELOAD": "libc_malloc_debug.so.0",
    "MALLOC_CHECK_": "3",
    "MALLOC_PERTURB_": "165",
    "PYTHONMALLOC": "debug",
}
"""The environment of a process whose allocators, C's and Python's, look for what writes wrongly."""

Kernels = Literal["compiled", "checked", "plain"]


class Fault(NamedTuple):
    """Something that a call must not do.

    Attributes:
        call: its name.
        type: the error's; or Growth, Died, Changed, Left.
        where: the innermost frame of the product.
        text: what the error says.
    """

    call: str
    type: str
    where: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """What is the same of all faults of one cause: no line number, no call where a frame is."""
        place = self.where.split(":")[0] + " " + self.where.rpartition(" ")[2]
        return self.type, place if ":" in self.where else self.call


class WorkerProcess:
    """One worker, that is started when it is needed.

    Args:
        kernels: which it runs.
        log: file for what it prints on stderr.
    """

    def __init__(self, kernels: Kernels, log: Path) -> None:
        self.kernels = kernels
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def make_calls(self, directory: Path, scratch: Path, calls: list[str]) -> list[Fault]:
        """Make calls on a directory; return the faults. A call that kills the worker is one."""
        faults: list[Fault] = []
        while calls:
            done, died = self._ask(directory, scratch, calls)
            for said in done:
                if fault := said.get("fault"):
                    faults.append(Fault(said["call"], fault["type"], fault["where"], fault["text"]))
                elif said.get("left"):
                    faults.append(Fault("round", "Left", "unseen", said["left"]))
            if died is None:
                break
            finished = sum("call" in said for said in done)
            faults.append(died._replace(call=calls[finished] if finished < len(calls) else "round"))
            calls = calls[finished + 1 :]
        return faults

    def _ask(
        self, directory: Path, scratch: Path, calls: list[str]
    ) -> tuple[list[dict[str, Any]], Fault | None]:
        process = self._started()
        assert process.stdin is not None
        asked = {"directory": str(directory), "scratch": str(scratch), "calls": calls}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        done: list[dict[str, Any]] = []
        while True:
            line = self._line(process)
            if not line:
                return done, self._death(process)
            done.append(json.loads(line))
            if "done" in done[-1]:
                return done, None

    def _line(self, process: subprocess.Popen[str]) -> str:
        """Return the next line; nothing when the process ends, by itself or for its silence."""
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            return process.stdout.readline()
        finally:
            timer.cancel()

    def _death(self, process: subprocess.Popen[str]) -> Fault:
        process.kill()
        self.stop()
        code = process.returncode
        text = self._log.read_text(errors="replace")
        frames = re.findall(rf'File "{ROOT}/((?:workbench|widgets)/.*)", line (\d+) in (.*)', text)
        where = "{}:{} {}".format(*frames[0]) if frames else "unseen"
        kind = "Hangs" if "Timeout (" in text else "Died"
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return Fault("", kind, where, name)

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            environment = {
                **os.environ,
                "KAFKA_WORKBENCH_KERNELS": self.kernels,
                "MALLOC_PERTURB_": CHECKED_MEMORY["MALLOC_PERTURB_"],
                "PYTHONPATH": str(ROOT),
            }
            if self.kernels != "plain":
                environment |= CHECKED_MEMORY
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.campaign.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    cwd=ROOT,
                    env=environment,
                )
            assert self._process.stdout is not None
            ready = self._process.stdout.readline()  # kernels are compiled before, if they change
            assert ready, f"the worker has not started: {self._log.read_text()}"
        return self._process

    def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(BrokenPipeError):
                process.communicate()
