"""Kafka's AbstractFetcherThreadTest and ReplicaFetcherThreadTest: RP-40 to RP-65."""

import pytest

from tests.replication.house import (
    NOW,
    ORDERS,
    OTHER,
    PAYMENTS,
    ReplicaHouse,
    answer,
    carry,
)
from workbench.errors import ReplicationError
from workbench.files.names import TopicPartition
from workbench.record.memory_records import MemoryRecords
from workbench.replication.fetcher import EpochRequest, FetchRequest, FetchState, OffsetRequest
from workbench.replication.messages import UNDEFINED, EpochEndOffset, FetchPartitionData
from workbench.runtime.error_codes import ErrorCode

PAIR = (OTHER, 1)
OK, FENCED, UNKNOWN = (
    ErrorCode.NONE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
)
ASKS, ON_FETCH = "2.7", "4.2"
both_ways = pytest.mark.parametrize("rules", [ASKS, ON_FETCH])


def pair(
    rules: str,
    follower_epochs: tuple[int, ...],
    leader_epochs: tuple[int, ...],
    *,
    epoch: int,
    leader_epoch: int | None = None,
    high: int = 0,
    leader_high: int = 0,
) -> tuple[ReplicaHouse, ReplicaHouse]:
    """Return a follower and its leader, each with one record per epoch."""
    follower, leader = ReplicaHouse(rules), ReplicaHouse(rules, OTHER)
    follower.fill(*follower_epochs)
    follower.log().update_high_watermark(high)
    leader.fill(*leader_epochs)
    leader.log().update_high_watermark(leader_high)
    lead(leader, epoch if leader_epoch is None else leader_epoch)
    follower.follow(epoch=epoch, isr=PAIR, replicas=PAIR)
    return follower, leader


def lead(leader: ReplicaHouse, epoch: int) -> None:
    """Make the leader lead an epoch."""
    leader.lead(epoch=epoch, isr=PAIR, replicas=PAIR, partition_epoch=epoch + 1)


def contents(house: ReplicaHouse) -> list[tuple[int, int]]:
    """Return (offset, epoch) of all records."""
    return [(r.offset, r.epoch) for r in house.storage.records(house.log())]


def state_of(house: ReplicaHouse, name: TopicPartition = ORDERS) -> FetchState:
    """Return what the fetcher does with a partition."""
    return house.fetcher().states[name].state


def long_log(house: ReplicaHouse, *runs: tuple[int, int], name: TopicPartition = ORDERS) -> None:
    """Fill a log: (epoch, its end offset) for each epoch."""
    start = 0
    for epoch, end in runs:
        house.fill(*[epoch] * (end - start), name=name)
        start = end


def ask(house: ReplicaHouse, *ends: EpochEndOffset) -> EpochRequest:
    """Take the question where epochs end and answer it: one end for each partition."""
    request = house.fetcher().next_request()
    assert isinstance(request, EpochRequest)
    house.fetcher().handle(
        request, {name: (OK, end) for name, end in zip(request.partitions, ends, strict=True)}
    )
    return request


# AbstractFetcherThreadTest


@both_ways
def test_one_round_copies_a_batch(rules: str) -> None:
    """RP-40."""
    follower, leader = pair(rules, (), (), epoch=0)
    leader.log().append_as_leader(MemoryRecords.of((None, b"a"), (None, b"b"), timestamp=NOW), 0)
    leader.log().update_high_watermark(2)
    carry(follower, leader)
    assert (follower.log().log_end_offset, follower.log().high_watermark) == (2, 2)
    assert contents(follower) == contents(leader)
    assert follower.fetcher().states[ORDERS].lag == 0


def test_an_error_delays_its_partition_only() -> None:
    """RP-41."""
    follower = ReplicaHouse()
    follower.follow()
    follower.follow(name=PAYMENTS)
    request = follower.fetcher().next_request()
    follower.fetcher().handle(
        request,  # type: ignore[arg-type]
        {ORDERS: answer(ErrorCode.UNKNOWN_SERVER_ERROR), PAYMENTS: answer()},
    )
    again = follower.fetcher().next_request()
    assert isinstance(again, FetchRequest)
    assert list(again.partitions) == [PAYMENTS]
    follower.clock.advance(1000)
    assert set(follower.fetcher().next_request().partitions) == {ORDERS, PAYMENTS}  # type: ignore[union-attr]


