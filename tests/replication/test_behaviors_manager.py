"""IsrExpirationTest, ReplicaManagerTest, DelayedFetchTest, the tests of epochs: RP-34 to RP-80."""

import pytest

from tests.replication.house import ME, NOW, ORDERS, OTHER, PAYMENTS, THIRD, ReplicaHouse, error_of
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.timestamp_search import EARLIEST, LATEST
from workbench.replication.fetcher import EpochRequest, FetchRequest, FetchState
from workbench.replication.messages import (
    NO_LEADER,
    UNDEFINED,
    EpochEndOffset,
    FetchParams,
    FetchPartition,
)
from workbench.replication.purgatory import available_bytes
from workbench.runtime.error_codes import ErrorCode

PAIR = (ME, OTHER)
OK, NOT_LEADER = ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER
FENCED, UNKNOWN = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH


def leader_of_20() -> ReplicaHouse:
    """Return a leader with 20 records and a limit of 100 ms."""
    house = ReplicaHouse(lag_ms=100)
    house.fill(*[0] * 20)
    house.lead(isr=PAIR, replicas=PAIR)
    return house


def test_a_stuck_follower_is_out_of_sync() -> None:
    """RP-34."""
    house = leader_of_20()
    house.fetch(19)
    house.clock.advance(150)
    assert house.partition().out_of_sync_replicas() == {OTHER}


def test_a_slow_follower_is_out_of_sync() -> None:
    """RP-35."""
    house = leader_of_20()
    house.fetch(18)
    house.clock.advance(75)
    house.fetch(19)
    assert house.partition().out_of_sync_replicas() == set()
    house.clock.advance(75)
    assert house.partition().out_of_sync_replicas() == {OTHER}
    house.fetch(20)
    assert house.partition().out_of_sync_replicas() == set()


def test_a_silent_follower_at_the_end_is_in_sync() -> None:
    """RP-36."""
    house = leader_of_20()
    house.fetch(20)
    house.clock.advance(150)
    assert house.partition().out_of_sync_replicas() == set()


def test_the_checkpointed_high_watermark_is_within_the_log() -> None:
    """RP-37."""
    house = ReplicaHouse()
    assert house.log().high_watermark == 0
    assert house.log().update_high_watermark(5) == 0
    house.fill(*[0] * 10)
    house.lead()
    house.fetch(5, OTHER)
    house.fetch(5, THIRD)
    house.storage.checkpoint()
    house.storage.kill(lose=7)
    house.start()
    assert (house.log().high_watermark, house.log().log_end_offset) == (3, 3)


def test_one_checkpoint_holds_all_partitions() -> None:
    """RP-38."""
    house = ReplicaHouse()
    house.fill(*[0] * 5)
    house.lead(isr=(ME,), replicas=(ME,))
    house.storage.checkpoint()
    house.lead(name=PAYMENTS, isr=(ME,), replicas=(ME,))
    for _ in range(15):
        assert error_of(house.produce(name=PAYMENTS)) is OK
    for _ in range(5):
        house.produce()
    house.storage.checkpoint()
    house.storage.kill()
    house.start()
    assert (house.log().high_watermark, house.log(PAYMENTS).high_watermark) == (10, 15)


@pytest.mark.parametrize("rules", ["4.2", "2.8", "0.10"])
def test_waiting_requests_end_when_the_broker_becomes_a_follower(rules: str) -> None:
    """RP-66."""
    house = ReplicaHouse(rules)
    house.lead()
    produce = house.produce()
    fetch = house.fetch(1, wait=500)
    assert (house.answered(produce), house.answered(fetch)) == (None, None)
    house.follow(epoch=1, partition_epoch=2)
    assert house.answered(produce).error is NOT_LEADER
    assert house.answered(fetch).error is NOT_LEADER
    assert len(house.manager.produce_purgatory) == len(house.manager.fetch_purgatory) == 0
    assert house.manager.fetchers[OTHER].states[ORDERS].current_leader_epoch == 1


@pytest.mark.parametrize(("epoch", "error"), [(0, FENCED), (None, NOT_LEADER)])
def test_a_waiting_fetch_of_a_consumer_ends_with_the_epoch(
    epoch: int | None, error: ErrorCode
) -> None:
    """RP-67."""
    house = ReplicaHouse()
    house.lead()
    waits = house.fetch(0, -1, epoch=epoch, wait=500)
    assert house.answered(waits) is None
    house.follow(epoch=1, partition_epoch=2)
    assert house.answered(waits).error is error


