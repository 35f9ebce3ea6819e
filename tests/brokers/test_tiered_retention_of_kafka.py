"""What a preflight says that local retention deletes, and what a real broker then deletes.

The broker copies its segments to `LocalTieredStorage` of Kafka's own tests, while its retention
waits; a start with short intervals deletes the local ones.
"""

import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import workbench as wb
from tests.brokers.first_minutes import DAY, LONG_AGO, SETTINGS, Log, left, said, settled
from tests.kafka_broker import CACHE, Artifact, Broker, resolve
from tests.waiting import HANGS_AFTER_S, wait_until

VERSION: Final = "4.3.1"
RECORDS: Final = 12  # each rolls a segment
_HOUR: Final = 3_600_000
_QUIET: Final = {
    "log.initial.task.delay.ms": str(_HOUR), "log.retention.check.interval.ms": str(_HOUR),
}  # fmt: skip
_TIERED: Final = {"remote.storage.enable": "true", "retention.ms": "-1", "segment.ms": "1000"}
TOPICS: Final = {
    "by-bytes": _TIERED | {"local.retention.bytes": "400"},
    "by-ms": _TIERED | {"local.retention.ms": str(DAY)},
    "by-both": _TIERED | {"local.retention.ms": str(DAY), "local.retention.bytes": "400"},
    "young": _TIERED | {"local.retention.ms": str(DAY)},
    "inherits": _TIERED,
    "plain": {"retention.ms": "-1", "segment.ms": "1000"},
}
_DELETES: Final = {"by-bytes", "by-ms", "by-both"}


def _tier(folder: Path) -> dict[str, str]:
    jars = resolve(
        CACHE / f"{VERSION}-tier" / "classpath",
        [Artifact("org.apache.kafka", f"kafka-{name}", VERSION, "test")
         for name in ("storage", "clients")],
        ("*",),
    )  # fmt: skip
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name":
            "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": jars,
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(folder / "tier"),
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "remote.log.manager.task.interval.ms": "500",
    }  # fmt: skip


