"""Real brokers open what the engine wrote: no recovery, no complaint, every record served."""

import pickle
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.brokers.produce import (
    INVALID_PRODUCER_EPOCH,
    OUT_OF_ORDER_SEQUENCE,
    Answer,
    produce,
)
from tests.brokers.written import START, TOPICS, Expected, Sent, Writer, open_manager, write_all
from tests.kafka_broker import (
    Broker,
    compile_java,
    dump_log_segments,
    parse_version,
    run_java,
)
from tests.naive import Record, batch
from workbench.log.clock import ManualClock

VERSIONS = ("4.2.0", "3.9.1", "2.8.2")
COMPLAINT = re.compile(
    r"\b(WARN|ERROR|FATAL)\b.*(log|index|snapshot|segment|checkpoint|recover|corrupt)",
    re.IGNORECASE,
)
# A log start within a batch, which the first high watermark is: the broker looks up where it is,
# and gets the beginning of the batch.
HARMLESS = re.compile("deprecated|Non-monotonic update of high watermark")


class House:
    """One broker whose topics the engine has written, twice: closed in order, and killed."""

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

    def check_everything_is_served(self) -> None:
        """Read all topics in both isolations and compare with what was written."""
        topics = [topic.name for topic in TOPICS]
        begins: dict[tuple[str, str], tuple[int, int]] = {}
        records: dict[tuple[str, str], list[Sent]] = {}
        for words in self.read("read", self.broker.bootstrap, *topics):
            where = words[0], words[1]
            assert words[2] != "stuck", words
            if words[2] == "begin":
                begins[where] = int(words[3]), int(words[5])
                records[where] = []
            else:
                records[where].append(_sent(words[2:]))
        for (isolation, topic), read in records.items():
            expected = self.writers[topic].expected
            assert begins[isolation, topic] == (expected.begin, _end(expected, isolation)), topic
            assert read == expected.of(isolation), (isolation, topic)


def _end(expected: Expected, isolation: str) -> int:
    if isolation == "read_uncommitted" or expected.stable is None:
        return expected.end
    return expected.stable


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else bytes.fromhex(word[1:])


def _sent(words: list[str]) -> Sent:
    headers = tuple((name, _bytes(value)) for name, value in (w.split("=", 1) for w in words[4:]))
    return Sent(int(words[0]), int(words[1]), _bytes(words[2]), _bytes(words[3]), headers)


@pytest.fixture(scope="module", params=VERSIONS)
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    made = House(request.param, tmp_path_factory.mktemp("broker"))
    made.make_topics()
    with open_manager(made.broker.data, made.clock) as manager:
        has_epochs = parse_version(made.version) >= (3, 3)
        made.writers = write_all(manager, made.clock, has_epochs=has_epochs)
    yield made
    made.broker.stop()


@pytest.mark.broker
def test_kafka_s_tool_finds_the_indexes_sane(house: House, tmp_path: Path) -> None:
    shutil.copytree(house.broker.data, tmp_path / "copy")
    folders = [tmp_path / "copy" / f"{topic.name}-0" for topic in TOPICS]
    indexes = sorted(file for folder in folders for file in folder.glob("*.index"))
    times = sorted(file for folder in folders for file in folder.glob("*.timeindex"))
    assert len(indexes) > 60
    said = dump_log_segments(house.version, indexes + times, "--index-sanity-check")
    empty = said.count(".index is empty.")
    assert said.count("passed sanity check.") == len(indexes + times) - empty, said[-3000:]
    assert empty < len(indexes) / 2
    said = dump_log_segments(house.version, indexes + times, "--verify-index-only")
    assert not re.search("(?i)mismatch|exception|out of order|not found|invalid", said), said[
        -3000:
    ]
    snapshots = sorted(file for folder in folders for file in folder.glob("*.snapshot"))
    transactions = sorted(file for folder in folders for file in folder.glob("*.txnindex"))
    said = dump_log_segments(house.version, snapshots + transactions)
    assert "producerId: 2000" in said
    assert "lastStableOffset" in said
    assert "xception" not in said


@pytest.mark.broker
def test_what_was_closed_in_order_is_opened_without_recovery_and_served(house: House) -> None:
    seen = house.broker.log.stat().st_size
    house.broker.start()
    house.check_everything_is_served()
    lines = house.log_since(seen)
    assert any("kipping recovery" in line for line in lines)
    recovered = [line for line in lines if "Recovering unflushed" in line]
    assert [line for line in recovered if "__cluster_metadata" not in line] == []
    complaints = [line for line in lines if COMPLAINT.search(line) and not HARMLESS.search(line)]
    assert complaints == []


@pytest.mark.broker
def test_a_producer_goes_on_where_the_engine_says_it_was(house: House) -> None:
    """The broker knows the sequence, the last batch, and the epoch from our snapshot."""
    if not house.broker.is_running:
        house.broker.start()
    writer = house.writers["idempotent"]
    following = writer.sequences[2000]

    def send(sequence: int, count: int, epoch: int = 0) -> Answer:
        records = [Record(i, START, b"k", b"v%d" % i) for i in range(count)]
        data = batch(records, producer_id=2000, producer_epoch=epoch, base_sequence=sequence)
        return produce(house.broker.bootstrap, "idempotent", data)

    last = writer.expected.records[-3:]
    assert send(following - 3, 3) == Answer(0, last[0].offset)  # sent before, and not written again
    assert send(following + 1, 1).error == OUT_OF_ORDER_SEQUENCE
    assert send(following, 2) == Answer(0, writer.expected.end)
    assert send(following + 2, 1) == Answer(0, writer.expected.end + 2)
    assert send(0, 1, epoch=1) == Answer(0, writer.expected.end + 3)
    assert send(following + 3, 1).error == INVALID_PRODUCER_EPOCH
    end = writer.expected.end
    for offset, value in enumerate((b"v0", b"v1", b"v0", b"v0"), end):
        writer.expected.records.append(Sent(offset, START, b"k", value))
    writer.expected.end += 4


@pytest.mark.broker
def test_the_engine_opens_what_the_broker_closed_and_dies_with_it(
    house: House, tmp_path: Path
) -> None:
    """The broker recovers what a killed engine has left, and nothing is missing."""
    house.broker.stop()
    state = tmp_path / "state"
    written = {topic: writer.expected for topic, writer in house.writers.items()}
    state.write_bytes(pickle.dumps((house.clock.now(), {"idempotent"}, written)))
    command = [sys.executable, "-m", "tests.brokers.die", str(house.broker.data), str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for topic, expected in pickle.loads(state.read_bytes()).items():  # noqa: S301
        house.writers[topic].expected = expected
    assert not (house.broker.data / ".kafka_cleanshutdown").exists()
    seen = house.broker.log.stat().st_size
    house.broker.start()
    house.check_everything_is_served()
    lines = house.log_since(seen)
    assert [line for line in lines if re.search("Recovering (unflushed|segment)", line)]
    complaints = [line for line in lines if COMPLAINT.search(line)]
    assert [line for line in complaints if re.search("(?i)corrupt|truncat|invalid", line)] == []
    house.broker.stop()
