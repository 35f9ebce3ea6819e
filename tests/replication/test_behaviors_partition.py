"""Kafka's PartitionTest and ReplicaTest: RP-1 to RP-33."""

import pytest

from tests.replication.house import ME, NOW, OTHER, REPLICAS, THIRD, ReplicaHouse, error_of
from workbench.errors import UnexpectedAppendOffsetError
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.timestamp_search import EARLIEST, LATEST
from workbench.record.memory_records import MemoryRecords
from workbench.replication.messages import UNDEFINED, EpochEndOffset, FetchParams, FetchPartition
from workbench.replication.replica import ReplicaState
from workbench.runtime.error_codes import ErrorCode

PAIR = (ME, OTHER)
FENCED, UNKNOWN = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH
NOT_LEADER, OK = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE
OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE


def at(offset: int) -> LogOffsetMetadata:
    """Return an offset without a position."""
    return LogOffsetMetadata(offset)


def test_last_fetched_epoch_is_validated() -> None:
    """RP-1: epochs 0@0 3@2 4@8 7@13 9@14 10@17, log end offset 17."""
    house = ReplicaHouse()
    house.fill(0, 0, *[3] * 6, *[4] * 5, 7, 9, 9, 9)
    house.lead(epoch=10)
    entries = [tuple(entry) for entry in house.log().leader_epochs.entries]
    assert entries == [(0, 0), (3, 2), (4, 8), (7, 13), (9, 14), (10, 17)]

    def outcome(epoch: int, offset: int) -> tuple[int, int] | str:
        found = house.fetch(offset, last=epoch, epoch=10)
        if found.diverging_epoch is not None:
            assert (found.error, found.size, found.records) == (OK, 0, None)
            return tuple(found.diverging_epoch)
        return "ok" if found.error is OK else found.error.name

    diverging = {
        (2, 5): (0, 2), (0, 4): (0, 2), (6, 6): (4, 13), (5, 9): (4, 13), (10, 18): (10, 17),
    }  # fmt: skip
    assert {asked: outcome(*asked) for asked in diverging} == diverging
    assert [outcome(*asked) for asked in [(0, 2), (7, 14), (9, 17), (10, 17)]] == ["ok"] * 4
    assert outcome(11, 5) == "OFFSET_OUT_OF_RANGE"

    house.log().update_high_watermark(17)
    house.log().maybe_increment_log_start_offset(5, "a test")
    assert (outcome(2, 8), outcome(0, 5), outcome(3, 5)) == ((2, 5), "ok", "ok")
    assert outcome(0, 0) == "OFFSET_OUT_OF_RANGE"  # though it diverges too
    house.log().maybe_increment_log_start_offset(10, "a test")
    assert (outcome(5, 6), outcome(3, 6)) == ("OFFSET_OUT_OF_RANGE",) * 2


def test_a_leader_stores_its_epoch_before_its_first_append() -> None:
    """RP-2."""
    house = ReplicaHouse()
    house.fill(0, 0, 5, 5)
    partition = house.lead(epoch=8)
    assert house.log().log_end_offset == 4
    assert house.log().end_offset_for_epoch(8) == (8, 4)
    assert partition.last_offset_for_leader_epoch(8, 8) == (OK, EpochEndOffset(8, 4))


def test_without_epochs_a_leader_leaves_the_cache_empty() -> None:
    """RP-3, with the rules before there were epochs."""
    house = ReplicaHouse("0.10")
    partition = house.lead(epoch=8)
    assert list(house.log().leader_epochs.entries) == []
    assert partition.last_offset_for_leader_epoch(None, 8) == (OK, UNDEFINED)


def test_a_follower_refuses_fetches_of_followers() -> None:
    """RP-4."""
    house = ReplicaHouse()
    house.follow(epoch=8)
    errors = {epoch: error_of(house.fetch(0, epoch=epoch)) for epoch in (None, 8, 9, 7)}
    assert errors == {None: NOT_LEADER, 8: NOT_LEADER, 9: UNKNOWN, 7: FENCED}