def test_consumers_get_nothing_above_the_high_watermark() -> None:
    """RP-68."""
    house = ReplicaHouse()
    house.lead()
    house.produce(acks=1)
    house.produce(acks=1)
    found = house.fetch(1)
    assert (found.error, [r.offset for r in found.records.records()]) == (OK, [1])
    found = house.fetch(1, -1)
    assert (found.error, found.size, found.high_watermark) == (OK, 0, 0)
    assert error_of(house.fetch(3, -1)) is ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("rules", "epoch", "state"),
    [
        ("4.2", 3, FetchState.FETCHING),
        ("2.6", 3, FetchState.TRUNCATING),
        ("2.1", 2, FetchState.TRUNCATING),
        ("2.0.1", 3, FetchState.TRUNCATING),
        ("2.0.1", 2, FetchState.FETCHING),
        ("2.0.0", 3, FetchState.FETCHING),
    ],
)
def test_a_follower_that_missed_an_epoch(rules: str, epoch: int, state: FetchState) -> None:
    """RP-69: whether it asks again; up to 2.0.0 never if the leader is the same."""
    house = ReplicaHouse(rules)
    house.fill(0)
    house.follow(epoch=1)
    request = house.fetcher().next_request()
    if isinstance(request, EpochRequest):
        house.fetcher().handle(request, {ORDERS: (OK, EpochEndOffset(0, 1))})
    assert house.fetcher().states[ORDERS].state is FetchState.FETCHING
    house.follow(epoch=epoch, partition_epoch=epoch)
    assert house.fetcher().states[ORDERS].state is state


def test_a_follower_learns_the_high_watermark_late() -> None:
    """RP-70."""
    house = ReplicaHouse()
    house.lead(isr=PAIR, replicas=PAIR)
    produce = [house.produce(), house.produce()]
    assert house.fetch(0).high_watermark == 0
    found = house.fetch(2)
    assert (found.high_watermark, house.log().high_watermark) == (0, 2)
    assert [house.answered(number).error for number in produce] == [OK, OK]
    waits = house.fetch(2, wait=500)
    assert house.answered(waits) is None
    house.clock.advance(500)
    house.manager.expire_delayed()
    assert house.answered(waits).high_watermark == 2
    assert house.answered(waits).size == 0


def test_a_waiting_fetch_of_a_follower_wakes_at_an_append() -> None:
    """RP-70: it is answered with the high watermark of that moment."""
    house = ReplicaHouse()
    house.lead(isr=PAIR, replicas=PAIR)
    waits = house.fetch(0, wait=500)
    house.produce()
    found = house.answered(waits)
    assert (found.error, found.high_watermark, found.size > 0) == (OK, 0, True)
    assert house.remote().log_end_offset == 0


def test_a_leader_is_demoted_and_promoted() -> None:
    """RP-72."""
    house = ReplicaHouse()
    house.lead(isr=PAIR, replicas=PAIR)
    produced = [house.produce() for _ in range(3)]
    house.fetch(3)
    assert [house.answered(number).error for number in produced] == [OK] * 3
    assert house.manager.fetchers == {}
    house.follow(epoch=1, partition_epoch=2, isr=PAIR, replicas=PAIR)
    assert error_of(house.produce()) is NOT_LEADER
    assert house.partition().leader_epoch == 1
    assert house.fetcher().states[ORDERS].fetch_offset == 3
    house.lead(epoch=2, partition_epoch=3, isr=PAIR, replicas=PAIR)
    assert house.manager.fetchers == {}
    waits = house.produce()
    assert house.answered(waits) is None
    house.fetch(4, epoch=2)
    assert house.answered(waits).error is OK
    assert house.partition().partition_epoch == 3


def test_only_a_new_epoch_restarts_a_fetcher_and_after_it_has_stopped() -> None:
    """RP-73."""
    house = ReplicaHouse()
    house.follow(epoch=0)
    before = house.fetcher()
    assert before.states[ORDERS].fetch_offset == 0
    house.fill(0)  # as a fetcher that is about to stop can
    house.follow(epoch=0, partition_epoch=2, isr=PAIR)
    assert house.fetcher() is before
    assert house.fetcher().states[ORDERS].fetch_offset == 0
    house.follow(epoch=1, partition_epoch=3)
    assert house.fetcher().states[ORDERS].fetch_offset == 1
    house.follow(THIRD, epoch=2, partition_epoch=4)
    assert set(house.manager.fetchers) == {THIRD}