@pytest.mark.parametrize("rules", ["2.1", ASKS, ON_FETCH])
@pytest.mark.parametrize("follower_epochs", [(), (0,)])
def test_a_follower_of_an_old_epoch_is_fenced(rules: str, follower_epochs: tuple[int, ...]) -> None:
    """RP-42."""
    follower, leader = pair(rules, follower_epochs, (0, 0), epoch=0, leader_epoch=1)
    while carry(follower, leader) is not None:
        pass
    assert follower.fetcher().states == {}
    assert ORDERS in follower.fetcher().failed
    assert follower.log().log_end_offset == len(follower_epochs)
    lead(leader, 2)
    assert follower.follow(epoch=2, partition_epoch=3, isr=PAIR, replicas=PAIR)
    for _ in range(4):
        carry(follower, leader)
    assert follower.log().log_end_offset == 2


@both_ways
@pytest.mark.parametrize("follower_epochs", [(), (0,)])
def test_a_follower_waits_for_its_leader_to_learn_the_epoch(
    rules: str, follower_epochs: tuple[int, ...]
) -> None:
    """RP-43."""
    follower, leader = pair(rules, follower_epochs, (0, 0), epoch=1, leader_epoch=0)
    stuck = FetchState.TRUNCATING if rules == ASKS and follower_epochs else FetchState.FETCHING
    for _ in range(3):
        carry(follower, leader)
        assert state_of(follower) is stuck
        assert follower.log().log_end_offset == len(follower_epochs)
        assert follower.fetcher().next_request() is None  # it backs off
        follower.clock.advance(1000)
    lead(leader, 1)
    for _ in range(4):
        carry(follower, leader)
    assert contents(follower) == contents(leader)


@pytest.mark.parametrize(("rules", "rounds"), [(ASKS, 3), (ON_FETCH, 3)])
def test_logs_with_different_epochs_become_the_same(rules: str, rounds: int) -> None:
    """RP-44: the example of truncation on fetch."""
    follower, leader = pair(rules, (0, 2, 4), (1, 3, 5), epoch=5, high=0, leader_high=2)
    cuts = []
    for _ in range(rounds):
        carry(follower, leader)
        cuts.append(follower.log().log_end_offset)
    assert cuts[-1] == 0
    if rules == ON_FETCH:
        assert cuts == [2, 1, 0]
    while follower.log().log_end_offset < 3:
        assert carry(follower, leader) is not None
    assert contents(follower) == contents(leader) == [(0, 1), (1, 3), (2, 5)]
    assert [tuple(e) for e in follower.log().leader_epochs.entries] == [(1, 0), (3, 1), (5, 2)]
    assert follower.log().high_watermark == leader.log().high_watermark == 2


@pytest.mark.parametrize("rules", ["0.10", "0.11", ASKS, ON_FETCH])
def test_without_epochs_the_log_is_cut_at_the_high_watermark(rules: str) -> None:
    """RP-45."""
    follower = ReplicaHouse(rules)
    follower.fill(0, 0, 0)
    follower.log().leader_epochs.clear()
    follower.log().update_high_watermark(2)
    follower.follow(epoch=5)
    request = follower.fetcher().next_request()
    assert isinstance(request, FetchRequest)
    assert follower.log().log_end_offset == 2
    assert request.partitions[ORDERS].fetch_offset == 2
    assert request.partitions[ORDERS].last_fetched_epoch is None
    assert state_of(follower) is FetchState.FETCHING


@both_ways
def test_the_same_epoch_is_added_once(rules: str) -> None:
    """RP-46."""
    follower, leader = pair(rules, (), (0, 0), epoch=5)
    carry(follower, leader)
    known = follower.fetcher().states[ORDERS]
    assert known.fetch_offset == 1
    follower.log().truncate_to(0)
    follower.fetcher().add_partition(ORDERS, 5)
    assert follower.fetcher().states[ORDERS] == known
    follower.fetcher().add_partition(ORDERS, 6)
    assert follower.fetcher().states[ORDERS].fetch_offset == 0


def test_divergence_of_a_partition_that_is_not_followed_any_more() -> None:
    """RP-47."""
    follower = ReplicaHouse()
    follower.fill(0, 1, 2, 4, 4)
    follower.follow(epoch=5)
    fetcher = follower.fetcher()
    request = fetcher.next_request()
    assert request is not None
    diverging = {ORDERS: answer(diverging_epoch=EpochEndOffset(4, 4))}
    fetcher.remove_partition(ORDERS)
    fetcher.handle(request, diverging)
    assert follower.log().log_end_offset == 5
    fetcher.add_partition(ORDERS, 5)
    again = fetcher.next_request()
    assert again is not None
    fetcher.handle(again, {ORDERS: answer(diverging_epoch=EpochEndOffset(3, 9))})
    assert (fetcher.states[ORDERS].fetch_offset, follower.log().log_end_offset) == (3, 3)
    fetcher.handle(again, diverging)  # the answer to a fetch from another offset
    assert fetcher.states[ORDERS].fetch_offset == 3
    fetcher.handle(again, {PAYMENTS: answer()})
    assert set(fetcher.states) == {ORDERS}