def test_a_fetch_of_a_broker_that_is_not_assigned() -> None:
    """RP-5."""
    house = ReplicaHouse()
    house.lead(epoch=5, isr=PAIR, replicas=PAIR)
    assert error_of(house.fetch(0, THIRD, epoch=5)) is UNKNOWN
    assert error_of(house.fetch(0, THIRD)) is NOT_LEADER
    assert THIRD not in house.partition().remote
    added = house.state(ME, 5, PAIR, 2, REPLICAS)
    assert house.partition().make_leader(added) is False
    assert error_of(house.fetch(0, THIRD, epoch=5)) is OK
    assert error_of(house.fetch(0, THIRD)) is OK
    assert house.remote(THIRD).log_end_offset == 0


def errors_of_epochs(house: ReplicaHouse, *, only_leader: bool) -> dict[int | None, set[ErrorCode]]:
    """Return how each kind of request is answered by its epoch."""
    partition, found = house.partition(), {}
    consumer = FetchParams(max_wait_ms=0, from_any_replica=not only_leader)
    for epoch in (None, 4, 5, 6):
        fetch = FetchPartition(0, current_leader_epoch=epoch)
        found[epoch] = {
            partition.check_access(epoch, only_leader=only_leader),
            partition.last_offset_for_leader_epoch(epoch, 0, only_leader=only_leader)[0],
            partition.fetch_offset(epoch, LATEST, only_leader=only_leader)[0],
            partition.fetch_offset(epoch, NOW, only_leader=only_leader)[0],
            partition.fetch_records(consumer, fetch, 1000, min_one_message=True).error,
        }
    return found


def test_epochs_of_requests_to_a_leader() -> None:
    """RP-6."""
    house = ReplicaHouse()
    house.lead(epoch=5)
    for only_leader in (True, False):
        found = errors_of_epochs(house, only_leader=only_leader)
        assert found == {None: {OK}, 4: {FENCED}, 5: {OK}, 6: {UNKNOWN}}


def test_epochs_of_requests_to_a_follower() -> None:
    """RP-7."""
    house = ReplicaHouse()
    house.follow(epoch=5)
    found = errors_of_epochs(house, only_leader=True)
    assert found == {None: {NOT_LEADER}, 4: {FENCED}, 5: {NOT_LEADER}, 6: {UNKNOWN}}
    found = errors_of_epochs(house, only_leader=False)
    assert found == {None: {OK}, 4: {FENCED}, 5: {OK}, 6: {UNKNOWN}}


@pytest.mark.parametrize("rules", ["4.2", "2.1"])
def test_a_new_leader_hides_its_end_while_its_high_watermark_lags(rules: str) -> None:
    """RP-8: KIP-207, which 2.1 does not have."""
    house = ReplicaHouse(rules)
    partition = house.lead(epoch=5)
    house.fill(5, 5, 5, 5, 5, timestamps=(10, 11, 12, 13, 14))
    house.fetch(2, OTHER)
    house.fetch(2, THIRD)
    assert house.log().high_watermark == 2
    assert partition.fetch_offset(5, LATEST, is_replica=False) == (OK, 2)
    assert partition.fetch_offset(5, 13, is_replica=False) == (OK, -1)
    house.follow(epoch=6, partition_epoch=2)
    house.lead(epoch=7, partition_epoch=3)
    hidden = ErrorCode.OFFSET_NOT_AVAILABLE if rules == "4.2" else OK
    assert partition.fetch_offset(7, LATEST, is_replica=False)[0] is hidden
    assert partition.fetch_offset(7, 13, is_replica=False) == (hidden, -1)
    assert partition.fetch_offset(7, LATEST) == (OK, 5)
    assert partition.fetch_offset(7, EARLIEST, is_replica=False) == (OK, 0)
    assert partition.fetch_offset(7, 11, is_replica=False) == (OK, 1)
    house.fetch(5, OTHER)
    assert partition.fetch_offset(7, LATEST, is_replica=False)[0] is hidden
    house.fetch(5, THIRD)
    assert partition.fetch_offset(7, LATEST, is_replica=False) == (OK, 5)


