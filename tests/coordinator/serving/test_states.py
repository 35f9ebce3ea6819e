"""The state manager: appends that fail, loads, unloads, expiry."""

from pathlib import Path

import pytest

from tests.coordinator.serving.house import NOW, ORDERS, PAYMENTS, TransactionHouse
from tests.engine.file_systems import FailingFileSystem
from workbench.coordinator.transaction_coordinator.producer_ids import blocks_from
from workbench.coordinator.transaction_coordinator.state_manager import answer_to
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_log import key_to_bytes
from workbench.files.names import TopicPartition
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.error_codes import ErrorCode

STATE = TopicPartition("__transaction_state", 0)
DAY = 86_400_000


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (3, 15), (19, 15), (20, 15), (7, 15), (6, 16), (56, 16), (10, -1), (18, -1), (2, 2),
        (47, 47),
    ],
)  # fmt: skip
def test_what_an_error_of_an_append_becomes(error: int, answer: int) -> None:
    """TC-22."""
    assert answer_to(ErrorCode(error)) == answer


def test_a_failed_append_changes_nothing(tmp_path: Path) -> None:
    """TC-22: a record that is too large, a log that is gone, a disk that fails."""
    disk = FailingFileSystem()
    house = TransactionHouse(tmp_path, fs=disk, partitions=1)
    producer = house.init()
    before = house.coordinator.describe_transactions("tx")
    house.limit(20)
    assert house.add(producer) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert house.coordinator.describe_transactions("tx") == before
    assert not house.state().is_pending
    house.limit(1 << 20)
    disk._fail_at, disk._stays = disk.count, True  # noqa: SLF001
    assert house.add(producer) is ErrorCode.NOT_COORDINATOR
    assert house.add(producer) is ErrorCode.COORDINATOR_NOT_AVAILABLE  # the directory is offline
    assert house.coordinator.describe_transactions("tx") == before
    assert not house.state().is_pending


def test_the_complete_state_is_appended_until_it_is_there(tmp_path: Path) -> None:
    """TC-22, TC-31: the pending state is kept, so nothing else can begin meanwhile."""
    house = TransactionHouse(tmp_path, holds=True)
    house.log()
    producer = house.init()
    house.add(producer)
    house.end(producer)
    house.manager.async_delete(STATE)  # after the answer, before the markers
    house.run()
    assert house.log().log_end_offset == 1  # the marker
    assert (house.status(), house.state().pending_state) == (
        TransactionState.PREPARE_COMMIT,
        TransactionState.COMPLETE_COMMIT,
    )
    assert house.add(producer) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert house.coordinator.markers.pending == ["tx"]
    house.log(STATE)
    house.clock.advance(100)
    assert house.status() is TransactionState.COMPLETE_COMMIT
    assert house.coordinator.markers.pending == []


def test_a_newer_leader_epoch_during_an_append_ends_the_transition(tmp_path: Path) -> None:
    """TC-23: and one whose partition is no longer led, or being loaded."""
    house = TransactionHouse(tmp_path, holds=True)
    producer = house.init()
    states = house.coordinator.states
    old = house.state()
    transit = old.prepare_add_partitions([ORDERS], NOW, TransactionVersion.TV_2)
    assert states.append_transaction_to_log("tx", 7, transit) is ErrorCode.NOT_COORDINATOR
    house.coordinator.on_election(0, 1)
    answer = states.append_transaction_to_log("tx", 0, transit)
    assert answer is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    house.run()
    assert states.append_transaction_to_log("tx", 0, transit) is ErrorCode.NOT_COORDINATOR
    house.coordinator.on_resignation(0, 2)
    assert states.append_transaction_to_log("tx", 1, transit) is ErrorCode.NOT_COORDINATOR
    house.coordinator.on_election(0, 3)
    house.run()
    assert (house.status(), house.state().producer_epoch) == (TransactionState.EMPTY, 0)
    assert house.add(producer) is ErrorCode.NONE


