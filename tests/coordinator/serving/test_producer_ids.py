"""Producer ids come from blocks of 1000; none is given twice."""

from pathlib import Path

import pytest

from tests.coordinator.serving.house import TransactionHouse
from workbench.coordinator.transaction_coordinator.producer_ids import (
    Deliver,
    ProducerIdManager,
    ProducerIdsBlock,
    blocks_from,
    first_block_after,
)
from workbench.errors import CoordinatorError
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode


class Controller:
    """Keeps the requests, and answers when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Deliver] = []

    def __call__(self, deliver: Deliver) -> None:
        self.waiting.append(deliver)

    def answer(self, block: ProducerIdsBlock | None) -> None:
        self.waiting.pop(0)(block)


def test_blocks_follow_each_other() -> None:
    """TC-33."""
    manager = ProducerIdManager(blocks_from(0), ManualClock())
    assert [manager.generate_producer_id() for _ in range(2500)] == list(range(2500))


def test_the_next_block_is_requested_before_it_is_needed() -> None:
    """TC-33: when nine tenths are used; meanwhile nobody waits."""
    controller = Controller()
    manager = ProducerIdManager(controller, ManualClock())
    with pytest.raises(CoordinatorError, match=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.name):
        manager.generate_producer_id()
    controller.answer(ProducerIdsBlock(3000))
    for number in range(900):
        assert manager.generate_producer_id() == 3000 + number
    assert controller.waiting == []
    manager.generate_producer_id()
    assert len(controller.waiting) == 1
    for _ in range(99):
        manager.generate_producer_id()
    with pytest.raises(CoordinatorError):
        manager.generate_producer_id()
    controller.answer(ProducerIdsBlock(7000))
    assert manager.generate_producer_id() == 7000


@pytest.mark.parametrize(
    "block",
    [None, ProducerIdsBlock(-1), ProducerIdsBlock(0, 0), ProducerIdsBlock(5, -1),
     ProducerIdsBlock(2**63 - 5, 1000)],
)  # fmt: skip
def test_a_bad_block_is_refused_and_asked_for_again_later(block: ProducerIdsBlock | None) -> None:
    """TC-33: after 50 ms, as Kafka does."""
    controller, clock = Controller(), ManualClock(1)
    manager = ProducerIdManager(controller, clock)

    def refused() -> None:
        with pytest.raises(CoordinatorError):
            manager.generate_producer_id()

    refused()
    controller.answer(block)
    refused()
    assert controller.waiting == []
    clock.advance(50)
    refused()
    controller.answer(ProducerIdsBlock(0))
    assert manager.generate_producer_id() == 0


def test_a_block_below_the_current_one_is_refused() -> None:
    """TC-33."""
    controller = Controller()
    manager = ProducerIdManager(controller, ManualClock())
    with pytest.raises(CoordinatorError):
        manager.generate_producer_id()
    controller.answer(ProducerIdsBlock(5000, 1))
    assert manager.generate_producer_id() == 5000
    controller.answer(ProducerIdsBlock(4000))
    with pytest.raises(CoordinatorError):
        manager.generate_producer_id()


def test_without_a_controller_ids_continue_after_those_in_the_logs(tmp_path: Path) -> None:
    """No log's producer is given to another, even if its transactional id is gone."""
    house = TransactionHouse(tmp_path)
    producer = house.init()
    house.add(producer)
    house.produce(producer, b"x")
    assert first_block_after(house.manager.logs.values()) == 5000
    assert first_block_after([], [6999]) == 7000
    assert first_block_after([]) == 0
