"""Kafka's own tools, of 4.2 and 2.8, write through the server, and read what it left."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import workbench
from tests.kafka_broker import dump_log_segments, run_java
from tests.server.conftest import SHOP
from tests.server.tools import Tools
from workbench.server.server import Server

pytestmark = pytest.mark.broker

NEW, OLD = "4.2.0", "2.8.2"
TOOLS = "org.apache.kafka.tools"
PRODUCER = {NEW: f"{TOOLS}.ConsoleProducer", OLD: "kafka.tools.ConsoleProducer"}
CONSUMER = {NEW: f"{TOOLS}.consumer.ConsoleConsumer", OLD: "kafka.tools.ConsoleConsumer"}
TOPICS = {NEW: f"{TOOLS}.TopicCommand", OLD: "kafka.admin.TopicCommand"}
RECORDS = {NEW: f"{TOOLS}.DeleteRecordsCommand", OLD: "kafka.admin.DeleteRecordsCommand"}
GROUPS = {
    NEW: f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    OLD: "kafka.admin.ConsumerGroupCommand",
}
CONFIGS = "kafka.admin.ConfigCommand"
VERIFIABLE = f"{TOOLS}.VerifiableProducer"
CODECS = {NEW: "zstd", OLD: "gzip"}

OfVersion = Callable[[str], Tools]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sample data."""
    into = tmp_path_factory.mktemp("tools") / "shop"
    shutil.copytree(SHOP, into)
    return into


@pytest.fixture(scope="module")
def writable(copy: Path) -> Iterator[Server]:
    """Return a writable server of the copy; a test may stop it."""
    with workbench.serve(copy, writable=True) as server:
        yield server


@pytest.mark.parametrize("version", PRODUCER)
def test_tools_make_topics_write_configure_delete_and_read(
    writable: Server, tools: OfVersion, version: str, tmp_path: Path
) -> None:
    run, topic = tools(version), f"made-by-{version}"
    of_topic = ("--topic", topic)
    made = ("--create", *of_topic, "--partitions", "1", "--config", "retention.ms=-1")
    run.lines(writable, TOPICS[version], *made)
    run.lines(writable, TOPICS[version], "--alter", *of_topic, "--partitions", "2")
    described = "\n".join(run.lines(writable, TOPICS[version], "--describe", *of_topic))
    assert "PartitionCount: 2" in described
    assert "retention.ms=-1" in described

    given = "".join(f"key {number}\tvalue {number}\n" for number in range(100))
    run.lines(
        writable, PRODUCER[version], *of_topic, "--property", "parse.key=true",
        "--compression-codec", CODECS[version], given=given,
    )  # fmt: skip
    read = ("--from-beginning", "--group", f"readers-{version}", "--property", "print.key=true")
    lines = run.lines(writable, CONSUMER[version], *of_topic, *read, "--max-messages", "100")
    found = [line for line in lines if line.startswith("key ")]  # beside a hint about options
    assert sorted(found) == sorted(given.splitlines())

    of_config = ("--entity-type", "topics", "--entity-name", topic)
    run.lines(writable, CONFIGS, "--alter", *of_config, "--add-config", "segment.bytes=2000000")
    assert "segment.bytes=2000000" in "\n".join(
        run.lines(writable, CONFIGS, "--describe", *of_config)
    )
    run.lines(writable, CONFIGS, "--alter", *of_config, "--delete-config", "segment.bytes")
    assert "segment.bytes" not in "\n".join(run.lines(writable, CONFIGS, "--describe", *of_config))

    until = {"topic": topic, "partition": 0, "offset": 10}
    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps({"version": 1, "partitions": [until]}))
    run.lines(writable, RECORDS[version], "--offset-json-file", str(offsets))
    log = writable.catalog.log(topic, 0)
    assert log is not None
    assert log.log_start_offset == 10

    group = ("--group", f"readers-{version}")
    run.lines(
        writable,
        GROUPS[version],
        *group,
        "--reset-offsets",
        "--to-earliest",
        *of_topic,
        "--execute",
    )
    rows = [line.split() for line in run.lines(writable, GROUPS[version], "--describe", *group)]
    assert {row[2]: row[3] for row in rows if row[1:2] == [topic]} == {"0": "10", "1": "0"}
    run.lines(writable, GROUPS[version], *group, "--delete")
    assert f"readers-{version}" not in run.lines(writable, GROUPS[version], "--list")

    other = f"{topic}-and-deleted"
    run.lines(writable, TOPICS[version], "--create", "--topic", other, "--partitions", "1")
    run.lines(writable, TOPICS[version], "--delete", "--topic", other)
    assert other not in run.lines(writable, TOPICS[version], "--list")


@pytest.mark.parametrize("version", PRODUCER)
def test_what_a_verifiable_producer_sent_is_in_the_dump(
    copy: Path, writable: Server, version: str
) -> None:
    topic = f"verifiable-{version}"
    done = run_java(  # in a JVM of its own, at whose end it sends what it still has
        version, VERIFIABLE, "--bootstrap-server", writable.bootstrap_servers, "--topic", topic,
        "--acks", "-1", "--max-messages", "500",
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    sent = {
        each["offset"]: each["value"] for each in events if each["name"] == "producer_send_success"
    }
    assert len(sent) == 500
    shutil.copytree(copy / f"{topic}-0", dumped := copy.parent / f"{topic}-0")
    text = dump_log_segments(version, sorted(dumped.glob("*.log")), "--print-data-log")
    found = re.findall(r"offset: (\d+) .* payload: (\d+)$", text, re.MULTILINE)
    assert {int(offset): value for offset, value in found} == sent


def test_what_tools_left_is_sound(copy: Path, writable: Server) -> None:
    """The last test: it stops the server."""
    writable.stop()
    assert workbench.verify(copy) == []
