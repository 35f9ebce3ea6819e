"""InitProducerId: which producer id and epoch a producer gets, and who is fenced."""

from pathlib import Path

import pytest

from tests.coordinator.serving.house import TransactionHouse
from workbench.coordinator.transaction_coordinator.producer_ids import Deliver
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transactions.states import TransactionState
from workbench.runtime.error_codes import ErrorCode


def _error(house: TransactionHouse, name: str = "tx", **options: object) -> ErrorCode:
    return house.coordinator.init_producer_id(name, **options).error  # type: ignore[arg-type]


def _exhaust(house: TransactionHouse, epoch: int = 32766) -> ProducerIdAndEpoch:
    """Let the producer have used nearly all epochs."""
    producer = house.init()
    house.state().producer_epoch = epoch
    return producer._replace(producer_epoch=epoch)


def test_producers_without_a_transactional_id_get_ids_in_a_row(tmp_path: Path) -> None:
    """TC-1: the empty id is refused, and a partition that is loading or led elsewhere says so."""
    house = TransactionHouse(tmp_path, partitions=2, holds=True)
    found = [house.coordinator.init_producer_id(None) for _ in range(3)]
    assert found == [(4000 + n, 0, ErrorCode.NONE) for n in range(3)]
    assert _error(house, "") is ErrorCode.INVALID_REQUEST
    house.coordinator.on_resignation(house.coordinator.partition_for("tx"), 5)
    assert _error(house) is ErrorCode.NOT_COORDINATOR
    house.coordinator.on_election(house.coordinator.partition_for("tx"), 6)
    assert _error(house) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    house.run()
    assert _error(house) is ErrorCode.NONE


def test_a_new_transactional_id_begins_with_epoch_0(tmp_path: Path) -> None:
    """TC-2: also if the producer names an id and epoch that nobody knows any more."""
    house = TransactionHouse(tmp_path)
    assert house.init("a") == (4000, 0, ErrorCode.NONE)
    assert house.init("b", expected=ProducerIdAndEpoch(7, 9)) == (4001, 0, ErrorCode.NONE)


@pytest.mark.parametrize("epoch", [32766, 32767])
def test_after_the_last_epoch_a_new_producer_id_follows(tmp_path: Path, epoch: int) -> None:
    """TC-3."""
    house = TransactionHouse(tmp_path)
    _exhaust(house, epoch)
    assert house.init() == (4001, 0, ErrorCode.NONE)
    assert house.state().previous_producer_id == 4000


def test_the_last_epoch_is_given_once(tmp_path: Path) -> None:
    house = TransactionHouse(tmp_path)
    _exhaust(house, 32765)
    assert house.init() == (4000, 32766, ErrorCode.NONE)
    assert house.init() == (4001, 0, ErrorCode.NONE)


@pytest.mark.parametrize("commit", [True, False])
def test_initializing_again_gives_the_next_epoch_but_waits_for_an_end(
    tmp_path: Path, *, commit: bool
) -> None:
    """TC-4."""
    house = TransactionHouse(tmp_path, version=1, holds=True)
    assert house.init().producer_epoch == 0
    producer = house.init()
    assert producer.producer_epoch == 1
    house.add(producer, client=0)
    house.log()
    house.end(producer, commit=commit, client=0)
    assert _error(house) is ErrorCode.CONCURRENT_TRANSACTIONS
    house.run()
    assert house.init().producer_epoch == 2


@pytest.mark.parametrize("version", [0, 2])
def test_initializing_aborts_the_open_transaction_with_a_higher_epoch(
    tmp_path: Path, version: int
) -> None:
    """TC-5: and the retry gets one more, so that nobody has the epoch of the abort."""
    house = TransactionHouse(tmp_path, version, holds=True)
    producer = house.init()
    house.add(producer, client=version)
    house.produce(producer, b"x")
    assert _error(house) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert (house.status(), house.state().producer_epoch) == (TransactionState.PREPARE_ABORT, 1)
    house.run()
    assert house.init().producer_epoch == 2
    assert house.committed() == []
    assert house.add(producer, client=version) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("version", [0, 2])
