"""Start and stop Kafka's own log manager on log directories: `Restart.java`, once for all."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.golden.pairs import Pair
from tests.golden.restart import topics_in
from tests.kafka_broker import compile_java, java_command

KAFKA = "4.2.0"
TOPIC_NAMES = {
    "log.index.size.max.bytes": "segment.index.bytes",
    "log.segment.delete.delay.ms": "file.delete.delay.ms",
    "log.segment.bytes": "internal.segment.bytes",
    "log.retention.ms": "retention.ms",
    "segment.bytes": "internal.segment.bytes",  # the other name has a lower limit of 1 MiB
}


class Start(NamedTuple):
    """A directory, a copy, to start Kafka on, and the pair that says how."""

    directory: Path
    pair: Pair


def kafka_restarts(starts: Sequence[Start], into: Path) -> list[str]:
    """Start Kafka on each directory, one after the other, and return the outcome.

    "done", "offline", or "refused" with an exception and its words.
    """
    todo = into / "todo.tsv"
    todo.write_text("".join(f"{_line(start)}\n" for start in starts))
    classes = compile_java(KAFKA, Path(__file__).with_name("Restart.java").read_text(), "Restart")
    command = java_command(KAFKA, "Restart", str(todo), classes=classes)
    command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answers = done.stdout.splitlines()
    if len(answers) != len(starts):
        raise RuntimeError(f"{len(answers)} answers of {len(starts)}:\n{done.stderr}")
    return answers


def _line(start: Start) -> str:
    directory, pair = start
    what = [f"delete {topic} {offset}" for topic, offset in pair.delete_records.items()]
    if pair.retains:
        what.append("retain")
    configs = [f"*:{_config(pair, {})}"]
    configs += [
        f"{topic}:{_config(pair, pair.config_of(topic))}" for topic in sorted(topics_in(directory))
    ]
    return "\t".join([str(directory), str(pair.now), ",".join(what), *configs])


def _config(pair: Pair, own: dict[str, str]) -> str:
    names = {name: value for name, value in pair.broker.items() if name in TOPIC_NAMES} | own
    renamed = {TOPIC_NAMES.get(name, name): value for name, value in names.items()}
    return ";".join(f"{name}={value}" for name, value in renamed.items())
