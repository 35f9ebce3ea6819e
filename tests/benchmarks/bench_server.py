"""The server beside a real broker: one fast consumer, the cost of a fetch, many consumers, a start.

CPU time is that of the serving process, per MiB or per fetch: it repeats where wall time does not.
"""

import json
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from socket import MSG_WAITALL, create_connection, socket
from typing import Final, NamedTuple

import psutil

import workbench as wb
from tests.benchmarks.measure import FOLDER, KAFKA, PARTITIONS, generated, memcpy, peer, table
from tests.kafka_broker import Broker, run_java
from tests.server.consumers import producing
from tests.server.hostile import frame
from workbench.server.protocol.api_keys import FETCH, METADATA
from workbench.server.protocol.frames import SIZE

TOPIC: Final = "bench"
DATA: Final = (("none", 100, 296 << 20), ("lz4", 100, 24 << 20))
"""Codec, bytes of a value, and bytes of the only segment."""
SIZES: Final = (16 << 10, 1 << 20, 8 << 20)  # bytes of a fetch
FETCHED: Final = 256 << 20  # bytes that the fetches of one size get, or `FETCHES` of them
FETCHES: Final = 2000
CONSUMERS: Final = 200
VERSION: Final = 11  # of Fetch
_RECORDS_AT: Final = 66  # in a response about one partition, beside the name of its topic
_BATCH: Final = struct.Struct(">qi")
MIB: Final = 1 << 20


class Serving(NamedTuple):
    """A process that serves: its address, and how to see its CPU time."""

    port: int
    process: psutil.Process

    def cpu(self) -> float:
        """Return the CPU seconds that it has used."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def served(data: Path) -> Iterator[Serving]:
    """Serve a directory by the command."""
    command = [sys.executable, "-m", "workbench.cli.main", "serve", "--json", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())["bootstrap"]
        threading.Thread(target=process.stdout.read, daemon=True).start()
        try:
            yield Serving(int(where.rpartition(":")[2]), psutil.Process(process.pid))
        finally:
            process.terminate()


@contextmanager
def brokered(broker: Broker) -> Iterator[Serving]:
    """Run a broker."""
    with broker:
        (process,) = (
            each
            for each in psutil.Process().children(recursive=True)
            if "kafka.Kafka" in each.cmdline()
        )
        yield Serving(int(broker.bootstrap.rpartition(":")[2]), process)


def broker_with(segment: Path) -> Broker:
    """Return a broker, not started, whose only partition is a segment; it makes the indexes."""
    folder = FOLDER / f"server-{segment.parent.name}"
    settings = {"log.retention.ms": "-1", "log.cleaner.enable": "false"}
    broker = Broker(KAFKA, folder, settings, heap="1g")
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with broker, producing(broker.bootstrap) as producer:
            producer.send(TOPIC, b"first").get(30)
        partition = broker.data / f"{TOPIC}-0"
        for file in [*partition.glob("*index"), *partition.glob("*.snapshot")]:
            file.unlink()
        shutil.copy(segment, partition / segment.name)
        with broker:
            pass
        (folder / "ready").touch()
    return broker


class Rate(NamedTuple):
    """How fast a consumer read: MiB a second, and milliseconds of the server's CPU for a MiB."""

    wall: float
    cpu: float


def consumer_rate(serving: Serving, records: int) -> Rate:
    """Run Kafka's ConsumerPerformance; what it needs at first is read before."""
    arguments = (
        "--topic", TOPIC, "--bootstrap-server", f"127.0.0.1:{serving.port}",
        "--num-records", str(records),
    )  # fmt: skip
    reader = Reader(serving.port, MIB)
    while reader.fetch() > MIB // 2:
        pass
    start = serving.cpu()
    done = run_java(KAFKA, "org.apache.kafka.tools.ConsumerPerformance", *arguments)
    assert done.returncode == 0, done.stderr[-2000:]
    words = done.stdout.splitlines()[-1].split(", ")
    return Rate(float(words[8]), (serving.cpu() - start) / float(words[2]) * 1000)


def compare(codec: str, value: int, total: int) -> list[object]:
    """Return a row: a consumer of the server, and of a broker on the same directory."""
    broker = broker_with(generated(codec, value, total))
    records = wb.open_log_directory(broker.data)[f"{TOPIC}-0"].log_end_offset
    with brokered(broker) as serving:
        theirs = consumer_rate(serving, records)
    with served(broker.data) as serving:
        ours = consumer_rate(serving, records)
    return [
        f"{codec}, {value} B",
        f"{ours.wall:.0f} MiB/s",
        f"{theirs.wall:.0f} MiB/s",
        f"{ours.wall / theirs.wall:.2f}",
        f"{ours.cpu:.2f} ms",
        f"{theirs.cpu:.2f} ms",
    ]


