"""Kafka's tools that write and read many records: what they count is what the server has."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pytest

import workbench
from tests.kafka_broker import run_java
from tests.peers.java_peers import VERSION
from tests.server.conftest import SHOP
from tests.server.tools import Tools
from tests.waiting import wait_until
from workbench.server.server import Server

pytestmark = pytest.mark.broker

TOOLS: Final = "org.apache.kafka.tools"
COUNT: Final = 30_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a writable server of a copy of the sample data; afterwards its directory is sound."""
    data = tmp_path_factory.mktemp("tools") / "data"
    shutil.copytree(SHOP, data)
    with workbench.serve(data, writable=True, config={"num.partitions": 3}) as running:
        yield running
    assert workbench.verify(data) == []


@pytest.fixture(scope="module")
def tool() -> Iterator[Tools]:
    with closing(Tools(VERSION)) as found:
        yield found


def count(server: Server, topic: str) -> int:
    """Return how many offsets a topic has."""
    logs = server.catalog.logs_of(topic)
    assert logs is not None
    return sum(log.high_watermark for log in logs.values())


def performance(tool: Tools, name: str, *arguments: str) -> str:
    done = tool.run(f"{TOOLS}.{name}", *arguments)
    assert done.code == 0, (done.out[-1000:], done.err[-3000:])
    return done.out


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_what_the_performance_tools_write_and_read_is_there(
    server: Server, tool: Tools, codec: str
) -> None:
    topic, bootstrap = f"fast-{codec}", server.bootstrap_servers
    properties = (f"bootstrap.servers={bootstrap}", "acks=all", f"compression.type={codec}")
    out = performance(
        tool, "ProducerPerformance", "--topic", topic, "--num-records", str(COUNT),
        "--record-size", "200", "--throughput", "-1", "--command-property", *properties,
    )  # fmt: skip
    assert f"{COUNT} records sent" in out
    assert count(server, topic) == COUNT
    out = performance(
        tool, "ConsumerPerformance", "--bootstrap-server", bootstrap, "--topic", topic,
        "--num-records", str(COUNT), "--timeout", "180000",
    )  # fmt: skip
    names, numbers = (line.split(", ") for line in out.splitlines()[:2])
    assert int(dict(zip(names, numbers, strict=True))["data.consumed.in.nMsg"]) == COUNT


def test_many_short_transactions_are_all_committed(server: Server, tool: Tools) -> None:
    """Records of a transaction arrive before the markers of the one before are written."""
    topic, total = "fast-transactions", 60_000  # a fast machine has 10,000 in 50 ms
    performance(
        tool, "ProducerPerformance", "--topic", topic, "--num-records", str(total),
        "--record-size", "200", "--throughput", "-1", "--transaction-duration-ms", "20",
        "--command-property", f"bootstrap.servers={server.bootstrap_servers}",
    )  # fmt: skip
    logs = server.catalog.logs_of(topic)
    assert logs is not None
    wait_until(  # the last markers are written
        lambda: all(log.last_stable_offset == log.high_watermark for log in logs.values())
    )
    out = performance(
        tool, "ConsumerPerformance", "--bootstrap-server", server.bootstrap_servers,
        "--topic", topic, "--num-records", str(total), "--timeout", "180000",
        "--command-property", "isolation.level=read_committed",
    )  # fmt: skip
    assert out.splitlines()[1].split(", ")[4] == str(total)
    assert count(server, topic) > total + 10  # with the markers


def test_verifiable_members_get_what_a_verifiable_producer_sent(
    server: Server, tool: Tools
) -> None:
    topic, total = "verifiable", 3000
    where = ("--bootstrap-server", server.bootstrap_servers, "--topic", topic)
    done = run_java(  # in a JVM of its own, at whose end it sends what it still has
        VERSION, f"{TOOLS}.VerifiableProducer", *where, "--acks", "-1", "--max-messages", str(total)
    )
    sent = Counter(
        (each["partition"], each["offset"], each["value"])
        for each in map(json.loads, done.stdout.splitlines())
        if each["name"] == "producer_send_success"
    )
    assert sent.total() == total
    read: Counter[tuple[int, int, str]] = Counter()
    for most in (1000, total - 1000):  # the second begins where the first committed
        out = performance(
            tool, "VerifiableConsumer", *where, "--group-id", "verifiable", "--verbose",
            "--max-messages", str(most), "--reset-policy", "earliest",
        )  # fmt: skip
        events = [json.loads(line) for line in out.splitlines()]
        read.update(
            (each["partition"], each["offset"], each["value"])
            for each in events
            if each["name"] == "record_data"
        )
        assert all(each["success"] for each in events if each["name"] == "offsets_committed")
    assert read == sent
