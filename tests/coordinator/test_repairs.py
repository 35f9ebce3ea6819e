"""What a repair of the coordinators' logs must contain; what it says is done and loaded again."""

import shutil
from pathlib import Path

import pytest

import workbench
from tests.cli.program import run
from tests.coordinator.repairing import plan, repair
from tests.coordinator.serving.house import NOW, ORDERS, PAYMENTS, TransactionHouse
from tests.coordinator.writing import (
    TIME,
    CoordinatorLog,
    Pair,
    commit,
    group,
    member,
    record,
    transaction,
)
from tests.golden.cases import open_case
from workbench.coordinator.groups.commit_records import commit_key
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.repair.repair import ACTIONS, Repair
from workbench.coordinator.runtime.log_records import LogRecord, read_log_records
from workbench.coordinator.runtime.partitioning import partition_for
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.files.names import TopicPartition
from workbench.inspection.findings import KINDS
from workbench.inspection.listing import list_log_directories

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
COORDINATORS = {
    "group-record", "group-partition", "transaction-record", "transaction-partition",
    "hanging-transaction", "unprepared-marker", "prepared-transaction",
}  # fmt: skip


def _steps(repairs: list[Repair]) -> list[tuple[str, str, str, str]]:
    assert {each.action for each in repairs} <= ACTIONS.keys()
    assert {each.finding for each in repairs} <= KINDS.keys()
    return [(str(each.where), each.action, each.subject, each.what) for each in repairs]


def _mended(root: Path) -> None:
    """Do the repair; nothing is left to do, and `verify` has no more to say of coordinators."""
    repair(root, plan(root), NOW)
    assert plan(root) == []
    found = workbench.open_log_directory(root).verify()
    assert [each for each in found if each.kind in COORDINATORS] == []


def _offsets(root: Path) -> dict[tuple[str, str], int]:
    coordinator = StoredGroups(list_log_directories(root))
    return {
        (each.group, str(each.where)): each.committed.offset
        for each in coordinator.offsets()
        if each.unserved is None
    }


def _states(root: Path) -> dict[str, tuple[str, int]]:
    found = StoredTransactions(list_log_directories(root)).transactions
    return {name: (each.state, each.producer_epoch) for name, each in found.items()}


def test_a_sound_directory_needs_none() -> None:
    assert plan(SHOP) == []
    assert run("repairs", SHOP, "--json").json == []
    assert run("repairs", SHOP).code == 0


def _damaged(pair: Pair) -> Pair:
    return pair[0], b"\x00\x63bad"


def test_commits_that_cannot_be_read(tmp_path: Path) -> None:
    """The newest valid commit of each key; of another one that was aborted nothing is taken."""
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "orders", 0, 5), group("g", members=[member("m", "orders")]))
    log.append(_damaged(commit("g", "orders", 0, 6)))
    log.append(commit("h", "orders", 0, 1))
    log.append(commit("h", "orders", 0, 2), producer=7)
    log.marker(7, commit=False)
    log.append(_damaged(commit("h", "orders", 0, 3)), _damaged(commit("h", "orders", 1, 3)))
    log.append(_damaged(group("i")), group("i"))
    log.append((None, b"x"))
    log.write()
    assert _offsets(tmp_path) == {}
    planned = plan(tmp_path)
    where = "__consumer_offsets-0"
    assert _steps(planned) == [
        (where, "append", "g", "OffsetCommit orders-0"),
        (where, "append", "h", "OffsetCommit orders-0"),
        (where, "append", "h", "OffsetCommit orders-1"),
        (where, "clean", "", "a cleaning"),
    ]
    assert [(each.key, each.value) for each in planned[:3]] == [
        commit("g", "orders", 0, 5), commit("h", "orders", 0, 1), commit("h", "orders", 1, None),
    ]  # fmt: skip
    assert [each.offset for each in planned] == [2, 6, 7, 10]
    assert "5 damaged records up to offset 10, 1 of them without a key" in planned[3].reason
    _mended(tmp_path)
    assert _offsets(tmp_path) == {("g", "orders-0"): 5, ("h", "orders-0"): 1}


