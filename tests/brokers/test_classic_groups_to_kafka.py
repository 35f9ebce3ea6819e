"""Real brokers load the classic groups that our coordinator wrote, and ours serves theirs."""

import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.range import RangePartitionAssignor

from tests.coordinator.writing import subscription
from tests.kafka_broker import Broker, parse_version, run_java
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberIdentity,
    Protocol,
    RequestContext,
    SyncGroupRequest,
)
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.decoders.consumer_offsets import ASSIGNMENT
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock, SystemClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import ManualScheduler

VERSIONS = ("4.2.0", pytest.param("2.8.2", marks=pytest.mark.long))
SESSION = 1_800_000  # ms: the members stay although nobody sends heartbeats
NAMES = ("one", "two")
GROUPS = ("stable", "emptied", "deleted")


class ClassicGroupHouse:
    """A broker with a topic of two partitions, and a client's group in `__consumer_offsets`."""

    def __init__(self, version: str, folder: Path) -> None:
        settings = {"offsets.topic.num.partitions": "1", "num.partitions": "2"}
        self.broker = Broker(version, folder, settings)
        self.version = version

    def make_group(self) -> None:
        """Let a consumer join, which makes `__consumer_offsets`; it dies without leaving."""
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap)
        producer.send("orders", value=b"1", partition=0).get(HANGS_AFTER_S)
        producer.close()
        command = [sys.executable, "-m", "tests.brokers.join_group", self.broker.bootstrap]
        with subprocess.Popen([*command, "orders", "theirs"], stdout=subprocess.PIPE) as member:
            assert member.stdout is not None
            assert member.stdout.readline() == b"joined\n"
            member.kill()
        self.broker.stop()

    def describe(self, *options: str) -> list[list[str]]:
        """Return the words of each line about our groups that kafka-consumer-groups prints."""
        is_java = parse_version(self.version) >= (4, 0)
        tool = "org.apache.kafka.tools.consumer.group" if is_java else "kafka.admin"
        command = ["--bootstrap-server", self.broker.bootstrap, "--describe", "--all-groups"]
        done = run_java(self.version, f"{tool}.ConsumerGroupCommand", *command, *options)
        lines = [line.split() for line in done.stdout.splitlines()]
        return [words for words in lines if words and words[0] in GROUPS]


class Members:
    """Clients of our coordinator."""

    def __init__(self, service: GroupCoordinatorService, clock: ManualClock) -> None:
        self._service, self._clock = service, clock

    def stable(self, group: str) -> None:
        """Let a static and a dynamic member join; the leader gives each one a partition."""
        waiting = [self._join(group, NAMES[0], "i"), self._join(group, NAMES[1], None)]
        for _ in range(2):  # the second member extends the first rebalance
            self._clock.advance(3_000)
        answers: list[JoinGroupResponse] = [each.result(0) for each in waiting]
        given = tuple(
            (answer.member_id, assignment("orders", number))
            for number, answer in enumerate(answers)
        )
        for answer in answers:
            request = SyncGroupRequest(
                group, answer.generation_id, answer.member_id, assignments=given
            )
            sync = self._service.sync_group(request)
            if answer.leader == answer.member_id:
                assert sync.result(0).error is ErrorCode.NONE

    def _join(self, group: str, client: str, instance: str | None) -> "Future[JoinGroupResponse]":
        offered = (Protocol("range", subscription("orders")),)
        request = JoinGroupRequest(group, SESSION, 60_000, "", instance, "consumer", offered)
        return self._service.join_group(RequestContext(client, "/127.0.0.1", 3), request)


def assignment(topic: str, partition: int) -> bytes:
    """Return the bytes of an assignment of one partition."""
    fields = {"assignedPartitions": [{"topic": topic, "partitions": [partition]}]}
    return struct.pack(">h", 0) + ASSIGNMENT.encode({**fields, "userData": None}, 0)


