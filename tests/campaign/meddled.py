"""A command in a process of its own, in which something happens at one of its system calls.

The words after the specification, a line of JSON, are those of `kafka-workbench`. Each call by
which Python opens, lists, names or reads files is a moment; at one of them the specification's
meddler does its work. At the end a file has the number of moments, and the memory at its peak.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.campaign.meddlers import MEDDLERS
from tests.memory import in_memory

READS: Final = ("stat", "lstat", "pread", "preadv", "fstat")  # no audit event tells of these
EVENTS: Final = frozenset({
    "open", "os.listdir", "os.scandir", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir",
    "os.symlink", "os.truncate", "os.chmod", "os.utime", "shutil.rmtree", "shutil.copyfile",
})  # fmt: skip


class Meddled:
    """Counts moments, and meddles at one.

    Args:
        at: the moment's number, counted from 0; -1: none.
        meddle: what happens then.
    """

    def __init__(self, at: int, meddle: Callable[[], None]) -> None:
        self.moments = 0
        self._at, self._meddle = at, meddle
        self._is_on = False

    def begin(self) -> None:
        """Count from now on."""
        for name in READS:
            setattr(os, name, self._counted(getattr(os, name)))
        sys.addaudithook(self._hook)
        self._is_on = True

    def end(self) -> None:
        """Count no more."""
        self._is_on = False

    def _hook(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event in EVENTS:
            self._moment()

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self._moment()
            return function(*arguments, **options)

        return counted

    def _moment(self) -> None:
        if not self._is_on:
            return
        now, self.moments = self.moments, self.moments + 1
        if now == self._at:
            self._is_on = False  # it does not meddle with itself
            self._meddle()
            self._is_on = True


def main() -> None:
    """Run a command."""
    told, *words = sys.argv[1:]
    spec = json.loads(told)
    from workbench.cli.main import main as command  # what it imports now is not read later

    def meddle() -> None:
        MEDDLERS[spec["meddler"]](Path(spec["logs"]), Path(spec["outer"]), Random(spec["seed"]))

    meddled = Meddled(spec["at"], meddle)
    meddled.begin()
    try:
        command(words)
    finally:
        meddled.end()
        Path(spec["report"]).write_text(json.dumps([meddled.moments, in_memory("VmHWM")]))


if __name__ == "__main__":
    main()