def test_states_that_cannot_be_read_hide_later_ones(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path, "__transaction_state")
    log.append(transaction("a"), _damaged(transaction("a", producerEpoch=1)))
    log.append(transaction("b"), _damaged(transaction("c")), transaction("c", producerEpoch=3))
    log.write()
    assert _states(tmp_path) == {"a": ("Empty", 0)}
    where = "__transaction_state-0"
    planned = plan(tmp_path)
    assert _steps(planned) == [
        (where, "append", "a", "TransactionLog"),
        (where, "clean", "", "a cleaning"),
    ]
    assert planned[0].value == transaction("a")[1]
    _mended(tmp_path)
    assert _states(tmp_path) == {"a": ("Empty", 0), "b": ("Empty", 0), "c": ("Empty", 3)}


def test_a_key_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "orders", 0, 5), (b"\x00\x01\x00\x09g", b"x"))
    log.write()
    (one,) = plan(tmp_path)
    assert (one.action, one.offset, one.key) == ("remove", 1, None)


def test_bytes_that_cannot_be_read_are_not_replaced(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "orders", 0, 5))
    log.append(commit("g", "orders", 0, 6))
    content = bytearray(log.content)
    content[-1] ^= 1
    log.content = bytes(content)
    log.write()
    (one,) = plan(tmp_path)
    assert (one.action, one.offset, one.finding) == ("remove", 1, "crc")


def _partitioned(root: Path, topic: str, name: str, count: int, *pairs: Pair) -> tuple[str, str]:
    """Write records into the partition that is not the right one; return both names."""
    right = partition_for(name, count)
    wrong = (right + 1) % count
    for number in range(count):
        log = CoordinatorLog(root, topic, number)
        if number == wrong:
            log.append(*pairs)
        log.write()
    return f"{topic}-{right}", f"{topic}-{wrong}"


def test_a_group_moves_to_the_partition_where_a_broker_looks(tmp_path: Path) -> None:
    stable = group("g", members=[member("m", "orders")], leader="m", protocol="range")
    right, wrong = _partitioned(
        tmp_path, "__consumer_offsets", "g", 3, commit("g", "orders", 0, 4),
        commit("g", "orders", 1, 4), commit("g", "orders", 1, None), stable,
        commit("g", "orders", 2, 9), commit("g", "orders", 0, 5),
    )  # fmt: skip
    newer = CoordinatorLog(tmp_path, "__consumer_offsets", int(right.rsplit("-", 1)[1]))
    newer.append(commit("g", "orders", 2, 10))
    newer.write()
    other = next(n for n in "abcdefgh" if partition_for(n, 3) not in {
        int(right.rsplit("-", 1)[1]), int(wrong.rsplit("-", 1)[1])})  # fmt: skip
    third = CoordinatorLog(tmp_path, "__consumer_offsets", partition_for(other, 3))
    third.append(commit(other, "orders", 0, 1))
    third.write()
    planned = plan(tmp_path)
    moved = [each for each in planned if str(each.where) == right]
    assert [(each.key, each.value) for each in moved] == [stable, commit("g", "orders", 0, 5)]
    gone = [each for each in planned if str(each.where) == wrong]
    assert [(each.key, each.value) for each in gone] == [
        (commit_key("g", TopicPartition("orders", 0)), None),
        (commit_key("g", TopicPartition("orders", 2)), None),
        (record(2, {"group": "g"}, None)),
    ]
    _mended(tmp_path)
    assert _offsets(tmp_path) == {
        ("g", "orders-0"): 5, ("g", "orders-2"): 10, (other, "orders-0"): 1,
    }  # fmt: skip


