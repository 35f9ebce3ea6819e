"""Lookups by time: the first segment that reaches a time decides, even if it has no such record."""

import os
import shutil
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

import workbench as wb
from tests.kafka_broker import Broker
from tests.server.consumers import consuming
from tests.waiting import HANGS_AFTER_S
from workbench.inspection.findings import Finding
from workbench.runtime.times import milliseconds, time_text

_HOUR = 3_600_000
_FIRST = milliseconds("2026-03-01T00:00:00Z")
_EMPTIED = milliseconds("2026-03-01T04:30:00Z")  # the file's time of the empty segment
_INDEXED = milliseconds("2026-03-01T02:30:00Z")  # the last entry of its time index
_TOPICS = {"times": ("log", "index", "timeindex"), "indexed": ("log",)}  # what is emptied of each


def _answers(consumer: KafkaConsumer, topic: str, times: list[int]) -> list[tuple[int, int] | None]:
    where = TopicPartition(topic, 0)
    found = [consumer.offsets_for_times({where: each})[where] for each in times]
    return [None if each is None else (each.offset, each.timestamp) for each in found]


def _fill(broker: Broker) -> None:
    """Write seven segments, an hour apart, of two records each: the second is 20 minutes older."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    rolls = {"segment.ms": "1000"}
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs=rolls) for topic in _TOPICS])
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=0)
    for hour in range(7):
        for minutes in (30, 10):
            stamp = _FIRST + hour * _HOUR + minutes * 60_000
            for topic in _TOPICS:
                sent = producer.send(topic, b"v", timestamp_ms=stamp, partition=0)
                sent.get(HANGS_AFTER_S)
    producer.close()
    admin.delete_records({TopicPartition(topic, 0): 1 for topic in _TOPICS})
    admin.close()


def _empty_the_third(folder: Path, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        (folder / f"{4:020}.{kind}").write_bytes(b"")
    os.utime(folder / f"{4:020}.log", (_EMPTIED / 1000, _EMPTIED / 1000))


@pytest.mark.parametrize("version", ["4.2.0", pytest.param("3.9.1", marks=pytest.mark.long)])
def test_a_lookup_finds_what_a_broker_finds(version: str, tmp_path: Path) -> None:
    times = [_FIRST + half * _HOUR // 6 for half in range(6 * 7 + 2)]
    with Broker(version, tmp_path / "broker", {"log.retention.ms": "-1"}) as broker:
        _fill(broker)
    data = broker.data
    for topic, kinds in _TOPICS.items():
        assert len(list((data / f"{topic}-0").glob("*.log"))) == 7
        _empty_the_third(data / f"{topic}-0", kinds)
    before = tmp_path / "before"
    shutil.copytree(data, before)
    with broker, consuming(broker.bootstrap) as consumer:
        expected = {topic: _answers(consumer, topic, times) for topic in _TOPICS}
    logs = wb.open_log_directory(before)
    for topic, found in expected.items():
        assert any(each is None for each in found[:20])
        offsets = [None if each is None else each[0] for each in found]
        assert [logs[f"{topic}-0"].offset_for_timestamp(each) for each in times] == offsets
    for writable in (False, True):
        with wb.serve(before, writable=writable) as server, consuming(server) as consumer:
            assert {topic: _answers(consumer, topic, times) for topic in _TOPICS} == expected
    for topic, until in (("times", _EMPTIED), ("indexed", _INDEXED)):
        (finding,) = _blind(data, topic)
        found = expected[topic]
        hidden = [each for each, answer in zip(times, found, strict=True) if answer is None]
        lost = [each for each in hidden if _FIRST + 1.5 * _HOUR < each <= until]
        assert lost
        assert (finding.path, finding.offset) == (str(data / f"{topic}-0" / f"{4:020}.log"), 4)
        assert f"{time_text(until)} finds nothing" in finding.broker


def _blind(data: Path, topic: str) -> list[Finding]:
    findings = wb.verify(data / f"{topic}-0")
    return [each for each in findings if each.kind == "time-lookup-blind"]