@both_ways
def test_the_leaders_log_was_emptied(rules: str) -> None:
    """RP-48."""
    follower, leader = pair(rules, (0, 0, 0), (0, 0, 0), epoch=0, high=2)
    for _ in range(2):
        carry(follower, leader)
    leader.log().truncate_fully_and_start_at(0)
    carry(follower, leader)
    assert state_of(follower) is FetchState.ASKING_LATEST
    carry(follower, leader)
    log = follower.log()
    assert (log.log_end_offset, log.log_start_offset, log.high_watermark) == (0, 0, 0)
    assert state_of(follower) is FetchState.FETCHING
    leader.fill(0)
    carry(follower, leader)
    assert contents(follower) == [(0, 0)]


@both_ways
def test_the_leaders_log_starts_after_the_end_of_the_followers(rules: str) -> None:
    """RP-49."""
    follower, leader = ReplicaHouse(rules), ReplicaHouse(rules, OTHER)
    follower.fill(0)
    leader.log().truncate_fully_and_start_at(2)
    leader.fill(4)
    leader.log().update_high_watermark(3)
    lead(leader, 4)
    follower.follow(epoch=4, isr=PAIR, replicas=PAIR)
    kinds = []
    while follower.log().log_start_offset != 2:
        kinds.append(type(carry(follower, leader)))
    assert kinds[-2:] == [OffsetRequest, OffsetRequest]
    log = follower.log()
    assert (log.log_end_offset, log.high_watermark, list(log.leader_epochs.entries)) == (2, 2, [])
    assert state_of(follower) is FetchState.FETCHING
    carry(follower, leader)
    assert contents(follower) == contents(leader) == [(2, 4)]
    assert log.high_watermark == 3


@both_ways
def test_the_epoch_changes_while_the_leaders_end_is_asked(rules: str) -> None:
    """RP-50."""
    for epoch, is_fenced in [(1, True), (-1, False)]:
        follower, leader = pair(rules, (0,), (0,), epoch=0)
        while state_of(follower) is not FetchState.FETCHING:
            carry(follower, leader)
        leader.log().truncate_fully_and_start_at(0)
        carry(follower, leader)
        assert state_of(follower) is FetchState.ASKING_LATEST
        leader.partition().leader_epoch = epoch
        assert isinstance(carry(follower, leader), OffsetRequest)
        assert (ORDERS in follower.fetcher().failed) == is_fenced
        if not is_fenced:
            assert follower.fetcher().next_request() is None
            follower.clock.advance(1000)
            leader.partition().leader_epoch = 0
            carry(follower, leader)
            assert follower.log().log_end_offset == 0
            assert state_of(follower) is FetchState.FETCHING


def test_a_corrupt_batch_is_fetched_again() -> None:
    """RP-51."""
    follower, leader = pair(ON_FETCH, (), (0, 0), epoch=0, leader_high=2)
    request = follower.fetcher().next_request()
    good = leader.fetch(0, 1)
    broken = good.records.buffer.copy()
    broken[-1] ^= 1
    bad = good._replace(records=MemoryRecords(broken))
    assert request is not None
    follower.fetcher().handle(request, {ORDERS: bad})
    assert follower.log().log_end_offset == 0
    assert follower.fetcher().failed == {}
    assert follower.fetcher().next_request() is None
    follower.clock.advance(1000)
    carry(follower, leader)
    carry(follower, leader)
    assert (follower.log().log_end_offset, follower.log().high_watermark) == (2, 2)


@pytest.mark.parametrize("error", [OK, FENCED])
def test_the_epoch_changes_while_the_question_is_out(error: ErrorCode) -> None:
    """RP-52."""
    follower, leader = pair(ASKS, (0, 0, 0), (0,), epoch=1)
    fetcher = follower.fetcher()
    request = fetcher.next_request()
    assert isinstance(request, EpochRequest)
    follower.follow(epoch=2, partition_epoch=2, isr=PAIR, replicas=PAIR)
    fetcher = follower.fetcher()
    fetcher.handle(request, {ORDERS: (error, EpochEndOffset(0, 1))})
    assert (state_of(follower), follower.log().log_end_offset) == (FetchState.TRUNCATING, 3)
    assert fetcher.states[ORDERS].current_leader_epoch == 2
    lead(leader, 2)
    carry(follower, leader)
    assert (state_of(follower), follower.log().log_end_offset) == (FetchState.FETCHING, 1)


