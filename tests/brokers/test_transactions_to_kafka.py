"""Real brokers load what our transaction coordinator wrote, and producers go on with them."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator.serving.house import TransactionHouse
from tests.kafka_broker import Broker, compile_java, parse_version, run_java
from workbench.coordinator.transaction_coordinator.producer_ids import blocks_from
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.files.names import TopicPartition
from workbench.inspection.listing import list_log_directories

VERSIONS = ("4.2.0", pytest.param("2.8.2", marks=pytest.mark.long))
PARTITIONS = 3
LOG = TopicPartition("log", 0)
FIRST_ID = 900_000  # far from the blocks of the broker
PATIENCE_S = 180.0


class Shared:
    """A broker whose transactional ids our coordinator serves while it is stopped.

    Attributes:
        version: `transaction.version` of its cluster.
        known: what our coordinator found when it took over.
    """

    def __init__(self, kafka: str, folder: Path) -> None:
        self.kafka = kafka
        settings = {"transaction.state.log.num.partitions": str(PARTITIONS)}
        self.broker = Broker(kafka, folder, settings)
        self.version = 2 if parse_version(kafka) >= (4, 0) else 0
        self.classes = {
            name: compile_java(kafka, Path(__file__).with_name(f"{name}.java").read_text(), name)
            for name in ("Transact", "Readers")
        }

    def run(self, name: str, *arguments: str) -> list[str]:
        """Run a client to its end; return what it printed."""
        done = run_java(self.kafka, name, *arguments, classes=self.classes[name])
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    def transact(self, what: str, *pairs: str) -> None:
        """Commit a transaction for each id and value."""
        self.run("Transact", what, self.broker.bootstrap, "log", *pairs)

    def committed(self) -> list[str]:
        """Return the values that a read_committed consumer gets."""
        lines = self.run("Readers", "read", self.broker.bootstrap, "log")
        rows = [line.split(" ") for line in lines if line.startswith("read_committed log ")]
        return [bytes.fromhex(row[5][1:]).decode() for row in rows if row[2].isdigit()]

    def wait_for_committed(self, values: list[str]) -> None:
        """Wait until consumers get these values: markers are written after a producer's answer."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.committed()) != values:
            assert time.monotonic() < deadline, found

    def serve(self) -> TransactionHouse:
        """Serve the ids of the stopped broker."""
        return TransactionHouse(
            self.broker.data,
            self.version,
            partitions=PARTITIONS,
            holds=True,
            request_block=blocks_from(FIRST_ID),
            now=time.time_ns() // 1_000_000,
        )

    def states(self) -> dict[str, TransactionMetadata]:
        """Return the states in the files of the stopped broker."""
        return StoredTransactions(list_log_directories(self.broker.data)).transactions


@pytest.fixture(scope="module", params=VERSIONS)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shared]:
    made = Shared(request.param, tmp_path_factory.mktemp("broker"))
    with made.broker:
        made.transact("make", "theirs", "by the broker")
    yield made
    made.broker.stop()


def _ours(house: TransactionHouse, name: str, value: str, client: int) -> None:
    """Do all of a transaction up to its end."""
    producer = house.init(name)
    house.add(producer, LOG, name=name, client=client)
    house.produce(producer, value.encode(), where=LOG)


def _serve(shared: Shared) -> None:
    """Go on with the broker's id, and leave ids of our own in every state."""
    house = shared.serve()
    client = shared.version
    before = house.state("theirs")
    assert str(before.state) == "CompleteCommit"
    following = before.producer_id, before.producer_epoch + 1
    epochs = {}
    for name, end in (("theirs", True), ("committed", True), ("aborted", False)):
        _ours(house, name, f"{name} by ours", client)
        producer = house.state(name)
        known = producer.producer_id, producer.producer_epoch
        house.coordinator.end_transaction(name, *known, commit=end, client_version=house.version)
        epochs[name] = known
        house.run()
    assert epochs["theirs"] == following
    house.init("empty")
    _ours(house, "open", "open by ours", client)
    _ours(house, "prepared", "prepared by ours", client)
    state = house.state("prepared")
    house.coordinator.end_transaction(
        "prepared", state.producer_id, state.producer_epoch, commit=True,
        client_version=house.version,
    )  # fmt: skip
    assert str(house.state("prepared").state) == "PrepareCommit"  # and no marker is written
    house.stop()


@pytest.mark.broker
def test_a_broker_goes_on_with_what_our_coordinator_wrote(shared: Shared) -> None:
    _serve(shared)
    ours = shared.states()
    bump = 1 if shared.version == 2 else 0
    assert {name: (each.state, each.producer_epoch) for name, each in ours.items()} == {
        "theirs": ("CompleteCommit", 1 + 2 * bump),
        "committed": ("CompleteCommit", bump),
        "aborted": ("CompleteAbort", bump),
        "empty": ("Empty", 0),
        "open": ("Ongoing", 0),
        "prepared": ("PrepareCommit", bump),
    }
    seen = shared.broker.log.stat().st_size
    with shared.broker:
        if shared.version == 2:  # DescribeTransactions exists since 3.0
            _assert_described(shared, ours)
        first = ["by the broker", "theirs by ours", "committed by ours"]
        shared.wait_for_committed(first)  # what follows waits for the open transaction
        names = ["theirs", "committed", "aborted", "empty", "open", "prepared"]
        pairs = [word for name in names for word in (name, f"{name} resumed")]
        shared.transact("commit", *pairs)
        resumed = [f"{name} resumed" for name in names]
        shared.wait_for_committed([*first, "prepared by ours", *resumed])
    after = shared.states()
    for name, state in after.items():
        fenced = 1 if name == "open" else 0  # its transaction was aborted with an epoch of its own
        assert state.state == "CompleteCommit", name
        assert state.producer_id == ours[name].producer_id
        assert state.producer_epoch == ours[name].producer_epoch + fenced + 1 + bump, name
    log = shared.broker.log.read_bytes()[seen:].decode(errors="replace")
    assert not re.search(r"Error loading transactions|Found fatal|IllegalState", log)


def _assert_described(shared: Shared, ours: dict[str, TransactionMetadata]) -> None:
    """Hold what kafka-transactions.sh says against our states; the prepared one gets complete."""
    bootstrap = ("--bootstrap-server", shared.broker.bootstrap)
    tool = "org.apache.kafka.tools.TransactionsCommand"
    deadline = time.monotonic() + PATIENCE_S
    while True:
        said = run_java(shared.kafka, tool, *bootstrap, "list").stdout.splitlines()
        listed = {row[0]: row[2:] for row in (line.split() for line in said[1:])}
        if listed.get("prepared", ["", ""])[1] == "CompleteCommit":
            break
        assert time.monotonic() < deadline, said
    states = {name: each.state for name, each in ours.items()} | {"prepared": "CompleteCommit"}
    assert listed == {name: [str(each.producer_id), states[name]] for name, each in ours.items()}
    told = run_java(
        shared.kafka, tool, *bootstrap, "describe", "--transactional-id", "open"
    ).stdout.splitlines()
    row = dict(zip(told[0].split(), told[1].split(), strict=False))
    wanted = ours["open"]
    assert (row["ProducerId"], row["ProducerEpoch"]) == (str(wanted.producer_id), "0")
    assert (row["TransactionState"], row["TopicPartitions"]) == ("Ongoing", "log-0")
    assert row["TransactionTimeoutMs"] == str(wanted.timeout_ms)
