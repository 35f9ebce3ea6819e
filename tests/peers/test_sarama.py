"""What kafka_exporter asks at a scrape, through sarama, of a server; and sarama's functional tests.

`tests/server/test_against_broker.py` compares the scrape with a broker. The functional tests reach
a broker through five proxies, as if there were five: all lead to the one server.
"""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest
from kafka import KafkaConsumer

import workbench
from tests.peers.fetched import sarama_tests, scraper, toxiproxy
from tests.peers.served import (
    SETTINGS,
    Outcome,
    assert_as_expected,
    go_test_names,
    go_tests,
    writable_server,
)
from tests.server.conftest import SHOP
from tests.waiting import wait_until

VERSIONS = ("2.0.0", "2.8.0", "4.1.0")  # the exporter's own default, and later ones
PATIENCE = 120


def scrape(bootstrap: str, version: str) -> list[str]:
    """Return the metrics of a broker or server, as lines of Prometheus' text."""
    done = subprocess.run(
        [scraper(), bootstrap, version],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.timeout(600)  # the first time, Go is fetched and compiles sarama
def test_members_and_the_lag_of_a_consumer_are_there() -> None:
    with workbench.serve(SHOP) as server:
        consumer = KafkaConsumer(
            group_id="scraped", bootstrap_servers=server.bootstrap_servers,
            auto_offset_reset="earliest", max_poll_records=5, enable_auto_commit=False,
        )  # fmt: skip
        with closing(consumer):
            consumer.subscribe(["customers"])
            while not consumer.poll(timeout_ms=500):
                pass
            consumer.commit()
            places = sorted(consumer.assignment())
            at = {place.partition: consumer.position(place) for place in places}
            found = scrape(server.bootstrap_servers, VERSIONS[0])
    logs = workbench.open_log_directory(SHOP)
    assert sum(at.values()) > 0
    assert at.keys() == {0, 1}
    wanted = {'kafka_consumergroup_members{consumergroup="scraped"} 1'}
    for partition, offset in at.items():
        labels = f'{{consumergroup="scraped",topic="customers",partition="{partition}"}}'
        lag = logs[f"customers-{partition}"].log_end_offset - offset
        wanted |= {f"kafka_consumergroup_current_offset{labels} {offset}"}
        wanted |= {f"kafka_consumergroup_lag{labels} {lag}"}
    assert wanted <= set(found)


_ONE_BROKER: Final = "wants a second broker"
_DOCKER: Final = "runs a program in a container of the broker"
REFUSED: Final = {
    "TestConsumerFetchFollowerFailover": _ONE_BROKER,
    "TestFuncAdminAlterPartitionReassignments": _ONE_BROKER,
    "TestFuncAdminDescribeLogDirs": "wants five brokers",
    "TestFuncAdminIncrementalAlterConfigs": "configurations of a broker are not served",
    "TestFuncAdminListConsumerGroupOffsets": _ONE_BROKER,
    "TestFuncAdminQuotas": "quotas are not served",
    "TestFuncIdempotentBufferedSequence": _DOCKER,
    "TestFuncJavaInteropCooperativeRebalance": _DOCKER,
    "TestFuncTxnProduceWithBrokerFailure": _ONE_BROKER,
    "TestJavaConsumerCompressionRoundTrip": _DOCKER,
    "TestJavaMurmur2PartitionerInterop": _DOCKER,
    "TestJavaProducerCompressionRoundTrip": _DOCKER,
    "TestReadOnlyAndAllCommittedMessages": "skips itself: it fails at times at brokers, too",
}
"""Functional test → why it does not pass."""
_SERVED: Final = {
    **SETTINGS,
    "auto.create.topics.enable": "false",
    "group.min.session.timeout.ms": 6000,
}
PORT: Final = 29091
"""The port of the first proxy, which the tests name."""
API: Final = 8474
"""The port of toxiproxy itself."""


@contextmanager
def proxies(upstream: str, folder: Path) -> Iterator[str]:
    """Yield the address of toxiproxy, whose five proxies lead to one broker."""
    config = [
        {"name": f"kafka{number}", "listen": f"127.0.0.1:{PORT + number - 1}", "upstream": upstream}
        for number in range(1, 6)
    ]
    file = folder / "proxies.json"
    file.write_text(json.dumps([each | {"enabled": True} for each in config]))

    def is_up() -> bool:
        with closing(socket.socket()) as connection:
            return connection.connect_ex(("127.0.0.1", API)) == 0

    with subprocess.Popen(
        [toxiproxy(), "-config", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        try:
            wait_until(is_up)
            yield f"http://127.0.0.1:{API}"
        finally:
            running.terminate()


def functional_outcomes(upstream: str, folder: Path) -> dict[str, Outcome]:
    """Run sarama's functional tests; the broker's advertised address is that of the first proxy."""
    program, source = sarama_tests()
    names = go_test_names(*source.glob("functional_*_test.go"))
    with proxies(upstream, folder) as address:
        outcomes = go_tests(
            program, source, "-test.timeout=600s", f"-test.run=^({'|'.join(names)})$",
            KAFKA_VERSION="4.2.0", TOXIPROXY_ADDR=address,
        )  # fmt: skip
    assert {*names} <= outcomes.keys()
    return outcomes


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_functional_tests_of_sarama_find_a_broker(tmp_path: Path) -> None:
    advertised = ("--advertised", f"127.0.0.1:{PORT}")
    with writable_server(tmp_path / "data", _SERVED, *advertised, node=1) as server:
        assert_as_expected(functional_outcomes(server.where, tmp_path), REFUSED)
