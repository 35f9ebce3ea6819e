"""MirrorMaker 2 copies topics and groups of a directory that no broker opens into a broker."""

from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient

import workbench
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

SETTINGS: Final = {
    "disk->broker.enabled": "true",
    "disk->broker.topics": ",".join(TOPICS),
    "disk.consumer.isolation.level": "read_committed",
    "broker->disk.enabled": "false",
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "offset-syncs.topic.location": "target",  # nothing can be written to the source
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "sync.topic.acls.enabled": "false",
    "replication.factor": "1",
    **{
        f"{name}.replication.factor": "1"
        for name in ("checkpoints.topic", "offset-syncs.topic", "config.storage", "offset.storage",
                     "status.storage")
    },
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
}  # fmt: skip


def test_records_and_groups_of_a_directory_are_in_the_broker_afterwards(tmp_path: Path) -> None:
    before = snapshot(SHOP)
    committed = sorted(stored_records(), key=place)
    offsets = workbench.open_log_directory(SHOP).inspect.group_offsets().to_pylist()
    groups = {each["group"] for each in offsets if each["topic"] in TOPICS}
    assert groups
    with (
        workbench.serve(SHOP) as server,
        Broker(VERSION, tmp_path / "broker", {"log.retention.ms": "-1"}) as broker,
    ):
        addresses = {
            "clusters": "disk,broker",
            "disk.bootstrap.servers": server.bootstrap_servers,
            "broker.bootstrap.servers": broker.bootstrap,
        }
        file = write_properties(tmp_path / "mirror.properties", {**addresses, **SETTINGS})
        main_class = "org.apache.kafka.connect.mirror.MirrorMaker"
        log = tmp_path / "mirror.log"
        with JavaProcess(main_class, file, "--clusters", "broker", log=log) as mirror:
            mirror.wait_until(
                lambda: (
                    count_records(broker.bootstrap) >= len(committed)
                    and group_ids(broker.bootstrap) >= groups
                )
            )
        found = sorted(consumed(broker.bootstrap, len(committed)), key=place)
    of_orders = [each for each in committed if each.topic == "orders"]
    assert [each for each in found if each.topic == "orders"] == of_orders
    assert [placeless(each) for each in found] == [placeless(each) for each in committed]
    assert any(each.headers for each in committed)
    assert snapshot(SHOP) == before


def group_ids(where: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": where})  # must live until the answer is there
    listed = admin.list_consumer_groups().result(30)
    return {each.group_id for each in listed.valid}
