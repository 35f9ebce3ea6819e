"""A real broker whose coordinators' logs are damaged serves on once our planned repair is done."""

import re
import shutil
import time
from pathlib import Path

import pytest
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata as ClientOffset
from kafka.structs import TopicPartition as ClientPartition

from tests.coordinator.repairing import plan, repair
from tests.coordinator.serving.house import TransactionHouse
from tests.kafka_broker import Broker, compile_java, run_java
from workbench.coordinator.groups.commit_records import commit_key
from workbench.coordinator.repair.repair import BROKER
from workbench.coordinator.transaction_coordinator.producer_ids import blocks_from
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transactions.transaction_log import key_to_bytes
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords

KAFKA = "4.2.0"
LOG, OTHER = TopicPartition("log", 0), TopicPartition("other", 0)
GROUPS, STATES = TopicPartition("__consumer_offsets", 0), TopicPartition("__transaction_state", 0)
WHERE = ClientPartition("log", 0)
FIRST_ID = 900_000  # far from the blocks of the broker
PATIENCE_S = 180.0


class Shop:
    """A broker with two topics, a group and transactional ids."""

    def __init__(self, folder: Path) -> None:
        self.broker = Broker(
            KAFKA,
            folder,
            {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"},
        )
        folder_of_sources = Path(__file__).parent
        self.classes = {
            name: compile_java(KAFKA, (folder_of_sources / f"{name}.java").read_text(), name)
            for name in ("Transact", "Readers")
        }

    def run(self, name: str, *arguments: str) -> list[str]:
        """Run a client to its end; return what it printed."""
        done = run_java(KAFKA, name, *arguments, classes=self.classes[name])
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    def transact(self, what: str, topic: str, *pairs: str) -> None:
        """Commit a transaction for each id and value."""
        self.run("Transact", what, self.broker.bootstrap, topic, *pairs)

    def consumer(self, group: str) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self.broker.bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="none",
        )

    def commit(self, group: str, offset: int) -> None:
        consumer = self.consumer(group)
        consumer.assign([WHERE])
        consumer.commit({WHERE: ClientOffset(offset, "", -1)})
        consumer.close()

    def committed(self, group: str) -> int | None:
        consumer = self.consumer(group)
        found: int | None = consumer.committed(WHERE)
        consumer.close()
        return found

    def read_committed(self) -> list[str]:
        """Return the values that a read_committed consumer gets of both topics."""
        lines = self.run("Readers", "read", self.broker.bootstrap, "log", "other")
        rows = [line.split(" ") for line in lines if line.startswith("read_committed ")]
        return [bytes.fromhex(row[5][1:]).decode() for row in rows if row[2].isdigit()]

    def listed(self) -> dict[str, tuple[str, str]]:
        """Return transactional id → producer id and state, as an admin client gets them."""
        tool = "org.apache.kafka.tools.TransactionsCommand"
        options = ["--bootstrap-server", self.broker.bootstrap, "list"]
        lines = run_java(KAFKA, tool, *options).stdout.splitlines()
        return {row[0]: (row[2], row[3]) for row in (line.split() for line in lines[1:])}

    def log_since(self, start: int) -> str:
        return self.broker.log.read_bytes()[start:].decode(errors="replace")


def _damage(shop: Shop) -> None:
    """Lose a decision, let a transaction hang, and leave records that no broker loads."""
    data, now = shop.broker.data, time.time_ns() // 1_000_000
    house = TransactionHouse(data, 2, holds=True, request_block=blocks_from(FIRST_ID), now=now)
    producer = house.init("lost")
    house.add(producer, LOG, OTHER, name="lost")
    for where in (LOG, OTHER):
        house.produce(producer, b"of a lost decision", where=where)
    kept = data.parent / "kept"
    shutil.copytree(data / str(STATES), kept)
    house.manager.away = frozenset({OTHER})
    house.end(producer, name="lost")
    house.run()
    house.manager.away = frozenset()
    theirs = house.state("theirs")
    late = ProducerIdAndEpoch(theirs.producer_id, theirs.producer_epoch)
    house.produce(late, b"hangs", where=LOG)
    house.stop()
    shutil.rmtree(data / str(STATES))
    kept.rename(data / str(STATES))
    with LogManager([data], {"log.cleaner.enable": False}) as manager:
        for where, key in (
            (GROUPS, commit_key("g", LOG)),
            (GROUPS, commit_key("only", LOG)),
            (STATES, key_to_bytes("hurt")),
        ):
            log = manager.get_or_create_log(where)
            latest = log.leader_epochs.latest
            assert latest is not None
            log.append_as_leader(MemoryRecords.of((now, key, b"\x00\x63bad")), latest.epoch)


@pytest.mark.broker
def test_a_broker_serves_on_after_the_planned_repair(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "broker")
    with shop.broker:
        shop.transact("make", "log", "theirs", "by the broker", "hurt", "before the damage")
        shop.transact("make", "other")
        shop.commit("g", 1)
        shop.commit("g", 3)
    _damage(shop)
    seen = shop.broker.log.stat().st_size
    with shop.broker:  # as it is
        deadline = time.monotonic() + PATIENCE_S
        failed = r"(?is)(failed|error)[^\n]*(load|__consumer_offsets)"
        while not re.search(failed, shop.log_since(seen)):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert "hurt" in shop.listed()  # as of the record before the damaged one
    done = []
    for _ in range(4):
        planned = [each for each in plan(shop.broker.data) if each.by != BROKER]
        if not planned:
            break
        done.append([(str(each.where), each.action, each.subject) for each in planned])
        repair(shop.broker.data, planned, time.time_ns() // 1_000_000)
    assert done == [
        [
            ("__transaction_state-0", "append", "hurt"),
            ("__transaction_state-0", "clean", ""),
            ("__consumer_offsets-0", "append", "g"),
            ("__consumer_offsets-0", "append", "only"),
            ("__consumer_offsets-0", "clean", ""),
        ],
        [("__transaction_state-0", "append", "lost"), ("log-0", "marker", "theirs")],
    ]
    seen = shop.broker.log.stat().st_size
    with shop.broker:
        assert shop.committed("g") == 3
        assert shop.committed("only") is None
        deadline = time.monotonic() + PATIENCE_S
        while (listed := shop.listed())["lost"][1] != "CompleteCommit":
            assert time.monotonic() < deadline, listed
        assert {name: state for name, (_, state) in listed.items()} == {
            "theirs": "CompleteCommit", "hurt": "CompleteCommit", "lost": "CompleteCommit",
        }  # fmt: skip
        wanted = ["by the broker", "before the damage", "of a lost decision", "of a lost decision"]
        assert sorted(shop.read_committed()) == sorted(wanted)
        shop.transact("commit", "log", "theirs", "1", "hurt", "2", "lost", "3")
        assert sorted(shop.read_committed()) == sorted([*wanted, "1", "2", "3"])
    log = shop.log_since(seen)
    assert not re.search(r"Error loading|Failed to load|Found fatal|IllegalState", log)
