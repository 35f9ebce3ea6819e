"""What may have the name of a file without being one, and a limit for who must not wait for it."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final


def _socket(path: Path) -> None:
    # The name of a socket is short: it is bound from inside its folder.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


NOT_REGULAR: Final[dict[str, Callable[[Path], None]]] = {
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a folder": os.mkdir,
    "a character device": lambda path: path.symlink_to("/dev/zero"),
}
"""What is found -> makes it at a path. A device is reached by a link: making one needs rights."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError if what is done inside takes longer, also if it waits for a file."""

    def give_up(*_: Any) -> None:
        raise TimeoutError(f"still not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Do without the rights of root; for any other user nothing changes."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