def test_an_empty_follower_may_restart_within_the_first_batch() -> None:
    """RP-9."""
    house = ReplicaHouse()
    partition = house.partition()
    house.log().truncate_fully_and_start_at(5)

    def records(base: int, count: int) -> MemoryRecords:
        made = MemoryRecords.of(*[(None, b"v")] * count, timestamp=NOW)
        scratch = ReplicaHouse()
        scratch.log().truncate_fully_and_start_at(base)
        scratch.log().append_as_leader(made, 0)
        return scratch.log().read(base).records

    with pytest.raises(UnexpectedAppendOffsetError):
        partition.append_records_to_follower(records(3, 1), 0)
    assert house.log().log_end_offset == 5
    partition.append_records_to_follower(records(4, 3), 0)
    assert (house.log().log_start_offset, house.log().log_end_offset) == (4, 7)
    partition.append_records_to_follower(records(7, 1), 0)
    assert house.log().log_end_offset == 8
    with pytest.raises(UnexpectedAppendOffsetError):
        partition.append_records_to_follower(records(3, 6), 0)
    assert (house.log().log_start_offset, house.log().log_end_offset) == (4, 8)


def test_only_a_new_epoch_restarts_the_fetcher() -> None:
    """RP-10."""
    partition = ReplicaHouse().partition()
    state = ReplicaHouse().state(OTHER, 1)
    assert partition.make_follower(state) is True
    assert partition.make_follower(state._replace(leader_epoch=4, partition_epoch=2)) is True
    assert partition.make_follower(state._replace(leader_epoch=4, partition_epoch=3)) is False


@pytest.mark.parametrize("rules", ["4.2", "2.0.0"])
def test_a_follower_joins_the_isr_from_the_start_of_the_epoch(rules: str) -> None:
    """RP-11: KAFKA-7128; until 2.0.0 the high watermark is enough."""
    house = ReplicaHouse(rules)
    house.fill(0, 0, 0, 0, 0)
    house.lead(epoch=1, isr=(ME, THIRD))
    house.log().update_high_watermark(2)
    house.fetch(2, OTHER)
    assert len(house.asked) == (rules == "2.0.0")
    if rules == "4.2":
        house.fetch(5, OTHER)
        assert house.isr() == ((ME, THIRD), {ME, OTHER, THIRD})
        assert house.asked[0].new_isr == REPLICAS


def test_what_a_fetch_tells_the_leader() -> None:
    """RP-12."""
    house = ReplicaHouse()
    house.fill(*[0] * 6)
    house.lead(epoch=4, isr=PAIR, replicas=PAIR)
    assert house.remote() == ReplicaState(at(-1), -1, -1, 0, NOW, -1)
    house.clock.advance(500)
    house.fetch(3)
    assert (house.remote().log_end_offset, house.remote().log_start_offset) == (3, 0)
    assert house.remote().last_caught_up_time_ms == NOW
    house.clock.advance(500)
    house.fetch(6)
    assert (house.remote().log_end_offset, house.remote().log_start_offset) == (6, 0)
    assert house.remote().last_caught_up_time_ms == NOW + 1000


def test_the_isr_expands_when_the_controller_says_so() -> None:
    """RP-13."""
    house = ReplicaHouse()
    house.fill(*[0] * 10)
    house.lead(epoch=4, isr=(ME,), replicas=PAIR)
    house.fetch(3)
    assert house.asked == []
    house.fetch(10)
    (asked,) = house.asked
    assert (asked.broker, asked.leader_epoch, asked.partition_epoch, asked.new_isr) == (
        ME, 4, 1, PAIR,
    )  # fmt: skip
    assert asked.broker_epochs == (-1, -1)
    assert house.isr() == ((ME,), {ME, OTHER})
    house.confirm()
    assert house.isr() == (PAIR, {ME, OTHER})
    assert [step.kind for step in house.steps].count("ISR changed") == 1


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        FENCED,
    ],
)
def test_a_change_that_waits_for_metadata(error: ErrorCode) -> None:
    """RP-14."""
    house = ReplicaHouse()
    house.lead(isr=(ME,), replicas=PAIR)
    house.fetch(0)
    house.refuse(error)
    house.fetch(0)
    assert len(house.asked) == 1
    assert house.isr() == ((ME,), {ME, OTHER})


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NETWORK_EXCEPTION])
def test_a_change_that_is_asked_for_again(error: ErrorCode) -> None:
    """RP-15."""
    house = ReplicaHouse()
    house.lead(isr=(ME,), replicas=PAIR)
    house.fetch(0)
    house.refuse(error)
    assert len(house.asked) == 2
    assert house.asked[0] == house.asked[1]
    assert house.isr() == ((ME,), {ME, OTHER})
    house.confirm()
    assert house.isr() == (PAIR, {ME, OTHER})


