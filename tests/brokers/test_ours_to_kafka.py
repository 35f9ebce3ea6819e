"""Real brokers open what the engine wrote: no recovery, no complaint, every record served."""

import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.brokers.house import COMPLAINT, BrokerHouse, assert_indexes_sane
from tests.brokers.produce import (
    INVALID_PRODUCER_EPOCH,
    OUT_OF_ORDER_SEQUENCE,
    Answer,
    produce,
)
from tests.brokers.written import START, Sent, open_manager, write_all
from tests.kafka_broker import (
    dump_log_segments,
    parse_version,
)
from tests.naive import Record, batch

VERSIONS = ("4.2.0", pytest.param("3.9.1", marks=pytest.mark.long), "2.8.2")


@pytest.fixture(scope="module", params=VERSIONS)
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerHouse]:
    made = BrokerHouse(request.param, tmp_path_factory.mktemp("broker"))
    made.make_topics()
    with open_manager(made.broker.data, made.clock) as manager:
        has_epochs = parse_version(made.version) >= (3, 3)
        made.writers = write_all(manager, made.clock, has_epochs=has_epochs)
    yield made
    made.broker.stop()


@pytest.mark.broker
def test_kafka_s_tool_finds_the_indexes_sane(house: BrokerHouse, tmp_path: Path) -> None:
    folders = assert_indexes_sane(house.version, house.broker.data, tmp_path / "copy")
    assert sum(len(list(folder.glob("*.index"))) for folder in folders) > 60
    snapshots = sorted(file for folder in folders for file in folder.glob("*.snapshot"))
    transactions = sorted(file for folder in folders for file in folder.glob("*.txnindex"))
    said = dump_log_segments(house.version, snapshots + transactions)
    assert "producerId: 2000" in said
    assert "lastStableOffset" in said
    assert "xception" not in said


@pytest.mark.broker
def test_what_was_closed_in_order_is_opened_without_recovery_and_served(house: BrokerHouse) -> None:
    seen = house.broker.log.stat().st_size
    house.broker.start()
    house.check_everything_is_served()
    house.assert_opened_without_complaint(seen)


@pytest.mark.broker
def test_a_producer_goes_on_where_the_engine_says_it_was(house: BrokerHouse) -> None:
    """The broker knows the sequence, the last batch, and the epoch from our snapshot."""
    if not house.broker.is_running:
        house.broker.start()
    writer = house.writers["idempotent"]
    following = writer.sequences[2000]

    def send(sequence: int, count: int, epoch: int = 0) -> Answer:
        records = [Record(i, START, b"k", b"v%d" % i) for i in range(count)]
        data = batch(records, producer_id=2000, producer_epoch=epoch, base_sequence=sequence)
        return produce(house.broker.bootstrap, "idempotent", data)

    last = writer.expected.records[-3:]
    assert send(following - 3, 3) == Answer(0, last[0].offset)  # sent before, and not written again
    assert send(following + 1, 1).error == OUT_OF_ORDER_SEQUENCE
    assert send(following, 2) == Answer(0, writer.expected.end)
    assert send(following + 2, 1) == Answer(0, writer.expected.end + 2)
    assert send(0, 1, epoch=1) == Answer(0, writer.expected.end + 3)
    assert send(following + 3, 1).error == INVALID_PRODUCER_EPOCH
    end = writer.expected.end
    for offset, value in enumerate((b"v0", b"v1", b"v0", b"v0"), end):
        writer.expected.records.append(Sent(offset, START, b"k", value))
    writer.expected.end += 4


@pytest.mark.broker
@pytest.mark.dies(signal.SIGKILL)
def test_the_engine_opens_what_the_broker_closed_and_dies_with_it(
    house: BrokerHouse, tmp_path: Path
) -> None:
    """The broker recovers what a killed engine has left, and nothing is missing."""
    house.broker.stop()
    state = tmp_path / "state"
    written = {topic: writer.expected for topic, writer in house.writers.items()}
    state.write_bytes(pickle.dumps((house.clock.now(), {"idempotent"}, written)))
    command = [sys.executable, "-m", "tests.brokers.die", str(house.broker.data), str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for topic, expected in pickle.loads(state.read_bytes()).items():  # noqa: S301
        house.writers[topic].expected = expected
    assert not (house.broker.data / ".kafka_cleanshutdown").exists()
    seen = house.broker.log.stat().st_size
    house.broker.start()
    house.check_everything_is_served()
    lines = house.log_since(seen)
    assert [line for line in lines if re.search("Recovering (unflushed|segment)", line)]
    complaints = [line for line in lines if COMPLAINT.search(line)]
    assert [line for line in complaints if re.search("(?i)corrupt|truncat|invalid", line)] == []
    house.broker.stop()
