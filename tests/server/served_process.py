"""A server in a process of its own, whose memory is measured."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.memory import in_memory, start_over
from tests.waiting import HANGS_AFTER_S

MIB: Final = 1 << 20


class ServedProcess:
    """`kafka-workbench serve` of a directory. Use it in a ``with`` statement.

    Args:
        path: the directory.
        options: of the command.
        prefix: shell commands before it, such as ``ulimit -f 100``.

    Attributes:
        where: "host:port".
        process: the process.
        errors: the file with what it wrote to standard error.
    """

    def __init__(self, path: Path, *options: str, prefix: str = "true") -> None:
        self.errors = path.with_name(f"{path.name}.errors")
        command = [sys.executable, "-m", "workbench.cli.main", "serve", "--json", str(path)]
        shell = f'{prefix} && exec "$@"'
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", shell, "sh", *command, *options],
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self.where = ""

    def __enter__(self) -> Self:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors.read_text()
        self.where = json.loads(line)["bootstrap"]
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=HANGS_AFTER_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def memory(self, name: str = "VmRSS") -> int:
        """Return the resident bytes; with ``VmHWM`` the most since `start_over`."""
        return in_memory(name, self.process.pid)

    def start_over(self) -> int:
        """Let the highest memory begin with that of now, and return it."""
        start_over(self.process.pid)
        return self.memory()