@pytest.mark.parametrize(
    ("rules", "is_eligible", "high"),
    [("4.2", False, 20), ("4.2", True, 10), ("3.5", False, 10)],
)
def test_a_replica_that_left_the_isr_holds_the_high_watermark_back(
    rules: str, high: int, *, is_eligible: bool
) -> None:
    """RP-16: only if it may return, which 3.5 does not ask."""
    house = ReplicaHouse(rules)
    house.fill(*[0] * 10)
    house.lead(epoch=4, isr=PAIR, replicas=PAIR)
    house.fetch(10)
    assert house.log().high_watermark == 10
    house.fill(*[4] * 10)
    if not is_eligible:
        house.ineligible.add(OTHER)
    house.lead(epoch=4, isr=(ME,), replicas=PAIR, partition_epoch=2)
    assert house.isr() == ((ME,), {ME})
    assert house.log().high_watermark == high


def test_a_broker_that_is_fenced_does_not_join_the_isr() -> None:
    """RP-17."""
    house = ReplicaHouse()
    house.lead(isr=(ME,), replicas=PAIR)
    house.ineligible.add(OTHER)
    house.fetch(0)
    assert house.asked == []
    house.ineligible.clear()
    house.fetch(0)
    assert house.isr() == ((ME,), {ME, OTHER})
    house.refuse(ErrorCode.INELIGIBLE_REPLICA)  # the controller knows better
    assert house.isr() == ((ME,), {ME})
    house.ineligible.add(OTHER)
    house.fetch(0)
    assert len(house.asked) == 1
    house.ineligible.clear()
    house.fetch(0)
    assert len(house.asked) == 2
    assert house.isr() == ((ME,), {ME, OTHER})


def test_a_follower_joins_the_isr_in_the_life_that_the_metadata_knows() -> None:
    """RP-18."""
    house = ReplicaHouse()
    house.lead(isr=(ME, THIRD))
    house.epochs[OTHER] = 7
    house.fetch(0, replica_epoch=8)
    assert (house.remote().log_end_offset, house.remote().broker_epoch) == (0, 8)
    assert house.asked == []
    house.fetch(0, replica_epoch=7)
    assert house.asked[0].new_isr == REPLICAS
    assert house.asked[0].broker_epochs == (-1, 7, -1)


def test_a_fetch_of_an_earlier_life_is_refused() -> None:
    """RP-19."""
    house = ReplicaHouse()
    house.fill(0, 0, 0)
    house.lead()
    house.epochs[OTHER] = 7
    house.fetch(1, replica_epoch=7)
    known = house.remote()
    assert error_of(house.fetch(2, replica_epoch=6)) is NOT_LEADER
    assert house.remote() == known
    assert error_of(house.fetch(2)) is OK  # before 3.5 followers do not tell it


def test_a_follower_that_does_not_fetch_leaves_the_isr() -> None:
    """RP-20."""
    house = ReplicaHouse()
    house.fill(*[0] * 10)
    house.lead(isr=PAIR, replicas=PAIR)
    house.clock.advance(30_000)
    house.manager.maybe_shrink_isr()
    assert house.asked == []
    house.clock.advance(1)
    house.manager.maybe_shrink_isr()
    assert house.asked[0].new_isr == (ME,)
    assert house.isr() == (PAIR, {ME, OTHER})
    assert house.log().high_watermark == 0
    house.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert len(house.asked) == 2
    house.confirm()
    assert house.isr() == ((ME,), {ME})
    assert house.log().high_watermark == 10