def test_the_epoch_changes_while_a_fetch_is_out() -> None:
    """RP-52: the answer is taken, up to the epoch of the request."""
    follower, leader = pair(ON_FETCH, (0,), (0, 0, 0, 1), epoch=0)
    request = follower.fetcher().next_request()
    assert isinstance(request, FetchRequest)
    follower.follow(epoch=1, partition_epoch=2, isr=PAIR, replicas=PAIR)
    data = leader.log().read(1)
    late = FetchPartitionData(OK, 0, 0, data.records, data.size)
    follower.fetcher().handle(request, {ORDERS: late})
    assert contents(follower) == [(0, 0), (1, 0), (2, 0)]
    assert follower.fetcher().states[ORDERS].current_leader_epoch == 1


def test_an_answer_about_a_partition_that_was_not_asked_for() -> None:
    """RP-53."""
    follower = ReplicaHouse(ASKS)
    follower.fill(0, 0)
    follower.follow(epoch=1)
    request = follower.fetcher().next_request()
    assert isinstance(request, EpochRequest)
    end = OK, EpochEndOffset(0, 1)
    with pytest.raises(ReplicationError, match="payments-0: not asked"):
        follower.fetcher().handle(request, {ORDERS: end, PAYMENTS: end})
    assert follower.log().log_end_offset == 2


def test_a_partition_fails_alone() -> None:
    """RP-54: at an append, and at a truncation."""
    leader = ReplicaHouse(broker=OTHER)
    leader.fill(0, 0)
    first = leader.log().read(0, 1)
    good = FetchPartitionData(OK, 1, 0, first.records, first.size)
    gap = good._replace(records=leader.log().read(1).records)
    follower = ReplicaHouse()
    follower.fill(0)
    follower.follow()
    follower.follow(name=PAYMENTS)
    request = follower.fetcher().next_request()
    assert request is not None
    wrong = answer(diverging_epoch=EpochEndOffset(-1, -5))
    follower.fetcher().handle(request, {ORDERS: wrong, PAYMENTS: good})
    assert set(follower.fetcher().failed) == {ORDERS}
    assert follower.log(PAYMENTS).log_end_offset == 1
    assert "fetch failed" in [step.kind for step in follower.steps]
    follower.fetcher().add_partition(ORDERS, 1)
    assert follower.fetcher().failed == {}

    follower.log(PAYMENTS).truncate_fully_and_start_at(5)
    follower.fetcher().add_partition(PAYMENTS, 1)
    request = follower.fetcher().next_request()
    assert request is not None
    follower.fetcher().handle(request, {PAYMENTS: gap, ORDERS: gap})
    assert set(follower.fetcher().failed) == {PAYMENTS}
    assert follower.log().log_end_offset == 2


def test_the_answer_that_cuts_brings_nothing_else() -> None:
    """RP-55."""
    follower, leader = pair(
        ON_FETCH, (0, 0, 2, 4, 4, 4), (0, 0, 2, 5, 5), epoch=5, high=1, leader_high=4
    )
    carry(follower, leader)
    assert (follower.log().log_end_offset, follower.log().high_watermark) == (3, 1)
    assert state_of(follower) is FetchState.FETCHING
    for _ in range(2):
        carry(follower, leader)
    assert (follower.log().log_end_offset, follower.log().high_watermark) == (5, 4)
    assert contents(follower) == contents(leader)
    assert [step.kind for step in follower.steps].count("follower truncated") == 1


# ReplicaFetcherThreadTest


def asking(rules: str = ASKS, *, high: int = 100) -> ReplicaHouse:
    """Return a follower of two partitions, each with 200 records of epoch 5."""
    house = ReplicaHouse(rules)
    for name in (ORDERS, PAYMENTS):
        long_log(house, (5, 200), name=name)
        house.log(name).update_high_watermark(high)
        house.follow(epoch=6, name=name)
    return house


def ends(house: ReplicaHouse) -> tuple[int, int]:
    """Return both log end offsets."""
    return house.log().log_end_offset, house.log(PAYMENTS).log_end_offset


