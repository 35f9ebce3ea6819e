"""CPU time of `serve` beside a warm broker's, for the same requests: Produce, and Fetch.

Both run at the same time and take turns; the broker's JVM has the flags of Kafka's start scripts
and has compiled what it runs. CPU time is that of the serving process.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import psutil
from confluent_kafka import Consumer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.benchmarks.bench_server import MIB, Reader, Serving, ask, brokered
from tests.benchmarks.measure import JVM_FLAGS, KAFKA, table
from tests.kafka_broker import Broker
from tests.ports import free_ports
from tests.server.consumers import consuming
from tests.server.hostile import frame
from workbench.record.memory_records import MemoryRecords
from workbench.server.protocol.api_keys import PRODUCE

VERSION: Final = 11  # of Produce
AHEAD: Final = 5  # requests that a connection sends before it reads, as producers do
PARTITIONS: Final = 10
WARM_REQUESTS: Final = 20_000  # after which a JVM has compiled what it runs
WARM_BYTES: Final = 2 << 30  # or after so many bytes
TURN_SECONDS: Final = 2.0
TURNS: Final = 3
WARM_READS: Final = 6  # of the topic that is fetched
FETCHED: Final = 64 << 20  # bytes of the topic that is fetched


class Produced(NamedTuple):
    """How a producer asks.

    Attributes:
        name: what the table calls it.
        records, value: in a batch, and bytes of each.
        connections: at a time.
        partitions: with a batch each in one request.
    """

    name: str
    records: int
    value: int
    connections: int = 1
    partitions: int = 1

    @property
    def topic(self) -> str:
        """The topic."""
        return f"produced-{self.records}-{self.value}-{self.connections}-{self.partitions}"

    @property
    def request(self) -> bytes:
        """The frame."""
        value = bytes(range(256)) * (self.value // 256 + 1)
        pairs = [(None, value[: self.value])] * self.records
        batch = bytes(MemoryRecords.of(*pairs, timestamp=int(time.time() * 1000)))
        data = [{"index": number, "records": batch} for number in range(self.partitions)]
        topics = [{"name": self.topic, "partitionData": data}]
        asked = {"acks": -1, "timeoutMs": 30_000, "topicData": topics}
        body = PRODUCE.request.encode(asked, VERSION)
        return frame(PRODUCE.key, VERSION, body, is_flexible=True)


PRODUCED: Final = (
    Produced("16 KB", 16, 1000),
    Produced("16 KB, 8 connections", 16, 1000, connections=8),
    Produced("16 KB for each of 10 partitions", 16, 1000, partitions=10),
    Produced("one record of 100 B", 1, 100),
    Produced("one record of 100 B, 8 connections", 1, 100, connections=8),
    Produced("1 MB", 1000, 1000),
)


@contextmanager
def writable(data: Path) -> Iterator[Serving]:
    """Serve a directory that clients may write to by the command."""
    (port,) = free_ports(1)
    program = [sys.executable, "-m", "workbench.cli.main", "serve", "--writable"]
    command = [*program, "--port", str(port), str(data)]
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=silent, stderr=silent) as process:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
        try:
            yield Serving(port, psutil.Process(process.pid))
        finally:
            process.terminate()


def create(serving: Serving, topic: str, partitions: int) -> None:
    """Create a topic."""
    admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{serving.port}")
    admin.create_topics([NewTopic(topic, partitions, 1)])
    admin.close()


def topics_of(serving: Serving) -> list[str]:
    """Return the names of all topics."""
    admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{serving.port}")
    found: list[str] = admin.list_topics()
    admin.close()
    return found


class Producing:
    """Producers of one kind, with their connections."""

    def __init__(self, serving: Serving, how: Produced) -> None:
        create(serving, how.topic, how.partitions)
        self._serving = serving
        self._request = how.request
        address = ("127.0.0.1", serving.port)
        self._clients = [socket.create_connection(address) for _ in range(how.connections)]

    def warm(self) -> None:
        """Send so many requests that the server has compiled what it runs."""
        self.turn(0, min(WARM_REQUESTS, WARM_BYTES // len(self._request)))

    def turn(self, seconds: float, least: int = 0) -> float:
        """Send requests for a while, and at least so many; return the server's CPU time of one."""
        count, start = 0, self._serving.cpu()
        end = time.monotonic() + seconds
        while count < least or time.monotonic() < end:
            for client in self._clients:
                client.sendall(self._request * AHEAD)
            for client in self._clients:
                for _ in range(AHEAD):
                    ask(client, b"")
            count += AHEAD * len(self._clients)
        return (self._serving.cpu() - start) / count


