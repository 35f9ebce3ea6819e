"""What kafka_exporter asks at a scrape, through sarama, of a server.

`tests/server/test_against_broker.py` compares with a broker.
"""

import subprocess
from contextlib import closing

import pytest
from kafka import KafkaConsumer

import workbench
from tests.peers.fetched import scraper
from tests.server.conftest import SHOP

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
