"""Consumer groups of KIP-848: heartbeats are answered, and stored, as by a broker of 4.2.

The broker, a server that may write and one that may not get the same heartbeats; both servers have
a copy of the broker's directory, so that the topics have the same ids. `SEED` in the environment
chooses another random schedule.
"""

import copy
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Consumer

import workbench
from tests.kafka_broker import Broker
from tests.server import heartbeats
from tests.server.asking import Asker, find_coordinator
from tests.server.conftest import SHOP
from tests.server.heartbeats import JOIN, OWN, TOPICS, Member
from tests.server.tools import Tools
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.coordinator.groups.consumer.xxh3 import xxh3_64
from workbench.coordinator.runtime import id_pattern
from workbench.decoders.consumer_offsets import decode_key, decode_value
from workbench.runtime.error_codes import ErrorCode
from workbench.server import session_groups
from workbench.server.protocol.api_keys import (
    CONSUMER_GROUP_DESCRIBE,
    CREATE_TOPICS,
    FIND_COORDINATOR,
)
from workbench.server.server import Server

pytestmark = pytest.mark.broker
SEED: Final = int(os.environ.get("SEED", "1"))
STEPS: Final = 150
LONG_MS: Final = "1800000"
CONFIG: Final = {
    "offsets.topic.num.partitions": "1",
    "group.consumer.session.timeout.ms": LONG_MS,  # no member is removed since a test is slow
    "group.consumer.max.session.timeout.ms": LONG_MS,
}
CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GROUPS: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OfVersion = Callable[[str], Tools]


class Three(NamedTuple):
    """A group at the broker and at the two servers, and the id of a topic."""

    sides: list[Member]
    topic_id: str


class Place(NamedTuple):
    """The broker that all tests ask, and the directories that began as it did."""

    broker: Broker
    written: Path
    read: Path


