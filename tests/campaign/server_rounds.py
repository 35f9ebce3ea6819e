"""Rounds about the server: requests that no client sends, and kills under Kafka's producers."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

import workbench as wb
from tests.fair_clock import FairClock
from tests.kafka_broker import Broker
from tests.server.asking import Asker
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until, producing
from tests.server.hostile import WAIT, Amplified, Attack, Frames
from tests.server.killed_servers import FEW, VERSION, kill_servers
from tests.server.served_process import MIB, ServedProcess
from tests.trees import changes
from workbench.server.protocol.api_keys import API_KEYS, LIST_OFFSETS, METADATA
from workbench.server.server import Server

FRAMES: Final = 50_000
ASKED: Final = 5_000  # frames that ask for much
MOST: Final = 800 * MIB  # that a server may take for them
ANSWERS_S: Final = 20.0  # of a `FairClock`, within which a request that need not wait is answered
OTHERS_S: Final = 20.0  # of the same, within which other clients are
ENDS_S: Final = 30.0  # of the same, within which SIGTERM ends a server
HANGS_AFTER_S: Final = 600.0  # by any clock
MAY_TAKE: Final = frozenset(
    {"CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs"}
)
"""APIs that the controller's thread answers one after the other; each new log takes a while."""
BEFORE: Final = 100  # records that must outlive an attack


class FailedError(AssertionError):
    """The server has logged an error that it did not foresee."""


@contextmanager
def without_errors() -> Iterator[None]:
    """Raise what the server logs as an error.

    Raises:
        FailedError: see there.
    """
    told: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(self.format(record))

    keeper, ours = Keeper(logging.ERROR), logging.getLogger("workbench")  # not a client's
    ours.addHandler(keeper)
    try:
        yield
    finally:
        ours.removeHandler(keeper)
    if told:
        raise FailedError(told[0])


def assert_served(server: Server, topic: str, count: int) -> None:
    """Let a good client read all records of a topic."""
    with consuming(server, topic) as consumer:
        assert len(poll_until(consumer, count)) == count


def attack_reading_server(_folder: Path, seed: int) -> None:
    """Attack a read-only server: nothing on the disk changes, and a client reads on."""
    before = changes(SHOP)
    count = len(wb.open_log_directory(SHOP).scan(topics="orders").to_arrow())
    with without_errors(), wb.serve(SHOP) as server:
        ids = [server.catalog.topic_id(name) for name in server.catalog.topics]
        Attack(server.port, Frames(seed, ids).next, seed=seed).run(FRAMES)
        assert_served(server, "orders", count)
    assert changes(SHOP) == before


def attack_writing_server(folder: Path, seed: int) -> None:
    """Attack a writable server on a broker's directory; the broker then serves on."""
    broker = Broker(VERSION, folder / "broker", FEW)
    with broker:
        pass  # its directory is one of KRaft
    beside = {path.name for path in broker.folder.iterdir()}
    with without_errors(), wb.serve(broker.data, writable=True, config=FEW) as server:
        with producing(server) as producer:
            for number in range(BEFORE):
                producer.send("kept", b"%d" % number)
            producer.flush()
        topics = server.catalog.topics.keys() - {"kept"}  # whose id nobody knows who may delete it
        ids = [server.catalog.topic_id(name) for name in sorted(topics)]
        Attack(server.port, Frames(seed, ids).next, seed=seed).run(FRAMES)
        assert_served(server, "kept", BEFORE)
    assert {path.name for path in broker.folder.iterdir()} == beside
    assert [each for each in wb.verify(broker.data) if each.severity == "error"] == []
    with broker:
        with consuming(broker.bootstrap, "kept") as consumer:
            assert len(poll_until(consumer, BEFORE)) == BEFORE
        time.sleep(1)  # what the broker does not know is set aside
    strays = [path.name for path in broker.data.iterdir() if path.name.endswith("-stray")]
    assert not strays, strays


def exhaust_reading_server(folder: Path, seed: int) -> None:
    """Ask a read-only server for much, in valid requests: it takes a limited memory."""
    shutil.copytree(SHOP, folder / "shop")
    with ServedProcess(folder / "shop") as server:
        _exhaust(server, seed, "orders")


def exhaust_writing_server(folder: Path, seed: int) -> None:
    """Ask a writable server for much, in valid requests: it takes a limited memory."""
    shutil.copytree(SHOP, folder / "shop")
    with ServedProcess(folder / "shop", "--writable") as server:
        with producing(server.where) as producer:
            producer.send("kept", b"value").get(HANGS_AFTER_S)
        _exhaust(server, seed, "kept")  # which nobody deletes, as its name is in no request


def _exhaust(running: ServedProcess, seed: int, topic: str) -> None:
    """Attack a server; others read a topic."""
    before = running.start_over()
    port = int(running.where.split(":")[1])
    clock = FairClock(running.process.pid).now
    with Bystander(running.where, topic, clock) as bystander:
        attack = Attack(
            port, Amplified(seed).next, seed=seed, ahead=1, patience=ANSWERS_S, clock=clock
        )
        slow = attack.run(ASKED).slow
    bystander.check()
    late = {
        API_KEYS[key].name: taken
        for key, taken in slow.items()
        if key not in WAIT and taken > ANSWERS_S and API_KEYS[key].name not in MAY_TAKE
    }
    assert not late, f"no answer within {ANSWERS_S} s: {late}"
    with consuming(running.where, topic) as consumer:
        poll_until(consumer, 1)
    grown = running.memory("VmHWM") - before
    assert grown < MOST, f"{grown} bytes"
    running.process.terminate()
    end = clock() + ENDS_S
    while running.process.poll() is None:
        assert clock() < end, f"SIGTERM does not end the server within {ENDS_S} s"
        time.sleep(0.1)
    assert running.process.returncode == 0
    assert "failed" not in running.errors.read_text()


class Bystander:
    """A client that asks for little, again and again, while others ask for much.

    Args:
        where: "host:port" of the server.
        topic: it asks for.
        clock: returns seconds.
    """

    def __init__(self, where: str, topic: str, clock: Callable[[], float]) -> None:
        self._where = where
        self._topic = topic
        self._clock = clock
        self._count = 0
        self._problem = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(HANGS_AFTER_S)

    def _run(self) -> None:
        topics = [{"name": self._topic, "partitions": [{"partitionIndex": 0, "timestamp": -2}]}]
        while not self._end.wait(0.1) and not self._problem:
            since = self._clock()
            try:
                with Asker(self._where, HANGS_AFTER_S) as asker:
                    (topic,) = asker.ask(METADATA, 9, {"topics": [{"name": self._topic}]})["topics"]
                    assert topic["partitions"], f"{self._topic} has no partitions"
                    asked = {"replicaId": -1, "isolationLevel": 0, "topics": topics}
                    asker.ask(LIST_OFFSETS, 6, asked)
                taken = self._clock() - since
                assert taken < OTHERS_S, f"{taken} s"
                self._count += 1
            except (OSError, AssertionError) as error:
                self._problem = f"after {self._count} answers: {type(error).__name__} {error}"

    def check(self) -> None:
        """Raise what the client met.

        Raises:
            FailedError: it waited for too long, or was refused.
        """
        if self._problem or not self._count:
            raise FailedError(f"another client: {self._problem or 'no answer'}")


SERVER_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "attack a reading server": attack_reading_server,
    "attack a writing server": attack_writing_server,
    "exhaust a reading server": exhaust_reading_server,
    "exhaust a writing server": exhaust_writing_server,
    "kill servers": kill_servers,
}
"""By name."""
