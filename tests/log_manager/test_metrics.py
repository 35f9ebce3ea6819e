import time
from pathlib import Path

import pytest

from tests.kafka_broker import compile_java, run_java
from tests.log_manager.managers import Managed, records
from workbench.errors import LogDirectoryError, RecordTooLargeError
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import RecordsBuilder
from workbench.runtime.metrics import BrokerState, LogMetrics


def test_metrics_have_kafkas_names_and_say_what_was_done(tmp_path: Path) -> None:
    topics = {"orders": {"max.message.bytes": 200, "segment.bytes": 1000}}
    managed = Managed(tmp_path, topic_configs=topics)
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        manager.get_or_create_log("users-0").append(records(3))
        assert manager.metrics()["BytesRejectedPerSec"]["Count"] == 0
        assert manager.metrics()["LogFlushRateAndTimeMs"]["Count"] == 0
        large = MemoryRecords.of((b"key", b"v" * 300))
        with pytest.raises(RecordTooLargeError):
            log.append_as_leader(large)
        for _ in range(9):
            log.append(records(5))
        log.flush()
        found = manager.metrics()
        assert found["BytesRejectedPerSec"]["Count"] == large.size
        assert found["BytesRejectedPerSec,topic=orders"]["Count"] == large.size
        assert "BytesRejectedPerSec,topic=users" not in found
        assert found["BytesRejectedPerSec"]["MeanRate"] > 0
        flushes = found["LogFlushRateAndTimeMs"]
        assert flushes["Count"] >= found["NumLogSegments,topic=orders,partition=0"] > 1
        assert 0 < flushes["Min"] <= flushes["Mean"] <= flushes["Max"]
        assert found["LogEndOffset,topic=orders,partition=0"] == 45
        assert found["LogStartOffset,topic=users,partition=0"] == 0
        assert found["Size,topic=orders,partition=0"] == log.size
        assert found["OfflineLogDirectoryCount"] == 0
        assert found["LogDirectoryOffline"] == {str(tmp_path): 0}
        assert found["cleaner-recopy-percent"] == 0


def test_a_batch_that_becomes_too_large_in_the_topics_codec_is_counted(tmp_path: Path) -> None:
    topics = {"orders": {"max.message.bytes": 500, "compression.type": "uncompressed"}}
    with Managed(tmp_path, topic_configs=topics).manager as manager:
        builder = RecordsBuilder(codec="gzip")
        builder.append(1_700_000_000_000, b"key", b"v" * 2000)
        sent = builder.build()
        assert sent.size < 500
        with pytest.raises(RecordTooLargeError, match="codec"):
            manager.get_or_create_log("orders-0").append_as_leader(sent)
        assert manager.metrics()["BytesRejectedPerSec,topic=orders"]["Count"] == sent.size


def test_without_a_cleaner_there_are_no_numbers_of_one(tmp_path: Path) -> None:
    with Managed(tmp_path, config={"log.cleaner.enable": False}).manager as manager:
        assert "cleaner-recopy-percent" not in manager.metrics()
        assert "LogFlushRateAndTimeMs" in manager.metrics()


@pytest.fixture(scope="module")
def kafka() -> list[list[str]]:
    """What `Metrics.java` prints with Kafka 4.2."""
    source = Path(__file__).with_name("Metrics.java").read_text()
    done = run_java("4.2.0", "Metrics", classes=compile_java("4.2.0", source, "Metrics"))
    assert done.returncode == 0, done.stderr
    return [line.split(" ") for line in done.stdout.splitlines()]


@pytest.mark.broker
def test_states_of_a_broker_are_kafkas(kafka: list[list[str]]) -> None:
    theirs = {name: int(number) for name, number in kafka[:-3]}
    assert {state.name: state.value for state in BrokerState} == theirs


@pytest.mark.broker
def test_the_rate_of_a_topic_begins_with_its_first_refusal(kafka: list[list[str]]) -> None:
    """Kafka has no meter of the topic before: 1,000 bytes in half a second, not in one and a half.

    The meter over all topics begins with the broker.
    """
    assert kafka[-3:-1] == [["meters", "0"], ["meters", "1"]]
    assert 1000 < float(kafka[-1][1]) < 2001
    metrics = LogMetrics()
    time.sleep(0.4)
    assert list(metrics.values()) == ["LogFlushRateAndTimeMs", "BytesRejectedPerSec"]
    metrics.reject("orders", 1000)
    time.sleep(0.2)
    found = metrics.values()
    of_all, of_topic = (
        found[name]["MeanRate"]
        for name in ("BytesRejectedPerSec", "BytesRejectedPerSec,topic=orders")
    )
    assert of_all < 1000 / 0.6
    assert 2 * of_all < of_topic < 1000 / 0.2


def test_a_broker_passes_through_its_states(tmp_path: Path) -> None:
    """In the order that Kafka's BrokerState documents; logs are loaded in RECOVERY."""
    managed = Managed(tmp_path)
    manager = managed.manager
    assert manager.broker_state == 0
    manager.startup()
    assert manager.metrics()["BrokerState"] == 3
    manager.get_or_create_log("orders-0").append(records(3))
    manager.shutdown()
    assert manager.broker_state == 0
    changes = [step for step in managed.steps if step.kind == "broker state changed"]
    assert [(step.numbers["before"], step.numbers["state"]) for step in changes] == [
        (0, 1), (1, 2), (2, 3), (3, 6), (6, 7), (7, 0)
    ]  # fmt: skip
    assert [step.where for step in changes][:3] == ["STARTING", "RECOVERY", "RUNNING"]
    kinds = managed.kinds()
    _, loading, running, *_ = (n for n, kind in enumerate(kinds) if kind == changes[0].kind)
    assert loading < kinds.index("marker missing") < running


def test_a_broker_that_does_not_start_or_is_killed_does_not_run(tmp_path: Path) -> None:
    managed = Managed(tmp_path)
    managed.manager.startup()
    second = Managed(tmp_path)
    with pytest.raises(LogDirectoryError):
        second.manager.startup()  # the directory is in use
    assert second.manager.broker_state is BrokerState.NOT_RUNNING
    assert managed.manager.metrics()["BrokerState"] == 3
    managed.manager.halt()
    assert managed.manager.broker_state == 0
