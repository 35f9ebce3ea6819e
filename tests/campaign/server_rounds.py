"""Rounds about the server: requests that no client sends, and kills under Kafka's producers."""

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import workbench as wb
from tests.kafka_broker import Broker
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until, producing
from tests.server.hostile import Amplified, Attack, Frames
from tests.server.killed_servers import FEW, VERSION, kill_servers
from tests.server.served_process import MIB, ServedProcess
from tests.trees import changes
from workbench.server.server import Server

FRAMES: Final = 50_000
ASKED: Final = 5_000  # frames that ask for much
MOST: Final = 800 * MIB  # that a server may take for them
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

    keeper, root = Keeper(logging.ERROR), logging.getLogger()
    root.addHandler(keeper)
    try:
        yield
    finally:
        root.removeHandler(keeper)
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
    _exhaust(ServedProcess(folder / "shop"), seed)


def exhaust_writing_server(folder: Path, seed: int) -> None:
    """Ask a writable server for much, in valid requests: it takes a limited memory."""
    shutil.copytree(SHOP, folder / "shop")
    _exhaust(ServedProcess(folder / "shop", "--writable"), seed)


def _exhaust(server: ServedProcess, seed: int) -> None:
    with server as running:
        before = running.memory()
        Attack(int(running.where.split(":")[1]), Amplified(seed).next, seed=seed, ahead=1).run(
            ASKED
        )
        with consuming(running.where, "orders") as consumer:
            poll_until(consumer, 1)
        grown = running.memory("VmHWM") - before
        assert grown < MOST, f"{grown} bytes"
    assert "failed" not in running.errors.read_text()


SERVER_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "attack a reading server": attack_reading_server,
    "attack a writing server": attack_writing_server,
    "exhaust a reading server": exhaust_reading_server,
    "exhaust a writing server": exhaust_writing_server,
    "kill servers": kill_servers,
}
"""By name."""
