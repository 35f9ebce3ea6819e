"""Streams, Connect and MirrorMaker 2, which a broker does not need: their jars, and their runs."""

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.kafka_broker import CACHE, Artifact, compile_java, java_command, resolve

VERSION: Final = "4.2.0"
PATIENCE: Final = 180.0
_NAMES: Final = ("kafka-streams", "connect-runtime", "connect-file", "connect-mirror")


def jars() -> str:
    """Return the class path of Streams, Connect and MirrorMaker 2.

    Raises:
        RuntimeError: see `tests.kafka_broker.resolve`.
    """
    stored = CACHE / f"peers-{VERSION}" / "classpath"
    return resolve(stored, [Artifact("org.apache.kafka", name, VERSION) for name in _NAMES])


def compiled(name: str) -> Path:
    """Return the folder of the compiled classes of a source file beside this one."""
    source = Path(__file__).with_name(f"{name}.java").read_text()
    return compile_java(VERSION, source, name, jars())


def write_properties(file: Path, values: Mapping[str, object]) -> str:
    """Write a file of properties; return its path."""
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return str(file)


class JavaProcess:
    """A Java program that runs until it is stopped. Use it in a ``with`` statement.

    Args:
        main_class: its class.
        arguments: its arguments.
        log: the file that gets its output.
        classes: the folder of its own classes.

    Attributes:
        process: the process.
    """

    def __init__(
        self, main_class: str, *arguments: str, log: Path, classes: Path | None = None
    ) -> None:
        command = java_command(VERSION, main_class, *arguments, classes=classes, also=jars())
        self._log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=log.parent
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.process.terminate()
        else:
            self.process.kill()
        self.process.wait(PATIENCE)

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait until something has happened.

        Raises:
            AssertionError: the program ended before, or it did not happen; with the end of its log.
        """
        deadline = time.monotonic() + PATIENCE
        while not is_done():
            words = self._log.read_text(errors="replace")[-4000:]
            assert self.process.poll() is None, f"it ended: {words}"
            assert time.monotonic() < deadline, f"it did not happen: {words}"
            time.sleep(0.5)
