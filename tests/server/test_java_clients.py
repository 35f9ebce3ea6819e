"""Kafka's own tools, of 4.2 and 2.8, read what the server serves."""

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest

import workbench
from tests.golden.cases import Isolation
from tests.server.conftest import SHOP
from tests.server.tools import Tools
from workbench.runtime.times import milliseconds
from workbench.server.server import Server

pytestmark = pytest.mark.broker

CONSUMER = {
    "4.2.0": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "2.8.2": "kafka.tools.ConsoleConsumer",
}
GROUPS = {
    "4.2.0": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "2.8.2": "kafka.admin.ConsumerGroupCommand",
}
TOPICS = {"4.2.0": "org.apache.kafka.tools.TopicCommand", "2.8.2": "kafka.admin.TopicCommand"}
OFFSETS = {"4.2.0": "org.apache.kafka.tools.GetOffsetShell", "2.8.2": "kafka.tools.GetOffsetShell"}
VERIFIABLE = "org.apache.kafka.tools.VerifiableConsumer"

OfVersion = Callable[[str], Tools]


def values(topic: str, isolation: Isolation = "read_uncommitted") -> Counter[str]:
    """Return the values of a topic of the sample data, as a scan gives them."""
    scan = workbench.open_log_directory(SHOP).scan(topics=topic, isolation_level=isolation)
    found = (value or b"null" for batch in scan.batches() for value in batch["value"].to_pylist())
    return Counter(value.decode() for value in found)


@pytest.mark.parametrize("version", CONSUMER)
def test_the_console_consumer_reads_committed_records(
    shop: Server, tools: OfVersion, version: str
) -> None:
    expected = values("payments", "read_committed")
    lines = tools(version).lines(
        shop, CONSUMER[version], "--topic", "payments", "--from-beginning",
        "--isolation-level", "read_committed", "--max-messages", str(expected.total()),
    )  # fmt: skip
    assert Counter(lines) == expected
    assert expected < values("payments")  # aborted records were left out


@pytest.mark.parametrize("version", CONSUMER)
def test_the_console_consumer_reads_messages_of_old_formats(
    old: Server, tools: OfVersion, version: str
) -> None:
    topic = "t-to-gzip"
    logs = workbench.open_log_directory(old.catalog.directories)
    rows = logs.scan(topics=topic, columns=["offset", "timestamp"]).to_arrow().to_pylist()
    shown = ("print.offset=true", "print.timestamp=true", "print.value=false")
    lines = tools(version).lines(
        old, CONSUMER[version], "--topic", topic, "--from-beginning",
        "--max-messages", str(len(rows)), *(f"--property={each}" for each in shown),
    )  # fmt: skip
    found = re.findall(r"^CreateTime:(-?\d+)\tOffset:(\d+)$", "\n".join(lines), re.MULTILINE)
    stamps = [-1 if r["timestamp"] is None else milliseconds(r["timestamp"]) for r in rows]
    assert found == [
        (str(stamp), str(row["offset"])) for stamp, row in zip(stamps, rows, strict=True)
    ]


@pytest.mark.parametrize("version", GROUPS)
def test_admin_clients_see_groups_and_offsets_on_the_disk(
    shop: Server, tools: OfVersion, version: str
) -> None:
    stored = workbench.open_log_directory(SHOP).inspect.group_offsets("order-dashboard")
    expected = {
        (row["topic"], row["partition"]): (row["offset"], row["log_end_offset"])
        for row in stored.to_pylist()
    }
    lines = tools(version).lines(shop, GROUPS[version], "--describe", "--group", "order-dashboard")
    rows = [line.split() for line in lines if line.startswith("order-dashboard")]
    assert {(row[1], int(row[2])): (int(row[3]), int(row[4])) for row in rows} == expected


@pytest.mark.parametrize("version", TOPICS)
def test_topics_are_described(shop: Server, tools: OfVersion, version: str) -> None:
    lines = tools(version).lines(shop, TOPICS[version], "--describe")
    found = re.findall(
        r"^\tTopic: (\S+)\tPartition: (\d+)\tLeader: 1\t", "\n".join(lines), re.MULTILINE
    )
    topics = shop.catalog.topics
    assert {(name, int(number)) for name, number in found} == {
        (name, number) for name, logs in topics.items() for number in logs
    }


@pytest.mark.parametrize("version", OFFSETS)
def test_ends_of_logs_are_found(shop: Server, tools: OfVersion, version: str) -> None:
    option = "--bootstrap-server" if version == "4.2.0" else "--broker-list"
    done = tools(version).run(OFFSETS[version], option, shop.bootstrap_servers, "--topic", "orders")
    logs = workbench.open_log_directory(SHOP)
    assert done.out.split() == [
        f"orders:{number}:{logs[f'orders-{number}'].log_end_offset}" for number in range(3)
    ]


@pytest.mark.parametrize("version", GROUPS)
def test_a_member_of_a_group_gets_every_record_once(
    shop: Server, tools: OfVersion, version: str
) -> None:
    expected = values("orders")
    lines = tools(version).lines(
        shop, VERIFIABLE, "--topic", "orders", "--group-id", f"verifiable-{version}", "--verbose",
        "--max-messages", str(expected.total()),
    )  # fmt: skip
    events = [json.loads(line) for line in lines]
    assert Counter(each["value"] for each in events if each["name"] == "record_data") == expected
    assert all(each["success"] for each in events if each["name"] == "offsets_committed")


def test_admin_clients_get_the_offset_of_the_largest_timestamp(
    shop: Server, tools: OfVersion
) -> None:
    scan = workbench.open_log_directory(SHOP).scan(
        topics="orders", columns=["partition", "offset", "timestamp"]
    )
    newest = {
        number: int(rows.loc[rows["timestamp"].idxmax(), "offset"])
        for number, rows in scan.to_pandas().groupby("partition")
    }
    lines = tools("4.2.0").lines(shop, OFFSETS["4.2.0"], "--topic", "orders", "--time", "-3")
    found = re.findall(r"orders:(\d):(\d+)", "\n".join(lines))
    assert {int(partition): int(offset) for partition, offset in found} == newest