@pytest.fixture(scope="module", params=VERSIONS)
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClassicGroupHouse]:
    made = ClassicGroupHouse(request.param, tmp_path_factory.mktemp("groups"))
    made.broker.start()
    made.make_group()
    clock = ManualClock(SystemClock().now())
    with (
        LogManager([made.broker.data], clock=clock, scheduler=ManualScheduler(clock)) as manager,
        GroupCoordinatorService(
            manager,
            groups=ClassicGroupConfig(initial_rebalance_delay_ms=3_000),
            config=OffsetConfig(topic_num_partitions=1),
            creates_topic=False,
        ) as service,
    ):
        _serve_theirs(service)
        members = Members(service, clock)
        for group in GROUPS:
            members.stable(group)
        for group in ("emptied", "deleted"):
            (described,) = service.describe_groups([group])
            leaving = [MemberIdentity(each.member_id) for each in described.members]
            service.leave_group(group, leaving)
        assert service.delete_groups(["deleted"])["deleted"] is ErrorCode.NONE
        assert service.describe_groups(["emptied"])[0].state == "Empty"
    made.broker.start()
    yield made
    made.broker.stop()


def _serve_theirs(service: GroupCoordinatorService) -> None:
    """Serve the member of a group that a broker formed and died with."""
    (theirs,) = service.describe_groups(["theirs"])
    assert (theirs.state, theirs.protocol_type) == ("Stable", "consumer")
    (member,) = theirs.members
    group = service.runtime.read(0, lambda shard: shard.group("theirs"))
    assert isinstance(group, ClassicGroup)
    assert group.subscribed_topics == frozenset({"orders"})
    beat = HeartbeatRequest("theirs", group.generation, member.member_id)
    assert service.heartbeat(beat) is ErrorCode.NONE


@pytest.mark.broker
def test_states_are_the_same_at_a_broker(house: ClassicGroupHouse) -> None:
    """A stable group, one that its members left, and none that was deleted."""
    states = {words[0]: set(words[1:]) for words in house.describe("--state")}
    assert {"range", "Stable", "2"} <= states["stable"]
    assert {"Empty", "0"} <= states["emptied"]
    assert "deleted" not in states
    log = house.broker.log.read_text(errors="replace")
    assert re.findall(r"(?i)(?:error|failed).*__consumer_offsets.*", log) == []


@pytest.mark.broker
def test_members_and_assignments_are_the_same_at_a_broker(house: ClassicGroupHouse) -> None:
    members = house.describe("--members", "--verbose")
    found = [(words[0], words[1].split("-")[0], *_partitions(words)) for words in sorted(members)]
    assert found == [("stable", "i", "0"), ("stable", "two", "1")], members


@pytest.mark.broker
def test_a_static_member_comes_back_to_its_assignment(house: ClassicGroupHouse) -> None:
    """A client with the instance id of our member gets its partition, without a rebalance."""
    consumer = KafkaConsumer(
        bootstrap_servers=house.broker.bootstrap,
        group_id="stable",
        group_instance_id="i",
        partition_assignment_strategy=[RangePartitionAssignor],
        session_timeout_ms=SESSION,
        request_timeout_ms=SESSION + 1_000,
        connections_max_idle_ms=SESSION + 2_000,
        max_poll_interval_ms=SESSION,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    consumer.subscribe(["orders"])
    wait_until(lambda: consumer.poll(timeout_ms=200) or consumer.assignment())
    assigned = consumer.assignment()
    consumer.close(autocommit=False)
    assert {(each.topic, each.partition) for each in assigned} == {("orders", 0)}
    members = house.describe("--members", "--verbose")
    assert len(members) == 2


def _partitions(words: list[str]) -> list[str]:
    """Return the assigned partitions; 4.2 prints orders:0 twice, 2.8 orders(0)."""
    return sorted(set(re.findall(r"orders[:(](\d)", " ".join(words))))
