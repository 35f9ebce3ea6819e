"""Admin clients see producers, transactions, groups and topics, and end transactions that hang."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import workbench
from tests.golden.archive import extract
from tests.server.asking import Asker
from tests.server.conftest import ARCHIVES, SHOP
from tests.server.tools import Tools
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.inspection.listing import list_log_directories
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api_keys import (
    CONSUMER_GROUP_DESCRIBE,
    DESCRIBE_PRODUCERS,
    DESCRIBE_TOPIC_PARTITIONS,
    DESCRIBE_TRANSACTIONS,
    LIST_TRANSACTIONS,
    WRITE_TXN_MARKERS,
)
from workbench.server.server import Server

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
QUIET = {  # nothing is forgotten or aborted because its time is over
    "producer.id.expiration.ms": 1 << 30,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1 << 30,
}


@pytest.fixture
def asker(shop: Server) -> Iterator[Asker]:
    with Asker(shop.bootstrap_servers) as found:
        yield found


@pytest.mark.broker
def test_the_tools_of_kafka_describe_a_directory_and_end_what_hangs(
    shop: Server, tools: Callable[[str], Tools], tmp_path: Path
) -> None:
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy)
    with workbench.serve(copy, writable=True, config=QUIET) as live:
        commands = [
            (TRANSACTIONS, "list"),
            (TRANSACTIONS, "describe", "--transactional-id", "payments-eu"),
            (TRANSACTIONS, "describe-producers", "--topic", "payments", "--partition", "0"),
            (TRANSACTIONS, "find-hanging", "--broker-id", "1"),
            (TOPICS, "--describe", "--partition-size-limit-per-response", "2"),
            (GROUPS, "--describe", "--all-groups", "--state"),
            (GROUPS, "--describe", "--group", "shipping-labels", "--members", "--verbose"),
        ]  # fmt: skip
        abort = ("abort", "--topic", "payments", "--partition", "0", "--start-offset", "4736")
        run = tools("4.2.0")
        found = [run.lines(server, *each) for server in (shop, live) for each in commands]
        run.lines(live, TRANSACTIONS, *abort)
        rows = [[line.split() for line in lines if line.strip()] for lines in found]
        for listed, described, producers, hanging, topics, states, members in (
            rows[: len(commands)],
            rows[len(commands) :],
        ):
            assert {row[0]: row[3] for row in listed[1:]} == {
                "payments-eu": "Ongoing",
                "payments-us": "CompleteCommit",
            }
            assert described[1][1:6] == ["payments-eu", "3", "597", "Ongoing", "900000"]
            assert described[1][-1] == "payments-0"
            assert {row[0]: row[5] for row in producers[1:]} == {"3": "4736", "4": "None"}
            assert len(hanging) == 1  # the head: the coordinator knows the transaction
            partitions = [row for row in topics if row[2] == "Partition:"]
            assert len(partitions) == 15
            assert {row[0]: row[-2] for row in states if row[0] != "GROUP"} == {
                "order-dashboard": "Empty",
                "payment-service": "Empty",
                "shipping-labels": "Stable",
                "suggestions": "Empty",
            }
            assert members[1][-3] == "orders:0,1,2"
        log = live.catalog.log("payments", 0)
        assert log is not None
        assert log.last_stable_offset == log.high_watermark > 4736


def test_no_part_of_a_response_waits_for_the_client(asker: Asker) -> None:
    """A client confirms what it received after 40 ms, and a second part must not wait for that."""
    seconds = []
    for _ in range(81):
        start = time.perf_counter()
        asker.ask(DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["payments-eu"]})
        seconds.append(time.perf_counter() - start)
    assert min(seconds[40:]) < 0.03  # what comes first is confirmed at once


def test_what_is_not_there_is_told_as_by_a_broker(asker: Asker) -> None:
    topics = [
        {"name": "payments", "partitionIndexes": [7]},
        {"name": "a b", "partitionIndexes": [0]},
    ]
    found = asker.ask(DESCRIBE_PRODUCERS, 0, {"topics": topics})["topics"]
    codes = [each["errorCode"] for topic in found for each in topic["partitions"]]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION]
    found = asker.ask(DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["no", ""]})
    codes = [each["errorCode"] for each in found["transactionStates"]]
    assert codes == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.INVALID_REQUEST]
    names = ["no", "shipping-labels"]
    found = asker.ask(CONSUMER_GROUP_DESCRIBE, 1, {"groupIds": names})["groups"]
    assert [(each["errorCode"], each["errorMessage"]) for each in found] == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group no not found."),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group shipping-labels is not a consumer group."),
    ]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, {"payments-eu", "payments-us"}),
        ({"stateFilters": ["Ongoing", "Empty"]}, {"payments-eu"}),
        ({"producerIdFilters": [4, 99]}, {"payments-us"}),
        ({"durationFilter": 1 << 50}, set()),
        ({"durationFilter": 0, "stateFilters": ["Ongoing"]}, {"payments-eu"}),
        ({"transactionalIdPattern": ".*-(us|uk)"}, {"payments-us"}),
        ({"transactionalIdPattern": "payments"}, set()),
    ],
)
def test_transactions_are_listed_by_filters(
    asker: Asker, chosen: dict[str, object], expected: set[str]
) -> None:
    found = asker.ask(LIST_TRANSACTIONS, 2, chosen)
    assert found["errorCode"] == ErrorCode.NONE
    assert {each["transactionalId"] for each in found["transactionStates"]} == expected


def test_filters_that_mean_nothing_are_told(asker: Asker) -> None:
    found = asker.ask(LIST_TRANSACTIONS, 2, {"stateFilters": ["Nonsense"]})
    assert found["unknownStateFilters"] == ["Nonsense"]
    for pattern in ("(", "(" * 300 + ")" * 300):
        found = asker.ask(LIST_TRANSACTIONS, 2, {"transactionalIdPattern": pattern})
        assert found["errorCode"] == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_pages_of_topics_are_all_of_them(shop: Server, asker: Asker, limit: int) -> None:
    found: list[tuple[str, int]] = []
    cursor = None
    while True:
        asked = {"responsePartitionLimit": limit, "cursor": cursor}
        page = asker.ask(DESCRIBE_TOPIC_PARTITIONS, 0, asked)
        rows = [(t["name"], p["partitionIndex"]) for t in page["topics"] for p in t["partitions"]]
        assert 1 <= len(rows) <= limit
        found += rows
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert found == [(name, each) for name in sorted(shop.catalog.topics)
                     for each in shop.catalog.topics[name]]  # fmt: skip


@pytest.mark.parametrize(
    "cursor",
    [{"topicName": "other", "partitionIndex": 0}, {"topicName": "orders", "partitionIndex": -1}],
)
def test_a_cursor_must_be_of_the_topics(asker: Asker, cursor: dict[str, object]) -> None:
    asked = {"topics": [{"name": "orders"}], "cursor": cursor}
    (topic,) = asker.ask(DESCRIBE_TOPIC_PARTITIONS, 0, asked)["topics"]
    assert topic["errorCode"] == ErrorCode.INVALID_REQUEST


def test_markers_are_not_written_to_stored_data(asker: Asker) -> None:
    marker = {
        "producerId": 3,
        "producerEpoch": 597,
        "topics": [{"name": "payments", "partitionIndexes": [0]}],
    }
    ((answer,),) = [asker.ask(WRITE_TXN_MARKERS, 1, {"markers": [marker]})["markers"]]
    (topic,) = answer["topics"]
    assert topic["partitions"][0]["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_consumer_groups_have_the_members_that_are_on_the_disk(tmp_path: Path) -> None:
    extract(ARCHIVES / "4.2.0-groups.tar.xz", tmp_path)
    folder = tmp_path / "before"
    stored = StoredGroups(list_log_directories(folder))
    expected = {
        loaded.group.group_id: loaded.group
        for loaded in stored.served_groups()
        if isinstance(loaded.group, ModernGroup) and loaded.group.kind == "consumer"
    }
    assert any(group.members for group in expected.values())
    with workbench.serve(folder) as server, Asker(server.bootstrap_servers) as asker:
        asked = {"groupIds": list(expected), "includeAuthorizedOperations": True}
        found = asker.ask(CONSUMER_GROUP_DESCRIBE, 1, asked)["groups"]
        names = server.catalog.names_by_id
    for group in found:
        ours = expected[group["groupId"]]
        assert (group["groupState"], group["groupEpoch"], group["assignorName"]) == (
            ours.state, ours.epoch, ours.protocol
        )  # fmt: skip
        assert group["authorizedOperations"] == 1 << 3 | 1 << 8 | 1 << 10
        for member in group["members"]:
            of = ours.members[member["memberId"]]
            assert of.metadata is not None
            assert of.current is not None
            assert member["subscribedTopicNames"] == of.metadata["subscribedTopicNames"]
            assert {
                each["topicName"]: each["partitions"]
                for each in member["assignment"]["topicPartitions"]
            } == {
                names[each["topicId"]]: each["partitions"]
                for each in of.current["assignedPartitions"]
            }