def test_loading_and_unloading(tmp_path: Path) -> None:
    """TC-19: the last record of each id counts."""
    house = TransactionHouse(tmp_path, partitions=2)
    names = ["a", "b", "c", "d"]
    for name in names:
        house.add(house.init(name), name=name)
    before = {name: house.state(name) for name in names}
    for number in range(2):
        house.coordinator.on_resignation(number, 1)
    answers = {name: house.coordinator.describe_transactions(name).error for name in names}
    assert set(answers.values()) == {ErrorCode.NOT_COORDINATOR}
    house.coordinator.on_election(0, 1)
    for name in names:
        error, found = house.coordinator.describe_transactions(name)
        if house.coordinator.partition_for(name) == 0:
            assert found is not None
            assert found.partitions == before[name].partitions == {ORDERS}
            assert found.producer_id == before[name].producer_id
        else:
            assert error is ErrorCode.NOT_COORDINATOR
    kinds = [step.kind for step in house.steps if step.where == "__transaction_state-0"]
    assert kinds.count("partition loaded") == 2


def test_a_load_that_was_overtaken_changes_nothing(tmp_path: Path) -> None:
    """TC-21: an unload with a newer epoch cancels it; the next leader epoch replaces."""
    house = TransactionHouse(tmp_path, holds=True)
    house.init()
    house.coordinator.on_election(0, 3)
    house.coordinator.on_resignation(0, 4)
    house.run()
    error = house.coordinator.describe_transactions("tx").error
    assert error is ErrorCode.NOT_COORDINATOR
    house.coordinator.on_election(0, 5)
    house.run()
    found = house.coordinator.states.get("tx")
    assert found is not None
    assert found.coordinator_epoch == 5


def test_nothing_is_loaded_after_a_shutdown(tmp_path: Path) -> None:
    """TransactionStateManager.shuttingDown: a load that goes on owns nothing."""
    house = TransactionHouse(tmp_path, partitions=2, holds=True)
    house.init()
    states = house.coordinator.states
    house.coordinator.on_election(0, 3)
    house.coordinator.shutdown()
    house.run()
    house.coordinator.lead_all()
    assert states.owned == {}
    house.coordinator.startup(with_tasks=False)
    house.coordinator.lead_all()
    assert sorted(states.owned) == [0, 1]