class Reader:
    """Fetches a partition from its beginning, again and again."""

    def __init__(self, port: int, most: int, topic: str = TOPIC) -> None:
        self._socket = create_connection(("127.0.0.1", port))
        self._most = most
        self._topic = topic
        self._offset = 0

    def fetch(self) -> int:
        """Return the bytes of one response."""
        partition = {
            "partition": 0, "fetchOffset": self._offset, "partitionMaxBytes": self._most,
        }  # fmt: skip
        topics = [{"topic": self._topic, "partitions": [partition]}]
        body = FETCH.request.encode({"maxBytes": self._most, "topics": topics}, VERSION)
        data = ask(self._socket, frame(FETCH.key, VERSION, body))
        at = _RECORDS_AT + len(self._topic)
        start = self._offset
        while at + _BATCH.size <= len(data):
            base, size = _BATCH.unpack_from(data, at)
            (delta,) = struct.unpack_from(">i", data, at + 23)
            self._offset = base + delta + 1
            at += _BATCH.size + size
        if self._offset == start:
            self._offset = 0
        return len(data)


def ask(client: socket, request: bytes) -> bytes:
    """Return the response to a request."""
    client.sendall(request)
    (size,) = SIZE.unpack(client.recv(SIZE.size, MSG_WAITALL))
    return client.recv(size, MSG_WAITALL)


def fetch_costs(serving: Serving) -> list[list[object]]:
    """Return a row for each size: CPU of a fetch, beside that of copying its bytes."""
    rows: list[list[object]] = []
    for most in SIZES:
        reader = Reader(serving.port, most)
        reader.fetch()
        count = min(FETCHES, FETCHED // most)
        start = serving.cpu()
        size = sum(reader.fetch() for _ in range(count)) // count
        cpu = (serving.cpu() - start) / count
        copied = memcpy(size).cpu
        rows.append([f"{size:,} B", f"{cpu * 1e6:.0f} µs", f"{(cpu - copied) * 1e6:.0f} µs"])
    return rows


def many(serving: Serving) -> list[object]:
    """Return a row: consumers that each fetch the same MiB some times, all at once."""
    readers = [Reader(serving.port, MIB) for _ in range(CONSUMERS)]
    start, start_cpu = time.perf_counter(), serving.cpu()
    with ThreadPoolExecutor(CONSUMERS) as threads:
        longest = max(threads.map(_slowest, readers))
    wall, cpu = time.perf_counter() - start, serving.cpu() - start_cpu
    resident = serving.process.memory_info().rss >> 20
    return [CONSUMERS, f"{wall:.1f} s", f"{cpu:.1f} s", f"{longest:.2f} s", f"{resident} MiB"]


def _slowest(reader: Reader) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        reader.fetch()
        times.append(time.perf_counter() - start)
    return max(times)


def first_response() -> list[object]:
    """Return a row: from the command to the answer about all topics of many partitions."""
    root = FOLDER / f"partitions-{PARTITIONS}"
    if not (root / ".kafka_cleanshutdown").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        peer("partitions", str(root), str(PARTITIONS))
    start = time.perf_counter()
    with served(root) as serving:
        ready = time.perf_counter() - start
        every_topic = METADATA.request.encode({"topics": None}, 1)
        with create_connection(("127.0.0.1", serving.port)) as client:
            size = len(ask(client, frame(METADATA.key, 1, every_topic)))
        answered = time.perf_counter() - start
        return [PARTITIONS, f"{ready:.2f} s", f"{answered:.2f} s", f"{size:,} B"]


def main() -> None:
    """Print the tables."""
    rows = [compare(*data) for data in DATA]
    columns = ["data", "ours", "broker's", "ratio", "our CPU a MiB", "broker's"]
    table("ConsumerPerformance", columns, rows)
    with served(broker_with(generated(*DATA[0])).data) as serving:
        table(
            "A fetch from the page cache",
            ["response", "CPU", "beside a copy"],
            fetch_costs(serving),
        )
        row = many(serving)
    columns = ["consumers", "wall", "CPU", "slowest fetch", "memory of the server"]
    table("1 MiB five times for each of many consumers", columns, [row])
    columns = ["partitions", "ready", "answered", "response"]
    table("`kafka-workbench serve` to the first response", columns, [first_response()])


if __name__ == "__main__":
    main()
