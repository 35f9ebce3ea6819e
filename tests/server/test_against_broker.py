"""The same random requests to a broker of 4.2 and to a server on a copy of its directory.

Responses are equal field by field, but for what `intended_differences` names. `SEED` and `REQUESTS`
in the environment choose others, and more.
"""

import copy
import os
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

import workbench
from tests.kafka_broker import Broker
from tests.peers.test_sarama import VERSIONS, scrape
from tests.server.admin_requests import ADMIN_REQUESTS
from tests.server.asking import Asker, Values
from tests.server.golden_broker import STOPPED, golden_broker
from tests.server.intended_differences import batches, unify, unify_admin
from tests.server.random_requests import (
    KINDS,
    SOFTWARE,
    Log,
    Sides,
)
from tests.waiting import wait_until
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import (
    API_KEYS,
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_CONFIGS,
    DESCRIBE_QUORUM,
    FETCH,
    INCREMENTAL_ALTER_CONFIGS,
    LIST_OFFSETS,
)
from workbench.server.server import Server

SEED: Final = int(os.environ.get("SEED", "1"))
REQUESTS: Final = int(os.environ.get("REQUESTS", "1000"))
NAMES_UNTIL: Final = 12  # version of Fetch


@pytest.fixture(scope="module")
def broker_and_copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Path]]:
    """Return a broker, and its directory as it was when the broker was asked nothing yet."""
    with golden_broker(tmp_path_factory.mktemp("golden")) as both:
        yield both


@pytest.fixture(scope="module")
def sides(broker_and_copy: tuple[Broker, Path]) -> Iterator[Sides]:
    """Return the broker, and a server of stored data."""
    broker, folder = broker_and_copy
    with (
        workbench.serve(folder) as server,
        Asker(broker.bootstrap) as theirs,
        Asker(server.bootstrap_servers) as ours,
    ):
        yield Sides(theirs, ours, logs_of(server))


