"""KafkaJS's calls of administration, producers, transactions and groups: a server, and a broker."""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.kafka_broker import Broker
from tests.peers.fetched import deno
from tests.peers.served import SETTINGS, Outcome, assert_as_expected, writable_server

_CALLS: Final = Path(__file__).parent / "kafkajs" / "calls.js"
REFUSED: Final = {"describeAcls": "there is no authorizer"}
"""Call → why it does not pass, at a broker neither."""


def outcomes(bootstrap: str) -> dict[str, Outcome]:
    """Return how each call ended. KafkaJS is fetched once, into the cache of the peers."""
    printed = deno(_CALLS.parent, "run", "--allow-all", str(_CALLS), bootstrap)
    rows = map(json.loads, printed.splitlines())
    return {
        row["name"]: Outcome("passed" if row["problem"] is None else "failed", str(row["problem"]))
        for row in rows
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kafkajs_finds_a_broker(tmp_path: Path) -> None:
    with writable_server(tmp_path / "data") as server:
        assert_as_expected(outcomes(server.where), REFUSED)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_broker_answers_kafkajs_as_the_server_does(tmp_path: Path) -> None:
    settings = {name: str(value) for name, value in SETTINGS.items()}
    with Broker("4.2.0", tmp_path / "broker", settings) as broker:
        assert_as_expected(outcomes(broker.bootstrap), REFUSED)
