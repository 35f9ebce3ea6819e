"""The same random operations on Kafka's transaction coordinator and on ours: the same, each time.

Kafka's coordinator, state manager, marker manager and logs of 4.2 are the real ones; only the rest
of the broker around them is missing. After each operation the answer, the state of every
transactional id and every byte that was appended to a log are compared.
"""

import subprocess
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.coordinator_jvm.transaction_scripts import Script
from tests.kafka_broker import compile_java, java_command

KAFKA = "4.2.0"
CLASS = "kafka.coordinator.transaction.Transactions"
SEEDS = range(24)
LENGTH = 250

Told = dict[int, tuple[list[str], list[str]]]


def run_both(seeds: range, length: int, folder: Path) -> Told:
    """Return what ours and Kafka's said, by seed."""
    arguments, scripts = [], {}
    for seed in seeds:
        scripts[seed] = Script(seed, length, folder / f"ours-{seed}")
        file = folder / f"{seed}.txt"
        file.write_text("".join(f"{line}\n" for line in scripts[seed].lines))
        arguments += [str(file), str(folder / f"kafka-{seed}")]
    source = Path(__file__).with_name("Transactions.java").read_text()
    classes = compile_java(KAFKA, source, "Transactions")
    command = java_command(KAFKA, CLASS, *arguments, classes=classes)
    command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    subprocess.run(command, check=True, capture_output=True)
    return {
        seed: (script.ours, (folder / f"{seed}.txt.kafka").read_text().splitlines())
        for seed, script in scripts.items()
    }


def in_any_order(lines: list[str]) -> list[str]:
    """Return the lines with the batches of each run sorted: Kafka's order is that of hashes."""
    found, is_run = [], False
    for line in lines:
        is_run = line == "> run" if line.startswith("> ") else is_run
        if is_run and line.startswith("+ "):
            _, where, data = line.split(" ")
            found.append(f"+ {where} {' '.join(sorted(_batches(data)))}")
        else:
            found.append(line)
    return found


def _batches(data: str) -> Iterator[str]:
    """Yield the batches without their base offsets, as hex."""
    while data:
        size = 24 + 2 * int(data[16:24], 16)
        yield data[16:size]
        data = data[size:]


def assert_same(ours: list[str], theirs: list[str]) -> None:
    """Compare; the error shows the operation with what preceded it."""
    operations: list[str] = []
    for mine, its in zip_longest(in_any_order(ours), in_any_order(theirs)):
        if its is not None and its.startswith("> "):
            operations.append(its)
        if mine != its:
            before = "\n".join(operation[:200] for operation in operations[-12:])
            raise AssertionError(f"{before}\nours   {mine}\nKafka's {its}")


@pytest.fixture(scope="module")
def told(common_workplace: Path) -> Told:
    return run_both(SEEDS, LENGTH, common_workplace)


@pytest.mark.broker
@pytest.mark.parametrize("seed", SEEDS)
def test_every_operation_is_the_same(seed: int, told: Told) -> None:
    assert_same(*told[seed])


@pytest.mark.broker
def test_the_operations_come_to_everything(told: Told) -> None:
    everything = [line for ours, _ in told.values() for line in ours]
    answers = " ".join(line for line in everything if line.startswith("= "))
    for error in (
        "INVALID_REQUEST", "INVALID_TRANSACTION_TIMEOUT", "CONCURRENT_TRANSACTIONS",
        "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE", "NOT_COORDINATOR",
        "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "UNKNOWN_SERVER_ERROR",
        "TRANSACTION_ABORTABLE",
    ):  # fmt: skip
        assert error in answers, error
    states = " ".join(line for line in everything if line.startswith("~ "))
    for state in (
        "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
        " 32767 ", " true ", " 2 false",
    ):  # fmt: skip
        assert state in states, state
