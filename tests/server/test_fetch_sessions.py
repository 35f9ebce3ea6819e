"""Fetch sessions as Kafka's own tests of them want them, and at a running server.

Kafka: FetchSessionTest (4.2); the names of its tests are in the docstrings.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.asking import Asker
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.server.fetch_sessions import (
    EVICTION_MS,
    FetchContext,
    FetchSessions,
    Where,
    next_epoch,
)
from workbench.server.protocol.api_keys import FETCH
from workbench.server.server import Server

Values = Any  # the fields of a request or response
IDS, NAMES = 18, 12  # versions of Fetch


class Client:
    """Sends requests to sessions, whose partitions have what the test says."""

    def __init__(self, most: int = 1000, most_partitions: int = 1000) -> None:
        self.clock = ManualClock(1_000_000)
        self.sessions = FetchSessions(most, most_partitions * Where("t", 0).size, self.clock)

    def context(
        self,
        session: int = 0,
        epoch: int = 0,
        asked: dict[str, list[int]] | None = None,
        *,
        forgotten: dict[str, list[int]] | None = None,
        version: int = IDS,
        replica: int = -1,
        offset: int = 0,
    ) -> FetchContext:
        name = "topicId" if version >= 13 else "topic"
        values: Values = {
            "replicaId": replica,
            "sessionId": session,
            "sessionEpoch": epoch,
            "topics": [
                {name: topic, "partitions": [{"partition": n, "fetchOffset": offset} for n in many]}
                for topic, many in (asked or {}).items()
            ],
            "forgottenTopicsData": [
                {name: topic, "partitions": many} for topic, many in (forgotten or {}).items()
            ],
        }
        return self.sessions.context(values, version, lambda where: where.topic != "nothing")

    def open(self, count: int, *, privileged: bool = False) -> int:
        """Ask for a session with some partitions; return its id."""
        context = self.context(asked={"t": list(range(count))}, replica=2 if privileged else -1)
        found = {where: partition() for where, _ in context.partitions}
        return int(context.respond(found)["sessionId"])

    def touch(self, number: int) -> None:
        session = self.sessions.sessions[number]
        assert self.context(number, session.epoch).error is ErrorCode.NONE


def partition(
    high: int = 10,
    start: int = 0,
    *,
    records: bytes = b"",
    error: ErrorCode = ErrorCode.NONE,
) -> Values:
    return {
        "errorCode": error,
        "highWatermark": high,
        "logStartOffset": start,
        "records": records,
    }


def told(response: Values) -> list[tuple[str, Values]]:
    """Return topic and content of each partition of a response."""
    return [
        (topic.get("topic", topic.get("topicId")), each)
        for topic in response["responses"]
        for each in topic["partitions"]
    ]


def test_epochs_wrap_around() -> None:
    assert [next_epoch(each) for each in (0, 1, (1 << 31) - 1, -1, -5)] == [1, 2, 1, -1, -1]


def test_a_session_is_asked_for_and_used() -> None:
    """Kafka: testFetchRequests."""
    client = Client()
    assert client.context(7, 5).error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    final = client.context(epoch=-1, asked={"t": [0]})
    response = final.respond({Where("t", 0): partition()})
    assert (response["sessionId"], len(told(response))) == (0, 1)
    full = client.context(asked={"t": [0, 1]})
    response = full.respond({Where("t", 0): partition(100), Where("t", 1): partition(10)})
    number = response["sessionId"]
    assert number > 0
    assert len(told(response)) == 2
    assert client.context(number, 6).error is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert client.context(number + 1, 1).error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    again = client.context(number, 1)
    same = {Where("t", 0): partition(100), Where("t", 1): partition(10)}
    assert again.respond(same) == {"errorCode": 0, "sessionId": number, "responses": []}
    assert client.context(number, 1).error is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert client.context(number, -1, {"t": [0]}).error is ErrorCode.NONE  # closes it
    assert client.context(number, 2).error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("version", [IDS, NAMES])
def test_partitions_are_added_changed_and_forgotten(version: int) -> None:
    """Kafka: testIncrementalFetchSession, testCachedLeaderEpoch, testToForgetPartitions."""
    client = Client()
    first = client.context(asked={"foo": [0, 1]}, version=version)
    number = first.respond({where: partition() for where, _ in first.partitions})["sessionId"]
    second = client.context(
        number, 1, {"foo": [1], "bar": [0]}, forgotten={"foo": [0]}, version=version, offset=9
    )
    assert [(where, each["fetchOffset"]) for where, each in second.partitions] == [
        (Where("foo", 1), 9), (Where("bar", 0), 9)
    ]  # fmt: skip
    response = second.respond({where: partition() for where, _ in second.partitions})
    assert [name for name, _ in told(response)] == ["bar"]  # the only one that is new
    third = client.context(number, 2, forgotten={"foo": [1], "no": [0]}, version=version)
    assert [where for where, _ in third.partitions] == [Where("bar", 0)]


@pytest.mark.parametrize(
    ("found", "is_told", "is_told_again"),
    [
        (partition(), False, False),
        (partition(11), True, False),
        (partition(start=1), True, False),
        (partition(records=b"x"), True, True),
        (partition(error=ErrorCode.OFFSET_OUT_OF_RANGE), True, True),
    ],
)
def test_what_has_changed_is_told(
    found: Values,
    is_told: bool,  # noqa: FBT001
    is_told_again: bool,  # noqa: FBT001
) -> None:
    """Kafka: testUpdateAndGenerateResponseData."""
    client = Client()
    number, where = client.open(1), Where("t", 0)
    for epoch, expected in ((1, is_told), (2, is_told_again)):
        response = client.context(number, epoch).respond({where: found})
        assert len(told(response)) == expected
    recovered = client.context(number, 3).respond({where: partition()})
    assert len(told(recovered)) == (found["highWatermark"] != 10 or found["logStartOffset"] != 0
                                    or found["errorCode"] != 0)  # fmt: skip


def test_an_answer_that_comes_too_late_is_an_error() -> None:
    """A duplicate of the request was handled meanwhile."""
    client = Client()
    number = client.open(1)
    slow, fast = client.context(number, 1), client.context(number, 2)
    found = {Where("t", 0): partition()}
    assert slow.respond(found)["errorCode"] == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fast.respond(found)["errorCode"] == ErrorCode.NONE


@pytest.mark.parametrize(("first", "then"), [(IDS, NAMES), (NAMES, IDS)])
def test_a_session_keeps_to_ids_or_names(first: int, then: int) -> None:
    """Kafka: testIncrementalFetchSessionWithIdsWhenSessionDoesNotUseIds and the reverse."""
    client = Client()
    context = client.context(asked={"t": [0]}, version=first)
    number = context.respond({Where("t", 0): partition()})["sessionId"]
    refused = client.context(number, 1, version=then)
    assert refused.error is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_without_partitions_ends() -> None:
    """Kafka: testZeroSizeFetchSession."""
    client = Client()
    number = client.open(2)
    context = client.context(number, 1, forgotten={"t": [0, 1]})
    assert context.respond({}) == {"errorCode": 0, "sessionId": 0, "responses": []}
    assert client.sessions.sessions == {}


def test_partitions_with_records_are_read_last_next_time() -> None:
    """Kafka: testDeprioritizesPartitionsWithRecordsOnly."""
    client = Client()
    number = client.open(3)
    context = client.context(number, 1)
    found = {where: partition() for where, _ in context.partitions}
    found[Where("t", 0)] = partition(11)
    found[Where("t", 1)] = partition(records=b"x")
    assert len(told(context.respond(found))) == 2
    order = [where.partition for where, _ in client.context(number, 2).partitions]
    assert order == [0, 2, 1]


def test_which_session_makes_room() -> None:
    """Kafka: testSessionCache; its eviction time of 100 is ours."""
    client, start = Client(3), 1_000_000

    def at(moment: int) -> None:
        client.clock.set(start + moment * EVICTION_MS // 100)

    def present() -> set[int]:
        return set(client.sessions.sessions)

    numbers = []
    for moment, count in ((0, 10), (10, 20), (20, 30)):
        at(moment)
        numbers.append(client.open(count))
    one, _, three = numbers
    at(30)
    assert client.open(40) == 0  # all are in use, and none is old
    at(40)
    assert client.open(5) == 0
    assert present() == set(numbers)
    at(200)
    client.touch(one)
    at(210)
    four = client.open(11)  # the second was not used for long
    assert present() == {one, three, four}
    at(390)
    client.touch(three)
    at(400)
    client.touch(one)
    client.touch(four)
    at(410)
    five = client.open(50)  # the first is old, and smaller
    assert present() == {three, four, five}
    assert client.open(5) == 0
    six = client.open(5, privileged=True)  # a follower's is worth more than a consumer's
    assert present() == {three, five, six}


def test_partitions_of_all_sessions_are_bounded() -> None:
    client = Client(most_partitions=10)
    number = client.open(6)
    assert number > 0
    assert client.open(5) == 0
    context = client.context(number, 1, {"more": [0, 1, 2, 3, 4]})
    assert context.error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND  # the client begins again
    assert client.open(10) > 0


@pytest.mark.parametrize("version", [IDS, NAMES])
def test_what_does_not_exist_is_in_no_session(version: int) -> None:
    """Its client names everything in each request, until it is there."""
    client = Client()
    context = client.context(asked={"t": [0], "nothing": [0]}, version=version)
    assert [where.topic for where, _ in context.partitions] == ["t", "nothing"]
    found = {where: partition() for where, _ in context.partitions}
    assert context.respond(found)["sessionId"] == 0
    number = client.open(1)
    context = client.context(number, 1, {"nothing": [0]})
    assert context.error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND  # the client begins again
    assert client.sessions.size == 0


@pytest.fixture
def asker(shop: Server) -> Iterator[Asker]:
    with Asker(shop.bootstrap_servers) as found:
        yield found


def test_a_client_gets_every_record_through_a_session(shop: Server, asker: Asker) -> None:
    """It names partitions only when it has read records of them."""
    topic = shop.catalog.topic_id("orders")
    ends = {n: log.high_watermark for n, log in shop.catalog.topics["orders"].items()}
    offsets = dict.fromkeys(ends, 0)
    moved, session, epoch, rounds = set(ends), 0, 0, 0
    while offsets != ends:
        rounds += 1
        asked = [
            {"partition": n, "fetchOffset": offsets[n], "partitionMaxBytes": 30_000} for n in moved
        ]
        response = asker.ask(FETCH, 17, {
            "maxWaitMs": 10, "minBytes": 1, "sessionId": session, "sessionEpoch": epoch,
            "topics": [{"topicId": topic, "partitions": asked}] if asked else [],
        })  # fmt: skip
        assert response["errorCode"] == ErrorCode.NONE
        assert session in (0, response["sessionId"])
        session, epoch = response["sessionId"], epoch + 1
        moved = set()
        for _, each in told(response):
            number, data = each["partitionIndex"], each["records"]
            while data:  # the last offset of each batch
                last = int.from_bytes(data[:8]) + int.from_bytes(data[23:27])
                offsets[number] = max(offsets[number], last + 1)
                data = data[12 + int.from_bytes(data[8:12]) :]
                moved.add(number)
    assert rounds > 3
    nothing = asker.ask(FETCH, 17, {
        "maxWaitMs": 0, "sessionId": session, "sessionEpoch": epoch,
        "topics": [{"topicId": topic, "partitions": [
            {"partition": n, "fetchOffset": ends[n], "partitionMaxBytes": 1} for n in ends
        ]}],
    })  # fmt: skip
    assert nothing["responses"] == []
    wrong = asker.ask(FETCH, 17, {"sessionId": session, "sessionEpoch": epoch})
    assert wrong["errorCode"] == ErrorCode.INVALID_FETCH_SESSION_EPOCH
