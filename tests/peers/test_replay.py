"""A replay into a real broker: every committed record once, also over a kill."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

import workbench
from tests.kafka_broker import Broker
from tests.peers.java_peers import VERSION
from tests.peers.topic_records import (
    TOPICS,
    consumed,
    count_records,
    place,
    placeless,
    stored_records,
)
from tests.server.conftest import SHOP
from workbench.errors import ReplayError
from workbench.loaders.exports import replay

pytestmark = [pytest.mark.broker, pytest.mark.slow]

PROGRAM = str(Path(sys.executable).with_name("kafka-workbench"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("replay") / "broker"
    settings = {
        "log.retention.ms": "-1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "auto.create.topics.enable": "false",
    }
    with Broker(VERSION, folder, settings) as running:
        yield running


def test_a_missing_topic_is_named_before_anything_is_written(broker: Broker) -> None:
    logs = workbench.open_log_directory(SHOP)
    with pytest.raises(ReplayError, match="there is no topic clicks"):
        logs.replay(broker.bootstrap, "clicks")


def test_an_address_that_refuses_is_named_at_once_and_a_silent_one_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = workbench.open_log_directory(SHOP)
    start = time.monotonic()
    with pytest.raises(ReplayError, match=r"list its topics: [^ ]+ Connect .+ refused"):
        logs.replay("127.0.0.1:1", "clicks")
    assert time.monotonic() - start < 15
    monkeypatch.setattr(replay, "_WAIT_S", 3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        with pytest.raises(ReplayError, match="cannot list its topics"):
            logs.replay(f"127.0.0.1:{silent.getsockname()[1]}", "clicks")
        assert time.monotonic() - start >= 3


@pytest.mark.dies(signal.SIGKILL)
def test_every_committed_record_is_in_the_cluster_once_also_after_a_kill(broker: Broker) -> None:
    committed = sorted(stored_records(), key=place)
    command = [PROGRAM, "replay", str(SHOP), "--to", broker.bootstrap, "--create-topics"]
    command += [word for topic in TOPICS for word in ("-t", topic)]
    with subprocess.Popen([*command, "--rate", "400"]) as process:
        while count_records(broker.bootstrap) < 900:
            assert process.poll() is None
        process.kill()
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "written to" in told.stderr
    with Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused"}) as consumer:
        assert consumer.list_topics("orders", timeout=180).topics["orders"].partitions.keys() == {
            0,
            1,
            2,
        }
    found = sorted(consumed(broker.bootstrap, len(committed)), key=place)
    assert [placeless(each) for each in found] == [placeless(each) for each in committed]
    again = workbench.open_log_directory(SHOP).replay(broker.bootstrap, TOPICS)
    assert again["records"].to_pylist() == [0] * again.num_rows
    ends = {row["partition"]: row["next_offset"] for row in again.to_pylist()}
    assert set(ends) == {0, 1, 2}


def test_masks_hold_in_the_cluster(broker: Broker) -> None:
    logs = workbench.open_log_directory(SHOP)
    table = logs.replay(
        broker.bootstrap,
        "customers",
        name="masked",
        create_topics=True,
        decode={"value": "json"},
        mask=["customers value.email hash", "customers value.name drop"],
    )
    (count,) = {sum(table["records"].to_pylist()), logs.scan("customers").count()}
    with Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused"}) as consumer:
        consumer.assign([TopicPartition("customers", number, 0) for number in (0, 1)])
        values = [message.value() for message in consumer.consume(count, timeout=180)]
    shown = [json.loads(value) for value in values if value is not None]
    assert len(values) == count
    assert all("@" not in each["email"] and each["city"] for each in shown if each["email"])
    assert not any(each.get("name") for each in shown)