@pytest.mark.parametrize(("rules", "follows"), [("4.2", None), ("2.8", OTHER)])
def test_a_partition_without_a_leader(rules: str, follows: int | None) -> None:
    """RP-73: the log is there for its checkpoint; up to 3.2 the broker goes on as before."""
    house = ReplicaHouse(rules)
    house.manager.apply({PAYMENTS: house.state(NO_LEADER)})
    assert PAYMENTS in house.manager.high_watermarks()
    house.follow(epoch=1)
    house.manager.apply({ORDERS: house.state(NO_LEADER, 2, partition_epoch=2)})
    assert next(iter(house.manager.fetchers), None) == follows


def waiting(
    house: ReplicaHouse, offset: int, *, start: LogOffsetMetadata | None = None
) -> int | None:
    """Return the bytes that a follower's waiting fetch would get; None: it is answered now."""
    where = LogOffsetMetadata(offset) if start is None else start
    fetch = FetchPartition(offset, 0, 1 << 20, None)
    return available_bytes(house.partition(), FetchParams(OTHER), fetch, where)


def test_a_waiting_fetch_of_a_log_that_was_cut() -> None:
    """RP-74."""
    house = ReplicaHouse()
    house.lead()
    assert waiting(house, 450) is None
    house.fill(*[0] * 500)
    assert waiting(house, 450) == 0
    house.log().roll()
    first = LogOffsetMetadata(450, 0, 0)
    assert waiting(house, 450, start=first) is None
    assert waiting(house, 500, start=first) == 0


@pytest.mark.parametrize("change", ["epoch", "not leader", "divergence"])
def test_a_waiting_fetch_ends_with_the_reason(change: str) -> None:
    """RP-75."""
    house = ReplicaHouse()
    house.fill(*[0] * 500)
    house.lead(epoch=1)
    epoch = None if change == "not leader" else 1
    waits = house.fetch(500, epoch=epoch, last=0 if change == "divergence" else None, wait=500)
    assert house.answered(waits) is None
    if change == "epoch":
        house.lead(epoch=2, partition_epoch=2)
    elif change == "not leader":
        house.follow(epoch=2, partition_epoch=2)
    else:
        house.log().truncate_to(499)
    house.manager.fetch_purgatory.check_and_complete(ORDERS)
    found = house.answered(waits)
    if change == "divergence":
        assert (found.error, found.diverging_epoch) == (OK, EpochEndOffset(0, 499))
    else:
        assert found.error is (FENCED if change == "epoch" else NOT_LEADER)


def test_the_latest_and_the_earliest_offset() -> None:
    """RP-76."""
    house = ReplicaHouse()
    partition = house.lead(isr=(ME,), replicas=(ME,))
    epochs = house.log().leader_epochs
    for _ in range(3):
        house.produce()
    assert partition.fetch_offset(0, LATEST) == (OK, 3)
    assert epochs.latest_epoch == 0
    house.lead(epoch=4, partition_epoch=2, isr=(ME,), replicas=(ME,))
    for _ in range(3):
        house.produce()
    assert partition.fetch_offset(4, LATEST) == (OK, 6)
    assert epochs.latest_epoch == 4
    assert partition.fetch_offset(4, EARLIEST) == (OK, 0)
    assert epochs.epoch_for_offset(0) == 0
    house.log().delete_records(3)
    assert partition.fetch_offset(4, EARLIEST) == (OK, 3)
    assert epochs.epoch_for_offset(3) == 4
    assert house.manager.fetch_offset(PAYMENTS, 4, LATEST) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        -1,
    )


def test_where_epochs_end() -> None:
    """RP-77."""
    house = ReplicaHouse()
    house.fill(0, 0, 0, 4, 4, 4)
    partition = house.lead(epoch=4)
    found = [partition.last_offset_for_leader_epoch(4, epoch) for epoch in (0, 4, 3, 5)]
    expected = [EpochEndOffset(0, 3), EpochEndOffset(4, 6), EpochEndOffset(0, 3), UNDEFINED]
    assert found == [(OK, end) for end in expected]