def test_a_shrink_that_builds_on_an_old_state_waits() -> None:
    """RP-21."""
    house = ReplicaHouse()
    house.fill(*[0] * 10)
    house.lead(isr=PAIR, replicas=PAIR)
    house.clock.advance(30_001)
    house.manager.maybe_shrink_isr()
    house.refuse(ErrorCode.INVALID_UPDATE_VERSION)
    house.manager.maybe_shrink_isr()
    assert len(house.asked) == 1
    assert house.partition().isr_state.pending == (ME,)
    assert house.isr() == (PAIR, {ME, OTHER})
    assert house.log().high_watermark == 0


@pytest.mark.parametrize("rules", ["4.2", "3.6"])
def test_the_high_watermark_stands_below_the_minimum(rules: str) -> None:
    """RP-22: KAFKA-15583; 3.6 does not wait for the minimum."""
    house = ReplicaHouse(rules, min_isr=3)
    house.fill(*[0] * 10)
    house.lead(isr=PAIR)
    house.fetch(10, OTHER)
    assert house.log().high_watermark == (0 if rules == "4.2" else 10)
    house.fetch(10, THIRD)
    assert house.isr() == (PAIR, {ME, OTHER, THIRD})
    assert house.log().high_watermark == (0 if rules == "4.2" else 10)
    house.confirm()
    assert house.log().high_watermark == 10


def test_metadata_ends_a_pending_change() -> None:
    """RP-23."""
    house = ReplicaHouse()
    house.lead(isr=PAIR, replicas=PAIR)
    house.clock.advance(30_001)
    house.fill(0)
    house.manager.maybe_shrink_isr()
    house.lead(isr=PAIR, replicas=PAIR, partition_epoch=2)
    assert house.partition().isr_state.pending is None
    house.answer_now = ErrorCode.OPERATION_NOT_ATTEMPTED  # the first request is under way
    house.manager.maybe_shrink_isr()
    assert [asked.partition_epoch for asked in house.asked] == [1, 2]
    assert (house.partition().isr_state.pending, house.isr()) == (None, (PAIR, {ME, OTHER}))
    house.confirm(0)  # the old answer is to a state that is over
    assert house.isr() == (PAIR, {ME, OTHER})
    assert house.partition().partition_epoch == 2
    house.answer_now = None
    house.manager.maybe_shrink_isr()
    house.confirm()
    assert house.isr() == ((ME,), {ME})


def test_reaching_the_end_of_the_previous_fetch_is_enough() -> None:
    """RP-24."""
    house = ReplicaHouse(lag_ms=12_000)
    house.fill(*[0] * 10)
    house.lead(isr=PAIR, replicas=PAIR)
    house.clock.advance(5_000)
    house.fetch(5)
    assert (house.remote().last_caught_up_time_ms, house.log().high_watermark) == (NOW, 5)
    house.fill(*[0] * 5)
    house.clock.advance(10_001)
    house.fetch(10)
    assert house.remote().last_caught_up_time_ms == NOW + 5_000
    assert house.log().high_watermark == 10
    house.manager.maybe_shrink_isr()
    assert house.asked == []


@pytest.mark.parametrize("rules", ["4.2", "2.0.1"])
def test_a_replica_at_the_end_stays_in_the_isr(rules: str) -> None:
    """RP-25: KAFKA-7152; until 2.0.1 only the time counts."""
    house = ReplicaHouse(rules)
    house.fill(*[0] * 10)
    house.lead(isr=PAIR, replicas=PAIR)
    house.fetch(10)
    house.clock.advance(30_001)
    house.manager.maybe_shrink_isr()
    assert len(house.asked) == (rules == "2.0.1")


def test_one_change_of_the_isr_is_under_way() -> None:
    """RP-26."""
    house = ReplicaHouse()
    house.fill(*[0] * 10)
    house.lead(isr=(ME, THIRD))
    house.fetch(10, OTHER)
    assert len(house.asked) == 1
    house.clock.advance(30_001)
    assert house.partition().out_of_sync_replicas() == set()
    house.manager.maybe_shrink_isr()
    assert len(house.asked) == 1
    house.confirm()
    house.manager.maybe_shrink_isr()
    assert [asked.new_isr for asked in house.asked] == [REPLICAS, PAIR]


