"""The transitions of a transactional id, its records, and the order of Scala's collections."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coordinator.serving.house import NOW, ORDERS, PAYMENTS
from workbench.coordinator.runtime.log_records import LogRecord
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_load import apply_record
from workbench.coordinator.transactions.transaction_log import (
    key_to_bytes,
    order_of_map,
    order_of_set,
    value_to_bytes,
)
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.errors import (
    CoordinatorError,
    CorruptRecordError,
    InvalidTransitionError,
    UnsupportedFormatError,
)

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
TV_0, TV_1, TV_2 = TransactionVersion
AT_REST = [EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]
PENDING = [ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT]


def _state(
    state: TransactionState = EMPTY, epoch: int = 5, **fields: object
) -> TransactionMetadata:
    partitions = frozenset() if state in AT_REST else frozenset({ORDERS})
    return TransactionMetadata(
        "tx", 7, 60_000, NOW, producer_epoch=epoch, state=state, partitions=partitions,
        start_timestamp=-1 if state is EMPTY else NOW, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def _go(state: TransactionMetadata, transit: TxnTransitMetadata) -> TransactionMetadata:
    state.complete_transition_to(transit)
    return state


@pytest.mark.parametrize("state", AT_REST)
def test_bumping(state: TransactionState) -> None:
    """TC-27: with the current epoch, the one before, none, and others."""
    found = _go(it := _state(state), it.prepare_increment_producer_epoch(30_000, None, NOW + 1))
    assert (found.producer_epoch, found.last_producer_epoch, found.timeout_ms) == (6, -1, 30_000)
    assert (found.state, found.start_timestamp) == (EMPTY, -1)
    found = _go(found, found.prepare_increment_producer_epoch(30_000, 6, NOW))
    assert (found.producer_epoch, found.last_producer_epoch) == (7, 6)
    found = _go(found, found.prepare_increment_producer_epoch(30_000, 6, NOW))
    assert (found.producer_epoch, found.last_producer_epoch) == (7, 6)
    with pytest.raises(CoordinatorError, match="PRODUCER_FENCED"):
        found.prepare_increment_producer_epoch(30_000, 5, NOW)


@pytest.mark.parametrize("epoch", [32766, 32767])
def test_an_exhausted_epoch_is_not_bumped(epoch: int) -> None:
    """TC-27."""
    state = _state(epoch=epoch)
    with pytest.raises(InvalidTransitionError, match=f"epoch {epoch}"):
        state.prepare_increment_producer_epoch(1, None, NOW)
    found = _go(state, state.prepare_producer_id_rotation(8, 1, NOW, records_last_epoch=True))
    assert (found.producer_id, found.producer_epoch, found.last_producer_epoch) == (8, 0, epoch)
    assert found.previous_producer_id == 7


@pytest.mark.parametrize("state", PENDING)
def test_no_new_producer_id_during_a_transaction(state: TransactionState) -> None:
    """TC-27."""
    with pytest.raises(InvalidTransitionError):
        _state(state).prepare_producer_id_rotation(8, 1, NOW, records_last_epoch=False)
    with pytest.raises(InvalidTransitionError):
        _state(state).prepare_increment_producer_epoch(1, None, NOW)


def test_fencing() -> None:
    """TC-27: only while a transaction is open, and not beyond the largest epoch."""
    assert _state(ONGOING).prepare_fence_producer_epoch().producer_epoch == 6
    failed = _state(ONGOING, has_failed_epoch_fence=True)
    assert failed.prepare_fence_producer_epoch().producer_epoch == 5
    with pytest.raises(InvalidTransitionError):
        _state(ONGOING, 32767).prepare_fence_producer_epoch()
    for state in [*AT_REST, *PENDING[1:]]:
        with pytest.raises(InvalidTransitionError):
            _state(state).prepare_fence_producer_epoch()


def test_a_fence_is_never_completed_and_a_dead_id_neither() -> None:
    state = _state(ONGOING)
    transit = state.prepare_fence_producer_epoch()
    with pytest.raises(InvalidTransitionError):
        state.complete_transition_to(transit)
    state = _state()
    transit = state.prepare_dead()
    with pytest.raises(InvalidTransitionError):
        state.complete_transition_to(transit)


def test_one_transition_at_a_time() -> None:
    state = _state()
    transit = state.prepare_add_partitions([ORDERS], NOW, TV_2)
    with pytest.raises(InvalidTransitionError, match="Ongoing pending"):
        state.prepare_add_partitions([PAYMENTS], NOW, TV_2)
    with pytest.raises(InvalidTransitionError):
        state.complete_transition_to(transit._replace(state=EMPTY))
    with pytest.raises(InvalidTransitionError):
        state.complete_transition_to(transit._replace(producer_epoch=6))
    assert _go(state, transit).state is ONGOING
    with pytest.raises(InvalidTransitionError):
        state.complete_transition_to(transit)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(("version", "bump"), [(TV_0, 0), (TV_1, 0), (TV_2, 1)])
def test_epochs_of_an_end(version: TransactionVersion, bump: int, *, commit: bool) -> None:
    """TC-29: version 2 bumps with the decision."""
    prepared = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    state = _state(ONGOING)
    _go(state, state.prepare_abort_or_commit(prepared, version, -1, NOW))
    assert (state.producer_epoch, state.state) == (5 + bump, prepared)
    _go(state, state.prepare_complete(NOW))
    assert (state.producer_id, state.producer_epoch, state.partitions) == (7, 5 + bump, frozenset())


def test_the_last_epoch_of_version_2() -> None:
    """TC-29."""
    state = _state(ONGOING, 32766)
    _go(state, state.prepare_abort_or_commit(TransactionState.PREPARE_COMMIT, TV_2, 9, NOW))
    assert (state.producer_id, state.producer_epoch, state.next_producer_id) == (7, 32767, 9)
    _go(state, state.prepare_complete(NOW))
    assert (state.producer_id, state.producer_epoch, state.next_producer_id) == (9, 0, -1)
    assert (state.previous_producer_id, state.last_producer_epoch) == (7, 32766)


def test_a_clock_that_goes_back_stops_nothing() -> None:
    """TC-28: in every transition."""
    state = _state()
    early = NOW - 10_000
    _go(state, state.prepare_increment_producer_epoch(60_000, None, early))
    _go(state, state.prepare_add_partitions([ORDERS], early, TV_0))
    _go(state, state.prepare_add_partitions([PAYMENTS], early - 1, TV_0))
    assert (state.start_timestamp, state.last_update_timestamp) == (early, early - 1)
    _go(state, state.prepare_abort_or_commit(TransactionState.PREPARE_ABORT, TV_0, -1, early))
    state.remove_partition(ORDERS)
    _go(state, state.prepare_complete(early))
    assert (state.state, state.last_update_timestamp) == (TransactionState.COMPLETE_ABORT, early)


def test_markers_are_noted_only_of_a_prepared_end() -> None:
    with pytest.raises(InvalidTransitionError, match="orders-0"):
        _state(ONGOING).remove_partition(ORDERS)


def _transit(state: TransactionState, **changes: Any) -> TxnTransitMetadata:
    partitions = frozenset() if state is EMPTY else frozenset({ORDERS, PAYMENTS})
    return TxnTransitMetadata(
        7, 6, 8, 5, 4, 60_000, state, partitions, NOW, NOW + 1, TV_0
    )._replace(**changes)  # fmt: skip


@pytest.mark.parametrize("version", [TV_0, TV_1, TV_2])
@pytest.mark.parametrize("state", list(TransactionState))
def test_every_state_comes_back_from_its_record(
    state: TransactionState, version: TransactionVersion
) -> None:
    """TC-30: without the producer ids around it and the last epoch, which 4.2 does not write."""
    client = TV_2 if version else TV_0
    value = value_to_bytes(_transit(state, client_transaction_version=client), version)
    assert value[:2] == struct.pack(">h", 1 if version else 0)
    states: dict[str, TransactionMetadata] = {}
    apply_record(states, 0, LogRecord(0, NOW, key_to_bytes("tx"), value, -1))
    assert states["tx"] == TransactionMetadata(
        "tx", 7, 60_000, NOW + 1, producer_epoch=5, state=state, start_timestamp=NOW,
        partitions=frozenset() if state is EMPTY else frozenset({ORDERS, PAYMENTS}),
        client_transaction_version=client,
    )  # fmt: skip
    apply_record(states, 0, LogRecord(1, NOW, key_to_bytes("tx"), None, -1))
    assert states == {}


def test_what_cannot_be_written() -> None:
    """TC-30: an empty transaction with partitions, a client's version in an old record."""
    with pytest.raises(InvalidTransitionError):
        value_to_bytes(_transit(EMPTY, partitions=frozenset({ORDERS})), TV_2)
    with pytest.raises(UnsupportedFormatError):
        value_to_bytes(_transit(ONGOING, client_transaction_version=TV_2), TV_0)


def test_a_client_s_version_that_is_unknown_cannot_be_loaded() -> None:
    value = value_to_bytes(_transit(ONGOING, client_transaction_version=TV_2), TV_2)
    assert value.endswith(b"\x02\x02\x00\x02")
    broken = LogRecord(0, NOW, key_to_bytes("tx"), value[:-1] + b"\x03", -1)
    with pytest.raises(CorruptRecordError, match="transaction version 3"):
        apply_record({}, 0, broken)


@given(names=st.sets(st.text(), max_size=60), numbers=st.sets(st.integers(0, 2**31 - 1)))
def test_an_order_has_everything_once(names: set[str], numbers: set[int]) -> None:
    assert sorted(order_of_map(names)) == sorted(names)
    assert sorted(order_of_set(numbers)) == sorted(numbers)


def test_names_with_equal_hashes_do_not_go_on_forever() -> None:
    assert order_of_map(["Aa", "BB", "AaAa", "BBBB", "AaBB", "BBAa"])[0] in {"Aa", "BB", "AaAa"}
