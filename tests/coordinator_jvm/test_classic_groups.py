"""The same requests to Kafka's own groups and to ours: the same records, answers, states, timers.

Records are compared to the byte. Member ids are made from numbers in a row on both sides.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator_jvm.random_requests import Requests
from tests.coordinator_jvm.served_groups import Served
from tests.kafka_broker import compile_java, java_command

KAFKA = "4.2.0"
SEEDS = range(40)
LENGTH = 400


class Kafka:
    """Kafka's own groups, at the end of a pipe."""

    def __init__(self) -> None:
        source = Path(__file__).with_name("ClassicGroups.java").read_text()
        classes = compile_java(KAFKA, source, "ClassicGroups")
        name = "org.apache.kafka.coordinator.group.ClassicGroups"
        command = java_command(KAFKA, name, classes=classes)
        command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
        pipe = subprocess.PIPE
        self._jvm = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")

    def step(self, line: str) -> list[str]:
        """Do what a line says; return what came of it."""
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        self._jvm.stdin.write(f"{line}\n")
        self._jvm.stdin.flush()
        told = []
        while (text := self._jvm.stdout.readline()) != ".\n":
            assert text, f"Kafka ended at {line}"
            told.append(text.rstrip("\n"))
        return told

    def close(self) -> None:
        """End it."""
        self._jvm.communicate()


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    started = Kafka()
    yield started
    started.close()


@pytest.fixture(scope="module")
def told() -> Counter[str]:
    """Count the words of all outcomes, so that the last test can say what has been seen."""
    return Counter()


def ordered(outcome: list[str]) -> list[str]:
    """Return an outcome with its records by group: groups are independent of each other."""
    records = [line for line in outcome if line.startswith("record ")]
    answers = [line for line in outcome if line.startswith("answer ")]
    rest = [line for line in outcome if not line.startswith(("record ", "answer "))]
    return [*sorted(records, key=lambda line: line.split()[1]), *sorted(answers), *rest]


@pytest.mark.broker
@pytest.mark.parametrize("seed", SEEDS)
def test_every_request_comes_to_the_same(seed: int, kafka: Kafka, told: Counter[str]) -> None:
    served = Served()
    history = []
    for line in Requests(seed, served).lines(LENGTH):
        history.append(line)
        theirs, ours = ordered(kafka.step(line)), ordered(served.step(line))
        assert ours == theirs, "\n".join(history[-12:])
        told.update(word for text in ours for word in text.split(" ")[:4])
