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
from workbench.runtime.times import milliseconds

_HOUR = 3_600_000
_FIRST = milliseconds("2026-03-01T00:00:00Z")
_EMPTIED = milliseconds("2026-03-01T04:30:00Z")  # the file's time of the empty segment
_WHERE = TopicPartition("times", 0)


def _answers(consumer: KafkaConsumer, times: list[int]) -> list[tuple[int, int] | None]:
    found = [consumer.offsets_for_times({_WHERE: each})[_WHERE] for each in times]
    return [None if each is None else (each.offset, each.timestamp) for each in found]


def _fill(broker: Broker) -> None:
    """Write seven segments, an hour apart, of two records each: the second is 20 minutes older."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([NewTopic("times", 1, 1, topic_configs={"segment.ms": "1000"})])
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=0)
    for hour in range(7):
        for minutes in (30, 10):
            stamp = _FIRST + hour * _HOUR + minutes * 60_000
            producer.send("times", b"v", timestamp_ms=stamp, partition=0).get(HANGS_AFTER_S)
    producer.close()
    admin.delete_records({_WHERE: 1})
    admin.close()


def _empty_the_third(folder: Path) -> None:
    for kind in ("log", "index", "timeindex"):
        (folder / f"{4:020}.{kind}").write_bytes(b"")
    os.utime(folder / f"{4:020}.log", (_EMPTIED / 1000, _EMPTIED / 1000))


@pytest.mark.parametrize("version", ["4.2.0", pytest.param("3.9.1", marks=pytest.mark.long)])
def test_a_lookup_finds_what_a_broker_finds(version: str, tmp_path: Path) -> None:
    times = [_FIRST + half * _HOUR // 6 for half in range(6 * 7 + 2)]
    with Broker(version, tmp_path / "broker", {"log.retention.ms": "-1"}) as broker:
        _fill(broker)
    data = broker.data
    assert len(list((data / "times-0").glob("*.log"))) == 7
    _empty_the_third(data / "times-0")
    before = tmp_path / "before"
    shutil.copytree(data, before)
    with broker, consuming(broker.bootstrap) as consumer:
        expected = _answers(consumer, times)
    assert any(each is None for each in expected[:20])
    partition = wb.open_log_directory(before)["times-0"]
    offsets = [None if each is None else each[0] for each in expected]
    assert [partition.offset_for_timestamp(each) for each in times] == offsets
    for writable in (False, True):
        with wb.serve(before, writable=writable) as server, consuming(server) as consumer:
            assert _answers(consumer, times) == expected
    (finding,) = _blind(wb.verify(data))
    hidden = [each for each, found in zip(times, expected, strict=True) if found is None]
    lost = [each for each in hidden if _FIRST + 1.5 * _HOUR < each <= _EMPTIED]
    assert lost
    assert (finding.path, finding.offset) == (str(data / "times-0" / f"{4:020}.log"), 4)
    assert "2026-03-01T04:30:00.000Z finds nothing" in finding.broker


def _blind(findings: list[Finding]) -> list[Finding]:
    return [each for each in findings if each.kind == "time-lookup-blind"]
