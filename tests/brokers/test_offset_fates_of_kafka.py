"""What became of each offset: a consumer that seeks there gets what the workbench says.

A broker of 4.2 writes and cleans the logs; two places are damaged by hand while it is down. Then a
client asks for every offset, in both isolation levels.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError, OffsetOutOfRangeError

import workbench as wb
from tests.kafka_broker import Broker
from tests.server.consumers import consuming
from tests.waiting import HANGS_AFTER_S
from workbench.inspection.segment import Segment
from workbench.log_directory import LogDirectory

_KEYS: Final = 7
_START: Final = 12  # of `fates`, by DeleteRecords
_WAIT_S: Final = 0.4  # for an answer that must not come


def _send(producer: KafkaProducer, topic: str, rounds: int, each: int) -> None:
    """Write batches of some records."""
    for number in range(rounds):
        for at in range(each):
            key = b"k%d" % ((number * each + at * at) % _KEYS)
            producer.send(topic, b"v" * 60, key=key, partition=0)
        producer.flush()


def _producer(broker: Broker, name: str) -> KafkaProducer:
    found = KafkaProducer(
        bootstrap_servers=broker.bootstrap,
        transactional_id=name,
        transaction_timeout_ms=600_000,
        linger_ms=20,
    )
    found.init_transactions()
    return found


def _fill(broker: Broker) -> None:
    """Write what ends in every fate, and wait for the cleaner."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    compacted = {
        "cleanup.policy": "compact,delete",  # DeleteRecords needs it
        "retention.ms": "-1",
        "segment.ms": "1500",
        "min.cleanable.dirty.ratio": "0.01",
        "index.interval.bytes": "300",
    }
    plain = {"internal.segment.bytes": "12000", "index.interval.bytes": "1000"}
    admin.create_topics([
        NewTopic("fates", 1, 1, topic_configs=compacted),
        NewTopic("wounded", 1, 1, topic_configs=plain),
    ])  # fmt: skip
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=20)
    _send(producer, "fates", 12, 5)
    _send(producer, "wounded", 60, 5)
    first, second = _producer(broker, "first"), _producer(broker, "second")
    for ends in (first.commit_transaction, first.abort_transaction):
        first.begin_transaction()
        _send(first, "fates", 2, 3)
        ends()
    log = broker.data / "fates-0" / f"{0:020}.log"
    before = log.stat().st_size
    time.sleep(1.6)
    _send(producer, "fates", 1, 3)  # rolls the segment
    deadline = time.monotonic() + 60
    while log.stat().st_size >= before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert log.stat().st_size < before
    first.begin_transaction()
    _send(first, "fates", 1, 4)
    first.abort_transaction()
    second.begin_transaction()
    _send(second, "fates", 1, 3)
    _send(producer, "fates", 1, 2)
    admin.delete_records({TopicPartition("fates", 0): _START})
    admin.close()
    for each in (producer, first):
        each.close()
    second.close(timeout=0)  # which leaves its transaction open


def _damage(segment: Segment, part: float, at: int, value: bytes) -> None:
    """Change bytes of a batch of a segment."""
    rows = segment.batches.rows
    row = rows[int(len(rows) * part)]
    with open(segment.path, "r+b") as file:
        file.seek(int(row["position"]) + at)
        file.write(value)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Broker:
    """Give a broker that is down, with its damaged logs."""
    broker = Broker(
        "4.2.0",
        tmp_path_factory.mktemp("fates") / "broker",
        {"log.cleaner.backoff.ms": "200", "log.retention.ms": "-1"},
    )
    with broker:
        _fill(broker)
    broker.settings["log.cleaner.enable"] = "false"
    segments = wb.open_log_directory(broker.data)["wounded-0"].segments
    assert len(segments) > 2
    _damage(segments[0], 0.5, 100, b"\xff")  # in a record
    _damage(segments[1], 0.4, 8, (5).to_bytes(4))  # its size
    return broker