@pytest.fixture(scope="module")
def writable(broker_and_copy: tuple[Broker, Path]) -> Iterator[Asker]:
    """Return a server that may write: the engine opens what the broker has opened."""
    broker, copied = broker_and_copy
    folder = copied.with_name(STOPPED)
    lines = (broker.folder / "server.properties").read_text().splitlines()
    config = dict(line.split("=", 1) for line in lines)
    del config["log.dirs"]
    with (
        workbench.serve(folder, writable=True, config=config) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        yield asker


def logs_of(server: Server) -> list[Log]:
    found = []
    for topic, logs in server.catalog.topics.items():
        if topic == "__consumer_offsets":  # the broker's coordinator writes to it
            continue
        for number, log in logs.items():
            start, end = log.log_start_offset, log.high_watermark
            ends = (log.offset_for_timestamp(1, end), log.max_timestamp())
            times = [each.timestamp for each in ends if each is not None] or [0]
            found.append(
                Log(
                    topic, server.catalog.topic_id(topic), number, start, end, log.leader_epoch,
                    (min(times), max(times)),
                )
            )  # fmt: skip
    return found


def differences(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() | theirs.keys():
            yield from differences(ours.get(key), theirs.get(key), f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{where}[{at}]")
    elif ours != theirs:
        yield f"{where}: {str(ours)[:200]} (the broker: {str(theirs)[:200]})"


# First, before other tests make topics.
@pytest.mark.slow
@pytest.mark.timeout(600)  # the first time, Go is fetched and compiles sarama
@pytest.mark.parametrize(
    "version", [VERSIONS[0], *(pytest.param(each, marks=pytest.mark.long) for each in VERSIONS[1:])]
)
def test_a_server_gives_the_metrics_of_a_broker(
    version: str, broker_and_copy: tuple[Broker, Path], tmp_path: Path
) -> None:
    broker, copied = broker_and_copy
    wanted = scrape(broker.bootstrap, version)
    assert sum(line.startswith("kafka_consumergroup_lag") for line in wanted) > 3
    with workbench.serve(copied) as server:
        assert scrape(server.bootstrap_servers, version) == wanted
    data = tmp_path / "data"
    shutil.copytree(copied.with_name(STOPPED), data)
    with workbench.serve(data, writable=True) as server:
        assert scrape(server.bootstrap_servers, version) == wanted


@pytest.mark.broker
@pytest.mark.parametrize("seed", [SEED])
def test_both_answer_the_same(sides: Sides, seed: int) -> None:
    chance = random.Random(seed)
    found = []
    kinds = chance.choices(list(KINDS), list(KINDS.values()), k=REQUESTS)
    for make in kinds:
        api, version, values = make(sides, chance)
        theirs = unify(api, values, sides.broker.ask(api, version, values))
        ours = unify(api, values, sides.server.ask(api, version, values))
        found += [f"{api.name} {version} {each}\n  {values}" for each in differences(ours, theirs)]
    assert not found, f"{len(found)} differences, such as\n" + "\n".join(found[:5])


@pytest.mark.broker
@pytest.mark.parametrize("most", [1, 700, 1 << 20])
def test_from_every_offset_committed_records_are_those_of_a_broker(
    sides: Sides, writable: Asker, most: int
) -> None:
    """With logs of several segments, in which producers both abort and commit transactions.

    What the engine serves is equal to the last field; a batch that is cut at the limit is left out.
    """
    found, aborted = [], 0
    for log in sides.logs:
        for offset in range(log.start, log.end + 1):
            values = committed_fetch(log, offset, most)
            theirs, ours, written = (
                asker.ask(FETCH, NAMES_UNTIL, copy.deepcopy(values))
                for asker in (sides.broker, sides.server, writable)
            )
            where = f"{log.topic}-{log.partition} from {offset}"
            whole = [whole_batches(each) for each in (theirs, written)]
            aborted += len(whole[0]["abortedTransactions"])
            found += [f"writable: {where} {each}" for each in differences(whole[1], whole[0])]
            theirs, ours = unify(FETCH, values, theirs), unify(FETCH, values, ours)
            found += [f"read-only: {where} {each}" for each in differences(ours, theirs)]
    assert not found, f"{len(found)} differences, such as\n" + "\n".join(found[:5])
    assert aborted > 100


def committed_fetch(log: Log, offset: int, most: int) -> dict[str, Any]:
    partition = {"partition": log.partition, "fetchOffset": offset, "partitionMaxBytes": most}
    return {
        "maxBytes": 1 << 20,
        "isolationLevel": 1,
        "topics": [{"topic": log.topic, "partitions": [partition]}],
    }


def whole_batches(response: dict[str, Any]) -> dict[str, Any]:
    """Return the only partition of a response, without the batch that is cut at its end."""
    ((partition,),) = [topic["partitions"] for topic in response["responses"]]
    return {**partition, "records": b"".join(batches(partition["records"] or b""))}


NOT_SERVED: Final = {
    "changes of quotas and of passwords": {49, 51},
    "share groups, streams groups": {76, 77, 78, 79, *range(83, 93)},
}
OLDER_TOO: Final = {19, 20, 23, 32, 35}
"""Their first versions are for clients older than 2.1, which a broker of 4.2 serves no more."""


@pytest.mark.broker
def test_the_versions_are_those_of_a_broker(sides: Sides) -> None:
    ours = {
        each["apiKey"]: (each["minVersion"], each["maxVersion"])
        for each in sides.server.ask(apis.API_VERSIONS, 3, SOFTWARE)["apiKeys"]
    }
    assert sides.versions.keys() - ours.keys() == set().union(*NOT_SERVED.values())
    assert ours.keys() <= sides.versions.keys()
    for key, (low, high) in ours.items():
        name = API_KEYS[key].name
        assert high == sides.versions[key][1], name
        assert low == (0 if key in OLDER_TOO else sides.versions[key][0]), name


@pytest.mark.broker
@pytest.mark.parametrize(("kind", "name"), [(4, "1"), (4, ""), (2, "txn-a"), (16, "m"), (32, "g")])
def test_a_server_that_may_write_describes_configurations_as_the_broker_with_its_file(
    sides: Sides, writable: Asker, kind: int, name: str
) -> None:
    asked = {
        "resources": [{"resourceType": kind, "resourceName": name, "configurationKeys": None}],
        "includeSynonyms": True,
        "includeDocumentation": True,
    }
    found = []
    for asker in (writable, sides.broker):
        (result,) = asker.ask(DESCRIBE_CONFIGS, 4, copy.deepcopy(asked))["results"]
        assert all(each["documentation"] for each in result["configs"])
        found.append(
            {
                each["name"]: {**each, "documentation": None}
                for each in result["configs"]
                if each["name"] != "log.dirs"  # a folder of its own
            }
        )
    assert list(differences(found[0], found[1])) == []
    assert len(found[0]) == {"1": 319, "": 1, "txn-a": 33, "m": 3, "g": 11}[name]


def the_topics(asked: Any, name: str) -> Any:
    """Return a request with the name of a topic in the place of TOPIC."""
    if isinstance(asked, dict):
        return {key: the_topics(value, name) for key, value in asked.items()}
    if isinstance(asked, list):
        return [the_topics(each, name) for each in asked]
    return name if asked == "TOPIC" else asked


@pytest.mark.broker
@pytest.mark.parametrize("is_writable", [False, True])
@pytest.mark.parametrize(
    ("api", "requests"), ADMIN_REQUESTS, ids=[api.name for api, _ in ADMIN_REQUESTS]
)
def test_administrators_get_the_answers_of_a_broker_that_is_alone(
    sides: Sides, writable: Asker, api: Api, requests: list[Values], *, is_writable: bool
) -> None:
    ours = writable if is_writable else sides.server
    found = []
    for version in range(api.lowest, api.highest + 1):
        for request in requests:
            asked = the_topics(request, "txn-a")
            both = [
                unify_admin(api, asker.ask(api, version, copy.deepcopy(asked)))
                for asker in (ours, sides.broker)
            ]
            found += [f"{version} {each}\n  {asked}" for each in differences(both[0], both[1])]
    assert not found, f"{len(found)} differences, such as\n" + "\n".join(found[:5])


SET, DELETE, APPEND, SUBTRACT = range(4)
POLICY, REPLICAS = "cleanup.policy", "leader.replication.throttled.replicas"
ALTERATIONS: Final = (
    (POLICY, APPEND, "compact"), (POLICY, APPEND, "compact"), (POLICY, SUBTRACT, "delete"),
    (POLICY, APPEND, "delete,compact"), (POLICY, SET, "compact,delete"), (POLICY, APPEND, None),
    (POLICY, SUBTRACT, "compact,delete"), (POLICY, DELETE, None),
    (REPLICAS, APPEND, "0:1"), (REPLICAS, APPEND, "1:1,2:1"), (REPLICAS, APPEND, "3:1,1:1, 0:1"),
    (REPLICAS, SUBTRACT, "1:1"), (REPLICAS, SET, " 5:1, 6:1"), (REPLICAS, APPEND, "4:1"),
    ("segment.ms", APPEND, "5"), ("segment.ms", SUBTRACT, "5"), ("nonsense", APPEND, "5"),
    ("nonsense", SET, "5"), ("segment.ms", SET, None),
)  # fmt: skip


@pytest.mark.broker
def test_lists_are_altered_as_by_a_broker(sides: Sides, writable: Asker) -> None:
    found = [[altered(asker, *each) for each in ALTERATIONS] for asker in (writable, sides.broker)]
    assert list(differences(found[0], found[1])) == []


def wait_for_metadata(asker: Asker) -> None:
    """Wait until a broker has read what its controller has written."""
    asked = {"topics": [{"topicName": METADATA_TOPIC, "partitions": [{"partitionIndex": 0}]}]}
    (topic,) = asker.ask(DESCRIBE_QUORUM, 2, asked)["topics"]
    (partition,) = topic["partitions"]
    software = {"clientSoftwareName": "test", "clientSoftwareVersion": "1"}

    def is_read() -> bool:
        found = asker.ask(API_VERSIONS, 4, software)
        return int(found["finalizedFeaturesEpoch"]) >= int(partition["highWatermark"]) - 1

    wait_until(is_read)


def is_led(asker: Asker, topic: str) -> bool:
    """Return whether the first partition of a topic can be asked for offsets."""
    topics = [{"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]
    (found,) = asker.ask(LIST_OFFSETS, 10, {"topics": topics})["topics"]
    return not int(found["partitions"][0]["errorCode"])


def altered(asker: Asker, key: str, operation: int, value: str | None) -> dict[str, Any]:
    """Alter a configuration; return the answer, and the lists as they are then."""
    configs = [{"name": key, "configOperation": operation, "value": value}]
    resource = {"resourceType": 2, "resourceName": "txn-many"}
    (answer,) = asker.ask(
        INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [{**resource, "configs": configs}]}
    )["responses"]
    if value == "5" and operation == SET:
        answer["errorMessage"] = None  # in Kafka's words, and in ours
    wait_for_metadata(asker)
    asked = {"resources": [{**resource, "configurationKeys": [POLICY, REPLICAS]}]}
    (result,) = asker.ask(DESCRIBE_CONFIGS, 4, asked)["results"]
    return {**answer, **{each["name"]: each["value"] for each in result["configs"]}}


@pytest.mark.broker
@pytest.mark.parametrize("kind", [4, 8, 16, 32, 0, 99])
def test_what_cannot_be_configured_here_is_refused_with_the_reason(
    writable: Asker, kind: int
) -> None:
    configs = [{"name": "interval.ms", "configOperation": SET, "value": "1000"}]
    resource = {"resourceType": kind, "resourceName": "1", "configs": configs}
    (answer,) = writable.ask(INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})["responses"]
    assert answer["errorCode"] == ErrorCode.INVALID_REQUEST
    assert answer["errorMessage"]


@pytest.mark.broker
def test_the_beginning_of_an_empty_partition_has_the_leader_epoch_of_a_broker(
    sides: Sides, writable: Asker
) -> None:
    """Made by the broker and by the engine, and looked up at every special time."""
    made = {"name": "made", "numPartitions": 1, "replicationFactor": 1}
    found = []
    for asker in (writable, sides.broker):
        asker.ask(CREATE_TOPICS, 7, {"topics": [made], "timeoutMs": 10_000})
        wait_for_metadata(asker)
        wait_until(partial(is_led, asker, "made"))
        for timestamp in (-1, -2, -3, -4, -5, 0):
            partition = {"partitionIndex": 0, "timestamp": timestamp}
            topics = [{"name": "made", "partitions": [partition]}]
            found.append(asker.ask(LIST_OFFSETS, 10, {"topics": topics})["topics"])
        asker.ask(DELETE_TOPICS, 6, {"topics": [{"name": "made"}], "timeoutMs": 10_000})
    assert found[:6] == found[6:]
    assert found[1][0]["partitions"][0]["leaderEpoch"] == 0
