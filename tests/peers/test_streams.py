"""A Kafka Streams application counts words exactly once, over its own end and the server's."""

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import workbench
from tests.peers.java_peers import JavaProcess, compiled
from tests.server.conftest import SHOP
from tests.server.served_process import ServedProcess
from tests.waiting import HANGS_AFTER_S

pytestmark = [pytest.mark.broker, pytest.mark.slow]

WORDS: Final = ("log", "segment", "batch", "record", "offset", "epoch")
LINES: Final = 3000


def test_words_are_counted_once_over_a_kill_and_a_restart(tmp_path: Path) -> None:
    """The application is killed in a transaction, the server is restarted, and both go on."""
    data = tmp_path / "data"
    shutil.copytree(SHOP, data)
    chance = random.Random(1)
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(1, 5))) for _ in range(LINES)]
    words = Counter(word for line in lines for word in line.split())
    with ServedProcess(data, "--writable") as server:
        admin = AdminClient({"bootstrap.servers": server.where})
        topics = [NewTopic(name, 2, 1) for name in ("lines", "counts")]
        for made in admin.create_topics(topics).values():
            made.result(30)
        send(server.where, lines[: LINES // 2])
        with word_count(server.where, tmp_path) as app:
            app.wait_until(lambda: count_committed(server.where) > 1000)
            app.process.kill()
    with ServedProcess(data, "--writable") as server:
        send(server.where, lines[LINES // 2 :])
        with word_count(server.where, tmp_path) as app:
            app.wait_until(lambda: count_committed(server.where) >= words.total())
    scan = workbench.open_log_directory(data).scan(
        topics="counts", isolation_level="read_committed"
    )
    counts: dict[str, list[int]] = {}
    for row in scan.to_arrow().to_pylist():
        counts.setdefault(row["key"].decode(), []).append(int.from_bytes(row["value"]))
    assert counts == {word: [*range(1, count + 1)] for word, count in words.items()}
    assert workbench.verify(data) == []


def send(where: str, lines: list[str]) -> None:
    producer = Producer({"bootstrap.servers": where, "enable.idempotence": True})
    for at, line in enumerate(lines):
        producer.produce("lines", line.encode(), str(at % 7).encode())
    assert producer.flush(30) == 0


def word_count(where: str, folder: Path) -> JavaProcess:
    state = str(folder / "state")
    log = folder / "word-count.log"
    return JavaProcess("WordCount", where, state, log=log, classes=compiled("WordCount"))


def count_committed(where: str) -> int:
    """Return how many counts of committed transactions there are."""
    consumer = Consumer(
        {
            "bootstrap.servers": where,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("counts", number, 0) for number in range(2)])
    found = ends = 0
    while ends < 2:
        message = consumer.poll(HANGS_AFTER_S)
        assert message is not None
        if message.error() is None:
            found += 1
        else:
            ends += 1  # only the end of a partition is an error here
    consumer.close()
    return found