def test_questions_where_epochs_end_that_are_refused() -> None:
    """RP-78."""
    house = ReplicaHouse()
    house.fill(0)
    house.lead(epoch=5)
    house.follow(epoch=5, name=PAYMENTS)

    def ask(name: object, current: int | None) -> tuple[ErrorCode, EpochEndOffset]:
        return house.manager.last_offsets_for_leader_epoch({name: (current, 0)})[name]  # type: ignore[dict-item, index]

    assert ask(ORDERS, 5) == ask(ORDERS, None) == (OK, EpochEndOffset(0, 1))
    assert ask(ORDERS, 4) == (FENCED, UNDEFINED)
    assert ask(ORDERS, 6) == (UNKNOWN, UNDEFINED)
    assert ask(PAYMENTS, 5) == ask(PAYMENTS, None) == (NOT_LEADER, UNDEFINED)
    assert ask("nothing-0", None) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNDEFINED)


def test_epochs_are_kept_in_order() -> None:
    """RP-79."""
    house = ReplicaHouse()
    epochs = house.log().leader_epochs
    for epoch, start in [(1, 10), (2, 20), (3, 30)]:
        epochs.assign(epoch, start)
    epochs.assign(3, 35)
    assert [tuple(entry) for entry in epochs.entries] == [(1, 10), (2, 20), (3, 30)]
    epochs.assign(4, 20)
    assert [tuple(entry) for entry in epochs.entries] == [(1, 10), (4, 20)]
    epochs.assign(2, 40)
    assert [tuple(entry) for entry in epochs.entries] == [(1, 10), (2, 40)]


@pytest.mark.parametrize("rules", ["4.2", "2.0.0", "1.1"])
def test_epochs_that_a_leader_never_saw(rules: str) -> None:
    """RP-80: up to 2.0.0 an epoch before the first one is unknown; up to 1.1 no epoch is told."""
    house = ReplicaHouse(rules)
    partition = house.lead(epoch=9)
    house.log().leader_epochs.clear()
    house.fill(0, 0, 0, 0, 0)
    house.log().leader_epochs.clear()
    for epoch, start in [(3, 1), (5, 2), (7, 4)]:
        house.log().leader_epochs.assign(epoch, start)
    ends = [tuple(partition.end_offset_for(epoch)) for epoch in (2, 4, 6, 7, 8, -1)]
    undefined = (-1, -1)
    assert (
        ends
        == {
            "4.2": [(2, 1), (3, 2), (5, 4), (7, 5), undefined, undefined],
            "2.0.0": [undefined, (3, 2), (5, 4), (7, 5), undefined, undefined],
            "1.1": [undefined, (-1, 2), (-1, 4), (-1, 5), undefined, undefined],
        }[rules]
    )


def test_a_produce_that_times_out_keeps_its_records() -> None:
    """RP-72: and nothing is answered twice."""
    house = ReplicaHouse()
    house.lead(isr=PAIR, replicas=PAIR)
    waits = house.produce(timeout_ms=1000)
    house.clock.advance(999)
    assert house.manager.expire_delayed() == 0
    house.clock.advance(1)
    assert house.manager.expire_delayed() == 1
    assert house.answered(waits).error is ErrorCode.REQUEST_TIMED_OUT
    assert house.log().log_end_offset == 1
    house.fetch(1)
    assert house.log().high_watermark == 1


def test_the_minimum_of_in_sync_replicas() -> None:
    """RP-22: before the append, and after it."""
    house = ReplicaHouse(min_isr=2)
    house.lead(isr=(ME,))
    assert error_of(house.produce()) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert house.log().log_end_offset == 0
    assert error_of(house.produce(acks=1)) is OK
    assert house.log().high_watermark == 0
    house.lead(isr=(ME,), replicas=(ME,), partition_epoch=2)  # no more than there are
    assert house.log().high_watermark == 1

    house = ReplicaHouse("3.6", min_isr=2)
    house.lead(isr=PAIR)
    waits = house.produce()
    house.clock.advance(30_001)
    house.manager.maybe_shrink_isr()
    house.confirm()
    assert house.answered(waits).error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_follower_that_is_ahead_of_an_old_leader_ends_its_process() -> None:
    """RP-48: up to 2.0.0, if unclean elections are off."""
    for unclean in (False, True):
        house = ReplicaHouse("0.10", unclean=unclean)
        house.fill(0, 0)
        house.log().update_high_watermark(2)
        house.follow()
        request = house.fetcher().next_request()
        assert isinstance(request, FetchRequest)
        assert request.partitions[ORDERS].fetch_offset == 2
        house.answer_fetch(ErrorCode.OFFSET_OUT_OF_RANGE)
        asked = house.fetcher().next_request()
        assert asked is not None
        house.fetcher().handle(asked, (OK, 1))
        assert len(house.halted) == (not unclean)
        assert house.log().log_end_offset == (1 if unclean else 2)
        assert house.clock.now() == NOW
