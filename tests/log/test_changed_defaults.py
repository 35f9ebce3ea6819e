"""Defaults that changed, and names that were introduced, against the `KafkaConfig` of brokers.

`first_versions.txt` has the first series whose `KafkaConfig` or `LogConfig` has a name, of all
series from 0.8.2 to 4.4: kind, name, series.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.kafka_broker import compile_java, parse_version, run_java
from workbench.config.broker_config import BROKER_DEFINITIONS
from workbench.config.changed_defaults import CHANGED_DEFAULTS, has_config, with_default_note
from workbench.config.definitions import OWN_NAMES, TOPIC_DEFINITIONS
from workbench.config.kafka_versions import SERIES

PROGRAM: Final = """
import java.util.*;

public class Defaults {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (String each : arguments) given.put(each.split("=", 2)[0], each.split("=", 2)[1]);
        Object config = new kafka.server.KafkaConfig(given);
        Map<?, ?> values = ((org.apache.kafka.common.config.AbstractConfig) config).values();
        values.forEach((name, value) -> System.out.println(name + "\\t" + value));
    }
}
"""
KRAFT: Final = (
    "process.roles=broker",
    "node.id=1",
    "controller.quorum.voters=2@localhost:9093",
    "controller.listener.names=CONTROLLER",
    "listeners=PLAINTEXT://localhost:9092",
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
)

_BROKER_NAMES: Final = {one.name for one in BROKER_DEFINITIONS} | OWN_NAMES.keys()


def defaults_of(version: str) -> dict[str, str]:
    classes = compile_java(version, PROGRAM, "Defaults")
    given = KRAFT if version >= "4" else ("zookeeper.connect=localhost:1",)
    done = run_java(version, "Defaults", *given, classes=classes)
    assert done.returncode == 0, done.stderr
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


@pytest.mark.broker
@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.2.0"])
def test_each_default_is_that_of_the_broker_s_version(version: str) -> None:
    found = defaults_of(version)
    compared = set()
    for name, changed in CHANGED_DEFAULTS.items():
        if name in found:
            is_new = parse_version(version) >= parse_version(changed.version)
            assert found[name] == (changed.since if is_new else changed.before), name
            compared.add(name)
    topics_own = {one.name for one in TOPIC_DEFINITIONS}
    missing = CHANGED_DEFAULTS.keys() - topics_own - compared
    assert missing <= {"log.message.timestamp.after.max.ms"}  # since 3.6
    for name in _BROKER_NAMES:
        assert (name in found) == has_config(name, version), name


@pytest.mark.parametrize("version", SERIES)
def test_each_name_is_known_from_the_version_that_introduced_it(version: str) -> None:
    at = SERIES.index(version)
    compared = {"broker": set[str](), "topic": set[str]()}
    for line in (Path(__file__).parent / "first_versions.txt").read_text().splitlines():
        kind, name, first = line.split()
        assert has_config(name, version) == (at >= SERIES.index(first)), (name, first)
        compared[kind].add(name)
    assert compared["broker"] == _BROKER_NAMES
    assert compared["topic"] == {one.name for one in TOPIC_DEFINITIONS}


def test_ours_are_those_of_the_newest_version() -> None:
    known = {one.name: one for one in (*TOPIC_DEFINITIONS, *BROKER_DEFINITIONS)}
    compared = CHANGED_DEFAULTS.keys() & known.keys()
    assert {"max.message.bytes", "num.recovery.threads.per.data.dir"} <= compared
    for name in compared:
        assert str(known[name].default).lower() == CHANGED_DEFAULTS[name].since


def test_only_a_default_is_told_to_have_changed() -> None:
    wanted = "1048588 (the default since 2.5, before 1000012)"
    assert with_default_note("max.message.bytes", 1_048_588) == wanted
    assert with_default_note("max.message.bytes", 1_000_012) == "1000012"
    assert with_default_note("segment.bytes", 1 << 30) == "1073741824"
