from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.truncation import (
    FetchResponse,
    TruncatableLog,
    become_follower,
    fetch_offset_and_truncate,
    fetch_response,
)
from workbench.files.leader_epochs import EpochEntry, cut_start
from workbench.replication.messages import EpochEndOffset
from workbench.replication.rules import Rules


def log(
    epochs: Sequence[tuple[int, int]], end: int, start: int = 0, high: int = 0
) -> TruncatableLog:
    return TruncatableLog(tuple(EpochEntry(*each) for each in epochs), start, end, high)


def started_at(whole: TruncatableLog, offset: int) -> TruncatableLog:
    """Return a log without the records before an offset."""
    return replace(whole, epochs=cut_start(whole.epochs, offset), log_start_offset=offset)


def diverging(epoch: int, end: int) -> FetchResponse:
    return FetchResponse("diverging", EpochEndOffset(epoch, end))


RECORDS = FetchResponse("records")
OUT_OF_RANGE = FetchResponse("out of range")

# RP-1: PartitionTest.testReadRecordsEpochValidation (Kafka 4.2), leader with log end offset 17.
LEADER = [(0, 0), (3, 2), (4, 8), (7, 13), (9, 14), (10, 17)]


@pytest.mark.parametrize(
    ("start", "epoch", "offset", "answer"),
    [
        (0, 2, 5, diverging(0, 2)),
        (0, 0, 4, diverging(0, 2)),
        (0, 6, 6, diverging(4, 13)),
        (0, 5, 9, diverging(4, 13)),
        (0, 10, 18, diverging(10, 17)),
        (0, 0, 2, RECORDS),
        (0, 7, 14, RECORDS),
        (0, 9, 17, RECORDS),
        (0, 10, 17, RECORDS),
        (0, 11, 5, OUT_OF_RANGE),
        (5, 2, 8, diverging(2, 5)),
        (5, 0, 5, RECORDS),
        (5, 3, 5, RECORDS),
        (5, 0, 0, OUT_OF_RANGE),
        (10, 5, 6, OUT_OF_RANGE),
        (10, 3, 6, OUT_OF_RANGE),
    ],
)
def test_a_leader_answers_a_fetch_as_kafkas_test_says(
    start: int, epoch: int, offset: int, answer: FetchResponse
) -> None:
    leader = log(LEADER, 17)
    if start:
        leader = started_at(leader, start)
    assert fetch_response(leader, offset, epoch) == answer


def test_a_follower_removes_one_wrong_epoch_each_round() -> None:
    """AbstractFetcherThreadTest: the example of truncation on fetch."""
    found = become_follower(log([(0, 0), (2, 1), (4, 2)], 3), log([(1, 0), (3, 1), (5, 2)], 3))
    cuts = [
        (each.fetch_offset, each.last_fetched_epoch, each.truncated_to) for each in found.rounds
    ]
    assert cuts == [(3, 4, 2), (2, 2, 1), (1, 0, 0), (0, None, 0)]
    assert [each.diverging_epoch for each in found.rounds] == [(3, 2), (1, 1), (0, 0), None]
    assert (found.offset, found.removes) == (0, 3)


def words(follower: TruncatableLog, leader: TruncatableLog, version: str) -> list[str]:
    found = become_follower(follower, leader, Rules.of(version))
    assert found.offset == found.rounds[-1].truncated_to
    return [str(each) for each in found.rounds]


def test_a_follower_asks_again_if_it_lacks_the_leaders_epoch() -> None:
    """KIP-279: the two rounds of OffsetsForLeaderEpoch (G-4b)."""
    leader, follower = log([(0, 0), (1, 5), (3, 8)], 12), log([(0, 0), (2, 6)], 10)
    assert words(follower, leader, "2.4") == [
        "end of epoch 2? → epoch 1 ends at 8: truncate to 6",
        "end of epoch 0? → epoch 0 ends at 5: truncate to 5",
        "fetch(5, no epoch) → records",
    ]


def test_high_watermarks_lose_what_epochs_keep_g1() -> None:
    """KIP-101: the follower has m1, and its high watermark does not know it yet."""
    follower, leader = log([(0, 0)], 2, high=1), log([(0, 0)], 2, high=2)
    assert words(follower, leader, "0.10.2") == [
        "high watermark: truncate to the high watermark 1", "fetch(1, no epoch) → records",
    ]  # fmt: skip
    for version, first in (
        ("1.1", "end of epoch 0? → it ends at 2"),
        ("2.7", "end of epoch 0? → epoch 0 ends at 2"),
        ("4.2", "fetch(2, epoch 0) → records"),
    ):
        assert words(follower, leader, version)[0] == first
        assert become_follower(follower, leader, Rules.of(version)).removes == 0


