"""Kafka's own tools, of 4.2 and 2.8, read what the server serves."""

import re
from collections import Counter

import pytest

import workbench
from tests.golden.cases import Isolation
from tests.kafka_broker import run_java
from tests.server.conftest import SHOP
from workbench.runtime.times import milliseconds
from workbench.server.server import Server

pytestmark = pytest.mark.broker

CONSUMER = {
    "4.2.0": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "2.8.2": "kafka.tools.ConsoleConsumer",
}
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"


def run(server: Server, version: str, tool: str, *arguments: str) -> list[str]:
    """Return the lines that a tool prints about the server."""
    where = ("--bootstrap-server", server.bootstrap_servers)
    done = run_java(version, tool, *where, *arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def values(topic: str, isolation: Isolation = "read_uncommitted") -> Counter[str]:
    """Return the values of a topic of the sample data, as a scan gives them."""
    scan = workbench.open_log_directory(SHOP).scan(topics=topic, isolation_level=isolation)
    found = (value or b"null" for batch in scan.batches() for value in batch["value"].to_pylist())
    return Counter(value.decode() for value in found)


@pytest.mark.parametrize("version", CONSUMER)
def test_the_console_consumer_reads_committed_records(shop: Server, version: str) -> None:
    expected = values("payments", "read_committed")
    lines = run(
        shop, version, CONSUMER[version], "--topic", "payments", "--from-beginning",
        "--isolation-level", "read_committed", "--max-messages", str(expected.total()),
    )  # fmt: skip
    assert Counter(lines) == expected
    assert expected < values("payments")  # aborted records were left out


@pytest.mark.parametrize("version", CONSUMER)
def test_the_console_consumer_reads_messages_of_old_formats(old: Server, version: str) -> None:
    topic = "t-to-gzip"
    logs = workbench.open_log_directory(old.catalog.directories)
    rows = logs.scan(topics=topic, columns=["offset", "timestamp"]).to_arrow().to_pylist()
    shown = ("print.offset=true", "print.timestamp=true", "print.value=false")
    lines = run(
        old, version, CONSUMER[version], "--topic", topic, "--from-beginning",
        "--max-messages", str(len(rows)), *(f"--property={each}" for each in shown),
    )  # fmt: skip
    found = re.findall(r"^CreateTime:(-?\d+)\tOffset:(\d+)$", "\n".join(lines), re.MULTILINE)
    stamps = [-1 if r["timestamp"] is None else milliseconds(r["timestamp"]) for r in rows]
    assert found == [
        (str(stamp), str(row["offset"])) for stamp, row in zip(stamps, rows, strict=True)
    ]


def test_admin_clients_see_groups_and_offsets_on_the_disk(shop: Server) -> None:
    stored = workbench.open_log_directory(SHOP).inspect.group_offsets("order-dashboard")
    expected = {
        (row["topic"], row["partition"]): (row["offset"], row["log_end_offset"])
        for row in stored.to_pylist()
    }
    lines = run(shop, "4.2.0", GROUPS, "--describe", "--group", "order-dashboard")
    rows = [line.split() for line in lines if line.startswith("order-dashboard")]
    assert {(row[1], int(row[2])): (int(row[3]), int(row[4])) for row in rows} == expected


def test_admin_clients_get_the_offset_of_the_largest_timestamp(shop: Server) -> None:
    scan = workbench.open_log_directory(SHOP).scan(
        topics="orders", columns=["partition", "offset", "timestamp"]
    )
    newest = {
        number: int(rows.loc[rows["timestamp"].idxmax(), "offset"])
        for number, rows in scan.to_pandas().groupby("partition")
    }
    lines = run(shop, "4.2.0", OFFSETS, "--topic", "orders", "--time", "-3")
    found = re.findall(r"orders:(\d):(\d+)", "\n".join(lines))
    assert {int(partition): int(offset) for partition, offset in found} == newest
