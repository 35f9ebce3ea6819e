"""A command in a process of its own, in which something happens at one of its system calls.

The words after the specification, a line of JSON, are those of `kafka-workbench`; without any, see
`serve`. Each call by which Python opens, lists, names or reads files is a moment; at one of them
the specification's meddler does its work. At the end a file has the number of moments, and the
memory at its peak.
"""

import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.campaign.meddlers import MEDDLERS
from tests.memory import in_memory

READS: Final = ("stat", "lstat", "pread", "preadv", "fstat")  # these have no audit events
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


def run(spec: dict[str, Any], words: list[str]) -> None:
    """Run a command; it ends the process."""
    from workbench.cli.main import main as command

    def meddle() -> None:
        meddler = MEDDLERS[spec["meddler"]]
        meddler(Path(spec["logs"]), Path(spec["outer"]), Random(spec["seed"]))

    meddled = Meddled(spec["at"], meddle)
    meddled.begin()
    try:
        command(words)
    finally:
        meddled.end()
        Path(spec["report"]).write_text(json.dumps([meddled.moments, in_memory("VmHWM")]))


def serve() -> None:
    """Run the commands of stdin, each in a fork of this process, which has imported what they do.

    A line of stdin is JSON: specification, words, folder, files for stdout and stderr, seconds
    after which it is killed. A line of stdout is how it ended.
    """
    import pyarrow.csv
    import pyarrow.parquet

    import workbench
    from workbench.cli import main as _main
    from workbench.loaders import sql
    from workbench.pipelines.lake import to_table

    del pyarrow, workbench, _main, sql, to_table
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if not pid:
            _become(asked)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(asked: dict[str, Any]) -> None:
    """Be the process of a command, and end."""
    code = 99
    try:
        signal.alarm(asked["seconds"])
        os.chdir(asked["folder"])
        for number, name in enumerate((os.devnull, asked["out"], asked["err"])):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(name, flags, 0o600), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        tempfile.tempdir = None
        run(asked["spec"], asked["words"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 99
    except BaseException:  # noqa: BLE001 - as Python itself would
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # a command that could not print has said so
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve()
    else:
        run(json.loads(sys.argv[1]), sys.argv[2:])