def test_fast_failover_diverges_before_2_0_g3() -> None:
    """KIP-279: A has m0, m1, m3 and leads epoch 2; B has m0, m2 of epochs 0 and 1."""
    leader, follower = log([(0, 0), (2, 2)], 3), log([(0, 0), (1, 1)], 2, high=1)
    assert words(follower, leader, "1.1") == [
        "end of epoch 1? → it ends at 2", "fetch(2, no epoch) → records",
    ]  # fmt: skip
    assert become_follower(follower, leader, Rules.of("2.0")).offset == 1
    assert become_follower(follower, leader).offset == 1


def test_a_leader_without_an_entry_of_its_epoch_g5() -> None:
    """KAFKA-7415: up to 2.0.0 the leader does not know the follower's epoch."""
    leader, follower = log([(0, 0)], 2), log([(0, 0), (1, 2)], 3, high=1)
    assert words(follower, leader.as_leader(2, Rules.of("2.0.0")), "2.0.0") == [
        "end of epoch 1? → unknown to the leader: truncate to 1", "fetch(1, no epoch) → records",
    ]  # fmt: skip
    newer = Rules.of("2.0.1")
    assert become_follower(follower, leader.as_leader(2, newer), newer).offset == 2


def test_a_log_without_epochs_is_truncated_to_its_high_watermark() -> None:
    found = become_follower(log([], 10, high=4), log([(3, 7)], 9))
    assert [str(each) for each in found.rounds] == [
        "no epochs: truncate to the high watermark 4",
        "fetch(4, no epoch) → records",
    ]
    assert found.removes == 6


def test_a_follower_behind_the_start_of_the_leader_drops_its_log() -> None:
    """G-11."""
    found = become_follower(log([(0, 0)], 1), log([(0, 2)], 3, start=2))
    assert (found.after.log_start_offset, found.offset, found.after.epochs) == (2, 2, ())
    assert found.rounds[0].is_full
    assert found.removes == 1


def test_a_follower_longer_than_the_leader_without_epochs_is_truncated_to_its_end() -> None:
    change = fetch_offset_and_truncate(log([], 9), log([], 5))
    assert (change.offset, change.is_full, change.fetch_offset) == (5, False, 5)
    assert become_follower(log([], 9, high=9), log([], 5)).offset == 5


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return the epochs of the records of two logs with one ancestor, as one cluster writes them.

    Epochs never fall along a log, and after the common part no epoch is in both: one leader each.
    """
    epoch, common = 0, []
    for step in draw(st.lists(st.integers(0, 2), max_size=8)):
        epoch += step
        common.append(epoch)
    logs = [list(common[: draw(st.integers(0, len(common)))]), list(common)]
    for leader in draw(st.lists(st.booleans(), max_size=6)):
        epoch += draw(st.integers(1, 2))
        logs[leader] += [epoch] * draw(st.integers(1, 3))
    return logs[0], logs[1]


def state_of(epochs: Sequence[int], start: int = 0) -> TruncatableLog:
    entries = [
        EpochEntry(epoch, offset)
        for offset, epoch in enumerate(epochs)
        if not offset or epochs[offset - 1] != epoch
    ]
    found = TruncatableLog(tuple(entries), 0, len(epochs), len(epochs))
    return started_at(found, start) if start else found


@given(histories())
def test_after_truncation_a_follower_is_the_beginning_of_the_leaders_log(
    logs: tuple[list[int], list[int]],
) -> None:
    """One leader per epoch, and each leader wrote from where its log ended."""
    for mine, leaders in (logs, logs[::-1]):
        leader = state_of(leaders).as_leader(max([0, *mine, *leaders]) + 1)
        found = become_follower(state_of(mine), leader)
        assert mine[: found.offset] == leaders[: found.offset]
        assert found.after.epochs == state_of(mine[: found.offset]).epochs
        assert len(found.rounds) <= len(set(mine)) + 2
        # Nothing more than the difference is truncated.
        same = 0
        while same < min(len(mine), len(leaders)) and mine[same] == leaders[same]:
            same += 1
        assert found.offset == same


@given(
    st.sampled_from(["0.10", "1.1", "2.4", "4.2"]),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), max_size=5),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), max_size=5),
    st.tuples(*[st.integers(0, 20)] * 6),
)
def test_any_entries_come_to_an_end(
    version: str,
    mine: list[tuple[int, int]],
    leaders: list[tuple[int, int]],
    offsets: tuple[int, ...],
) -> None:
    follower = log(sorted(mine), max(offsets[:2]), min(offsets[:2]), offsets[4])
    leader = log(sorted(leaders), max(offsets[2:4]), min(offsets[2:4]), offsets[5]).as_leader(10)
    found = become_follower(follower, leader, Rules.of(version))
    assert len(found.rounds) <= len(mine) + 5
    assert found.rounds[-1].truncated_to == found.offset
