"""Adding, verifying and ending: the answers in every state, for each transaction version."""

from pathlib import Path

import pytest

from tests.coordinator.serving.house import NOW, ORDERS, PAYMENTS, TransactionHouse
from workbench.coordinator.transaction_coordinator.listing import TransactionFilter
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transactions.states import TransactionState
from workbench.files.names import TopicPartition
from workbench.runtime.error_codes import ErrorCode

STRANGER = ProducerIdAndEpoch(9, 0)


def _at(
    root: Path, version: int, state: str, *, epoch: int = 0
) -> tuple[TransactionHouse, ProducerIdAndEpoch]:
    """Return a coordinator that has an id in a state, and its producer when it began."""
    house = TransactionHouse(root, version, holds=True)
    house.log()
    producer = house.init()._replace(producer_epoch=epoch)
    house.state().producer_epoch = epoch
    if state == "Empty":
        return house, producer
    house.add(producer, client=version)
    if state != "Ongoing":
        house.end(producer, commit=state.endswith("Commit"), client=version)
    if state.startswith("Complete"):
        house.run()
    assert str(house.status()) == state
    return house, producer


def test_adding_partitions(tmp_path: Path) -> None:
    """TC-10."""
    house, producer = _at(tmp_path, 0, "Ongoing")
    for name in (None, ""):
        answer = house.coordinator.add_partitions_to_transaction(name, *producer[:2], [ORDERS])
        assert answer is ErrorCode.INVALID_REQUEST
    assert house.add(producer, name="unknown") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert house.add(STRANGER) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for epoch in (-1, 1):
        other = producer._replace(producer_epoch=epoch)
        assert house.add(other) is ErrorCode.PRODUCER_FENCED
    states = house.log(TopicPartition("__transaction_state", 0))
    end = states.log_end_offset
    assert house.add(producer, client=0) is ErrorCode.NONE
    assert states.log_end_offset == end  # it has the partition
    assert house.add(producer, ORDERS, PAYMENTS, client=0) is ErrorCode.NONE
    assert states.log_end_offset == end + 1
    house.end(producer, client=0)
    assert house.add(producer) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_adding_a_group_s_offsets_adds_its_partition(tmp_path: Path) -> None:
    house, producer = _at(tmp_path, 2, "Empty")
    answer = house.coordinator.add_offsets_to_transaction("tx", *producer[:2], "my-group")
    assert answer is ErrorCode.NONE
    assert house.state().partitions == {TopicPartition("__consumer_offsets", 12)}


def test_verifying_partitions(tmp_path: Path) -> None:
    """TC-11."""
    house, producer = _at(tmp_path, 0, "Ongoing")

    def verify(name: str, who: ProducerIdAndEpoch, *where: TopicPartition) -> list[ErrorCode]:
        return list(
            house.coordinator.verify_partitions_in_transaction(name, *who[:2], where).values()
        )

    assert verify("", producer, ORDERS) == [ErrorCode.INVALID_REQUEST]
    assert verify("x", producer, ORDERS) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert verify("tx", STRANGER, ORDERS) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    other = producer._replace(producer_epoch=4)
    assert verify("tx", other, ORDERS) == [ErrorCode.PRODUCER_FENCED]
    both = [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]
    assert verify("tx", producer, ORDERS, PAYMENTS) == both
    house.state().prepare_add_partitions([PAYMENTS], NOW, house.version)
    assert verify("tx", producer, ORDERS, PAYMENTS) == both  # what is pending does not matter
    house.state().pending_state = None
    house.end(producer, client=0)
    assert verify("tx", producer, ORDERS) == [ErrorCode.CONCURRENT_TRANSACTIONS]


