"""Compile the kernels of a new installation in the background, once for all processes of a machine.

The first process that needs a kernel starts a child that compiles all of them, which takes most of
a minute; until then every process uses the plain twins, which read a few megabytes in a second or
two. The child holds a lock on a file in the cache folder, so that there is one. It outlives the
process that started it, at low priority; the next process then finds the kernels ready.

Loading compiled kernels takes nearly a second, more than the twins take for a few records. So a
process begins with the twins, and loads the kernels once the twins have had a share of that time,
or a call brings them much at once.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from workbench.kernels.cache_folder import is_lasting, kernel_folder, ready_mark

try:
    import fcntl
except ImportError:  # Windows: every process compiles what it needs
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

_LOOK_EVERY_S: Final = 0.2
_LOCK: Final = "compiling.lock"
_TWINS_S: Final = 0.25  # CPU time that twins take before kernels are loaded
_MUCH: Final = 1 << 20  # bytes that one call reads; the others are room for results


class _Waiting:
    """What this process knows of the compiler."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_over = False
        self.next_look = 0.0
        self.child: subprocess.Popen[bytes] | None = None
        self.twins_s = 0.0


_WAITING: Final = _Waiting()


def is_ready() -> bool:
    """Return whether compiled kernels can be used now; if not, see to it that they are compiled.

    Also true where they cannot be compiled in the background: then the first use compiles them.
    """
    waiting = _WAITING
    if waiting.is_over:
        return True
    if time.monotonic() < waiting.next_look:
        return False
    with waiting.lock:
        if not waiting.is_over:
            waiting.is_over = _look(waiting)
            waiting.next_look = time.monotonic() + _LOOK_EVERY_S
    return waiting.is_over


def do_not_wait() -> None:
    """Let this process compile what it needs, itself."""
    _WAITING.is_over = True
    _WAITING.twins_s = _TWINS_S


def is_worth_loading() -> bool:
    """Return whether the twins have had their share of time in this process."""
    return _WAITING.twins_s >= _TWINS_S


def counted(twin: Callable[..., Any]) -> Callable[..., Any]:
    """Return a twin whose calls count towards `is_worth_loading`."""

    def call(*arguments: Any) -> Any:
        if getattr(arguments[0], "nbytes", 0) > _MUCH:
            _WAITING.twins_s = _TWINS_S  # this call is the last one, or the next
        start = time.thread_time()
        try:
            return twin(*arguments)
        finally:
            _WAITING.twins_s += time.thread_time() - start

    return call


def _look(waiting: _Waiting) -> bool:
    if not HAS_LOCKS or not sys.executable or ready_mark().exists():
        return True
    if not is_lasting(kernel_folder()):  # no process can use it later
        return True
    if waiting.child is not None and waiting.child.poll() is not None:
        return True  # ready meanwhile, or it failed: the first use shows why
    if waiting.child is None:
        try:
            waiting.child = _start(kernel_folder())
        except OSError:
            return True
    return False


def _start(folder: Path) -> subprocess.Popen[bytes] | None:
    """Start the child; return None if that of another process holds the lock."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "workbench.kernels.warm_up", "--nice"],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor],  # the child inherits the lock
            start_new_session=True,  # Ctrl-C is not for it
        )
    finally:
        os.close(descriptor)


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
