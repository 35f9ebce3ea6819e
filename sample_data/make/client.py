"""A Java client of a Kafka version (`Client.java`), driven from Python."""

import subprocess
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.kafka_broker import Broker, compile_java, java_command

Settings = Mapping[str, str]


class Record(NamedTuple):
    """What a producer sends.

    Attributes:
        timestamp: ms since the epoch; None takes the client's clock. Not sent before 0.10.
        headers: name and value; not sent before 0.11.
    """

    key: bytes | None
    value: bytes | None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def _field(content: bytes | None) -> str:
    return "-" if content is None else b64encode(content).decode()


class Client:
    """Producers and consumers of one Kafka version, in one Java process.

    Leaving the context ends the process at once, without closing what is open in it.

    Args:
        broker: a running broker; the client is of its version.
    """

    def __init__(self, broker: Broker) -> None:
        classes = compile_java(
            broker.version, Path(__file__).with_name("Client.java").read_text(), "Client"
        )
        command = java_command(
            broker.version, "Client", broker.bootstrap, heap="256m", classes=classes
        )
        with (broker.folder / "client.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=broker.folder,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def call(self, command: str, *fields: object, settings: Settings | None = None) -> None:
        """Run one command of `Client.java` and wait for it.

        Args:
            command: its name, and its fields in order.
            settings: settings of a producer, consumer or topic, by their dotted names.

        Raises:
            RuntimeError: it failed; the error has the Java client's message.
        """
        named = [f"{name}={value}" for name, value in (settings or {}).items()]
        self._write([command, *map(str, fields), *named])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("@ok"):
                return
            if line.startswith("@error"):
                raise RuntimeError(line)
        raise RuntimeError(f"the client ended during {command}")

    def send(self, producer: str, topic: str, partition: int, record: Record) -> None:
        """Hand a record to a producer; it is on disk after the producer's next flush or commit."""
        time = "-" if record.timestamp is None else str(record.timestamp)
        headers = [text for name, value in record.headers for text in (name, _field(value))]
        key, value = _field(record.key), _field(record.value)
        self._write(["send", producer, topic, str(partition), time, key, value, *headers])

    def _write(self, fields: list[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(fields) + "\n")
