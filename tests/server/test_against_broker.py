"""The same random requests to a broker of 4.2 and to a server on a copy of its directory.

Responses are equal field by field, but for what `intended_differences` names. `SEED` and `REQUESTS`
in the environment choose others, and more.
"""

import copy
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import workbench
from tests.kafka_broker import Broker
from tests.server.asking import Asker
from tests.server.golden_broker import SETTINGS, STOPPED, golden_broker
from tests.server.intended_differences import batches, unify
from tests.server.random_requests import (
    KINDS,
    SOFTWARE,
    Log,
    Sides,
    groups,
    list_groups,
)
from workbench.server.protocol import cluster_messages
from workbench.server.protocol.api_keys import API_KEYS
from workbench.server.protocol.log_messages import FETCH
from workbench.server.server import Server

SEED: Final = int(os.environ.get("SEED", "1"))
REQUESTS: Final = int(os.environ.get("REQUESTS", "1000"))
NAMES_UNTIL: Final = 12  # version of Fetch
FIRST: Final = (groups, list_groups)  # before a broker misses the members' heartbeats, after 45 s


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
    folder = broker_and_copy[1].with_name(STOPPED)
    with (
        workbench.serve(folder, writable=True, config=SETTINGS) as server,
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


@pytest.mark.broker
@pytest.mark.parametrize("seed", [SEED])
def test_both_answer_the_same(sides: Sides, seed: int) -> None:
    chance = random.Random(seed)
    found = []
    kinds = chance.choices(list(KINDS), list(KINDS.values()), k=REQUESTS)
    for make in sorted(kinds, key=lambda kind: kind not in FIRST):
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
    "who leads, and what brokers tell each other": {34, 43, 45, 46, 55, 57, 64, 74, 80, 81},
    "access lists, quotas, delegation tokens": {29, 30, 31, 38, 39, 40, 41, 48, 49, 50, 51},
    "groups of KIP-848, share groups, streams groups": {68, 76, 77, 78, 79, *range(83, 93)},
}
OLDER_TOO: Final = {19, 20, 23, 32, 35}
"""Their first versions are for clients older than 2.1, which a broker of 4.2 serves no more."""


@pytest.mark.broker
def test_the_versions_are_those_of_a_broker(sides: Sides) -> None:
    ours = {
        each["apiKey"]: (each["minVersion"], each["maxVersion"])
        for each in sides.server.ask(cluster_messages.API_VERSIONS, 3, SOFTWARE)["apiKeys"]
    }
    assert sides.versions.keys() - ours.keys() == set().union(*NOT_SERVED.values())
    assert ours.keys() <= sides.versions.keys()
    for key, (low, high) in ours.items():
        name = API_KEYS[key].name
        newer = name == "DescribeLogDirs"  # version 5 is that of 4.3
        assert high == sides.versions[key][1] + newer, name
        assert low == (0 if key in OLDER_TOO else sides.versions[key][0]), name
