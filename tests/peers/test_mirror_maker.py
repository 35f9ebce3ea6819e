"""MirrorMaker 2 moves topics and groups of a directory that no broker opens into a new cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource

import workbench
from tests.cli.program import run
from tests.kafka_broker import Broker
from tests.peers.java_peers import VERSION, JavaProcess, write_properties
from tests.peers.topic_records import (
    TOPICS,
    consumed,
    count_records,
    place,
    placeless,
    stored_records,
)
from tests.server.conftest import SHOP
from tests.trees import snapshot

pytestmark = [pytest.mark.broker, pytest.mark.slow]

ONE_BROKER: Final = {
    "replication.factor": "1",
    **{
        f"{name}.replication.factor": "1"
        for name in ("checkpoints.topic", "offset-syncs.topic", "config.storage", "offset.storage",
                     "status.storage")
    },
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
}  # fmt: skip
"""What the new cluster needs if it has one broker; less than 25 partitions start faster."""
KEEPS_ALL: Final = {"log.retention.ms": "-1"}


def described_properties() -> dict[str, str]:
    """Return the properties that the how-to gives."""
    page = (SHOP.parents[1] / "docs" / "how-to.md").read_text()
    block = page.split("`mirror.properties`, for Kafka 4.2:\n\n```text\n")[1].split("```")[0]
    return dict(line.split(" = ") for line in block.splitlines())


@pytest.fixture(params=["broker", "serve"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return where the new cluster is: a broker, or a writable server of an empty directory."""
    if request.param == "broker":
        with Broker(VERSION, tmp_path / "broker", KEEPS_ALL) as broker:
            yield broker.bootstrap
    else:
        (tmp_path / "new").mkdir()
        with workbench.serve(tmp_path / "new", writable=True, config=KEEPS_ALL) as server:
            yield server.bootstrap_servers


def test_topics_records_and_groups_of_a_directory_are_in_a_new_cluster_afterwards(
    target: str, tmp_path: Path
) -> None:
    before = snapshot(SHOP)
    committed = sorted(stored_records(), key=place)
    rows = workbench.open_log_directory(SHOP).inspect.group_offsets().to_pylist()
    offsets = [row for row in rows if row["offset"] is not None]
    groups = {each["group"] for each in offsets if each["topic"] in TOPICS}
    assert groups
    with workbench.serve(SHOP) as server:
        given = {
            **described_properties(),
            **ONE_BROKER,
            "disk.bootstrap.servers": server.bootstrap_servers,
            "new.bootstrap.servers": target,
        }
        file = write_properties(tmp_path / "mirror.properties", given)
        main_class = "org.apache.kafka.connect.mirror.MirrorMaker"
        log = tmp_path / "mirror.log"
        with JavaProcess(main_class, file, "--clusters", "new", log=log) as mirror:
            mirror.wait_until(
                lambda: count_records(target) >= len(committed) and group_ids(target) >= groups
            )
            found = sorted(consumed(target, len(committed)), key=place)
            assert topic_configs(target, "customers") >= topic_configs(
                server.bootstrap_servers, "customers"
            )
    of_orders = [each for each in committed if each.topic == "orders"]
    assert [each for each in found if each.topic == "orders"] == of_orders
    assert [placeless(each) for each in found] == [placeless(each) for each in committed]
    assert any(each.headers for each in committed)
    assert snapshot(SHOP) == before
    for data in tmp_path.glob("broker/data"):  # of the server, a client tells the same
        for group in groups:
            rows = run("group", group, data, "--json").json["mirror_checkpoints"]
            assert rows, group
            for row in rows:
                there = committed_offset(target, group, row["topic"], row["partition"])
                assert row["source"] == "disk"
                assert there <= row["offset"] <= row["upstream_offset"]
                (own,) = (
                    each
                    for each in offsets
                    if (each["group"], each["topic"], each["partition"])
                    == (group, row["topic"], row["partition"])
                )
                assert row["upstream_offset"] == own["offset"]
    for each in offsets:
        if each["topic"] in TOPICS:
            there = committed_offset(target, each["group"], each["topic"], each["partition"])
            assert there <= each["offset"]  # never ahead


def topic_configs(where: str, topic: str) -> set[tuple[str, str]]:
    """Return the topic's own configurations."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": where})
    described = admin.describe_configs([resource])[resource].result(30)
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    found = {(each.name, each.value) for each in described.values() if each.source == own}
    assert ("cleanup.policy", "compact") in found
    return found


def committed_offset(where: str, group: str, topic: str, partition: int) -> int:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])
    admin = AdminClient({"bootstrap.servers": where})
    answered = admin.list_consumer_group_offsets([asked])[group].result(30)
    return int(answered.topic_partitions[0].offset)


def group_ids(where: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": where})  # must live until the answer is there
    listed = admin.list_consumer_groups().result(30)
    return {each.group_id for each in listed.valid}
