"""A preflight of directories of 0.8.2 to 0.10.1, and what the broker that wrote them leaves.

Clients of today do not talk to these brokers: topics are made, and records written, by the tools of
their version. Topics are in ZooKeeper, so the preflight is given their configurations.
"""

import subprocess
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

import workbench as wb
from tests.brokers.first_minutes import Log, broker_of, said
from tests.kafka_broker import Broker, java_command, run_java
from tests.waiting import wait_until

RECORDS: Final = 40  # of each topic, with seven keys
_SMALL: Final = {"segment.bytes": "500"}
TOPICS: Final[dict[str, dict[str, str]]] = {
    "keep": {"retention.ms": "-1"},
    "old": {"retention.ms": "1000"},
    "sized": {"retention.ms": "-1", "retention.bytes": "1500"},
    "compacted": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
}
_SETTINGS: Final = {"log.cleaner.enable": "true"}  # before 0.9.0.1, it is not by default
_QUIET: Final = {"log.retention.check.interval.ms": "3600000", "log.cleaner.enable": "false"}
_FIRST_CHECK_S: Final = 40  # of retention, 30 s after the start in every one of these versions
_SETTLES_S: Final = 90  # the first check of retention comes after 30 s
_HELD_S: Final = 10  # some checks of retention, and rounds of the cleaner


def _run(version: str, main_class: str, *arguments: str, lines: str = "") -> str:
    command = java_command(version, main_class, *arguments)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return done.stdout


def _alter(broker: Broker, what: str, topic: str, config: Mapping[str, str], *more: str) -> str:
    given = [part for item in config.items() for part in ("--config", "=".join(item))]
    done = run_java(
        broker.version, "kafka.admin.TopicCommand", "--zookeeper", broker.zookeeper, what,
        "--topic", topic, *more, *given,
    )  # fmt: skip
    return done.stdout + done.stderr


def _fill(broker: Broker) -> None:
    """Make the topics, and write each record in a request of its own.

    Their retention is set once the first check is over, and the next one is an hour away.
    """
    began = time.monotonic()
    for topic in TOPICS:
        made = _alter(
            broker, "--create", topic, _SMALL, "--partitions", "1", "--replication-factor", "1"
        )
        assert f'Created topic "{topic}"' in made
        lines = "".join(f"{number % 7}\t{number:060d}\n" for number in range(RECORDS))
        _run(
            broker.version, "kafka.tools.ConsoleProducer", "--broker-list", broker.bootstrap,
            "--topic", topic, "--sync", "--request-required-acks", "1",
            "--max-partition-memory-bytes", "16", "--property", "parse.key=true", lines=lines,
        )  # fmt: skip
    time.sleep(max(0, began + _FIRST_CHECK_S - time.monotonic()))
    for topic, config in TOPICS.items():
        assert "Updated config" in _alter(broker, "--alter", topic, _SMALL | config)


def _logs(home: Path) -> dict[str, Log]:
    """Return the logs that are on the disk."""
    found = {}
    for name, partition in wb.open_log_directory([home / "d1", home / "d2"]).items():
        if partition.topic in TOPICS and partition.kind == "log":
            with warnings.catch_warnings(action="ignore"):  # of files that the broker has deleted
                records = partition.scan().count()
            found[name] = Log(partition.log_start_offset, partition.log_end_offset, records)
    return found


def _has_left(home: Path, told: dict[str, Log]) -> bool:
    """Whether the logs are as was said; a running broker may delete one that is being read."""
    try:
        return _logs(home) == told
    except FileNotFoundError:
        return False


def _ends(broker: Broker) -> dict[str, tuple[int, int]]:
    """Return what the broker answers for the first offset and the next."""
    found = {}
    for topic in TOPICS:
        ends = []
        for at in ("-2", "-1"):
            told = _run(
                broker.version, "kafka.tools.GetOffsetShell", "--broker-list", broker.bootstrap,
                "--topic", topic, "--time", at,
            )  # fmt: skip
            ends.append(int(told.strip().rpartition(":")[2]))
        found[f"{topic}-0"] = ends[0], ends[1]
    return found


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("version", ["0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1"])
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_broker_has_left_what_a_preflight_said(version: str, how: str, tmp_path: Path) -> None:
    broker = broker_of(version, tmp_path, _QUIET)
    with broker:
        _fill(broker)
        if how == "killed":
            broker.kill()
    before = _logs(tmp_path)
    assert before.keys() == {f"{topic}-0" for topic in TOPICS}
    configs = {
        f"{topic}:{name}": v for topic, own in TOPICS.items() for name, v in (_SMALL | own).items()
    }
    logs = wb.open_log_directory([tmp_path / "d1", tmp_path / "d2"])
    found = logs.preflight(_SETTINGS | configs, kafka=version)
    told = said(found, before)
    assert found.first_minutes is not None
    passes = {(each.topic, each.what) for each in found.first_minutes.passes}
    expected = {("old", "retention"), ("sized", "retention"), ("compacted", "compaction")}
    if version == "0.8.2.2":  # to which a retention.ms of -1 is no limit, but one that all exceed
        expected.add(("keep", "retention"))
        assert f"retention.ms={(1 << 63) - 1}" in " ".join(found.steps)
    assert passes == expected
    told = {
        name: log if log.records is not None else log._replace(records=log.end - log.start)
        for name, log in told.items()
    }
    broker.settings |= _SETTINGS | {"log.cleaner.backoff.ms": "1000"}
    with broker:
        wait_until(lambda: _has_left(tmp_path, told), _SETTLES_S)
        time.sleep(_HELD_S)
        assert _logs(tmp_path) == told
        assert _ends(broker) == {name: (log.start, log.end) for name, log in told.items()}
