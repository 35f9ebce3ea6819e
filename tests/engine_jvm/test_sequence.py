"""The same random operations on Kafka's own log and on the engine's: the same, step by step.

After each operation all of it is compared: what was answered, the state of the log, and name, size
and bytes of every file.
"""

import subprocess
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.engine_jvm.engine_sequence import Sequence
from tests.engine_jvm.kafka_restart import KAFKA
from tests.engine_jvm.scripts import CONFIGS, Script
from tests.kafka_broker import compile_java, java_command

SEEDS = range(32)
LENGTH = 200


@pytest.fixture(scope="module")
def answers(common_workplace: Path) -> dict[int, tuple[str, list[str]]]:
    """Return each seed's script and what Kafka's log says to it."""
    arguments = []
    for seed in SEEDS:
        script = common_workplace / f"{seed}.txt"
        script.write_text("".join(f"{line}\n" for line in Script(seed, LENGTH).lines()))
        arguments += [str(script), str(common_workplace / f"kafka-{seed}" / "t-0")]
    classes = compile_java(KAFKA, Path(__file__).with_name("Sequence.java").read_text(), "Sequence")
    command = java_command(KAFKA, "Sequence", *arguments, classes=classes)
    command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    subprocess.run(command, check=True, capture_output=True)
    return {
        seed: (
            (common_workplace / f"{seed}.txt").read_text(),
            (common_workplace / f"{seed}.txt.kafka").read_text().splitlines(),
        )
        for seed in SEEDS
    }


@pytest.mark.broker
@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_is_the_same(
    seed: int, answers: dict[int, tuple[str, list[str]]], workplace: Path
) -> None:
    script, theirs = answers[seed]
    ours = Sequence(workplace / "t-0").run(script)
    operation = ""
    for mine, its in zip_longest(ours, theirs):
        if its is not None and not its.startswith(" "):
            operation = its
        assert mine == its, f"{operation}: {script.splitlines()[int(operation.split()[0])]}"


@pytest.mark.broker
def test_the_sequences_come_to_everything(
    answers: dict[int, tuple[str, list[str]]],
) -> None:
    told = " ".join(line for _, lines in answers.values() for line in lines)
    assert len(SEEDS) >= 2 * len(CONFIGS)
    for error in (
        "CorruptRecordException",
        "InvalidProducerEpochException",
        "InvalidRecordException",
        "OffsetOutOfRangeException",
        "OutOfOrderSequenceException",
        "RecordBatchTooLargeException",
        "RecordValidationException",
        "TransactionCoordinatorFencedException",
        "UnexpectedAppendOffsetException",
    ):
        assert f"error {error}" in told, error
    for what in (".txnindex", ".snapshot", ".deleted", "truncatefully done", "epochs 0@0 1@"):
        assert what in told, what
