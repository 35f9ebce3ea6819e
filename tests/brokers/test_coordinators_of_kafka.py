"""Kafka's own tools, at a broker on the same directory: lags, hanging transactions, what ends them.

The commands that an explanation names are run as they are written.
"""

import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import workbench
from tests.kafka_broker import Broker, run_java

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
VERSION = "4.3.1"
QUIET = {  # the broker leaves everything as it is
    "log.cleaner.enable": "false",
    "log.initial.task.delay.ms": "3600000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
}
TOOLS = {
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}

Tool = Callable[[str], str]


@pytest.fixture(name="broker")
def broker_(tmp_path: Path) -> Iterator[Broker]:
    """A broker that is not started yet, on a copy of the shop."""
    broker = Broker(VERSION, tmp_path, QUIET)
    shutil.copytree(SHOP, broker.data)
    yield broker
    broker.stop()


def _run(broker: Broker, command: str) -> str:
    """Run a command line of one of Kafka's scripts; return what it prints."""
    tool, *arguments = shlex.split(command.replace("HOST:PORT", broker.bootstrap))
    done = run_java(VERSION, TOOLS[tool], *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _rows(table: str) -> list[list[str]]:
    """Return the cells of a table that a tool printed, without empty lines."""
    return [line.split() for line in table.splitlines() if line.strip()]


def _cures(broker: Broker, transaction: str | int) -> list[str]:
    """Return the commands that the explanation names."""
    story = workbench.open_log_directory(broker.data).explain_transaction(transaction)
    (row,) = (row for row in story if row.rule == "what ends it")
    return re.findall(r"kafka-transactions\.sh[^;(]+", row.reason)


@pytest.mark.broker
@pytest.mark.slow
def test_what_hangs_and_the_command_that_ends_it(broker: Broker) -> None:
    """The log of the coordinator is empty, as after a loss: its transaction has no owner."""
    for folder in broker.data.glob("__transaction_state-*"):
        for file in folder.iterdir():
            if file.suffix == ".log":
                file.write_bytes(b"")
            elif file.suffix in {".index", ".timeindex", ".txnindex", ".snapshot"}:
                file.unlink()
    logs = workbench.open_log_directory(broker.data)
    mine = [
        [row["topic"], row["partition"], row["producer_id"], row["first_offset"], row["verdict"]]
        for row in logs.inspect.open_producers().to_pylist()
    ]
    offsets = logs.inspect.group_offsets().to_pylist()
    (command,) = _cures(broker, mine[0][2])
    ask = "kafka-transactions.sh --bootstrap-server HOST:PORT find-hanging --broker-id 1"
    broker.start()
    _, *found = _rows(_run(broker, ask))
    assert [[row[0], int(row[1]), int(row[2]), int(row[5]), "hangs"] for row in found] == mine
    told = _rows(
        _run(
            broker, "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --all-groups"
        )
    )
    assert [
        [row["group"], row["topic"], row["partition"], row["offset"], row["log_end_offset"],
         row["lag"]]
        for row in offsets
        if row["offset"] is not None
    ] == [[*row[:2], *map(int, row[2:6])] for row in told if row[3].isdecimal()]  # fmt: skip
    _run(broker, command)
    assert len(_rows(_run(broker, ask))) == 1
    broker.stop()
    after = workbench.open_log_directory(broker.data)
    assert after.inspect.open_producers().num_rows == 0
    assert not after.explain_transaction(mine[0][2]).of("payments-0")


@pytest.mark.broker
@pytest.mark.slow
def test_an_ongoing_transaction_and_the_command_that_ends_it(broker: Broker) -> None:
    (command,) = _cures(broker, "payments-eu")
    broker.start()
    _run(broker, command)
    broker.stop()
    story = workbench.open_log_directory(broker.data).explain_transaction("payments-eu")
    assert story.conclusion == "nothing is open: the state is Empty"


@pytest.mark.broker
@pytest.mark.slow
def test_a_coordinator_aborts_what_is_over_its_time(broker: Broker) -> None:
    """As the rule `timeout` says: the transaction began long ago."""
    broker.settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"] = "100"
    broker.start()
    deadline = time.monotonic() + 60
    conclusion = ""
    while conclusion != "nothing is open: the state is CompleteAbort":
        assert time.monotonic() < deadline, conclusion
        time.sleep(0.5)
        logs = workbench.open_log_directory(broker.data)
        conclusion = logs.explain_transaction("payments-eu").conclusion
