"""Loads of `__transaction_state`, and which open transactions hang."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.coordinator.writing import TIME, CoordinatorLog, Pair, record, transaction
from tests.naive import Record, batch
from workbench.coordinator.runtime.log_records import LogRecord
from workbench.coordinator.transactions.stored_transactions import (
    HANGS,
    WAITS,
    StoredTransactions,
)
from workbench.coordinator.transactions.transaction_load import (
    _is_usual,
    load_transaction_partition,
)
from workbench.decoders import transaction_state
from workbench.inspection.listing import list_log_directories
from workbench.inspection.transactions import open_transactions, read_transactions
from workbench.runtime.steps import Step

ONGOING: dict[str, Any] = {
    "transactionStatus": 1, "transactionStartTimestampMs": TIME,
    "transactionPartitions": [{"topic": "foo", "partitionIds": [1, 0]}],
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path, "__transaction_state")


def test_the_last_record_of_each_id_counts(log: CoordinatorLog) -> None:
    """TC-19: and a tombstone takes it away."""
    log.append(transaction("a"), transaction("b", producerId=7))
    log.append(transaction("a", **ONGOING))
    load = log.load_transactions()
    found = load.transactions["a"]
    assert (found.state, found.phase, found.start_timestamp) == ("Ongoing", "open", TIME)
    assert {str(where) for where in found.partitions} == {"foo-0", "foo-1"}
    assert load.transactions["b"].phase == "empty"
    types = transaction_state.TYPES
    log.append(record(0, {"transactionalId": "a"}, None, types=types))
    assert list(log.load_transactions().transactions) == ["b"]


@pytest.mark.parametrize("status", range(8))
@pytest.mark.parametrize("version", [0, 1])
def test_every_state_is_read(log: CoordinatorLog, status: int, version: int) -> None:
    """TC-30: version 1 has the ids around a change of the producer, and the client's version."""
    extra = {"previousProducerId": 5, "nextProducerId": 6, "clientTransactionVersion": 2}
    log.append(transaction("a", version, **{**ONGOING, "transactionStatus": status}, **extra))
    (found,) = log.load_transactions().transactions.values()
    assert found.state == transaction_state.STATUS_NAMES[status]
    ids = (found.previous_producer_id, found.next_producer_id, found.client_transaction_version)
    assert ids == ((5, 6, 2) if version else (-1, -1, 0))


def test_unknown_keys_are_passed_over(log: CoordinatorLog) -> None:
    """TC-21."""
    log.append((b"\x00\x07what", b"x"), transaction("a"))
    load = log.load_transactions()
    assert (list(load.transactions), load.failure) == (["a"], None)


UNREADABLE = {
    "null key": (None, b"x"),
    "cut key": (b"\x00\x00\x00\x09a", b"x"),
    "version": (transaction("z")[0], b"\x00\x05"),
    "cut": (transaction("z")[0], (transaction("z")[1] or b"")[:12]),
    "state": transaction("z", transactionStatus=77),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_load_ends_at_what_it_cannot_read(log: CoordinatorLog, name: str) -> None:
    """TC-21: what was loaded so far is used, as the broker does."""
    log.append(transaction("a"))
    at = log.append(UNREADABLE[name])
    log.append(transaction("b"))
    load = log.load_transactions()
    assert list(load.transactions) == ["a"]
    (finding,) = load.findings
    assert (finding.kind, finding.offset) == ("transaction-record", at)


def _open(root: Path, producer: int, partition: int = 0) -> None:
    folder = root / f"foo-{partition}"
    folder.mkdir()
    content = batch([Record(0, TIME, None, b"plain")])
    for at in (1, 2):
        content += batch(
            [Record(at, TIME + at, None, b"x")],
            attributes=0x10, producer_id=producer, producer_epoch=3,
        )  # fmt: skip
    (folder / f"{0:020}.log").write_bytes(content)


def _judge(root: Path) -> list[tuple[str | None, str | None, int]]:
    coordinator = StoredTransactions(list_log_directories(root))
    return [
        (each.transactional_id, each.verdict, each.blocked) for each in coordinator.open_producers()
    ]


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        (ONGOING, WAITS),
        ({**ONGOING, "transactionStatus": 2}, WAITS),
        ({**ONGOING, "transactionStatus": 4, "transactionPartitions": []}, HANGS),
        ({}, HANGS),
        ({**ONGOING, "transactionPartitions": [{"topic": "bar", "partitionIds": [0]}]}, HANGS),
    ],
)
def test_a_transaction_waits_where_its_id_lists_the_partition(
    log: CoordinatorLog, tmp_path: Path, fields: dict[str, Any], verdict: str
) -> None:
    log.append(transaction("a", producerId=42, **fields))
    log.write()
    _open(tmp_path, 42)
    assert _judge(tmp_path) == [("a", verdict, 2)]


