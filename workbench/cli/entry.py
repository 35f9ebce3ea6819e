"""Where the script `kafka-workbench` begins: Ctrl-C ends it also while the command is imported."""

import os
import signal
from types import FrameType
from typing import NoReturn

from workbench.cli.exit_codes import INTERRUPTED, INTERRUPTED_TEXT


def main() -> None:
    """Import the command and run it; see `workbench.cli.main`."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, _interrupted)
    from workbench.cli.main import main as command

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # `command` takes it from here
    command()


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - of a handler
    os.write(2, f"{INTERRUPTED_TEXT}\n".encode())
    os._exit(INTERRUPTED)  # nothing is open yet, and an exception can be lost in an import
