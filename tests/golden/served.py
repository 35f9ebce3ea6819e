"""What Kafka's own consumer, of 4.2, gets of log directories that the server serves."""

import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import workbench
from tests.golden.cases import Isolation
from tests.golden.reading import Row, TopicPartition
from tests.kafka_broker import compile_java, java_command

FETCH_BYTES: Final = 100_000  # less than many logs have: a fetch begins where the one before ended
VERSION: Final = "4.2.0"


class Wanted(NamedTuple):
    """What one consumer reads: log directories of one broker, and times of each partition."""

    paths: tuple[Path, ...]
    isolation: Isolation
    times: Mapping[TopicPartition, Sequence[int]]


@dataclass
class Consumed:
    """What one consumer got.

    Attributes:
        records: all of each partition.
        found: offset and timestamp for each time that was asked for; -1 for nothing.
        later: the offsets of the records from the first time on.
    """

    records: dict[TopicPartition, list[Row]] = field(default_factory=lambda: defaultdict(list))
    found: dict[TopicPartition, dict[int, tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    later: dict[TopicPartition, list[int]] = field(default_factory=lambda: defaultdict(list))


class JavaConsumers:
    """Consumers in one JVM; see `java_consumers`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def consume(self, wanted: Sequence[Wanted]) -> list[Consumed]:
        """Serve each of the directories; return what consumers get of them.

        Raises:
            AssertionError: a consumer failed.
        """
        jobs, told = self._process.stdin, self._process.stdout
        assert jobs is not None
        assert told is not None
        results = [Consumed() for _ in wanted]
        with ExitStack() as stack:
            servers = {
                paths: stack.enter_context(workbench.serve(paths))
                for paths in {each.paths for each in wanted}
            }
            for number, (paths, isolation, times) in enumerate(wanted):
                partitions = [
                    f"{topic}:{partition}:{','.join(map(str, asked))}"
                    for (topic, partition), asked in times.items()
                ]
                where = servers[paths].bootstrap_servers
                print(number, where, isolation, FETCH_BYTES, *partitions, file=jobs)
            jobs.flush()
            left = len(wanted)
            while left:
                number_of, kind, *words = told.readline().rstrip("\n").split(" ")
                assert kind != "failed", " ".join(words)
                left -= kind == "done"
                _take(results[int(number_of)], kind, words)
        return results


@contextmanager
def java_consumers() -> Iterator[JavaConsumers]:
    """Start a JVM with consumers, and end it."""
    source = Path(__file__).with_name("Consume.java").read_text()
    classes = compile_java(VERSION, source, "Consume")
    command = java_command(VERSION, "Consume", classes=classes)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, encoding="utf-8", **pipes) as process:  # type: ignore[call-overload]
        try:
            yield JavaConsumers(process)
        finally:
            process.kill()


def _take(consumed: Consumed, kind: str, words: list[str]) -> None:
    if kind == "done":
        return
    where = words[0], int(words[1])
    if kind == "record":
        consumed.records[where].append(_row(words))
    elif kind == "time":
        time, offset, timestamp = map(int, words[2:])
        consumed.found[where][time] = offset, timestamp
    else:
        consumed.later[where].append(int(words[2]))


def _row(words: list[str]) -> Row:
    headers = [word.split("=") for word in words[8:]]
    return {
        "offset": int(words[2]),
        "timestamp": int(words[3]),
        "timestamp_type": words[4],
        "partition_leader_epoch": int(words[5]),
        "key": _bytes(words[6]),
        "value": _bytes(words[7]),
        "headers": [
            {"key": bytes.fromhex(name[1:]).decode(), "value": _bytes(value)}
            for name, value in headers
        ],
    }


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else bytes.fromhex(word[1:])