def test_a_transactional_id_moves(tmp_path: Path) -> None:
    right, wrong = _partitioned(
        tmp_path, "__transaction_state", "tx", 2, transaction("tx"),
        transaction("tx", producerEpoch=4),
    )  # fmt: skip
    here = int(right[-1])
    others = [name for name in "abcdefgh" if partition_for(name, 2) == here]
    log = CoordinatorLog(tmp_path, "__transaction_state", here)
    log.append(*(transaction(name, producerId=10 + i) for i, name in enumerate(others)))
    log.write()
    planned = plan(tmp_path)
    assert _steps(planned) == [
        (right, "append", "tx", "TransactionLog"),
        (wrong, "append", "tx", "TransactionLog"),
    ]
    assert planned[0].value == transaction("tx", producerEpoch=4)[1]
    assert planned[1].value is None
    _mended(tmp_path)
    assert _states(tmp_path)["tx"] == ("Empty", 4)


def _begun(root: Path, version: int) -> TransactionHouse:
    house = TransactionHouse(root, version, holds=True)
    producer = house.init()
    house.add(producer, ORDERS, PAYMENTS, client=version)
    for where in (ORDERS, PAYMENTS):
        house.produce(producer, b"x", where=where)
    return house


@pytest.mark.parametrize("word", ["Commit", "Abort"])
def test_a_decision_that_was_lost_is_written_again(word: str, tmp_path: Path) -> None:
    """One partition has its marker; the coordinator's log has lost the state that decided it."""
    root, kept = tmp_path / "logs", tmp_path / "kept"
    house = _begun(root, 2)
    state = house.state()
    shutil.copytree(root / "__transaction_state-0", kept)
    house.manager.away = frozenset({PAYMENTS})
    house.coordinator.end_transaction(
        "tx", state.producer_id, 0, commit=word == "Commit", client_version=house.version
    )
    house.run()
    house.manager.away = frozenset()
    house.stop()
    shutil.rmtree(root / "__transaction_state-0")
    kept.rename(root / "__transaction_state-0")
    (one,) = plan(root)
    assert _steps([one]) == [
        ("__transaction_state-0", "append", "tx", f"TransactionLog Prepare{word}")
    ]
    repair(root, [one], NOW)
    assert _states(root) == {"tx": (f"Prepare{word}", 1)}
    (left,) = plan(root)  # what the coordinator will do
    assert (str(left.where), left.action, left.by) == ("payments-1", "marker", "broker")
    after = TransactionHouse(root, 2)
    assert str(after.status()) == f"Complete{word}"
    wanted = [b"x"] if word == "Commit" else []
    assert after.committed(ORDERS) == after.committed(PAYMENTS) == wanted
    after.stop()
    assert plan(root) == []


def test_all_markers_are_there_and_the_state_is_not(tmp_path: Path) -> None:
    root, kept = tmp_path / "logs", tmp_path / "kept"
    house = _begun(root, 2)
    shutil.copytree(root / "__transaction_state-0", kept)
    house.end(house.coordinator.init_producer_id(None)._replace(producer_id=4000, producer_epoch=0))
    house.run()
    house.stop()
    shutil.rmtree(root / "__transaction_state-0")
    kept.rename(root / "__transaction_state-0")
    (one,) = plan(root)
    assert (one.what, one.producer_epoch) == ("TransactionLog CompleteCommit", 1)
    _mended(root)
    after = TransactionHouse(root, 2)
    assert after.init().producer_epoch == 2
    after.stop()