@pytest.mark.parametrize(
    ("state", "on_commit", "on_abort"),
    [
        ("Empty", ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        ("Ongoing", ErrorCode.NONE, ErrorCode.NONE),
        ("PrepareCommit", ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        ("PrepareAbort", ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        ("CompleteCommit", ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE),
        ("CompleteAbort", ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE),
    ],
)
def test_ends_of_version_0(
    tmp_path: Path, state: str, on_commit: ErrorCode, on_abort: ErrorCode
) -> None:
    """TC-12: while markers are being written a state is pending, so every end waits."""
    for commit, wanted in ((True, on_commit), (False, on_abort)):
        house, producer = _at(tmp_path / str(commit), 0, state)
        assert house.end(producer, commit=commit, client=0).error is wanted


@pytest.mark.parametrize("version", [0, 2])
def test_ends_of_others_are_refused(tmp_path: Path, version: int) -> None:
    """TC-12."""
    house, producer = _at(tmp_path, version, "Ongoing")
    assert house.end(producer, name="x").error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert house.end(STRANGER, client=version).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert house.end(producer, name="").error is ErrorCode.INVALID_REQUEST
    for epoch in (-1, 1, 5):
        other = producer._replace(producer_epoch=epoch)
        assert house.end(other, client=version).error is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("state", "commit", "of_retry", "of_current"),
    [
        ("CompleteAbort", False, ErrorCode.NONE, ErrorCode.NONE),
        ("CompleteAbort", True, ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        ("CompleteCommit", False, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE),
        ("CompleteCommit", True, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_in_version_2_the_epoch_tells_a_retry_from_the_next_end(
    tmp_path: Path, state: str, *, commit: bool, of_retry: ErrorCode, of_current: ErrorCode
) -> None:
    """TC-14: an abort without partitions is accepted and bumps the epoch."""
    house, producer = _at(tmp_path, 2, state)
    answer = house.end(producer, commit=commit)
    assert answer.error is of_retry
    if of_retry is ErrorCode.NONE:
        assert answer.producer_epoch == 1
    current = producer._replace(producer_epoch=1)
    answer = house.end(current, commit=commit)
    assert answer.error is of_current
    if of_current is ErrorCode.NONE:
        assert (answer.producer_epoch, house.status()) == (2, TransactionState.COMPLETE_ABORT)


def test_version_2_aborts_even_an_empty_transaction(tmp_path: Path) -> None:
    """TC-14: the client may not know whether anything was added."""
    house, producer = _at(tmp_path, 2, "Empty")
    assert house.end(producer).error is ErrorCode.INVALID_TXN_STATE
    before = producer._replace(producer_epoch=-1)
    assert house.end(before, commit=False).error is ErrorCode.PRODUCER_FENCED
    assert house.end(producer, commit=False) == (4000, 1, ErrorCode.NONE)
    assert (house.status(), house.state().start_timestamp) == (
        TransactionState.COMPLETE_ABORT,
        house.clock.now(),
    )


def test_ends_of_version_2_while_markers_are_written(tmp_path: Path) -> None:
    """TC-14: everything waits, and after a load a producer with the new epoch is fenced."""
    house, producer = _at(tmp_path, 2, "PrepareCommit")
    assert house.end(producer).error is ErrorCode.CONCURRENT_TRANSACTIONS
    house.state().pending_state = None
    assert house.end(producer).error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert house.end(producer, commit=False).error is ErrorCode.INVALID_TXN_STATE
    current = producer._replace(producer_epoch=1)
    assert house.end(current).error is ErrorCode.PRODUCER_FENCED


def test_a_client_of_version_0_retries_an_end_of_version_2(tmp_path: Path) -> None:
    """TC-13: the cluster was downgraded in between."""
    house, producer = _at(tmp_path, 2, "CompleteCommit")
    current = producer._replace(producer_epoch=1)
    assert house.end(current, client=0) == (-1, -1, ErrorCode.NONE)
    assert house.end(producer, client=0).error is ErrorCode.PRODUCER_FENCED
    house, producer = _at(tmp_path / "b", 2, "PrepareCommit")
    current = producer._replace(producer_epoch=1)
    assert house.end(current, client=0).error is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_client_of_version_2_retries_an_end_of_version_0(tmp_path: Path) -> None:
    """TC-13: the cluster was upgraded in between: the epoch was not bumped, so it is the next."""
    house, producer = _at(tmp_path, 1, "Empty")
    house.add(producer, client=0)
    house.end(producer, client=0)
    assert house.end(producer, client=2).error is ErrorCode.CONCURRENT_TRANSACTIONS
    house.run()
    assert house.end(producer, client=2).error is ErrorCode.INVALID_TXN_STATE
    assert house.end(producer, commit=False, client=2) == (4000, 1, ErrorCode.NONE)


@pytest.mark.parametrize("commit", [True, False])
def test_the_last_epoch_of_version_2_ends_with_a_new_producer_id(
    tmp_path: Path, *, commit: bool
) -> None:
    """TC-29, and the retry of TC-14: the marker has the largest epoch, the client never sees it."""
    house, producer = _at(tmp_path, 2, "Ongoing", epoch=32766)
    answer = house.end(producer, commit=commit)
    assert answer == (4001, 0, ErrorCode.NONE)
    state = house.state()
    assert (state.producer_id, state.producer_epoch, state.next_producer_id) == (4000, 32767, 4001)
    house.run()
    assert (state.producer_id, state.producer_epoch, state.last_producer_epoch) == (4001, 0, 32766)
    assert house.log().producer_state.producers[4000].producer_epoch == 32767
    assert house.end(producer, commit=commit) == (4001, 0, ErrorCode.NONE)
    assert house.add(answer) is ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_that_takes_too_long_is_aborted(tmp_path: Path, version: int) -> None:
    """TC-15, TC-16: only an open one, and its producer is fenced."""
    house = TransactionHouse(tmp_path, version, holds=True)
    late, idle = house.init(), house.init("idle")
    house.add(late, client=version)
    house.produce(late, b"x")
    ended = house.init("ended")
    house.add(ended, name="ended", client=version)
    house.end(ended, name="ended", client=version)
    house.run()
    started = house.state().start_timestamp
    house.clock.set(started + 60_000)
    assert [each.transactional_id for each in house.coordinator.states.timed_out()] == []
    house.clock.set(started + 60_001)
    house.coordinator.abort_timed_out_transactions()
    assert house.status() is TransactionState.PREPARE_ABORT
    assert house.state().producer_epoch == late.producer_epoch + 1
    assert house.state("idle").producer_epoch == idle.producer_epoch
    assert house.end(late, client=version).error is not ErrorCode.NONE
    house.run()
    assert house.end(late, client=version).error is not ErrorCode.NONE
    assert house.committed() == []
    assert "transaction timed out" in [step.kind for step in house.steps]


def test_the_periodic_task_aborts(tmp_path: Path) -> None:
    """TC-15: every ten seconds."""
    house = TransactionHouse(tmp_path, tasks=True)
    producer = house.init()
    house.add(producer)
    house.clock.advance(60_000)
    assert house.status() is TransactionState.ONGOING
    house.clock.advance(10_000)
    assert house.status() is TransactionState.COMPLETE_ABORT


def test_a_pending_transition_is_left_alone_by_the_timeout(tmp_path: Path) -> None:
    """TC-15, TC-16."""
    house, producer = _at(tmp_path, 0, "Ongoing")
    house.state().prepare_add_partitions([PAYMENTS], NOW, house.version)
    house.clock.set(NOW + 100_000)
    house.coordinator.abort_timed_out_transactions()
    assert house.status() is TransactionState.ONGOING
    assert house.state().producer_epoch == producer.producer_epoch
    assert house.coordinator.states.timed_out() == []


def test_a_timeout_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    """TC-15: without a second bump of the epoch."""
    house, _ = _at(tmp_path, 0, "Ongoing")
    house.limit(20)
    house.clock.set(NOW + 100_000)
    for _ in range(3):
        house.coordinator.abort_timed_out_transactions()
        assert (house.status(), house.state().producer_epoch) == (TransactionState.ONGOING, 1)
        assert house.state().has_failed_epoch_fence
    house.limit(1 << 20)
    house.coordinator.abort_timed_out_transactions()
    assert (house.status(), house.state().producer_epoch) == (TransactionState.PREPARE_ABORT, 1)


def test_describing_and_listing(tmp_path: Path) -> None:
    """TC-17, TC-18."""
    house, producer = _at(tmp_path, 2, "Ongoing")
    coordinator = house.coordinator
    house.init("other")
    assert coordinator.describe_transactions("").error is ErrorCode.INVALID_REQUEST
    unknown = coordinator.describe_transactions("unknown")
    assert unknown == (ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, None)
    error, found = coordinator.describe_transactions("tx")
    assert error is ErrorCode.NONE
    assert found == house.state()
    assert found is not house.state()
    rows = [("tx", 4000, TransactionState.ONGOING), ("other", 4001, TransactionState.EMPTY)]
    assert coordinator.list_transactions().transactions == rows
    assert (
        coordinator.list_transactions(TransactionFilter(frozenset({4001}))).transactions == rows[1:]
    )
    listed = coordinator.list_transactions(
        TransactionFilter(states=frozenset({"Ongoing", "Nonsense"}))
    )
    assert (listed.transactions, listed.unknown_states) == (rows[:1], ["Nonsense"])
    assert coordinator.list_transactions(TransactionFilter(pattern="o.*")).transactions == rows[1:]
    broken = coordinator.list_transactions(TransactionFilter(pattern="("))
    assert broken.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    started = house.state().start_timestamp
    house.clock.set(started + 100)
    assert ("tx", 4000, TransactionState.ONGOING) not in coordinator.list_transactions(
        TransactionFilter(longer_than_ms=100)
    ).transactions
    assert (
        rows[0] in coordinator.list_transactions(TransactionFilter(longer_than_ms=99)).transactions
    )
    coordinator.on_election(0, 9)
    assert coordinator.list_transactions().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert coordinator.describe_transactions("tx").error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    coordinator.shutdown()
    assert coordinator.list_transactions().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert coordinator.describe_transactions("tx").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert producer.producer_id == 4000