def test_a_fence_that_cannot_be_written_bumps_the_epoch_once(tmp_path: Path, version: int) -> None:
    """TC-6."""
    house = TransactionHouse(tmp_path, version)
    producer = house.init()
    house.add(producer, client=version)
    house.limit(20)
    for _ in range(2):
        assert _error(house) is ErrorCode.UNKNOWN_SERVER_ERROR
        assert (house.status(), house.state().is_pending) == (TransactionState.ONGOING, False)
        assert house.state().producer_epoch == (1 if version == 0 else 0)
        assert house.state().has_failed_epoch_fence is (version == 0)
    house.limit(1 << 20)
    assert _error(house) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert house.state().producer_epoch == 1
    assert not house.state().has_failed_epoch_fence
    assert house.init().producer_epoch == 2


@pytest.mark.parametrize("version", [0, 2])
def test_the_largest_epoch_fences(tmp_path: Path, version: int) -> None:
    """TC-7: no producer ever gets it; the next one has a new producer id."""
    house = TransactionHouse(tmp_path, version, holds=True)
    producer = _exhaust(house)
    house.add(producer, client=version)
    house.produce(producer, b"x")
    assert _error(house) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert house.state().producer_epoch == 32767
    house.run()
    assert house.init() == (4001, 0, ErrorCode.NONE)


def test_a_producer_that_names_itself_is_bumped_or_fenced(tmp_path: Path) -> None:
    """TC-8: KIP-360."""
    house = TransactionHouse(tmp_path)
    house.init()
    house.state().producer_epoch = 10
    mine = ProducerIdAndEpoch(4000, 10)
    assert house.init(expected=mine).producer_epoch == 11
    assert house.init(expected=mine).producer_epoch == 11  # a retry
    assert _error(house, expected=mine._replace(producer_epoch=9)) is ErrorCode.PRODUCER_FENCED
    assert _error(house, expected=ProducerIdAndEpoch(3999, 11)) is ErrorCode.PRODUCER_FENCED
    assert house.init().producer_epoch == 12  # another producer
    assert _error(house, expected=mine) is ErrorCode.PRODUCER_FENCED
    assert house.state().pending_state is None


def test_a_retry_after_a_new_producer_id_gets_the_same(tmp_path: Path) -> None:
    """TC-9."""
    house = TransactionHouse(tmp_path)
    old = _exhaust(house)
    assert house.init(expected=old) == (4001, 0, ErrorCode.NONE)
    assert house.init(expected=old) == (4001, 0, ErrorCode.NONE)
    earlier = old._replace(producer_epoch=32765)
    assert _error(house, expected=earlier) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        (1, ErrorCode.NONE), (900_000, ErrorCode.NONE),
        (0, ErrorCode.INVALID_TRANSACTION_TIMEOUT), (-1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)  # fmt: skip
def test_timeouts_that_are_allowed(tmp_path: Path, timeout: int, error: ErrorCode) -> None:
    """TC-26."""
    assert _error(TransactionHouse(tmp_path), timeout_ms=timeout) is error


def test_two_phase_commit_is_refused_unless_it_is_enabled(tmp_path: Path) -> None:
    house = TransactionHouse(tmp_path / "a")
    asked = house.coordinator.init_producer_id("tx", enable_two_phase_commit=True)
    assert asked.error is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    kept = house.coordinator.init_producer_id("tx", keep_prepared=True)
    assert kept.error is ErrorCode.UNSUPPORTED_VERSION
    house = TransactionHouse(tmp_path / "b", two_phase_commit_enable=True)
    producer = house.coordinator.init_producer_id("tx", enable_two_phase_commit=True)
    house.add(producer)
    house.clock.advance(3_600_000)
    house.coordinator.abort_timed_out_transactions()
    assert house.status() is TransactionState.ONGOING


def test_without_a_producer_id_the_producer_waits(tmp_path: Path) -> None:
    """TC-33: the answer is one that clients of every age retry."""
    waiting: list[Deliver] = []
    house = TransactionHouse(tmp_path, request_block=waiting.append)
    assert _error(house) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert house.coordinator.init_producer_id(None).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert house.coordinator.states.get("tx") is None
