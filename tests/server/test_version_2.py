"""Transactions of version 2: the same requests leave the same records as at a broker of 4.2.

Partitions are added by the first produce request (12 and later) and by commits of offsets (5), and
each end bumps the producer epoch. Java's producer does so too, because the server announces
`transaction.version` 2 as the broker does.
"""

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import workbench
from tests.kafka_broker import Broker, compile_java, dump_log_segments, run_java
from tests.server.asking import Asker, Values, find_coordinator
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api_keys import (
    API_VERSIONS,
    CREATE_TOPICS,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    INIT_PRODUCER_ID,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)

pytestmark = pytest.mark.broker
CONFIG: Final = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
SOFTWARE: Final = {"clientSoftwareName": "test", "clientSoftwareVersion": "1"}
JAVA: Final = """
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Transactions {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("transactional.id", "java");
        p.put("key.serializer", StringSerializer.class.getName());
        p.put("value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p)) {
            producer.initTransactions();
            for (int n = 1; n <= 4; n++) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("java", n % 2, null, "k", "v" + n));
                producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition("java", 0), new OffsetAndMetadata(n)),
                    new ConsumerGroupMetadata("java"));
                producer.flush();
                if (n == 3) producer.abortTransaction(); else producer.commitTransaction();
            }
        }
        System.out.println("done");
    }
}
"""


class Both(NamedTuple):
    """The broker and the server: connections, addresses, and directories."""

    askers: list[Asker]
    addresses: list[str]
    directories: list[Path]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Return a broker, and a server on a copy of its directory."""
    folder = tmp_path_factory.mktemp("version-2")
    broker = Broker("4.2.0", folder / "broker", CONFIG)
    with broker, Asker(broker.bootstrap) as asker:
        topics = [
            {"name": name, "numPartitions": 2, "replicationFactor": 1} for name in ("t", "java")
        ]
        asker.ask(CREATE_TOPICS, 7, {"topics": topics, "timeoutMs": 10_000})
        for kind in (0, 1):
            find_coordinator(asker, kind, "two")
    copied = folder / "copy"
    shutil.copytree(broker.data, copied)
    with ExitStack() as stack:
        stack.enter_context(broker)
        server = stack.enter_context(workbench.serve(copied, writable=True, config=CONFIG))
        addresses = [broker.bootstrap, server.bootstrap_servers]
        askers = [stack.enter_context(Asker(each)) for each in addresses]
        yield Both(askers, addresses, [broker.data, copied])


class Transaction:
    """Requests of one producer at one server, and what it is answered; ids are counted."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.producer: Values = {}
        self.answers: list[Any] = []

    def init(self) -> None:
        """Get an id and an epoch; a coordinator that still loads is asked again."""
        asked = {"transactionalId": "two", "transactionTimeoutMs": 800_000}
        deadline = time.monotonic() + HANGS_AFTER_S
        while True:
            found = self._asker.ask(INIT_PRODUCER_ID, 5, asked)
            if not found["errorCode"] or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.producer = {key: found[key] for key in ("producerId", "producerEpoch")}
        self._note(found["errorCode"], found["producerEpoch"])

    def produce(self, partition: int, sequence: int, epoch: int | None = None) -> None:
        """Send a record."""
        records = MemoryRecords.of(
            (b"key", b"value"), timestamp=1_700_000_000_000,
            producer_id=self.producer["producerId"],
            producer_epoch=self.producer["producerEpoch"] if epoch is None else epoch,
            base_sequence=sequence, is_transactional=True,
        )  # fmt: skip
        data = [{"index": partition, "records": records.buffer.tobytes()}]
        topics = [{"name": "t", "partitionData": data}]
        asked = {"transactionalId": "two", "acks": -1, "topicData": topics, "timeoutMs": 10_000}
        (found,) = self._until_ended(PRODUCE, 12, asked)["responses"]
        (partition_answer,) = found["partitionResponses"]
        self._note(partition_answer["errorCode"], partition_answer["baseOffset"])

    def commit_offset(self, epoch: int | None = None) -> None:
        """Commit an offset in the transaction."""
        offset = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
        asked = {
            "transactionalId": "two",
            "groupId": "two",
            **self.producer,
            "topics": [{"name": "t", "partitions": [offset]}],
        }
        if epoch is not None:
            asked["producerEpoch"] = epoch
        found = self._until_ended(TXN_OFFSET_COMMIT, 5, asked)
        self._note(found["topics"][0]["partitions"][0]["errorCode"])

    def end(self, *, commits: bool, epoch: int | None = None) -> None:
        """End the transaction, and take the epoch of the next one."""
        asked = {"transactionalId": "two", **self.producer, "committed": commits}
        if epoch is not None:
            asked["producerEpoch"] = epoch
        found = self._until_ended(END_TXN, 5, asked)
        if not found["errorCode"]:
            assert found["producerId"] == self.producer["producerId"]
            self.producer["producerEpoch"] = found["producerEpoch"]
        self._note(found["errorCode"], found["producerEpoch"])

    def describe(self) -> None:
        """Ask for the state, once the markers are written."""
        deadline = time.monotonic() + HANGS_AFTER_S
        while True:
            (found,) = self._asker.ask(DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["two"]})[
                "transactionStates"
            ]
            if not found["transactionState"].startswith("Prepare") or time.monotonic() > deadline:
                break
        topics = {each["topic"]: sorted(each["partitions"]) for each in found["topics"]}
        self._note(found["transactionState"], found["producerEpoch"], topics)
        group = {"groupId": "two", "topics": [{"name": "t", "partitionIndexes": [0]}]}
        fetched = self._asker.ask(OFFSET_FETCH, 8, {"groups": [group], "requireStable": True})
        self._note(fetched["groups"][0]["topics"])

    def _until_ended(self, api: Any, version: int, asked: Values) -> Values:
        """Ask again while the transaction before is being ended."""
        deadline = time.monotonic() + HANGS_AFTER_S
        while True:
            found = self._asker.ask(api, version, asked)
            is_waiting = repr(int(ErrorCode.CONCURRENT_TRANSACTIONS)) in repr(found)
            if not is_waiting or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def _note(self, *answer: Any) -> None:
        self.answers.append(answer)


