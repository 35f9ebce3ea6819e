"""Transaction markers: what is written, what is tried again, and what ends it."""

from pathlib import Path

import pytest

from tests.coordinator.serving.house import ORDERS, PAYMENTS, TransactionHouse, kinds
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.files.names import TopicPartition
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.error_codes import ErrorCode

OFFSETS = TopicPartition("__consumer_offsets", 12)


def _ended(root: Path, *where: TopicPartition, version: int = 2) -> TransactionHouse:
    """Return a coordinator whose transaction is committed, before its markers."""
    house = TransactionHouse(root, version, holds=True, partitions=1)
    producer = house.init()
    house.add(producer, *where, client=version)
    for each in where:
        house.produce(producer, b"x", where=each)
    assert house.end(producer, client=version).error is ErrorCode.NONE
    return house


def test_a_partition_that_was_deleted_needs_no_marker(tmp_path: Path) -> None:
    """TC-31."""
    house = _ended(tmp_path, ORDERS, PAYMENTS)
    house.manager.async_delete(PAYMENTS)
    house.run()
    assert house.status() is TransactionState.COMPLETE_COMMIT
    assert house.committed() == [b"x"]
    assert kinds(house.steps).count("marker not needed") == 1


def test_a_partition_that_is_away_gets_its_marker_later_and_once(tmp_path: Path) -> None:
    """TC-31, TC-32: the others are not written again."""
    house = _ended(tmp_path, ORDERS, PAYMENTS)
    manager = house.manager
    manager.away = frozenset({PAYMENTS})
    for _ in range(3):
        house.clock.advance(100)
    assert house.status() is TransactionState.PREPARE_COMMIT
    assert house.state().partitions == {PAYMENTS}
    manager.away = frozenset()
    house.clock.advance(100)
    assert house.status() is TransactionState.COMPLETE_COMMIT
    assert [house.log(each).log_end_offset for each in (ORDERS, PAYMENTS)] == [2, 2]
    assert kinds(house.steps).count("marker appended") == 2


def _newer_epoch(house: TransactionHouse) -> None:
    records = MemoryRecords.of(
        (house.clock.now(), None, b"y"),
        producer_id=4000,
        producer_epoch=9,
        base_sequence=0,
        is_transactional=True,
    )
    house.log(PAYMENTS).append_as_leader(records, origin=AppendOrigin.COORDINATOR)


def _newer_coordinator(house: TransactionHouse) -> None:
    marker = end_transaction_marker(0, house.clock.now(), 4000, 1, commit=True, coordinator_epoch=7)
    house.log(PAYMENTS).append_as_leader(marker, origin=AppendOrigin.COORDINATOR)


@pytest.mark.parametrize("happens", [_newer_epoch, _newer_coordinator])
def test_a_newer_epoch_stops_the_coordinator_until_the_next_load(
    tmp_path: Path, happens: object
) -> None:
    """TC-32: the state remains prepared."""
    house = _ended(tmp_path, ORDERS, PAYMENTS, version=0)
    happens(house)  # type: ignore[operator]
    house.run()
    assert house.status() is TransactionState.PREPARE_COMMIT
    assert house.coordinator.markers.pending == []
    assert "marker given up" in kinds(house.steps)
    assert house.committed(ORDERS) == [b"x"]


def test_a_coordinator_that_lost_the_partition_writes_no_more_markers(tmp_path: Path) -> None:
    """TC-31: the next leader writes them."""
    house = _ended(tmp_path, ORDERS)
    house.coordinator.on_resignation(0, 1)
    house.run()
    assert (house.log().log_end_offset, house.coordinator.markers.pending) == (1, [])
    house.coordinator.on_election(0, 2)
    house.run()
    house.run()
    assert house.status() is TransactionState.COMPLETE_COMMIT
    assert house.committed() == [b"x"]
    assert house.log().producer_state.producers[4000].coordinator_epoch == 2


def test_prepared_ends_get_their_markers_after_a_load(tmp_path: Path) -> None:
    """TC-20: even where they have one, because only the first decides."""
    house = _ended(tmp_path, ORDERS, PAYMENTS)
    house.stop()
    after = TransactionHouse(tmp_path, epoch=1)
    assert after.status() is TransactionState.COMPLETE_COMMIT
    assert after.committed(ORDERS) == after.committed(PAYMENTS) == [b"x"]
    after.stop()


class Groups:
    """A group coordinator that keeps what it was told and then answers."""

    def __init__(self, *errors: ErrorCode) -> None:
        self.errors = list(errors)
        self.told: list[tuple[int, int, int, int, bool, int]] = []

    def complete_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        is_commit: bool,
        transaction_version: int = 0,
    ) -> int:
        self.told.append(
            (partition, producer_id, producer_epoch, coordinator_epoch, is_commit,
             transaction_version)
        )  # fmt: skip
        if self.errors:
            raise self.errors.pop(0).error()
        return 3


def test_the_group_coordinator_writes_the_markers_of_offsets(tmp_path: Path) -> None:
    """TC-32: while it is loading, the marker is tried again."""
    groups = Groups(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    house = TransactionHouse(tmp_path, holds=True, offsets=groups, epoch=4)
    house.log(OFFSETS)
    producer = house.init()
    answer = house.coordinator.add_offsets_to_transaction("tx", *producer[:2], "my-group")
    assert answer is ErrorCode.NONE
    house.end(producer)
    for _ in range(3):
        assert house.status() is TransactionState.PREPARE_COMMIT
        house.clock.advance(100)
    assert house.status() is TransactionState.COMPLETE_COMMIT
    assert groups.told == [(12, 4000, 1, 4, True, TransactionVersion.TV_2)] * 3
    assert house.log(OFFSETS).log_end_offset == 0  # not by us
