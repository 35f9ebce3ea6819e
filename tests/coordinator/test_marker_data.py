"""Does every transaction marker have its data, and if not, why."""

import shutil
import struct
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.cli.program import run
from tests.coordinator.serving.house import ORDERS, PAYMENTS, TransactionHouse
from tests.coordinator.writing import TIME, CoordinatorLog, transaction
from tests.golden.cases import names, open_case
from tests.memory import MOST, Meter
from tests.naive import Record, batch
from workbench.coordinator.transactions.marker_data import (
    VERDICTS,
    MarkerData,
    _lacks_data,
    marker_data,
)
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.inspection.listing import list_log_directories
from workbench.layout.attributes import ZSTD
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.writing.builder import end_transaction_marker


def _markers(root: Path) -> list[MarkerData]:
    listing = list_log_directories(root)
    found = list(marker_data(StoredTransactions(listing), listing.partitions.values()))
    assert {each.verdict for each in found} <= {*VERDICTS, None}
    return found


def _bare(root: Path) -> list[tuple[str, int, str | None]]:
    return [
        (str(each.where), each.offset, each.verdict)
        for each in _markers(root)
        if each.verdict != "data"
    ]


def _is_finding(root: Path) -> bool:
    kinds = [finding.kind for finding in workbench.open_log_directory(root).verify()]
    return "marker-without-data" in kinds


REAL = {
    "3.9.1-txn": {("txn-b-1", 44, "repeated")},
    "4.2.0-txn-version-0": {("txn-b-1", 52, "repeated")},
    "4.2.0-txn-version-1": {("txn-b-1", 58, "repeated")},
    "4.2.0-txn": {("txn-b-1", 47, "not written")},
    "4.4.0-txn": {("txn-b-1", 20, "not written")},
}
"""The marker of a coordinator whose transaction kafka-transactions.sh abort had ended before."""


@pytest.mark.parametrize("name", names("txn|transactions"))
def test_brokers_leave_data_before_their_markers(name: str, tmp_path: Path) -> None:
    case = open_case(name, tmp_path)
    assert set(_bare(case.directory("data"))) == REAL.get(name, set())
    assert not _is_finding(case.directory("data"))


@pytest.mark.parametrize("name", names("compact-txn"))
def test_after_brokers_compacted(name: str, tmp_path: Path) -> None:
    """What the cleaner and retention removed is not taken for lost."""
    root = open_case(name, tmp_path).directory("after2")
    found = _markers(root)
    counts = Counter(each.verdict for each in found)
    emptied = [each for each in found if each.first_offset is not None and not each.records]
    assert bool(emptied) == (name != "2.8.2-compact-txn")
    assert {each.verdict for each in emptied} <= {"compacted"}
    assert counts["data"] > 10
    assert counts["compacted"] > 10
    assert set(counts) <= {"data", "compacted", "deleted"}
    assert not _is_finding(root)


def test_a_partition_that_was_added_and_not_written(tmp_path: Path) -> None:
    house = TransactionHouse(tmp_path, 0)
    house.log(PAYMENTS)
    producer = house.init()
    for _ in range(2):
        house.add(producer, ORDERS, PAYMENTS, client=0)
        house.produce(producer, b"x", sequence=house.log().log_end_offset // 2)
        house.coordinator.end_transaction(
            "tx", *producer[:2], commit=True, client_version=house.version
        )
    house.stop()
    # The second of two empty transactions with one epoch looks like a repetition.
    assert _bare(tmp_path) == [("payments-1", 0, "not written"), ("payments-1", 1, "repeated")]
    assert not _is_finding(tmp_path)
    (empty, *_) = [each for each in _markers(tmp_path) if each.where == PAYMENTS]
    assert (empty.transactional_id, empty.first_offset, empty.coordinator_epoch) == ("tx", None, 0)
    assert "(PrepareCommit at offset 2 of __transaction_state-0)" in empty.reason
    (first, _) = [each for each in _markers(tmp_path) if each.where == ORDERS]
    assert (first.first_offset, first.last_offset, first.records) == (0, 0, 1)


@pytest.mark.parametrize("version", [0, 2])
def test_a_marker_that_no_decision_explains(version: int, tmp_path: Path) -> None:
    """The decision is there, but lists only the other partition."""
    house = TransactionHouse(tmp_path, version)
    producer = house.init()
    house.add(producer, ORDERS, client=version)
    house.produce(producer, b"x")
    house.end(producer, client=version)
    epoch = 1 if version == 2 else 0
    marker = end_transaction_marker(
        0, house.clock.now(), producer.producer_id, epoch, commit=True, coordinator_epoch=7
    )
    house.log(PAYMENTS).append_as_leader(marker, 0, AppendOrigin.COORDINATOR)
    house.stop()
    assert _bare(tmp_path) == [("payments-1", 0, "missing")]
    (finding,) = [
        each
        for each in workbench.open_log_directory(tmp_path).verify()
        if each.kind == "marker-without-data"
    ]
    assert (finding.severity, finding.offset, finding.position) == ("warning", 0, 0)
    assert "PrepareCommit of 'tx' at offset 2" in finding.found
    outcome = run("transactions", tmp_path, "--markers", "--json")
    assert outcome.code == 1
    assert outcome.err.endswith("2 transaction markers, 1 without data\n")
    (row,) = outcome.json
    assert (row["topic"], row["offset"], row["type"], row["coordinator_epoch"]) == (
        "payments", 0, "COMMIT", 7,
    )  # fmt: skip
    assert "missing" in run("transactions", tmp_path, "--markers").out
    assert run("transactions", tmp_path, "--markers", "--open").code == 3
    shutil.rmtree(tmp_path / "__transaction_state-0")
    assert _bare(tmp_path) == [("payments-1", 0, None)]
    assert not _is_finding(tmp_path)


def test_the_table(tmp_path: Path) -> None:
    house = TransactionHouse(tmp_path, 2)
    producer = house.init()
    house.add(producer)
    house.produce(producer, b"x", b"y")
    house.end(producer, commit=False)
    house.stop()
    (row,) = workbench.open_log_directory(tmp_path).inspect.transaction_markers().to_pylist()
    expected = {
        "topic": "orders", "partition": 0, "offset": 2, "type": "ABORT", "producer_epoch": 1,
        "data_epoch": 0, "first_offset": 0, "last_offset": 1, "records": 2, "verdict": "data",
        "transactional_id": "tx", "producer_id": producer.producer_id,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


TRANSACTIONAL, CONTROL = 0x10, 0x20


def _log(
    root: Path,
    operations: list[tuple[int, str]],
    removed: Collection[int] = (),
    start: int = 0,
    roll: int = -1,
) -> Path:
    """Write a log of one record per batch; without the batches whose offsets are removed.

    Args:
        root: the log directory.
        operations: producer, and data, commit or abort.
        removed: offsets without a batch.
        start: the first offset.
        roll: the offset where a second segment begins.
    """
    folder = root / "orders-0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{start:020}.log").touch()
    base = start
    for offset, (producer, what) in enumerate(operations, start):
        bits, key, value = TRANSACTIONAL, b"k", b"v"
        if what != "data":
            bits |= CONTROL
            key, value = struct.pack(">hh", 0, what == "commit"), struct.pack(">hi", 0, 3)
        if offset == roll:
            base = offset
            (folder / f"{base:020}.log").touch()
        if offset not in removed:
            with (folder / f"{base:020}.log").open("ab") as file:
                file.write(
                    batch(
                        [Record(offset, 1000, key, value)], attributes=bits, producer_id=producer,
                        producer_epoch=0,
                    )
                )  # fmt: skip
    return root


OPERATIONS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["data", "data", "commit", "abort"])), max_size=30
)