def side_by_side(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Return the least of each after they took turns."""
    rounds = [(ours(), theirs()) for _ in range(TURNS)]
    our, their = zip(*rounds, strict=True)
    return min(our), min(their)


def compare_produce(ours: Serving, theirs: Serving, how: Produced) -> list[object]:
    """Return a row: CPU of a request."""
    our, their = Producing(ours, how), Producing(theirs, how)
    our.turn(TURN_SECONDS)
    their.warm()
    cpu, broker = side_by_side(lambda: our.turn(TURN_SECONDS), lambda: their.turn(TURN_SECONDS))
    return [how.name, f"{cpu * 1e6:,.0f} µs", f"{broker * 1e6:,.0f} µs", f"{cpu / broker:.2f}"]


def fill(serving: Serving, how: Produced) -> str:
    """Return a topic of `FETCHED` bytes; it is produced if it is not there."""
    if how.topic in topics_of(serving):
        return how.topic
    create(serving, how.topic, 1)
    request = how.request
    with socket.create_connection(("127.0.0.1", serving.port)) as client:
        for _ in range(FETCHED // len(request)):
            ask(client, request)
    return how.topic


def by_kcat(serving: Serving, topic: str) -> None:
    """Read a topic by kcat."""
    server = f"127.0.0.1:{serving.port}"
    command = ["kcat", "-C", "-q", "-e", "-o", "beginning", "-b", server, "-t", topic]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def by_confluent(serving: Serving, topic: str) -> None:
    """Read a topic by confluent-kafka, to its last record."""
    settings = {"bootstrap.servers": f"127.0.0.1:{serving.port}", "group.id": "bench"}
    offsets = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**settings, **offsets, "enable.partition.eof": True})
    consumer.subscribe([topic])
    while not any(each.error() for each in consumer.consume(10_000, 1.0)):
        pass
    consumer.close()


def by_kafka_python(serving: Serving, topic: str) -> None:
    """Read a topic by kafka-python; its own parsing takes most of the time."""
    with consuming(f"127.0.0.1:{serving.port}", topic, consumer_timeout_ms=1000) as consumer:
        for _ in consumer:
            pass


def by_raw(most: int) -> Callable[[Serving, str], None]:
    """Return what reads a topic by one fetch of so many bytes after the other."""

    def read(serving: Serving, topic: str) -> None:
        reader, size = Reader(serving.port, most, topic), 0
        while size < FETCHED * 0.9:
            size += reader.fetch()

    return read


FETCHED_AS: Final = Produced("1 KB", 15, 1000), Produced("100 B", 150, 100)
READERS: Final[Sequence[tuple[str, Callable[[Serving, str], None]]]] = (
    ("kcat", by_kcat),
    ("confluent-kafka", by_confluent),
    ("kafka-python", by_kafka_python),
    ("fetches of 64 KiB", by_raw(1 << 16)),
    ("fetches of 1 MiB", by_raw(MIB)),
    ("fetches of 8 MiB", by_raw(8 * MIB)),
)


def compare_fetch(
    ours: Serving, theirs: Serving, how: Produced, read: Callable[[Serving, str], None]
) -> list[object]:
    """Return cells: CPU of a GiB."""

    def cpu(serving: Serving) -> float:
        topic = fill(serving, how)
        start = serving.cpu()
        read(serving, topic)
        return (serving.cpu() - start) * (1 << 30) / FETCHED

    for serving in (ours, *[theirs] * WARM_READS):
        cpu(serving)
    our, their = side_by_side(lambda: cpu(ours), lambda: cpu(theirs))
    return [f"{our:.2f} s", f"{their:.2f} s", f"{our / their:.2f}"]


def main(wanted: Sequence[str]) -> None:
    """Print the tables."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "ours"
        data.mkdir()
        settings = {"log.retention.ms": "-1", "log.cleaner.enable": "false"}
        broker = Broker(KAFKA, Path(folder) / "broker", settings, heap="1g", flags=JVM_FLAGS)
        with brokered(broker) as theirs, writable(data) as ours:
            if "produce" in wanted:
                rows = [compare_produce(ours, theirs, each) for each in PRODUCED]
                columns = ["request", "our CPU", "a warm broker's", "ratio"]
                table("Produce, acks=all", columns, rows)
            if "fetch" in wanted:
                rows = [
                    [f"{name}, {how.name}", *compare_fetch(ours, theirs, how, read)]
                    for how in FETCHED_AS
                    for name, read in READERS
                ]
                columns = ["client", "our CPU a GiB", "a warm broker's", "ratio"]
                table("Fetch of 64 MiB in batches of 16 KB", columns, rows)


if __name__ == "__main__":
    main(sys.argv[1:] or ["produce", "fetch"])
