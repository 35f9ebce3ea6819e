"""Kafka's command-line tools, in one JVM per version: most of a tool's time is its JVM's start."""

import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import NamedTuple

from tests.kafka_broker import compile_java, java_command
from workbench.server.server import Server


class Done(NamedTuple):
    """What a tool left: its exit code, and what it printed."""

    code: int
    out: str
    err: str


class Tools:
    """The tools of a version; `close` it."""

    def __init__(self, version: str) -> None:
        self.version = version
        source = Path(__file__).with_name("Tools.java").read_text()
        self._command = java_command(
            version, "Tools", classes=compile_java(version, source, "Tools")
        )
        self._process: subprocess.Popen[str] | None = None

    def run(self, tool: str, *arguments: str, given: str = "") -> Done:
        """Run a tool to its end.

        Args:
            tool: its class.
            arguments: its arguments.
            given: its standard input.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        runs, answers = self._process.stdin, self._process.stdout
        assert runs is not None
        assert answers is not None
        words = (b64encode(word.encode()).decode() for word in (given, tool, *arguments))
        print(*words, file=runs, flush=True)
        code, *texts = answers.readline().rstrip("\n").split(" ")
        out, err = (b64decode(text).decode(errors="replace") for text in texts)
        return Done(int(code), out, err)

    def lines(self, server: Server | str, tool: str, *arguments: str, given: str = "") -> list[str]:
        """Return the lines that a tool prints about a server, or the broker at an address.

        Raises:
            AssertionError: it failed.
        """
        where = server if isinstance(server, str) else server.bootstrap_servers
        done = self.run(tool, "--bootstrap-server", where, *arguments, given=given)
        assert done.code == 0, (tool, done.out[-1000:], done.err[-3000:])
        return done.out.splitlines()

    def close(self) -> None:
        """End the JVM."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