def schedule(one: Transaction) -> list[Any]:
    """Send a schedule with retries and stale epochs; return the answers."""
    one.init()
    one.produce(0, 0)
    one.produce(0, 1)
    one.produce(1, 0)
    one.commit_offset()
    one.describe()
    one.end(commits=True)
    one.end(commits=True, epoch=one.producer["producerEpoch"] - 1)  # the answer was lost
    one.describe()
    one.produce(0, 2, epoch=one.producer["producerEpoch"] - 1)
    one.commit_offset(epoch=one.producer["producerEpoch"] - 1)
    one.produce(0, 0)
    one.end(commits=False)
    one.describe()
    one.end(commits=False)  # without a transaction, an abort gives the next epoch
    one.end(commits=True)  # and a commit is refused
    one.produce(1, 0)
    one.commit_offset()
    one.end(commits=True)
    one.describe()
    one.init()
    one.produce(0, 0)
    one.init()  # aborts what is open
    one.describe()
    return one.answers


DUMPED: Final = {
    "t-0": ("--deep-iteration", "--print-data-log"),
    "t-1": ("--deep-iteration", "--print-data-log"),
    "__transaction_state-0": ("--deep-iteration", "--transaction-log-decoder"),
    "__consumer_offsets-0": ("--deep-iteration", "--offsets-decoder"),
}
"""Partition → how Kafka's DumpLogSegments prints it."""
TIMES: Final = re.compile(
    r"(?<=[tT]imestamp[=:])\d+|(?<=[tT]imestamp\":)\"?\d+|(?<=[tT]imestampMs[=:])\d+"
    r"|(?<=TimestampMs\":)\"?\d+|(?<=CreateTime: )\d+|(?<=crc: )\d+"
    r"|(?<=LeaderEpoch: )\d+|(?<=coordinatorEpoch: )\d+"
)


def dumped(directory: Path, folder: Path) -> dict[str, list[str]]:
    """Return what the tool prints about the logs.

    Left out are times, the CRCs that cover them, and leader epochs: the broker was started twice.
    """
    found = {}
    for name, options in DUMPED.items():
        copied = folder / name
        shutil.copytree(directory / name, copied)
        text = dump_log_segments("4.2.0", sorted(copied.glob("*.log")), *options)
        lines = text.replace(str(copied), "").splitlines()
        found[name] = [TIMES.sub("0", line) for line in lines]
    return found


def ends(directory: Path) -> list[int]:
    """Return where the logs end."""
    logs = workbench.open_log_directory(directory)
    return [logs[name].log_end_offset for name in DUMPED]


def test_the_same_requests_get_the_same_answers_and_leave_the_same_records(
    both: Both, tmp_path: Path
) -> None:
    theirs, ours = (schedule(Transaction(asker)) for asker in both.askers)
    assert ours == theirs
    codes = {answer[0] for answer in ours if isinstance(answer[0], int)}
    assert codes == {
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
    }
    wait_until(lambda: ends(both.directories[0]) == ends(both.directories[1]))  # the last markers
    logs = []
    for side, directory in enumerate(both.directories):
        logs.append(dumped(directory, tmp_path / str(side)))
    for name in DUMPED:
        assert len(logs[1][name]) > 5
        assert logs[1][name] == logs[0][name], name


def test_the_producer_of_java_uses_version_2(both: Both) -> None:
    announced = [
        {each["name"]: each["maxVersionLevel"] for each in found["finalizedFeatures"]}
        for found in (asker.ask(API_VERSIONS, 4, SOFTWARE) for asker in both.askers)
    ]
    assert announced[1] == announced[0]
    assert announced[1]["transaction.version"] == 2
    classes = compile_java("4.2.0", JAVA, "Transactions")
    for address in both.addresses:
        done = run_java("4.2.0", "Transactions", address, classes=classes)
        assert "done" in done.stdout, done.stderr[-2000:]
    states = []
    for asker in both.askers:
        asked = {"transactionalIds": ["java"]}
        (state,) = asker.ask(DESCRIBE_TRANSACTIONS, 0, asked)["transactionStates"]
        states.append((state["producerEpoch"], state["errorCode"]))
    assert states == [(4, 0), (4, 0)]  # of four ends