@given(
    OPERATIONS, st.sets(st.integers(0, 29), max_size=4), st.sampled_from([0, 5]), st.integers(6, 30)
)
def test_as_a_plain_loop_finds_it(
    tmp_path_factory: pytest.TempPathFactory,
    operations: list[tuple[int, str]],
    removed: set[int],
    start: int,
    roll: int,
) -> None:
    root = _log(tmp_path_factory.mktemp("logs"), operations, removed, start, roll)
    found = {each.offset: each for each in _markers(root)}
    wanted = set()
    for offset, (producer, what) in enumerate(operations, start):
        if what == "data" or offset in removed:
            continue
        wanted.add(offset)
        mine = [
            (at, each)
            for at, (who, each) in enumerate(operations[: offset - start], start)
            if who == producer and at not in removed
        ]
        bound = max((at for at, each in mine if each != "data"), default=start - 1)
        data = [at for at, each in mine if at > bound]
        each = found[offset]
        assert each.records == len(data)
        if data:
            assert (each.first_offset, each.last_offset) == (data[0], data[-1])
            assert each.verdict == "data"
        elif removed & set(range(bound + 1, offset)):
            assert each.verdict == "compacted"
        elif bound < start and start:
            assert each.verdict == "deleted"
        elif bound >= start and operations[bound - start][1] == what:
            assert each.verdict == "repeated"
        else:
            assert each.verdict is None
    assert found.keys() == wanted
    (partition,) = list_log_directories(root).partitions.values()
    assert _lacks_data(partition) == any(each.verdict != "data" for each in found.values())


def test_bytes_that_cannot_be_read(tmp_path: Path) -> None:
    root = _log(tmp_path, [(1, "data"), (2, "data"), (1, "commit")])
    path = root / "orders-0" / f"{0:020}.log"
    content = bytearray(path.read_bytes())
    content[16] = 9  # the magic of the first batch
    path.write_bytes(content)
    assert _bare(root) == [("orders-0", 2, "unreadable")]
    assert not _is_finding(root)


def test_decisions_that_list_many_partitions_are_not_kept(tmp_path: Path) -> None:
    """A record of 20 KB is a few bytes where it is compressed and repeated."""
    listed = [{"topic": "x", "partitionIds": list(range(5000))}]
    state = transaction("tx", transactionStatus=2, transactionPartitions=listed)
    records = [Record(at, TIME, *state) for at in range(400)]
    small, large = tmp_path / "small", tmp_path / "large"
    for root, some in ((small, records[:1]), (large, records)):
        for name in ("__transaction_state-0", "orders-0"):
            (root / name).mkdir(parents=True)
        (root / "__transaction_state-0" / f"{0:020}.log").write_bytes(batch(some, ZSTD))
        ended = CoordinatorLog(root, "orders")
        ended.marker(1, commit=True)
        ended.write()
    with Meter(small) as meter:
        cost = meter.cost("verify", large)
    assert "marker-without-data" in cost.result
    assert cost.grown < MOST / 2
