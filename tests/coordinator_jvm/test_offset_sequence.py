"""The same random operations on Kafka's own coordinator and on ours: same answers, same records.

Kafka's is `GroupCoordinatorShard` with `OffsetMetadataManager`, on the same clock. Records are
compared byte for byte; those of a deletion or an expiry in no order, because Kafka's follows from
hashes.
"""

import subprocess
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.coordinator_jvm.offset_scripts import OffsetScript
from tests.coordinator_jvm.offset_sequence import OffsetSequence
from tests.kafka_broker import compile_java, java_command

KAFKA = "4.2.0"
SEEDS = range(16)
LENGTH = 500


@pytest.fixture(scope="module")
def answers(common_workplace: Path) -> dict[int, tuple[str, list[str]]]:
    """Return each seed's script and what Kafka's coordinator answers."""
    scripts = {seed: common_workplace / f"offsets-{seed}.txt" for seed in SEEDS}
    for seed, path in scripts.items():
        path.write_text("".join(f"{line}\n" for line in OffsetScript(seed, LENGTH).lines()))
    source = Path(__file__).with_name("OffsetSequence.java").read_text()
    classes = compile_java(KAFKA, source, "OffsetSequence")
    paths = map(str, scripts.values())
    command = java_command(KAFKA, "OffsetSequence", *paths, classes=classes)
    command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    subprocess.run(command, check=True, capture_output=True)
    return {
        seed: (path.read_text(), path.with_name(f"{path.name}.kafka").read_text().splitlines())
        for seed, path in scripts.items()
    }


@pytest.mark.broker
@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_and_record_is_the_same(
    seed: int, answers: dict[int, tuple[str, list[str]]], workplace: Path
) -> None:
    script, theirs = answers[seed]
    ours = OffsetSequence(workplace / "log").run(script)
    for line, mine, its in zip_longest(script.splitlines(), ours, theirs):
        assert mine == its, line


@pytest.mark.broker
def test_the_sequences_come_to_everything(answers: dict[int, tuple[str, list[str]]]) -> None:
    told = "\n".join(line for _, lines in answers.values() for line in lines)
    for error in (
        "GROUP_ID_NOT_FOUND",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
        "STALE_MEMBER_EPOCH",
        "UNSUPPORTED_VERSION",
        "NON_EMPTY_GROUP",
    ):
        assert f"error {error}" in told, error
    for code in (12, 68, 69, 86, 88):
        assert any(f"{mark}{code}" in told for mark in "=/"), code
    assert told.count(":null") > len(SEEDS) * 10
    assert "failed" in told
