"""Real brokers open what our cleaner left: of each key they serve the value that was the last."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.brokers.house import BrokerHouse, assert_indexes_sane, end_for
from tests.brokers.written import Sent, open_manager, write_all
from tests.kafka_broker import parse_version
from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.log.log import Log

DAY = 86_400_000  # delete.retention.ms
VERSIONS = ("4.2.0", pytest.param("3.9.1", marks=pytest.mark.long))


def clean_twice(log: Log, now: int) -> int:
    """Clean, and once more when tombstones have to go; return how many records went."""
    log.update_high_watermark(log.log_end_offset)
    gone = 0
    for time in (now, now + DAY + 1):
        found = log_to_clean(log, None, time)
        if found.first_dirty_offset < found.first_uncleanable_offset:
            stats = clean_log(
                log, found.first_dirty_offset, found.first_uncleanable_offset, time
            ).stats
            gone += stats.messages_read - stats.messages_written
    return gone


@pytest.fixture(scope="module", params=VERSIONS)
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerHouse]:
    made = BrokerHouse(request.param, tmp_path_factory.mktemp("broker"))
    made.make_topics()
    data, clock = made.broker.data, made.clock
    with open_manager(data, clock) as manager:
        has_epochs = parse_version(made.version) >= (3, 3)
        made.writers = write_all(manager, clock, has_epochs=has_epochs)
    with open_manager(data, clock, cleanup_policy="compact") as manager:
        logs = [manager.logs[writer.partition] for writer in made.writers.values()]
        assert sum(clean_twice(log, clock.now()) for log in logs) > 1000
    yield made
    made.broker.stop()


@pytest.mark.broker
@pytest.mark.slow
def test_kafka_s_tool_finds_the_indexes_of_cleaned_segments_sane(
    house: BrokerHouse, tmp_path: Path
) -> None:
    assert_indexes_sane(house.version, house.broker.data, tmp_path / "copy")


@pytest.mark.broker
@pytest.mark.slow
def test_the_last_value_of_each_key_is_served_as_before(house: BrokerHouse) -> None:
    seen = house.broker.log.stat().st_size
    house.broker.start()
    for (isolation, topic), served in house.read_everything().items():
        expected = house.writers[topic].expected
        assert served[:2] == (expected.begin, end_for(expected, isolation)), topic
        written = expected.of(isolation)
        assert set(served.records) <= set(written), (isolation, topic)
        if isolation == "read_committed":
            assert last_values(served.records) == last_values(written), topic
    house.assert_opened_without_complaint(seen)


def last_values(records: list[Sent]) -> dict[bytes, Sent]:
    """Return the last record of each key that has a value."""
    newest = {record.key: record for record in records}
    return {
        key: record
        for key, record in newest.items()
        if key is not None and record.value is not None
    }
