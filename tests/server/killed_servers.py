"""Producers that go on while their server is killed and started again; some servers are brokers."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from kafka import TopicPartition

import workbench as wb
from tests.golden.cases import Isolation
from tests.kafka_broker import Broker, compile_java, java_command
from tests.server.consumers import consuming, poll_until

VERSION: Final = "4.2.0"
FEW: Final = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "auto.create.topics.enable": "true",
}
PATIENT: Final = """\
retries=2147483647
delivery.timeout.ms=600000
transaction.timeout.ms=600000
request.timeout.ms=5000
enable.idempotence=true
reconnect.backoff.ms=20
reconnect.backoff.max.ms=100
retry.backoff.ms=20
retry.backoff.max.ms=100
"""
PATIENCE: Final = 180.0  # seconds for some more records and transactions
LATEST_KILL: Final = 0.3  # seconds after those


class Told:
    """What the producers have told so far.

    Attributes:
        acknowledged: offset → number, as told by kafka-verifiable-producer.
        committed, aborted: the transactions that ended.
        problems: what went wrong.
    """

    def __init__(self) -> None:
        self.acknowledged: dict[int, int] = {}
        self.committed: list[int] = []
        self.aborted: list[int] = []
        self.problems: list[str] = []

    def take(self, line: str) -> None:
        """Take a line of the producers' output."""
        kind, _, rest = line.strip().partition(" ")
        if kind == "commit":
            self.committed.append(int(rest))
        elif kind == "abort":
            self.aborted.append(int(rest))
        elif line.startswith("{"):
            event = json.loads(line)
            if event["name"] == "producer_send_success":
                self.acknowledged[event["offset"]] = int(event["value"])
            elif event["name"] == "producer_send_error":
                self.problems.append(line)
        else:
            self.problems.append(line)

    def wait_for_more(self, end: int = 0) -> None:
        """Wait for more records and transactions than there are now, and for a record from ``end``.

        Args:
            end: where "numbers" ended when the server started. What a producer had sent before is
                then acknowledged. A broker that is killed earlier, and once more, forgets all but
                the last batch of it (a snapshot has no more), refuses the others when they come
                again, and the producer writes them twice with a new epoch: real brokers do so, too.
        """
        records, ended = len(self.acknowledged) + 50, len(self.committed) + 2
        deadline = time.monotonic() + PATIENCE
        while (
            len(self.acknowledged) < records
            or len(self.committed) < ended
            or max(self.acknowledged) < end
        ):
            assert not self.problems, self.problems[0]
            assert time.monotonic() < deadline, "the producers do not go on"
            time.sleep(0.01)


@contextmanager
def producers(bootstrap: str, folder: Path) -> Iterator[Told]:
    """Run both producers, see `Producers.java`; at the end they finish what they do."""
    properties = folder / "producer.properties"
    properties.write_text(PATIENT)
    source = Path(__file__).with_name("Producers.java").read_text()
    classes = compile_java(VERSION, source, "Producers")
    command = java_command(VERSION, "Producers", bootstrap, str(properties), classes=classes)
    told = Told()

    def read(lines: Iterator[str]) -> None:
        for line in lines:
            told.take(line)

    with (folder / "producers.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    reader = threading.Thread(target=read, args=(process.stdout,), daemon=True)
    with process:
        reader.start()
        try:
            yield told
            process.stdin.close()
            process.wait(PATIENCE)
        finally:
            process.kill()
            reader.join()


@contextmanager
def served(broker: Broker) -> Iterator[None]:
    """Serve a broker's directory at its address; kill the server at the end."""
    port = broker.bootstrap.rpartition(":")[2]
    settings = [f"--set={name}={value}" for name, value in FEW.items()]
    command = [sys.executable, "-m", "workbench.cli.main", "serve", "--json", "--writable"]
    command += ["--recover", f"--port={port}", *settings, str(broker.data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline(), "the server did not start"
        drained = threading.Thread(target=server.stdout.read, daemon=True)
        drained.start()
        try:
            yield
        finally:
            server.kill()
            drained.join()


def kill_servers(folder: Path, seed: int, kills: int = 4) -> None:
    """Kill a broker, then servers, under producers; a broker follows, and has what they were told.

    Args:
        folder: empty.
        seed: when they are killed.
        kills: how many servers.

    Raises:
        AssertionError: a record or a transaction is lost, there twice, or only in part.
    """
    rng = Random(seed)
    broker = Broker(VERSION, folder, FEW)
    broker.start()
    try:
        with producers(broker.bootstrap, folder) as told:
            told.wait_for_more()
            broker.kill()
            for _ in range(kills):
                end = wb.open_log_directory(broker.data)["numbers-0"].log_end_offset
                with served(broker):
                    told.wait_for_more(end)
                    time.sleep(rng.uniform(0, LATEST_KILL))
            broker.start()
            told.wait_for_more()
        assert not told.problems, told.problems[0]
        _check_broker(broker, told)
    finally:
        broker.stop()
    _check_logs(broker.data, told)


def _check_broker(broker: Broker, told: Told) -> None:
    """Hold what consumers of the broker get against what producers were told."""
    with consuming(broker.bootstrap, "numbers") as consumer:
        found = poll_until(consumer, max(told.acknowledged) + 1)
    values = {record.offset: int(record.value) for record in found}
    assert told.acknowledged.items() <= values.items()
    with consuming(broker.bootstrap, group_id="mover") as consumer:
        assert consumer.committed(TopicPartition("debits", 0)) == max(told.committed)


def _check_logs(data: Path, told: Told) -> None:
    """Hold the logs against what producers were told."""
    assert wb.verify(data) == []
    numbers = list(_values(data, "numbers", "read_uncommitted").elements())
    assert numbers == list(range(len(numbers))), "a record is lost or there twice"
    debits, credits_ = (_values(data, name, "read_committed") for name in ("debits", "credits"))
    assert debits == dict.fromkeys(told.committed, 3)
    assert credits_ == dict.fromkeys(told.committed, 2)
    everything = _values(data, "debits", "read_uncommitted")
    assert set(everything) >= set(told.committed)


def _values(data: Path, topic: str, isolation: Isolation) -> Counter[int]:
    """Return how often each number is in a topic, in the order of their first records."""
    scan = wb.open_log_directory(data).scan(topics=topic, isolation_level=isolation)
    return Counter(int(value) for batch in scan.batches() for value in batch["value"].to_pylist())
