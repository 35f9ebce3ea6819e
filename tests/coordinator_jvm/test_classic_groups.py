"""The same requests to Kafka's own groups and to ours: the same records, answers, states, timers.

Records are compared to the byte. Member ids are made from numbers in a row on both sides.
"""

import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator_jvm.random_requests import Requests
from tests.coordinator_jvm.served_groups import START, Served
from tests.kafka_broker import compile_java, java_command
from workbench.coordinator.groups.classic.messages import Protocol

KAFKA = "4.2.0"
SEEDS = range(40)
LENGTH = 400
LONGEST_SYNC = 6  # words of the answer to a sync


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
    """Count states and errors, so that the last test can say what has been seen."""
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
        for words in (text.split(" ") for text in ours):
            if words[0] == "group":
                told[words[2]] += 1
            elif words[0] == "answer":  # a join's error follows the member id
                told[words[3 if len(words) > LONGEST_SYNC else 2]] += 1


@pytest.mark.broker
def test_a_crowd_is_in_the_order_of_java_s_map(kafka: Kafka) -> None:
    """Members in records and answers, the next leader, ties: with tables that have grown."""
    served, rng = Served(), random.Random(1)

    def step(*words: object) -> None:
        line = "\t".join(map(str, words))
        assert ordered(served.step(line)) == ordered(kafka.step(line)), line

    def join(name: str, protocols: tuple[Protocol, ...]) -> None:
        offered = ",".join(f"{each.name}:{each.metadata.hex()}" for each in protocols)
        step("join", rng.random(), "c", 3, "g", 10_000, 60_000, name, "~", "consumer", offered)

    step("new", 1_000, 3_000, START)
    names = ["range", "roundrobin", "sticky"]
    for _ in range(60):
        join("", tuple(Protocol(each, b"") for each in rng.sample(names, 3)))
    now = START
    group = served.manager.groups.get("g")
    assert group is not None
    for _ in range(4):
        while group.state == "PreparingRebalance":
            now += 3_000
            step("now", now)
        assert group.state == "CompletingRebalance"
        given = ",".join(f"{each}:aa" for each in group.members)
        for name in rng.sample(list(group.members), len(group.members)):
            step("sync", rng.random(), "g", group.generation, name, "~", "~", "~", given)
        leaving = [group.leader, *rng.sample(list(group.members), 5)]
        step("leave", "g", ",".join(f"{name}:~" for name in dict.fromkeys(leaving)))
        for number, member in enumerate(list(group.members.values())):
            if number % 5:  # the others do not join again
                join(member.member_id, member.supported_protocols)
    assert group.generation == 4


@pytest.mark.broker
def test_the_requests_come_to_everything(told: Counter[str]) -> None:
    """Every state, and every error that a member can get."""
    states = {"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}
    errors = {"0", "-1", "15", "16", "20", "22", "23", "25", "27", "79", "81", "82"}
    assert states | errors <= told.keys()