@pytest.mark.parametrize(
    ("key", "value", "loads"),
    [
        (b"\x00\x07what", b"x", True),
        (key_to_bytes("x"), None, True),
        (key_to_bytes("x"), b"\x00\x05", False),
        (None, b"x", False),
    ],
)
def test_a_load_ends_at_what_it_cannot_read_and_serves_the_rest(
    tmp_path: Path, key: bytes | None, value: bytes | None, *, loads: bool
) -> None:
    """TC-21."""
    house = TransactionHouse(tmp_path, version=0)
    house.init("before")
    bad = MemoryRecords.of((NOW, key, value))
    log = house.log(STATE)
    if key is None:  # a compacted topic refuses it
        house.manager.update_topic_config("__transaction_state", {"cleanup.policy": "delete"})
    log.append_as_leader(bad)
    house.init("after")
    house.coordinator.on_election(0, 1)
    assert house.coordinator.describe_transactions("before").error is ErrorCode.NONE
    error = house.coordinator.describe_transactions("after").error
    assert error is (ErrorCode.NONE if loads else ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    kinds = {step.kind for step in house.steps}
    assert ("record unreadable" in kinds) is not loads


def _expire(house: TransactionHouse) -> list[str]:
    house.coordinator.states.remove_expired_transactional_ids()
    return sorted(
        each.transactional_id for _, states in house.coordinator.states.owned.values()
        for each in states
    )  # fmt: skip


def test_ids_at_rest_expire_and_others_do_not(tmp_path: Path) -> None:
    """TC-24: after seven days, with a tombstone."""
    house = TransactionHouse(tmp_path, holds=True)
    house.log()
    for name in ("empty", "open", "committed", "aborted"):
        producer = house.init(name)
        if name != "empty":
            house.add(producer, name=name)
        if name.endswith("ed"):
            house.end(producer, commit=name == "committed", name=name)
    house.run()
    prepared = house.init("prepared")
    house.add(prepared, name="prepared")
    house.end(prepared, name="prepared")
    house.clock.set(NOW + 7 * DAY - 1)
    everything = ["aborted", "committed", "empty", "open", "prepared"]
    assert _expire(house) == everything
    house.clock.set(NOW + 7 * DAY + 1)
    house.limit(20)
    assert _expire(house) == everything
    assert not any(house.state(name).is_pending for name in ("empty", "committed"))
    house.limit(1 << 20)
    assert _expire(house) == ["open", "prepared"]
    records = house.log(STATE).read(0, 1 << 20).records.records()
    assert [(r.key, r.value) for r in records[-3:]] == [
        (key_to_bytes(name), None) for name in ("aborted", "committed", "empty")
    ]


@pytest.mark.parametrize("size", [512, 1])
def test_tombstones_share_batches_as_large_as_the_log_takes(tmp_path: Path, size: int) -> None:
    """TC-25: one that alone is too large is tried, and fails."""
    house = TransactionHouse(tmp_path)
    names = [f"transactional-id-{number:03}" for number in range(60)]
    for name in names:
        house.init(name)
    house.clock.set(NOW + 8 * DAY)
    house.limit(size)
    end = house.log(STATE).log_end_offset
    assert _expire(house) == ([] if size == 512 else names)
    if size == 512:
        rows = house.log(STATE).read(end, 1 << 20).records.batches().rows
        assert rows["record_count"].sum() == 60
        assert 5 <= len(rows) <= 10
        assert rows["size"].max() <= 512
        assert rows["size"][:-1].min() > 512 - 40


def test_an_id_that_was_never_initialized_expires(tmp_path: Path) -> None:
    """TC-25: its first record could not be written, so it has no epoch."""
    house = TransactionHouse(tmp_path)
    house.limit(20)
    answer = house.coordinator.init_producer_id("tx")
    assert answer.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert house.state().producer_epoch == -1
    house.limit(1 << 20)
    house.clock.set(NOW + 8 * DAY)
    assert _expire(house) == []


def test_the_periodic_task_expires(tmp_path: Path) -> None:
    """TC-24: every hour."""
    house = TransactionHouse(tmp_path, tasks=True, transactional_id_expiration_ms=3_000_000)
    house.init()
    house.clock.advance(3_600_000)
    assert house.coordinator.states.get("tx") is None
    assert "transactional id expired" in [step.kind for step in house.steps]


def test_a_stopped_coordinator_is_followed_by_one_that_knows_everything(tmp_path: Path) -> None:
    """TC-19, TC-20: and continues with producer ids that are free."""
    house = TransactionHouse(tmp_path, holds=True)
    house.log()
    producer = house.init()
    house.add(producer, ORDERS, PAYMENTS)
    house.end(producer)
    house.stop()
    after = TransactionHouse(tmp_path, epoch=1, request_block=blocks_from(9000))
    assert after.status() is TransactionState.COMPLETE_COMMIT
    assert after.state().last_producer_epoch == -1  # never stored
    assert after.init("new").producer_id == 9000
    assert after.init().producer_epoch == 2


@pytest.mark.parametrize("observes", [True, False])
def test_a_damaged_batch_ends_the_load_after_what_precedes_it(
    tmp_path: Path, *, observes: bool
) -> None:
    """TC-21: in the middle of what is read at once; a wrong CRC alone is not noticed."""
    house = TransactionHouse(tmp_path)
    for number in range(9):
        house.init(f"id-{number}")
    log = house.log(STATE)
    rows = log.read(0, 1 << 20).records.batches().rows
    path = Path(log.active_segment.log.path)
    data = bytearray(path.read_bytes())
    data[int(rows["position"][2]) + 17] ^= 1  # the CRC
    data[int(rows["position"][6]) + 61] = 0x7F  # the length of the record
    path.write_bytes(data)
    if not observes:
        house.coordinator.states.observer = None
    house.coordinator.on_election(0, 1)
    found = {name for name, *_ in house.coordinator.list_transactions().transactions}
    assert found == {f"id-{number}" for number in range(6)}