def test_the_checkpoint_gives_the_first_high_watermark() -> None:
    """RP-27."""
    house = ReplicaHouse()
    house.fill(*[5] * 6)
    house.log().update_high_watermark(4)
    house.storage.checkpoint()
    house.storage.kill()
    house.start()
    house.lead(epoch=8)
    assert (house.log().high_watermark, house.log().log_end_offset) == (4, 6)


def test_the_same_epoch_keeps_what_is_known_of_followers() -> None:
    """RP-28."""
    house = ReplicaHouse()
    house.lead(epoch=4, isr=(ME, THIRD))
    house.fill(4, 4)
    house.fetch(0, OTHER)
    house.fetch(1, THIRD)
    known = dict(house.partition().remote)
    house.clock.advance(100)
    assert house.partition().make_leader(house.state(ME, 4, (ME, THIRD), 2)) is False
    assert house.partition().remote == known
    assert house.partition().leader_epoch_start_offset == 0


def test_an_older_partition_epoch_is_ignored() -> None:
    """RP-29."""
    house = ReplicaHouse()
    partition = house.partition()
    assert partition.make_leader(house.state(ME, 4, REPLICAS, 5)) is True
    assert partition.make_leader(house.state(ME, 5, PAIR, 4)) is False
    assert (partition.leader_epoch, partition.isr_state.isr) == (4, REPLICAS)
    assert partition.make_follower(house.state(OTHER, 6, REPLICAS, 4)) is False
    assert (partition.leader, partition.partition_epoch) == (ME, 5)
    assert partition.make_leader(house.state(ME, 4, PAIR, 5)) is False  # equal is taken
    assert partition.isr_state.isr == PAIR
    assert partition.make_follower(house.state(OTHER, 6, REPLICAS, 6)) is True
    assert partition.make_follower(house.state(THIRD, 7, REPLICAS, 5)) is False
    assert partition.leader == OTHER


def test_a_replica_that_nothing_is_known_of() -> None:
    """RP-30."""
    fresh = ReplicaState()
    assert (fresh.log_end_offset, fresh.log_start_offset) == (-1, -1)
    assert fresh[2:] == (0, 0, 0, -1)


def test_fetches_move_the_time_when_a_replica_was_caught_up() -> None:
    """RP-31."""
    state = ReplicaState()
    times = []
    for offset, now, leader_end in [(5, 100, 10), (10, 200, 15), (15, 300, 15)]:
        state = state.after_fetch(at(offset), 1, now, leader_end)
        times.append(state.last_caught_up_time_ms)
        assert (state.log_end_offset, state.log_start_offset) == (offset, 1)
        assert state.last_fetch_leader_log_end_offset == leader_end
        assert state.last_fetch_time_ms == now
    assert times == [0, 100, 300]


def test_a_replica_at_the_beginning_of_an_epoch() -> None:
    """RP-32."""
    state = ReplicaState().after_fetch(at(10), 1, 100, 10, 3)
    again = state.reset(200, 11, is_new_leader=False, is_in_sync=True)
    assert again == ReplicaState(at(10), 1, 11, 200, 200, 3)
    again = state.reset(200, 11, is_new_leader=False, is_in_sync=False)
    assert again == ReplicaState(at(10), 1, 11, 0, 0, 3)
    new = state.reset(200, 11, is_new_leader=True, is_in_sync=True)
    assert new == ReplicaState(at(-1), -1, -1, 0, 200, -1)
    new = state.reset(200, 11, is_new_leader=True, is_in_sync=False)
    assert new == ReplicaState(at(-1), -1, -1, 0, 0, -1)


def test_when_a_replica_is_caught_up() -> None:
    """RP-33."""
    state = ReplicaState().after_fetch(at(10), 0, 1000, 10)
    assert state.is_caught_up(10, 1_000_000, 50)
    assert state.is_caught_up(11, 1050, 50)
    assert not state.is_caught_up(11, 1051, 50)
    assert not state.is_caught_up(10, 1051, 50, keeps_at_end=False)
