"""No test passes whose subprocess dies by a signal that the test has not sent.

`watch` sees how every process ends that is started through `subprocess` (so by asyncio, Jupyter and
Playwright, too), and every signal that this process sends. What those processes start themselves is
seen by the traceback that Python writes when it crashes, where a test's output has it. A test that
lets a process die otherwise has the mark ``dies`` with the signals.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Collection
from typing import Any, Final

CRASH: Final = "Fatal Python error: "
"""Begins what Python writes when it crashes, with `PYTHONFAULTHANDLER` in its environment."""

_sent: Final[set[tuple[int, int]]] = set()  # process or leader of its group, signal
_died: Final[list[tuple[int, str]]] = []  # signal, how it is reported


def watch() -> None:
    """Begin."""
    os.environ["PYTHONFAULTHANDLER"] = "1"
    sys.addaudithook(_note_signal)
    subprocess.Popen.returncode = property(_returncode, _note_end)  # type: ignore[assignment, misc]


def take_deaths(expected: Collection[int] = ()) -> str:
    """Return how processes died since the last call, but for some signals; empty if none did."""
    found = "\n".join(text for number, text in _died if number not in expected)
    _died.clear()
    return found


def _note_signal(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"os.kill", "os.killpg"}:
        _sent.add((abs(arguments[0]), int(arguments[1])))


def _returncode(process: "subprocess.Popen[Any]") -> int | None:
    code: int | None = vars(process).get("returncode")
    return code


def _note_end(process: "subprocess.Popen[Any]", code: int | None) -> None:
    vars(process)["returncode"] = code
    if code is None:
        return
    sent = {number for pid, number in _sent if pid == process.pid}
    _sent.difference_update((process.pid, number) for number in sent)
    if code < 0 and -code not in sent:
        name = signal.Signals(-code).name
        _died.append((-code, f"process {process.pid} died by {name}: {process.args!r:.500}"))