def error_of(group: str, asker: Asker) -> int:
    (found,) = asker.ask(CONSUMER_GROUP_DESCRIBE, 1, {"groupIds": [group]})["groups"]
    return int(found["errorCode"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a broker with topics, and two copies of its directory."""
    folder = tmp_path_factory.mktemp("consumer-groups")
    broker = Broker("4.2.0", folder / "broker", CONFIG)
    with broker, Asker(broker.bootstrap) as asker:
        topics = [
            {"name": name, "numPartitions": count, "replicationFactor": 1}
            for name, count in TOPICS.items()
        ]
        asker.ask(CREATE_TOPICS, 7, {"topics": topics, "timeoutMs": 10_000})
        asker.ask(FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["g"]})
        wait_until(lambda: error_of("g", asker) == ErrorCode.GROUP_ID_NOT_FOUND)  # it has loaded
    for name in ("written", "read"):
        shutil.copytree(broker.data, folder / name)
    return Place(broker, folder / "written", folder / "read")


@pytest.fixture(scope="module")
def three(place: Place) -> Iterator[Three]:
    """Return the broker and both servers, while they run."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_groups, "_CONFIG", {**session_groups._CONFIG, **CONFIG})  # noqa: SLF001
        stack.enter_context(place.broker)
        writable = stack.enter_context(workbench.serve(place.written, writable=True, config=CONFIG))
        reading = stack.enter_context(workbench.serve(place.read))
        addresses = [place.broker.bootstrap, writable.bootstrap_servers, reading.bootstrap_servers]
        askers = [stack.enter_context(Asker(each)) for each in addresses]
        for asker in askers:  # a coordinator that still loads refuses
            wait_until(lambda: error_of("g", asker) == ErrorCode.GROUP_ID_NOT_FOUND)  # noqa: B023
        sides = [Member(each) for each in askers]
        yield Three(sides, writable.catalog.topic_id("t"))


def unordered(value: Any) -> Any:
    """Return an answer without the order of its lists, which is that of hash maps."""
    if isinstance(value, dict):
        return {key: unordered(each) for key, each in value.items() if key != "throttleTimeMs"}
    if isinstance(value, list):
        return sorted(map(unordered, value), key=repr)
    return value


def without_words(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out why an expression is wrong: the parser says it in its own words."""
    if answer["errorCode"] == ErrorCode.INVALID_REGULAR_EXPRESSION:
        assert answer["errorMessage"].startswith("SubscribedTopicRegex `[tv` is not a valid ")
        answer = {**answer, "errorMessage": None}
    return answer


def wait_until_resolved(side: Member, epoch: int) -> None:
    """Wait for the change that follows the answer: the topics of a regular expression."""
    wait_until(lambda: side.described()[0]["groups"][0]["groupEpoch"] > epoch)


def check(three: Three, number: int, step: heartbeats.Step, chance: random.Random) -> set[int]:
    """Send one heartbeat to all; return the error codes of the answers."""
    name, fields = step
    answers = [
        unordered(without_words(side.heartbeat(name, copy.deepcopy(fields))))
        for side in three.sides
    ]
    if "subscribedTopicRegex" in fields and not answers[0]["errorCode"]:
        for side, answer in zip(three.sides, answers, strict=True):
            wait_until_resolved(side, answer["memberEpoch"])
    described = [unordered(side.described()[0]) for side in three.sides]
    epoch = chance.choice([three.sides[0].epochs.get(name, 0)] * 2 + [0, -1, 3])
    offsets = [unordered(side.offsets(name, epoch, three.topic_id)) for side in three.sides]
    for theirs, *ours in (answers, described, offsets):
        assert ours == [theirs, theirs], f"step {number}: {name} {fields}, offsets of {epoch}"
    return {answer["errorCode"] for answer in answers}


def test_heartbeats_of_every_rule_are_answered_as_by_a_broker(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "GROUP", "g")
    chance, seen = random.Random(0), set[int]()
    for number, step in enumerate(heartbeats.every_rule()):
        seen |= check(three, number, step, chance)
    assert seen == {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        ErrorCode.INVALID_REGULAR_EXPRESSION,
    }


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_random_heartbeats_are_answered_as_by_a_broker(
    three: Three, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(heartbeats, "GROUP", f"random-{seed}")
    chance = random.Random(-seed)
    for number, step in enumerate(heartbeats.at_random(random.Random(seed), STEPS)):
        check(three, number, step, chance)
    described = [unordered(side.described()[1]) for side in three.sides]
    for ours in described[1:]:
        assert ours["groups"] == described[0]["groups"]


def stored(directory: Path) -> list[Any]:
    """Return the keys and values of `__consumer_offsets`."""
    scan = workbench.open_log_directory(directory).scan(topics="__consumer_offsets")
    rows = (row for batch in scan.batches() for row in batch.to_pylist())
    return [
        (decode_key(row["key"])["data"], decode_value(row["key"], row["value"])) for row in rows
    ]


def comparable(records: list[Any]) -> list[str]:
    """Return records without times, and those of one kind beside each other without their order."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            skipped = {"commitTimestamp", "timestamp"}
            skipped |= {"version"} if "timestamp" in value else set()
            return {key: plain(each) for key, each in value.items() if key not in skipped}
        return sorted(map(plain, value), key=repr) if isinstance(value, list) else value

    found: list[list[str]] = []
    kind = None
    for key, value in records:
        is_other = value is None or value["type"] != "ConsumerGroupTargetAssignmentMember"
        if is_other or kind != value["type"]:
            found.append([])
        kind = None if value is None else value["type"]
        found[-1].append(repr((key, plain(value))))
    return [each for together in found for each in sorted(together)]


def test_the_records_are_those_of_a_broker_which_goes_on_with_the_group(
    place: Place, tmp_path: Path
) -> None:
    """After all heartbeats of the tests above, and those of members that stay."""
    directories = []
    for name in ("theirs", "ours"):
        shutil.copytree(place.written if name == "ours" else place.broker.data, tmp_path / name)
        directories.append(tmp_path / name)
    theirs, ours = map(stored, directories)
    assert len(ours) > 500
    assert comparable(ours) == comparable(theirs)


def test_a_broker_goes_on_with_a_group_of_ours(tmp_path: Path) -> None:
    broker = Broker("4.2.0", tmp_path / "broker", CONFIG)
    with broker, Asker(broker.bootstrap) as asker:
        topics = [{"name": "t", "numPartitions": 5, "replicationFactor": 1}]
        asker.ask(CREATE_TOPICS, 7, {"topics": topics, "timeoutMs": 10_000})
    with (
        workbench.serve(broker.data, writable=True, config=CONFIG) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        find_coordinator(asker, 0, "g")
        ours = Member(asker)
        for name in "ab":
            ours.heartbeat(name, {**JOIN, "subscribedTopicNames": ["t"]})
        for name, fields in heartbeats.rounds("ab", 3):
            ours.heartbeat(name, fields)
        before = unordered(ours.described()[0])
        assert before["groups"][0]["groupState"] == "Stable"
    with broker, Asker(broker.bootstrap) as asker:
        theirs = Member(asker)
        theirs.epochs = dict(ours.epochs)
        wait_until(lambda: not theirs.described()[0]["groups"][0]["errorCode"])  # it has loaded
        assert unordered(theirs.described()[0]) == before
        for name in "ab":
            answer = theirs.heartbeat(name, {"topicPartitions": None})
            assert answer["errorCode"] == ErrorCode.NONE
            assert answer["memberEpoch"] == ours.epochs[name]
        theirs.heartbeat("c", {**JOIN, "subscribedTopicNames": ["t"]})
        for name, fields in heartbeats.rounds("abc", 3):
            theirs.heartbeat(name, {**fields, "topicPartitions": OWN if name == "c" else []})
        assert theirs.described()[0]["groups"][0]["groupState"] == "Stable"


def test_groups_in_memory_and_expressions_are_bounded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a client changes again and again ends at a limit; so does an expression that is slow."""
    monkeypatch.setattr(session_groups, "_MOST_BYTES", 1 << 20)
    with workbench.serve(SHOP) as server, Asker(server.bootstrap_servers) as asker:
        members, codes = Member(asker), set[int]()
        slow = {**JOIN, "subscribedTopicRegex": "(a?){200}a{200}", "subscribedTopicNames": []}
        assert members.heartbeat("r", slow)["errorCode"] in {
            ErrorCode.NONE,
            ErrorCode.INVALID_REGULAR_EXPRESSION,
        }
        members.heartbeat("a", {**JOIN, "subscribedTopicNames": ["orders"]})
        for number in range(3_000):
            names = [f"orders-{number}-{'x' * 200}", "orders"]
            codes.add(members.heartbeat("a", {"subscribedTopicNames": names})["errorCode"])
            if ErrorCode.COORDINATOR_NOT_AVAILABLE in codes:
                break
        assert codes == {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    made = {"name": "t" * 240, "numPartitions": 1, "replicationFactor": 1}
    with (
        workbench.serve(_empty(tmp_path), writable=True, config=CONFIG) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        monkeypatch.setattr(id_pattern, "_MOST_WORK", 100)
        asker.ask(CREATE_TOPICS, 7, {"topics": [made], "timeoutMs": 10_000})
        find_coordinator(asker, 0, "g")
        answer = Member(asker).heartbeat("r", slow)
        assert answer["errorCode"] == ErrorCode.INVALID_REGULAR_EXPRESSION
        assert "steps to match" in answer["errorMessage"]


def test_a_silent_member_is_removed_when_its_session_ends(tmp_path: Path) -> None:
    settings = {**CONFIG, "group.consumer.session.timeout.ms": 1_500}
    settings["group.consumer.heartbeat.interval.ms"] = 500
    with (
        workbench.serve(_empty(tmp_path), writable=True, config=settings) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        topics = [{"name": "t", "numPartitions": 2, "replicationFactor": 1}]
        asker.ask(CREATE_TOPICS, 7, {"topics": topics, "timeoutMs": 10_000})
        find_coordinator(asker, 0, "g")
        members = Member(asker)
        for name in "ab":
            joined = members.heartbeat(name, {**JOIN, "subscribedTopicNames": ["t"]})
            assert joined["heartbeatIntervalMs"] == 500

        def is_alone() -> bool:
            """Send the heartbeat of a; on a slow machine, a is late as well, and joins again."""
            if members.heartbeat("a", {"topicPartitions": OWN})["errorCode"]:
                members.heartbeat("a", {**JOIN, "subscribedTopicNames": ["t"]})
            (group,) = members.described()[0]["groups"]
            return [
                (each["memberId"], each["assignment"]["topicPartitions"])
                for each in group["members"]
            ] == [
                (
                    "a",
                    [
                        {
                            "topicId": server.catalog.topic_id("t"),
                            "topicName": "t",
                            "partitions": [0, 1],
                        }
                    ],
                )
            ]

        wait_until(is_alone)


def _empty(folder: Path) -> Path:
    (folder / "data").mkdir()
    return folder / "data"


@pytest.mark.parametrize("topics", [["orders", "payments"], ["^(orders|payments)$"]])
def test_librdkafka_consumes_as_a_member_of_a_consumer_group(
    shop: Server, topics: list[str]
) -> None:
    scan = workbench.open_log_directory(SHOP).scan(
        topics=["orders", "payments"], isolation_level="read_committed", columns=["offset"]
    )
    expected = sum(batch.num_rows for batch in scan.batches())
    settings = {
        "bootstrap.servers": shop.bootstrap_servers,
        "group.id": f"kip-848-{topics[0]}",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    consumer, found = Consumer(settings), set[tuple[object, ...]]()
    try:
        consumer.subscribe(topics)
        deadline = time.monotonic() + HANGS_AFTER_S
        while len(found) < expected:
            assert time.monotonic() < deadline, f"{len(found)} of {expected}"
            message = consumer.poll(0.5)
            if message is not None:
                assert message.error() is None
                found.add((message.topic(), message.partition(), message.offset()))
        consumer.commit(asynchronous=False)
        committed = consumer.committed(consumer.assignment(), timeout=HANGS_AFTER_S)
        assert all(each.offset > 0 for each in committed)
    finally:
        consumer.close()


def test_the_consumer_of_java_is_a_member_of_a_consumer_group(
    shop: Server, tools: OfVersion
) -> None:
    new = "group.protocol=consumer"
    scan = workbench.open_log_directory(SHOP).scan(
        topics="payments", isolation_level="read_committed"
    )
    expected = [value for batch in scan.batches() for value in batch["value"].to_pylist()]
    lines = tools("4.2.0").lines(
        shop, CONSUMER, "--topic", "payments", "--from-beginning", "--isolation-level",
        "read_committed", "--max-messages", str(len(expected)), "--group", "java-848",
        "--command-property", new,
    )  # fmt: skip
    assert sorted(lines) == sorted((value or b"null").decode() for value in expected)
    described = tools("4.2.0").run(
        GROUPS, "--bootstrap-server", shop.bootstrap_servers, "--describe", "--group", "java-848"
    )
    assert "payments" in described.out


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", 0x2D06800538D394C2), (b"a", 0xE6C632B61E964E1F), (b"kafka", 0x9F2CC9B213728571),
        (b"consumer group", 0x3E3BBF93B1BC0C59), (bytes(range(100)), 0x004E4F921A64BD1C),
        (bytes(range(200)), 0xF42A8864FEAF0703), (bytes(range(256)) * 8, 0xDD420471FF96BD00),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, bytes) else "",
)  # fmt: skip
def test_the_hash_is_that_of_xxhash(data: bytes, digest: int) -> None:
    """Each length takes another way; the values are those of the library xxhash (0.8)."""
    assert xxh3_64(data) == digest
