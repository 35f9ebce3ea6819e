"""Real brokers load the offsets that our offset manager committed, and ours loads theirs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import OffsetAndMetadata as ClientOffset
from kafka.structs import TopicPartition as ClientPartition

from tests.kafka_broker import Broker, parse_version, run_java
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.log_manager.manager import LogManager
from workbench.runtime.error_codes import ErrorCode

VERSIONS = ("4.2.0", pytest.param("2.8.2", marks=pytest.mark.long))
RECORDS = 20
PARTITIONS = [ClientPartition("orders", number) for number in range(2)]


class OffsetHouse:
    """A broker with a topic of two partitions, and one partition of `__consumer_offsets`."""

    def __init__(self, version: str, folder: Path) -> None:
        settings = {"offsets.topic.num.partitions": "1", "num.partitions": "2"}
        self.broker = Broker(version, folder, settings)
        self.version = version

    def consumer(self, group: str) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self.broker.bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="none",
        )

    def fill(self) -> None:
        """Write records, and commit as a client does, which makes `__consumer_offsets`."""
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap)
        for number in range(RECORDS):
            for where in PARTITIONS:
                producer.send("orders", value=b"%d" % number, partition=where.partition)
        producer.flush()
        producer.close()
        consumer = self.consumer("theirs")
        consumer.assign(PARTITIONS)
        consumer.commit({PARTITIONS[0]: ClientOffset(3, "by a client", -1)})
        consumer.close()

    def committed(self, group: str) -> list[tuple[int, str] | None]:
        """Return what a consumer gets as its committed offsets."""
        consumer = self.consumer(group)
        found = [consumer.committed(where, metadata=True) for where in PARTITIONS]
        consumer.close()
        return [None if each is None else (each.offset, each.metadata) for each in found]

    def resumed(self, group: str, number: int) -> int:
        """Return the offset of the first record that a consumer of a group reads."""
        consumer = self.consumer(group)
        consumer.assign([PARTITIONS[number]])
        [records] = consumer.poll(timeout_ms=180_000, max_records=1).values()
        consumer.close()
        offset: int = records[0].offset
        return offset

    def described(self, group: str) -> dict[int, tuple[str, str]]:
        """Return partition → committed offset and lag, as kafka-consumer-groups prints them."""
        is_java = parse_version(self.version) >= (4, 0)
        tool = "org.apache.kafka.tools.consumer.group" if is_java else "kafka.admin"
        options = ["--bootstrap-server", self.broker.bootstrap, "--describe", "--group", group]
        done = run_java(self.version, f"{tool}.ConsumerGroupCommand", *options)
        rows = re.findall(r"orders +(\d) +(\S+) +\S+ +(\S+)", done.stdout)
        return {int(number): (offset, lag) for number, offset, lag in rows}


@pytest.fixture(scope="module", params=VERSIONS)
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OffsetHouse]:
    made = OffsetHouse(request.param, tmp_path_factory.mktemp("offsets"))
    with made.broker:
        made.fill()
    era = (
        CoordinatorEra.KIP_848 if parse_version(made.version) >= (4, 0) else CoordinatorEra.CLASSIC
    )
    config = OffsetConfig(topic_num_partitions=50 if era is CoordinatorEra.KIP_848 else 1)
    with (
        LogManager([made.broker.data]) as manager,
        OffsetManager(manager, config=config, era=era, creates_topic=False) as offsets,
    ):
        assert offsets.partitions == 1  # in KRaft, the cluster's metadata says so
        theirs = offsets.fetch("theirs")["orders-0"]
        assert (theirs.offset, theirs.metadata) == (3, "by a client")
        _commit_everything(offsets)
    made.broker.start()
    yield made
    made.broker.stop()


def _commit_everything(offsets: OffsetManager) -> None:
    """Commit plainly and in transactions, and delete offsets and a group."""
    for value in (1, 7):
        commits = {"orders-0": OffsetCommit(value, 0, "grüße 😀"), "orders-1": OffsetCommit(2)}
        codes = offsets.commit("plain", commits)
        assert set(codes.values()) == {ErrorCode.NONE}
    producers = {"committed": (1000, True), "aborted": (1001, False)}
    for group, (producer, is_commit) in producers.items():
        offsets.commit(group, {"orders-0": 4})
        offsets.commit_transactional(
            group, {"orders-0": 11, "orders-1": 12}, producer_id=producer, producer_epoch=0
        )
        offsets.complete_transaction(0, producer, 0, 0, is_commit=is_commit)
    offsets.commit("fewer", {"orders-0": 5, "orders-1": 6})
    offsets.delete_offsets("fewer", ["orders-0"])
    offsets.commit("deleted", {"orders-0": 5})
    offsets.delete_groups(["deleted"])
    offsets.commit("theirs", {"orders-1": 9})


@pytest.mark.broker
def test_consumers_find_what_we_committed(house: OffsetHouse) -> None:
    assert house.committed("plain") == [(7, "grüße 😀"), (2, "")]
    assert house.committed("committed") == [(11, ""), (12, "")]
    assert house.committed("aborted") == [(4, ""), None]
    assert house.committed("fewer") == [None, (6, "")]
    assert house.committed("deleted") == [None, None]
    assert house.committed("theirs") == [(3, "by a client"), (9, "")]


@pytest.mark.broker
def test_a_consumer_resumes_where_we_committed(house: OffsetHouse) -> None:
    assert house.resumed("plain", 0) == 7
    assert house.resumed("committed", 1) == 12
    assert house.resumed("theirs", 1) == 9


@pytest.mark.broker
def test_the_tool_describes_what_we_committed(house: OffsetHouse) -> None:
    assert house.described("plain") == {0: ("7", "13"), 1: ("2", "18")}
    assert house.described("committed") == {0: ("11", "9"), 1: ("12", "8")}
    log = house.broker.log.read_text(errors="replace")
    assert re.findall(r"(?i)(?:error|failed).*__consumer_offsets.*", log) == []