@pytest.fixture(scope="module")
def before(written: Broker, tmp_path_factory: pytest.TempPathFactory) -> LogDirectory:
    """Give what is on the disk before the broker starts again."""
    copy = tmp_path_factory.mktemp("copy") / "data"
    shutil.copytree(written.data, copy)
    return wb.open_log_directory(copy)


@pytest.fixture(scope="module")
def running(before: LogDirectory, written: Broker) -> Iterator[Broker]:
    assert before
    with written as broker:
        yield broker


def _is_cut(row: dict[str, Any]) -> bool:
    return row["fate"] == "damaged" and "batch-size" in row["reason"]


class _Asking:
    """A consumer; after an error there is a new one, which has no answer to an old request."""

    def __init__(self, broker: Broker, where: TopicPartition, level: str) -> None:
        self._bootstrap = broker.bootstrap
        self._where = where
        self._options = {"isolation_level": level, "auto_offset_reset": "none"}
        self._consumer: KafkaConsumer | None = None
        self._closed = ExitStack()

    def close(self) -> None:
        self._closed.close()
        self._consumer = None

    def ask(self, offset: int, expected: str) -> tuple[str, int | None]:
        """Return what a consumer gets that seeks to an offset, and the offset of the record.

        Args:
            offset: the offset.
            expected: "waits" if no answer is to come; any other answer has its time.
        """
        if self._consumer is None:
            consuming_it = consuming(self._bootstrap, **self._options)
            self._consumer = self._closed.enter_context(consuming_it)
            self._consumer.assign([self._where])
        self._consumer.seek(self._where, offset)
        deadline = time.monotonic() + (_WAIT_S if expected == "waits" else HANGS_AFTER_S)
        try:
            while time.monotonic() < deadline:
                for records in self._consumer.poll(400, max_records=1).values():
                    return "gets", records[0].offset
        except OffsetOutOfRangeError:
            return "out-of-range", None
        except KafkaError:
            self.close()
            return "fails", None
        return "waits", None


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("topic", ["fates", "wounded"])
def test_a_consumer_that_seeks_to_an_offset_gets_what_is_said(
    topic: str, level: str, before: LogDirectory, running: Broker
) -> None:
    partition = before[f"{topic}-0"]
    asking = _Asking(running, TopicPartition(topic, 0), level)
    end = partition.log_end_offset
    chosen = [*range(end + 3)] if topic == "fates" else [*range(0, end, 7), end - 1, end]
    # kafka-python reads the size of the next batch before it gives the records of one.
    cut = [row["first_offset"] for row in partition.fates().to_pylist() if _is_cut(row)]
    chosen = [each for each in chosen if not any(first - 5 <= each < first for first in cut)]
    wrong = []
    for offset in chosen:
        said = getattr(partition.fate(offset), level)
        found = asking.ask(offset, said.outcome)
        expected = (said.outcome, said.next_offset if said.outcome == "gets" else None)
        if said.outcome == "fails" and found == expected:  # and where it goes on
            expected = ("gets", said.next_offset)
            found = asking.ask(said.next_offset, "gets")
        if found != expected:
            wrong.append((offset, said, found))
    asking.close()
    assert wrong == []


def test_every_fate_is_met(before: LogDirectory) -> None:
    fates = before["fates-0"].fates()
    assert set(fates["fate"].to_pylist()) == {
        *("deleted", "compacted", "record", "aborted", "control", "open"),
    }
    assert fates["fate"][0].as_py() == "deleted"
    assert sum(fates["offsets"].to_pylist()) == before["fates-0"].log_end_offset
    wounded = before["wounded-0"].fates().to_pylist()
    assert [row["fate"] for row in wounded] == ["record", "damaged"] * 2 + ["record"]
    assert [row["offsets"] for row in wounded if row["fate"] == "damaged"] == [5, 5]