def test_a_hanging_transaction_is_aborted(tmp_path: Path) -> None:
    """What was written after the marker, of a producer that its coordinator knows as complete."""
    house = _begun(tmp_path, 0)
    state = house.state()
    house.coordinator.end_transaction(
        "tx", state.producer_id, 0, commit=True, client_version=house.version
    )
    house.run()
    late = house.coordinator.init_producer_id(None)._replace(
        producer_id=state.producer_id, producer_epoch=0
    )
    house.produce(late, b"late", sequence=1)
    house.stop()
    (one,) = plan(tmp_path)
    assert _steps([one]) == [("orders-0", "marker", "tx", "ABORT")]
    assert (one.producer_id, one.producer_epoch, one.coordinator_epoch) == (
        state.producer_id, 0, 0,
    )  # fmt: skip
    table = workbench.open_log_directory(tmp_path).inspect
    (row,) = table.coordinator_repairs().to_pylist()
    assert (row["key"], row["value"], row["key_size"], row["value_size"]) == (None, None, 4, 6)
    (row,) = table.coordinator_repairs(values=True).to_pylist()
    assert (row["step"], row["key"], row["value"]) == (1, bytes(4), bytes(6))
    outcome = run("repairs", tmp_path, "--json", "--show-values")
    assert outcome.code == 1
    assert outcome.json[0]["key"] == "00000000"
    assert "00000000" not in run("repairs", tmp_path).out
    assert "000000000000" in run("repairs", tmp_path, "--show-values").out
    _mended(tmp_path)
    after = TransactionHouse(tmp_path, 0)
    assert after.committed(ORDERS) == [b"x"]
    after.stop()


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("word", ["COMMIT", "ABORT"])
def test_a_marker_that_was_lost_is_the_one_that_was_decided(
    word: str, version: int, tmp_path: Path
) -> None:
    """The second transaction's marker is gone from one of two partitions, as after a cut tail."""
    house = TransactionHouse(tmp_path, version, holds=True)
    for number, ends in enumerate((True, word == "COMMIT")):
        state = house.init() if number == 0 else house.state()
        producer = house.coordinator.init_producer_id(None)._replace(
            producer_id=state.producer_id, producer_epoch=state.producer_epoch
        )
        house.add(producer, ORDERS, PAYMENTS, client=version)
        for where in (ORDERS, PAYMENTS):
            sequence = number if version == 0 else 0
            house.produce(producer, b"%d" % number, where=where, sequence=sequence)
        house.clock.advance(1000)  # in versions 0 and 1 the times tell one end from another
        house.end(producer, commit=ends, client=version)
        house.run()
    house.log(PAYMENTS).truncate_to(3)
    house.stop()
    (one,) = plan(tmp_path)
    epoch = 2 if version == 2 else 0
    assert _steps([one]) == [("payments-1", "marker", "tx", word)]
    assert (one.producer_epoch, one.offset) == (epoch, 2)
    assert "the partition has lost the marker" in one.reason
    _mended(tmp_path)
    after = TransactionHouse(tmp_path, version)
    wanted = [b"0", b"1"] if word == "COMMIT" else [b"0"]
    assert after.committed(ORDERS) == after.committed(PAYMENTS) == wanted
    after.stop()


def test_committed_records_of_a_real_broker_are_kept(tmp_path: Path) -> None:
    """Its files lost their last batch, a marker; `kafka-transactions.sh abort` would drop them."""
    root = open_case("k2.3-damage", tmp_path).directory("clean-before")
    found = {str(each.where): (each.what, each.offset) for each in plan(root)}
    assert found == {
        "d-cut-header-0": ("COMMIT", 37),
        "d-empty-last-0": ("COMMIT", 33),
        "d-flip-last-0": ("COMMIT", 33),
    }


def test_what_damage_hides_is_not_taken_for_hanging(tmp_path: Path) -> None:
    """The state that lists the partition follows the damaged record."""
    house = _begun(tmp_path, 0)
    house.stop()
    partition = list_log_directories(tmp_path).partitions["__transaction_state-0"]
    states = [(each.key, each.value) for each in read_log_records(partition, [])
              if isinstance(each, LogRecord)]  # fmt: skip
    assert len(states) == 2  # Empty, Ongoing
    shutil.rmtree(partition.path)
    log = CoordinatorLog(tmp_path, "__transaction_state")
    log.append(states[0])
    log.append(_damaged(transaction("other")))
    log.append(states[1])
    log.write()
    assert _steps(plan(tmp_path)) == [
        ("__transaction_state-0", "append", "other", "TransactionLog"),
        ("__transaction_state-0", "clean", "", "a cleaning"),
    ]
    _mended(tmp_path)
    assert _states(tmp_path)["tx"] == ("Ongoing", 0)


def test_time_is_not_taken_from_the_clock(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "orders", 0, 5), time=TIME - 5)
    log.append(_damaged(commit("g", "orders", 0, 6)))
    log.write()
    (again, cleaning) = plan(tmp_path)
    assert (again.timestamp, cleaning.timestamp) == (TIME - 5, None)