def test_a_producer_without_an_id_hangs_if_all_ids_are_known(
    log: CoordinatorLog, tmp_path: Path
) -> None:
    _open(tmp_path, 42)
    assert _judge(tmp_path) == [(None, None, 2)]
    log.append(transaction("a", producerId=1))
    log.write()
    assert _judge(tmp_path) == [(None, HANGS, 2)]


def test_an_open_transaction_is_from_its_first_batch_to_its_last(tmp_path: Path) -> None:
    _open(tmp_path, 42)
    partition = list_log_directories(tmp_path).partitions["foo-0"]
    (found,) = open_transactions(partition.segments, read_transactions(partition))
    assert found[:6] == (42, 3, 1, 2, TIME + 1, TIME + 2)
    assert found.path.endswith(f"{0:020}.log")
    assert found.position == partition.segments[0].batches.rows["position"][1]


def test_an_id_in_a_wrong_partition_is_a_finding(tmp_path: Path) -> None:
    right = CoordinatorLog(tmp_path, "__transaction_state", 0)
    wrong = CoordinatorLog(tmp_path, "__transaction_state", 1)
    right.append(transaction("b"), transaction("d"), transaction("f"))  # even hashes
    wrong.append(transaction("a"), transaction("c"), transaction("h", producerId=9))
    right.write()
    coordinator = StoredTransactions(list_log_directories(wrong.write()))
    (finding,) = coordinator.findings()
    assert (finding.kind, finding.offset) == ("transaction-partition", 2)
    assert "'h'" in finding.found
    assert "__transaction_state-0: the topic has 2" in finding.expected


@st.composite
def states(draw: Any) -> Pair:
    """Return the state of one of three ids, nearly always one that can be read."""
    topics = draw(st.lists(st.tuples(st.sampled_from(["foo", "b" * 200]), st.integers(0, 3))))
    partitions = [{"topic": name, "partitionIds": list(range(n))} for name, n in topics]
    version = draw(st.integers(0, 1))
    fields = {
        "transactionStatus": draw(st.sampled_from([0, 1, 4, 7])),
        "transactionPartitions": draw(st.sampled_from([partitions, None, []])),
        **draw(st.sampled_from([{}, {"clientTransactionVersion": 2, "previousProducerId": 4}])),
    }
    key, value = transaction(draw(st.sampled_from("abc")), version, **fields)
    assert value is not None
    data = bytearray(value)
    if draw(st.integers(0, 20)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    if draw(st.integers(0, 60)) == 0:
        return key, draw(st.sampled_from([None, value[: len(value) // 2]]))
    return key, bytes(data)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(states(), min_size=1, max_size=40))
def test_what_is_passed_over_could_have_been_read(pairs: list[Pair], tmp_path: Path) -> None:
    """The same states, and the same place where the load ends, as when each record is read."""
    log = CoordinatorLog(tmp_path, "__transaction_state")
    log.append(*pairs)
    partition = list_log_directories(log.write()).partitions[log.name]
    steps: list[Step] = []
    quick = load_transaction_partition(partition)
    slow = load_transaction_partition(partition, observer=steps.append)
    assert quick.transactions == slow.transactions
    assert (quick.failure, quick.end_offset) == (slow.failure, slow.end_offset)
    assert len(steps) == slow.end_offset + 2


def test_most_states_are_passed_over_unread() -> None:
    """Otherwise every one is decoded, and no test would tell."""
    for version in (0, 1):
        for fields in ({}, ONGOING, {**ONGOING, "clientTransactionVersion": 2}):
            key, value = transaction("a", version, **fields)
            assert _is_usual(LogRecord(0, TIME, key, value, -1))