def test_epochs_are_asked_once() -> None:
    """RP-56."""
    house = ReplicaHouse(ASKS)
    long_log(house, (5, 20))
    house.follow(epoch=6)
    house.follow(epoch=6, name=PAYMENTS)
    asked = ask(house, EpochEndOffset(5, 20))
    assert asked.partitions == {ORDERS: (6, 5)}
    assert {state.state for state in house.fetcher().states.values()} == {FetchState.FETCHING}
    for _ in range(3):
        request = house.fetcher().next_request()
        assert isinstance(request, FetchRequest)
        house.fetcher().handle(request, {ORDERS: answer(), PAYMENTS: answer()})


def test_the_leaders_end_of_the_same_epoch() -> None:
    """RP-57."""
    house = asking()
    ask(house, EpochEndOffset(5, 156), EpochEndOffset(5, 172))
    assert ends(house) == (156, 172)


@pytest.mark.parametrize(("rules", "cut"), [("2.0.0", (156, 200)), (ASKS, (0, 0))])
def test_the_leaders_epoch_is_below_all_of_the_followers(rules: str, cut: tuple[int, int]) -> None:
    """RP-58: Kafka's test lets the own epochs answer nothing, as they did up to 2.0.0."""
    house = asking(rules)
    ask(house, EpochEndOffset(4, 156), EpochEndOffset(4, 202))
    assert ends(house) == cut


def test_the_leaders_epoch_is_between_the_followers() -> None:
    """RP-59."""
    house = ReplicaHouse(ASKS)
    long_log(house, (3, 120), (5, 200))
    house.follow(epoch=6)
    assert ask(house, EpochEndOffset(4, 155)).partitions == {ORDERS: (6, 5)}
    assert (house.log().log_end_offset, state_of(house)) == (120, FetchState.TRUNCATING)
    assert ask(house, EpochEndOffset(3, 101)).partitions == {ORDERS: (6, 3)}
    assert (house.log().log_end_offset, state_of(house)) == (101, FetchState.FETCHING)
    request = house.fetcher().next_request()
    assert isinstance(request, FetchRequest)
    assert request.partitions[ORDERS].fetch_offset == 101


def test_an_answer_to_a_fetch_cuts_step_by_step() -> None:
    """RP-60 and RP-61: an answer that cuts does not move the high watermark."""
    house = ReplicaHouse(ON_FETCH)
    long_log(house, (2, 119), (3, 129), (4, 149))
    house.log().update_high_watermark(110)
    house.follow(epoch=6)
    for end, cut, last in [((4, 140), 140, 4), ((3, 130), 129, 3), ((2, 120), 119, 2)]:
        diverging = EpochEndOffset(*end)
        request = house.answer_fetch(diverging_epoch=diverging, high_watermark=160)
        assert isinstance(request, FetchRequest)
        log, state = house.log(), house.fetcher().states[ORDERS]
        assert (log.log_end_offset, log.high_watermark) == (cut, 110)
        assert (state.fetch_offset, state.last_fetched_epoch) == (cut, last)
        assert state.state is FetchState.FETCHING


def test_the_old_answer_has_no_epoch() -> None:
    """RP-62."""
    house = asking("0.11")
    asked = ask(house, EpochEndOffset(-1, 155), EpochEndOffset(-1, 143))
    assert asked.partitions[ORDERS] == (None, 5)
    assert ends(house) == (155, 143)


@pytest.mark.parametrize("rules", ["0.11", "2.0", ASKS])
def test_an_undefined_answer_cuts_at_the_first_fetch_offset(rules: str) -> None:
    """RP-63."""
    house = asking(rules)
    ask(house, UNDEFINED, UNDEFINED)
    assert ends(house) == (100, 100)
    assert state_of(house) is FetchState.FETCHING


def test_a_follower_becomes_the_leader_while_it_asks() -> None:
    """RP-64."""
    house = asking()
    fetcher = house.fetcher()
    request = fetcher.next_request()
    assert isinstance(request, EpochRequest)
    house.lead(epoch=7, partition_epoch=2)
    end = OK, EpochEndOffset(5, 156)
    fetcher.handle(request, {ORDERS: end, PAYMENTS: end})
    assert ends(house) == (200, 156)


def test_a_consumer_waits_at_a_follower_for_its_high_watermark() -> None:
    """RP-65."""
    follower, leader = pair(ON_FETCH, (), (0, 0), epoch=0)
    waits = follower.fetch(0, -1, wait=500, from_any_replica=True)
    carry(follower, leader)
    assert follower.log().log_end_offset == 1
    assert follower.answered(waits) is None
    leader.log().update_high_watermark(1)
    carry(follower, leader)
    found = follower.answered(waits)
    assert (found.error, found.high_watermark) == (OK, 1)
    assert [record.offset for record in found.records.records()] == [0]
