"""What the newest versions of requests have: topic ids, and transactions of version 2."""

from collections.abc import Iterator

import pytest

import workbench
from tests.server.asking import Asker, find_coordinator
from tests.server.test_writable import FEW
from tests.waiting import wait_until
from workbench.record.memory_records import MemoryRecords
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api_keys import (
    ADD_PARTITIONS_TO_TXN,
    CREATE_TOPICS,
    DESCRIBE_GROUPS,
    END_TXN,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from workbench.server.server import Server

STRANGER = "x" * 21 + "A"  # a topic id that no topic has


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("versions")
    with workbench.serve(folder, writable=True, config=FEW) as running:
        yield running


@pytest.fixture(scope="module")
def asker(server: Server) -> Iterator[Asker]:
    with Asker(server.bootstrap_servers) as found:
        topic = {"name": "t", "numPartitions": 2, "replicationFactor": 1}
        found.ask(CREATE_TOPICS, 7, {"topics": [topic]})
        for kind in (0, 1):
            find_coordinator(found, kind, "two")
        yield found


@pytest.fixture(scope="module")
def topic_id(server: Server, asker: Asker) -> str:
    del asker
    found = server.catalog.topic_id("t")
    assert found != NULL_UUID
    return found


def produced(
    asker: Asker,
    version: int,
    topic: str,
    producer: tuple[int, int],
    at: int,
    *,
    transactional_id: str = "two",
) -> int:
    """Send a transactional record; return the error."""
    records = MemoryRecords.of(
        (b"key", b"value"), timestamp=1, producer_id=producer[0], producer_epoch=producer[1],
        base_sequence=at, is_transactional=True,
    )  # fmt: skip
    data = [{"index": 0, "records": records.buffer.tobytes()}]
    topics = [{"name": topic, "topicId": topic, "partitionData": data}]
    asked = {"transactionalId": transactional_id, "acks": -1, "topicData": topics}
    (found,) = asker.ask(PRODUCE, version, asked)["responses"]
    return int(found["partitionResponses"][0]["errorCode"])


def test_a_transaction_of_version_2_adds_its_partitions_itself(asker: Asker, topic_id: str) -> None:
    asked = {"transactionalId": "two", "transactionTimeoutMs": 60_000}
    found = asker.ask(INIT_PRODUCER_ID, 5, asked)
    producer = (found["producerId"], found["producerEpoch"])
    assert produced(asker, 10, "t", producer, 0) == ErrorCode.INVALID_TXN_STATE
    assert produced(asker, 11, "t", producer, 0) == ErrorCode.TRANSACTION_ABORTABLE
    assert produced(asker, 13, topic_id, producer, 0) == ErrorCode.NONE
    assert produced(asker, 13, STRANGER, producer, 1) == ErrorCode.UNKNOWN_TOPIC_ID
    of = {"transactionalId": "two", "producerId": producer[0], "producerEpoch": producer[1]}
    offset = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    topics = [{"name": "t", "partitions": [offset]}]
    found = asker.ask(TXN_OFFSET_COMMIT, 5, {**of, "groupId": "g", "topics": topics})
    assert found["topics"][0]["partitions"][0]["errorCode"] == ErrorCode.NONE
    verified = {**of, "verifyOnly": True, "topics": [{"name": "t", "partitions": [0, 1]}]}
    (found,) = asker.ask(ADD_PARTITIONS_TO_TXN, 5, {"transactions": [verified]})[
        "resultsByTransaction"
    ]
    (topic,) = found["topicResults"]
    codes = [each["partitionErrorCode"] for each in topic["resultsByPartition"]]
    assert codes == [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]
    ended = asker.ask(END_TXN, 5, {**of, "committed": True})
    assert ended["errorCode"] == ErrorCode.NONE
    assert (ended["producerId"], ended["producerEpoch"]) == (producer[0], producer[1] + 1)
    asked = {"groups": [{"groupId": "g"}], "requireStable": True}
    wait_until(lambda: asker.ask(OFFSET_FETCH, 10, asked)["groups"][0]["topics"])  # of the markers
    (topic,) = asker.ask(OFFSET_FETCH, 10, asked)["groups"][0]["topics"]
    (partition,) = topic["partitions"]
    assert partition["errorCode"] == ErrorCode.NONE
    assert (topic["topicId"], partition["committedOffset"]) == (topic_id, 1)


def test_an_open_transaction_takes_no_records_of_another_epoch(asker: Asker, topic_id: str) -> None:
    """The codes are those of a broker of 4.2.

    A transaction of version 2 begins while the marker of the one before may not be written yet: its
    records must not join that one, or nothing would end them. Of batches that come again after a
    refusal, none overtakes the first.
    """
    name = "other"
    found = asker.ask(INIT_PRODUCER_ID, 5, {"transactionalId": name, "transactionTimeoutMs": 9000})
    producer = (found["producerId"], found["producerEpoch"])
    later = (producer[0], producer[1] + 1)
    codes = [
        produced(asker, version, topic, which, at, transactional_id=name)
        for version, topic, which, at in (
            (13, topic_id, producer, 0),
            (13, topic_id, later, 0),
            (11, "t", later, 0),
            (13, topic_id, producer, 1),
        )
    ]
    refused = ErrorCode.INVALID_PRODUCER_EPOCH
    assert codes == [ErrorCode.NONE, refused, refused, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]


def test_offsets_are_committed_for_topic_ids(asker: Asker, topic_id: str) -> None:
    offset = {"partitionIndex": 1, "committedOffset": 7, "committedMetadata": ""}
    topics = [{"topicId": each, "partitions": [offset]} for each in (topic_id, STRANGER)]
    found = asker.ask(OFFSET_COMMIT, 10, {"groupId": "ids", "topics": topics})["topics"]
    codes = {each["topicId"]: each["partitions"][0]["errorCode"] for each in found}
    assert codes == {topic_id: ErrorCode.NONE, STRANGER: ErrorCode.UNKNOWN_TOPIC_ID}
    wanted = [{"topicId": each, "partitionIndexes": [1]} for each in (topic_id, STRANGER)]
    asked = {"groups": [{"groupId": "ids", "topics": wanted}]}
    found = asker.ask(OFFSET_FETCH, 10, asked)["groups"][0]["topics"]
    offsets = {
        each["topicId"]: (each["partitions"][0]["committedOffset"],
                          each["partitions"][0]["errorCode"])
        for each in found
    }  # fmt: skip
    assert offsets == {topic_id: (7, ErrorCode.NONE), STRANGER: (-1, ErrorCode.UNKNOWN_TOPIC_ID)}


def test_a_missing_group_is_an_error_since_version_6(asker: Asker) -> None:
    for version, code, message in (
        (5, ErrorCode.NONE, None),
        (6, ErrorCode.GROUP_ID_NOT_FOUND, "Group no not found."),
    ):
        (found,) = asker.ask(DESCRIBE_GROUPS, version, {"groups": ["no"]})["groups"]
        assert (found["groupState"], found["errorCode"]) == ("Dead", code)
        assert found.get("errorMessage") == message


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_special_timestamps_are_known_since_a_version(
    asker: Asker, timestamp: int, since: int
) -> None:
    asked = {
        "replicaId": -1,
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 1, "timestamp": timestamp}]}],
    }
    for version, code in ((since - 1, ErrorCode.UNSUPPORTED_VERSION), (since, ErrorCode.NONE)):
        (topic,) = asker.ask(LIST_OFFSETS, version, asked)["topics"]
        assert topic["partitions"][0]["errorCode"] == code
