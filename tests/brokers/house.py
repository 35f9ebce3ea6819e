"""A real broker whose topics the engine has written."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from tests.brokers.written import START, TOPICS, Expected, Sent, Writer
from tests.kafka_broker import Broker, compile_java, dump_log_segments, parse_version, run_java
from workbench.runtime.clock import ManualClock

COMPLAINT = re.compile(
    r"\b(WARN|ERROR|FATAL)\b.*(log|index|snapshot|segment|checkpoint|recover|corrupt)",
    re.IGNORECASE,
)
# A log start within a batch, which the first high watermark is: the broker looks up where it is,
# and gets the beginning of the batch.
HARMLESS = re.compile("deprecated|Non-monotonic update of high watermark")
# The tool looks for the largest timestamp among a batch's records. A batch that a cleaner, Kafka's
# own too, leaves without records keeps it, and has its entry in the index.
EMPTY_BATCHES = re.compile(
    r"Found timestamp mismatch in :.*\n(?:  Index timestamp: \d+, log timestamp: -1\n)+(?!  Index)"
)


class Served(NamedTuple):
    """What consumers get of a topic: where it begins and ends for them, and its records."""

    begin: int
    end: int
    records: list[Sent]


class BrokerHouse:
    """One broker whose topics the engine has written, twice: shut down cleanly, and killed."""

    def __init__(self, version: str, folder: Path) -> None:
        self.version = version
        self.broker = Broker(version, folder, {"log.cleaner.enable": "false"})
        self.clock = ManualClock(START)
        source = Path(__file__).with_name("Readers.java").read_text()
        self.classes = compile_java(version, source, "Readers")
        self.writers: dict[str, Writer] = {}

    def read(self, *arguments: str) -> list[list[str]]:
        """Run the readers; return the words of each line."""
        done = run_java(self.version, "Readers", *arguments, classes=self.classes)
        assert done.returncode == 0, done.stderr[-3000:]
        return [line.split(" ") for line in done.stdout.splitlines()]

    def make_topics(self) -> None:
        """Let the broker make the topics, and stop it."""
        small = (
            "segment.bytes" if parse_version(self.version) < (4, 0) else "internal.segment.bytes"
        )
        with self.broker:
            configs = [
                f"{topic.name}:{small}=100000;retention.ms=-1;index.interval.bytes=300"
                for topic in TOPICS
            ]
            self.read("create", self.broker.bootstrap, *configs)

    def log_since(self, start: int) -> list[str]:
        """Return the lines of the broker's log from a byte on."""
        return self.broker.log.read_bytes()[start:].decode(errors="replace").splitlines()

    def read_everything(self) -> dict[tuple[str, str], Served]:
        """Read all topics in both isolations; return what was served, by isolation and topic."""
        found: dict[tuple[str, str], Served] = {}
        for words in self.read("read", self.broker.bootstrap, *(topic.name for topic in TOPICS)):
            where = words[0], words[1]
            assert words[2] != "stuck", words
            if words[2] == "begin":
                found[where] = Served(int(words[3]), int(words[5]), [])
            else:
                found[where].records.append(_sent(words[2:]))
        return found

    def check_everything_is_served(self) -> None:
        """Read all topics in both isolations and compare with what was written."""
        for (isolation, topic), served in self.read_everything().items():
            expected = self.writers[topic].expected
            assert served[:2] == (expected.begin, end_for(expected, isolation)), topic
            assert served.records == expected.of(isolation), (isolation, topic)

    def assert_opened_without_complaint(self, seen: int) -> None:
        """Hold the broker's log, from a byte on, against what it says of a sound directory."""
        lines = self.log_since(seen)
        assert any("kipping recovery" in line for line in lines)
        recovered = [line for line in lines if "Recovering unflushed" in line]
        assert [line for line in recovered if "__cluster_metadata" not in line] == []
        complaints = [line for line in lines if COMPLAINT.search(line)]
        assert [line for line in complaints if not HARMLESS.search(line)] == []


def end_for(expected: Expected, isolation: str) -> int:
    """Return where a log ends for consumers of an isolation level."""
    if isolation == "read_uncommitted" or expected.stable is None:
        return expected.end
    return expected.stable


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else bytes.fromhex(word[1:])


def _sent(words: list[str]) -> Sent:
    headers = tuple((name, _bytes(value)) for name, value in (w.split("=", 1) for w in words[4:]))
    return Sent(int(words[0]), int(words[1]), _bytes(words[2]), _bytes(words[3]), headers)


def assert_indexes_sane(version: str, data: Path, into: Path) -> list[Path]:
    """Let Kafka's tool hold the indexes of all topics against their batches.

    Args:
        version: the tool's.
        data: the log directory.
        into: made; a copy, as the tool makes files.

    Returns:
        The folders of the partitions in the copy.
    """
    shutil.copytree(data, into)
    folders = [into / f"{topic.name}-0" for topic in TOPICS]
    indexes = sorted(file for folder in folders for file in folder.glob("*.index"))
    times = sorted(file for folder in folders for file in folder.glob("*.timeindex"))
    said = dump_log_segments(version, indexes + times, "--index-sanity-check")
    empty = said.count(".index is empty.")
    assert said.count("passed sanity check.") == len(indexes + times) - empty, said[-3000:]
    assert empty < len(indexes) / 2
    said = dump_log_segments(version, indexes + times, "--verify-index-only")
    said = EMPTY_BATCHES.sub("", said + "\n")
    problem = "(?i)mismatch|exception|out of order|not found|invalid"
    assert not re.search(problem, said), said[-3000:]
    return folders
