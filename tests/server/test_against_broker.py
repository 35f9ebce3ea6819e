"""The same random requests to a broker of 4.2 and to a server on a copy of its directory.

Responses are equal field by field, but for what `intended_differences` names. `SEED` and `REQUESTS`
in the environment choose others, and more.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import workbench
from tests.server.asking import Asker
from tests.server.golden_broker import golden_broker
from tests.server.intended_differences import unify
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
from workbench.server.server import Server

SEED: Final = int(os.environ.get("SEED", "1"))
REQUESTS: Final = int(os.environ.get("REQUESTS", "1000"))
FIRST: Final = (groups, list_groups)  # before a broker misses the members' heartbeats, after 45 s


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Return both, in the state that the broker had when it was asked nothing yet."""
    folder: Path = tmp_path_factory.mktemp("golden")
    with (
        golden_broker(folder) as (broker, copy),
        workbench.serve(copy) as server,
        Asker(broker.bootstrap) as theirs,
        Asker(server.bootstrap_servers) as ours,
    ):
        yield Sides(theirs, ours, logs_of(server))


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