def _fill(broker: Broker, topics: Mapping[str, Mapping[str, str]] = TOPICS, young: int = 0) -> None:
    """Write every topic; the last ``young`` records, and those of topic `young`, are of today."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wanted = [NewTopic(name, 1, 1, config=dict(config)) for name, config in topics.items()]
    for made in admin.create_topics(wanted).values():
        made.result()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    now = int(time.time() * 1000)
    for number in range(RECORDS):
        for topic in topics:
            at = now if topic == "young" or number >= RECORDS - young else LONG_AGO
            producer.produce(topic, b"%060d" % number, timestamp=at + 10_000 * number)
        producer.flush(HANGS_AFTER_S)


def _segments(folder: Path) -> dict[str, list[int]]:
    """Return the base offsets of the segments of each topic."""
    return {
        topic: sorted(int(path.stem) for path in folder.glob(f"{topic}-0*/*.log"))
        for topic in TOPICS
    }


def _size(folder: Path, topic: str, base: int) -> int:
    return (folder / f"{topic}-0" / f"{base:020}.log").stat().st_size


def _copied(tier: Path, topics: Iterable[str] = TOPICS) -> dict[str, int]:
    """Return how many segments of each topic the tier has."""
    return {topic: len(list(tier.glob(f"**/{topic}-0-*/*.log"))) for topic in topics}


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.long
def test_local_retention_deletes_what_a_preflight_said(tmp_path: Path) -> None:
    broker = Broker(VERSION, tmp_path, SETTINGS | _QUIET | _tier(tmp_path))
    with broker:
        _fill(broker)
        wanted = {topic: 0 if topic == "plain" else RECORDS - 1 for topic in TOPICS}
        wait_until(lambda: _copied(tmp_path / "tier") == wanted)
        before = left(broker)
    segments = _segments(broker.data)
    assert set(map(tuple, segments.values())) == {tuple(range(RECORDS))}

    logs = wb.open_log_directory(broker.data)
    found = logs.preflight({"log.initial.task.delay.ms": 2000})
    assert found.first_minutes is not None
    passes = {each.topic: each for each in found.first_minutes.passes if each.topic in TOPICS}
    assert passes.keys() == _DELETES
    assert {(each.what, each.records, each.log_start_offset) for each in passes.values()} == {
        ("local retention", 0, 0)
    }
    assert "local-retention" in {each.kind for each in found.concerns}
    told = {}
    for topic, bases in segments.items():
        rows = logs[f"{topic}-0"].explain_retention()
        deleted = {row.segment for row in rows if row.verdict == "deleted"}
        sizes = {base: _size(broker.data, topic, base) for base in bases}
        size = sum(sizes[base] for base in bases if base in deleted)
        assert size == (passes[topic].size if topic in passes else 0)
        told[topic] = [base for base in bases if base not in deleted]
        if any("it is active: a broker rolls it" in row.reason for row in rows):
            told[topic] = [RECORDS]  # and has copied and deleted it by the check after

    broker.settings |= SETTINGS
    with broker:
        wait_until(lambda: _segments(broker.data) == told)
        time.sleep(5)  # two more checks
        assert _segments(broker.data) == told
        after = left(broker)
    assert {name: after[name] for name in before} == before  # through the tier, all of them


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.long
def test_the_tier_loses_what_a_preflight_said(tmp_path: Path) -> None:
    """A log is gone, and of another the leader epochs: the leader begins a new epoch in both."""
    broker = Broker(VERSION, tmp_path, SETTINGS | _QUIET | _tier(tmp_path))
    wanted = {topic: 0 if topic == "plain" else RECORDS - 1 for topic in TOPICS}
    with broker:
        _fill(broker)
        wait_until(lambda: _copied(tmp_path / "tier") == wanted)
    shutil.rmtree(broker.data / "inherits-0")
    (broker.data / "by-bytes-0" / "leader-epoch-checkpoint").unlink()
    found = wb.open_log_directory(broker.data).preflight().first_minutes
    assert found is not None
    lost = {each.topic: each.segments for each in found.tiers}
    assert lost == dict.fromkeys(("inherits", "by-bytes"), RECORDS - 1)
    broker.settings |= SETTINGS
    with broker:
        wait_until(lambda: not any(_copied(tmp_path / "tier")[topic] for topic in lost))
        time.sleep(5)  # two more checks
        copied = _copied(tmp_path / "tier")
    assert all(copied[topic] >= count for topic, count in wanted.items() if topic not in lost)


def _tiered(folder: Path, topics: Mapping[str, dict[str, str]]) -> tuple[Broker, dict[str, Log]]:
    """Return a stopped broker that retains everything and has copied it, and its logs."""
    unlimited = {"log.retention.ms": "-1"}
    broker = Broker(VERSION, folder, SETTINGS | _QUIET | _tier(folder) | unlimited)
    with broker:
        _fill(broker, topics, young=2)
        wanted = dict.fromkeys(topics, RECORDS - 1)
        wait_until(lambda: _copied(folder / "tier", topics) == wanted)
        return broker, left(broker)


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.long
def test_remote_retention_deletes_what_a_preflight_said(tmp_path: Path) -> None:
    """It may count local segments twice by `retention.bytes`, until it knows what the tier has.

    One that has the highest copied offset alone always counts twice.
    """
    own = {"remote.storage.enable": "true", "segment.ms": "1000"}
    topics = {
        "by-age": own | {"retention.bytes": "-1"}, "by-size": own | {"retention.ms": "-1"},
    }  # fmt: skip
    broker, _ = _tiered(tmp_path, topics)
    size = _size(broker.data, "by-size", 0)
    limits = {"log.retention.ms": str(DAY), "log.retention.bytes": str(size * (RECORDS - 3))}
    found = wb.open_log_directory(broker.data).preflight(limits)
    assert found.first_minutes is not None
    told = {each.topic: each for each in found.first_minutes.tiers}
    assert {topic: (each.rule, each.segments) for topic, each in told.items()} == {
        "by-age": ("retention.ms", RECORDS - 2), "by-size": ("retention.bytes", 4),
    }  # fmt: skip
    assert (
        f", {RECORDS - 5} more segments, up to offset {RECORDS - 2}, if" in told["by-size"].reason
    )
    assert "tier-retention" in {each.kind for each in found.concerns}
    assert {found[topic].verdict for topic in topics} == {"expiring"}
    broker.settings |= limits  # retention on the disk still waits
    starts = {RECORDS - 2}, {4, RECORDS - 1}
    with broker:
        wait_until(lambda: all(
            log.start in each for log, each in zip(left(broker).values(), starts, strict=True)
        ))  # fmt: skip


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.long
def test_without_the_tier_retention_deletes_what_a_preflight_said(tmp_path: Path) -> None:
    """By `retention.ms`, although `local.retention.ms` is unlimited, and by no local limit."""
    own = {"remote.storage.enable": "true", "segment.ms": "1000"}
    topics = {
        "old": own | {"local.retention.ms": "-1"},
        "kept": own | {"retention.ms": "-1", "local.retention.bytes": "400"},
    }
    broker, before = _tiered(tmp_path, topics)
    limits = {"log.retention.ms": str(DAY), "remote.log.storage.system.enable": "false"}
    found = wb.open_log_directory(broker.data).preflight(limits)
    assert found["old"].verdict == "expiring"
    assert found["kept"].verdict == "served"
    assert "tier-off" in {each.kind for each in found.concerns}
    told = said(found, before)
    assert told["old-0"] == (RECORDS - 2, RECORDS, 2)
    assert told["kept-0"] == before["kept-0"]
    broker.settings = SETTINGS | limits
    with broker:
        assert settled(broker, told) == told
        time.sleep(5)  # two more checks
        assert left(broker) == told
