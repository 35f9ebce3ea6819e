"""The coordinator as a user opens it, alone and with the offsets of groups."""

from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.coordinator.serving.house import read_committed
from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    TransactionCoordinator,
)
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import ManualScheduler

ORDERS = TopicPartition("orders", 0)
NOW = 1_800_000_000_000


def _commit(
    manager: LogManager, coordinator: TransactionCoordinator, value: bytes
) -> ProducerIdAndEpoch:
    log = manager.get_or_create_log(ORDERS)
    producer, epoch, error = coordinator.init_producer_id("payments")
    assert error is ErrorCode.NONE
    assert coordinator.add_partitions_to_transaction("payments", producer, epoch, [ORDERS]) == 0
    log.append_as_leader(
        MemoryRecords.of(
            (None, value), timestamp=manager.clock.now(), producer_id=producer,
            producer_epoch=epoch, base_sequence=0, is_transactional=True,
        )
    )  # fmt: skip
    return coordinator.end_transaction("payments", producer, epoch, commit=True)


def test_leaving_waits_for_the_markers_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """With threads and the machine's clock; the log of an id is created when it is needed."""
    with LogManager([tmp_path]) as manager:
        with TransactionCoordinator(manager) as coordinator:
            assert _commit(manager, coordinator, b"first") == (0, 1, ErrorCode.NONE)
        assert read_committed(manager.logs[ORDERS]) == [b"first"]
        assert len(manager.logs) == 2
    with LogManager([tmp_path]) as manager:
        with TransactionCoordinator(manager) as coordinator:
            assert _commit(manager, coordinator, b"second") == (0, 3, ErrorCode.NONE)
            other = coordinator.init_producer_id("other")
            assert other == (1000, 0, ErrorCode.NONE)  # the block after the ids in the logs
        assert read_committed(manager.logs[ORDERS]) == [b"first", b"second"]


def test_the_number_of_partitions_is_that_of_the_ids(tmp_path: Path) -> None:
    """As the broker that wrote them, whose configuration is not in the directory."""
    names = [f"id-{number}" for number in range(20)]
    config = TransactionConfig(num_partitions=5)
    with LogManager([tmp_path]) as manager, TransactionCoordinator(manager, config) as coordinator:
        first = {name: coordinator.init_producer_id(name) for name in names}
    with LogManager([tmp_path]) as manager, TransactionCoordinator(manager) as coordinator:
        for name in names:
            assert coordinator.init_producer_id(name).producer_id == first[name].producer_id


def test_it_obeys_the_configuration_of_the_broker(tmp_path: Path) -> None:
    config = {
        "transaction.max.timeout.ms": 5000,
        "transaction.state.log.num.partitions": 3,
        "transaction.state.log.segment.bytes": 5000,
        "transactional.id.expiration.ms": 60_000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 7000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 8000,
    }
    clock = ManualClock(NOW)
    scheduler = ManualScheduler(clock)
    manager = LogManager([tmp_path], config, clock=clock, scheduler=scheduler)
    manager.startup(with_tasks=False)
    with TransactionCoordinator(manager) as coordinator:
        refused = coordinator.init_producer_id("a", 5001).error
        assert refused is ErrorCode.INVALID_TRANSACTION_TIMEOUT
        assert coordinator.init_producer_id("a", 5000).error is ErrorCode.NONE
        log = manager.get_log(TopicPartition(TRANSACTIONS_TOPIC, 97 % 3))
        assert log is not None
        assert log.config.segment_bytes == 5000
        clock.advance(59_000)
        assert coordinator.describe_transactions("a").metadata is not None
        clock.advance(8001)
        assert coordinator.describe_transactions("a").metadata is None
    manager.shutdown()


def test_without_a_log_nobody_coordinates(tmp_path: Path) -> None:
    with LogManager([tmp_path]) as manager:
        coordinator = TransactionCoordinator(manager, creates_topic=False)
        with coordinator:
            assert coordinator.init_producer_id("x").error is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("commit", [True, False])
def test_offsets_count_once_the_transaction_commits(tmp_path: Path, *, commit: bool) -> None:
    """Consume, process, produce: both coordinators over one log manager."""
    with LogManager([tmp_path]) as manager:

        def verify(*asked: Any) -> None:
            coordinator.require_partition(*asked)

        offsets = OffsetManager(manager, verify=verify)
        coordinator = TransactionCoordinator(manager, offsets=offsets)
        with offsets, coordinator:
            producer, epoch, _ = coordinator.init_producer_id("tx")
            pair: Any = {"producer_id": producer, "producer_epoch": epoch}
            with pytest.raises(CoordinatorError, match="TRANSACTION_ABORTABLE"):
                offsets.commit_transactional("g", {"orders-0": 5}, transactional_id="tx", **pair)
            answer = coordinator.add_offsets_to_transaction("tx", producer, epoch, "g")
            assert answer is ErrorCode.NONE
            offsets.commit_transactional("g", {"orders-0": 5}, transactional_id="tx", **pair)
            assert offsets.fetch("g", ["orders-0"])["orders-0"].offset == -1
            coordinator.end_transaction("tx", producer, epoch, commit=commit)
            coordinator.markers.send_all()
            state = coordinator.describe_transactions("tx").metadata
            assert state is not None
            assert str(state.state) == ("CompleteCommit" if commit else "CompleteAbort")
            found = offsets.fetch("g", ["orders-0"])["orders-0"].offset
            assert found == (5 if commit else -1)


def test_producers_on_many_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Each commits or aborts its own transactions; then everything is complete and in its place."""
    threads, rounds = 4, 12
    with LogManager([tmp_path]) as manager:
        logs = [manager.get_or_create_log("orders", number) for number in range(2)]
        with TransactionCoordinator(manager, TransactionConfig(num_partitions=2)) as coordinator:

            def work(name: str) -> None:
                producer, epoch, error = coordinator.init_producer_id(name)
                assert error is ErrorCode.NONE
                for number in range(rounds):
                    where = [log.topic_partition for log in logs]
                    asked = name, producer, epoch
                    waiting = ErrorCode.CONCURRENT_TRANSACTIONS  # the last one is being completed
                    while waiting is ErrorCode.CONCURRENT_TRANSACTIONS:
                        waiting = coordinator.add_partitions_to_transaction(*asked, where)
                    assert waiting is ErrorCode.NONE
                    for log in logs:
                        records = MemoryRecords.of(
                            (None, b"%s %d" % (name.encode(), number)),
                            timestamp=manager.clock.now(), producer_id=producer,
                            producer_epoch=epoch, base_sequence=0, is_transactional=True,
                        )  # fmt: skip
                        log.append_as_leader(records)
                    _, epoch, error = coordinator.end_transaction(*asked, commit=number % 3 > 0)
                    assert error is ErrorCode.NONE

            workers = [Thread(target=work, args=(f"tx{n}",)) for n in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        wanted = sorted(
            b"tx%d %d" % (n, number)
            for n in range(threads)
            for number in range(rounds)
            if number % 3
        )
        for log in logs:
            found = [value for value in read_committed(log) if value is not None]
            assert sorted(found) == wanted
            for n in range(threads):  # in order, per producer
                mine = [int(value.split()[1]) for value in found if value.startswith(b"tx%d " % n)]
                assert mine == sorted(mine)
