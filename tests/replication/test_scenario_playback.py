"""The scenarios: the numbers of KIP-101, KIP-279, KAFKA-7415, KIP-320, KIP-966 step by step."""

from typing import Any

import pytest

import workbench as wb
from workbench.errors import ReplicationError
from workbench.replication.simulation.events import KINDS, Bounds, Event, event_of
from workbench.replication.simulation.playback import Playback, play
from workbench.replication.simulation.scenarios import SCENARIOS
from workbench.runtime.error_codes import ErrorCode


def logs(played: Playback) -> list[str]:
    """Return the values of each broker at the end."""
    replicas = played.moments[-1].after.replicas
    return [" ".join(record.value for record in each.records) for each in replicas]


def watermarks(played: Playback) -> list[tuple[Any, ...]]:
    """Return (LEO, remote LEO, HW of the leader; LEO, HW of the follower) per moment."""
    found = []
    for moment in played.moments:
        leader, follower = moment.after.replicas
        found.append(
            (
                leader.log_end_offset, dict(leader.remote)[1], leader.high_watermark,
                follower.log_end_offset, follower.high_watermark,
            )
        )  # fmt: skip
    return found


def answers(played: Playback) -> dict[str, ErrorCode | None]:
    return {sent.value: sent.answer for sent in played.cluster.produced}


def kinds(played: Playback) -> set[str]:
    return {each.kind for each in played.violations}


def test_g0_is_the_table_of_the_article() -> None:
    played = wb.scenarios.play("G-0")
    assert watermarks(played) == [
        (0, 0, 0, 0, 0),  # parked
        (1, 0, 0, 0, 0),  # PRODUCE: the remote LEO is still 0
        (1, 0, 0, 1, 0),  # round 1 answered
        (1, 1, 1, 1, 0),  # round 2: the leader's HW
        (1, 1, 1, 1, 0),
        (1, 1, 1, 1, 1),  # and the follower's: min(its LEO, the leader's HW)
    ]
    acked = [any(sent.is_acked for sent in moment.after.produced) for moment in played.moments]
    assert acked == [False, False, False, True, True, True]
    assert [each.kind for each in played.moments[3].after.waiting] == ["fetch"]
    assert [each.kind for each in played.moments[1].after.waiting] == ["produce"]


def test_g0b_an_answer_has_the_high_watermark_from_before_its_fetch() -> None:
    played = wb.scenarios.play("G-0b")
    assert watermarks(played)[4:] == [
        (2, 1, 1, 1, 0), (2, 1, 1, 2, 0), (2, 2, 2, 2, 0), (2, 2, 2, 2, 0), (2, 2, 2, 2, 2)
    ]  # fmt: skip
    assert played.moments[4].after.under_way[0].answers == "1 record, HW 0"


def test_g0c_the_slower_follower_acknowledges() -> None:
    played = wb.scenarios.play("G-0c")
    assert not played.moments[-2].after.produced[0].is_acked
    assert played.moments[-1].after.produced[0].is_acked


@pytest.mark.parametrize(
    ("name", "rules", "end", "broken"),
    [
        ("G-1", "0.10", ["m0 m1", "m0 m2"],
         {"committed record lost", "divergence", "in-sync replicas differ"}),
        ("G-1", "0.11", ["m0 m1 m2"] * 2, set()),
        ("G-1", "4.2", ["m0 m1 m2"] * 2, set()),
        ("G-2", "0.10", ["m0 m1", "m0 m2"],
         {"committed record lost", "divergence", "in-sync replicas differ"}),
        ("G-2", "0.11", ["m0 m2"] * 2, {"committed record lost"}),
        ("G-2", "4.2", ["m0 m2"] * 2, {"committed record lost"}),
        ("G-3", "1.1", ["m0 m1 m3", "m0 m2 m3"], {"divergence", "in-sync replicas differ"}),
        ("G-3", "2.0", ["m0 m1 m3"] * 2, set()),
        ("G-3", "4.2", ["m0 m1 m3"] * 2, set()),
        ("G-4", "1.1", ["a0 a1 a2 a3 a4", "a0 b1 b2 a3 a4"],
         {"committed record lost", "divergence", "in-sync replicas differ"}),
        ("G-4", "4.2", ["a0 a1 a2 a3 a4"] * 2, {"committed record lost"}),
        ("G-4b", "2.8", ["a0 a1 a2"] * 2, {"committed record lost"}),
        ("G-4b", "2.0", ["a0 a1 a2"] * 2, {"committed record lost"}),
        ("G-5", "2.0.0", ["m0 m1", "m0"], {"committed record lost", "in-sync replicas differ"}),
        ("G-5", "2.0.1", ["m0 m1"] * 2, set()),
        ("G-6", "4.2", ["m0 n"] * 3, set()),
        ("G-7", "4.2", ["m0 m2"] * 2, {"committed record lost"}),
        ("G-8", "3.9", ["c0"] * 3, {"committed record lost"}),
        ("G-8", "4.2", ["c0 c1 c2"] * 3, set()),
        ("G-9", "4.2", ["m0 m1 m2"] * 3, set()),
        ("G-11", "4.2", ["m2"] * 2, set()),
    ],
)  # fmt: skip
def test_a_scenario_ends_as_its_version_does(
    name: str, rules: str, end: list[str], broken: set[str]
) -> None:
    played = wb.scenarios.play(name, rules=rules)
    assert (logs(played), kinds(played)) == (end, broken)


def test_g4b_takes_more_than_one_question() -> None:
    ends = [moment.after.replicas[1] for moment in wb.scenarios.play("G-4b").moments]
    assert [(each.log_end_offset, each.epochs) for each in ends[-6:-1]] == [
        (2, ((1, 0), (5, 1))), (2, ((1, 0), (5, 1))), (1, ((1, 0),)), (1, ((1, 0),)), (0, ())
    ]  # fmt: skip


def test_g6_only_the_record_with_one_acknowledgment_is_lost() -> None:
    assert answers(wb.scenarios.play("G-6")) == {
        "m0": ErrorCode.NONE, "z": ErrorCode.NONE, "y": ErrorCode.REQUEST_TIMED_OUT,
        "n": ErrorCode.NONE,
    }  # fmt: skip


@pytest.mark.parametrize(("rules", "isr", "elr"), [("3.9", (0,), ()), ("4.2", (), (0,))])
def test_g7_without_unclean_elections_nothing_is_lost(
    rules: str, isr: tuple[int, ...], elr: tuple[int, ...]
) -> None:
    played = wb.scenarios.play("G-7", rules=rules, unclean_leader_election=False)
    waits = played.moments[5].after
    assert (waits.leader, waits.isr, waits.elr) == (-1, isr, elr)
    assert played.moments[6].outcome == "there is no leader"
    assert (logs(played), kinds(played)) == (["m0 m1", "m0 m1"], set())


def test_g6b_a_consumer_continues_where_its_epoch_ends() -> None:
    played = wb.scenarios.play("G-6b")
    asked = [m for m in played.moments if m.event.do == "validate"]
    assert [moment.moves[1].text for moment in asked] == [
        "offset 3 is still in the log",
        "epoch 0 ends at 1: continue there",
    ]
    older = play(["produce m0", "validate 1 of epoch 0"], rules="2.0")
    assert older.moments[1].outcome == "nothing changes"


def test_g9_and_g10_the_high_watermark_and_the_minimum() -> None:
    slow = wb.scenarios.play("G-9")
    assert [m.after.replicas[0].high_watermark for m in slow.moments] == [0, 1, 1, 1, 2, 2, 3, 3]
    assert [m.after.isr for m in slow.moments[-2:]] == [(0, 1), (0, 1, 2)]
    for rules, high, answer in [
        ("3.6", 2, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        ("4.2", 1, ErrorCode.REQUEST_TIMED_OUT),
    ]:
        played = wb.scenarios.play("G-10", rules=rules)
        assert played.moments[4].after.replicas[0].high_watermark == high
        assert answers(played)["m1"] is answer
        assert answers(played)["m2"] is ErrorCode.NOT_ENOUGH_REPLICAS


def test_g12_the_new_leader_hides_a_committed_record_until_a_fetch() -> None:
    played = wb.scenarios.play("G-12")
    assert [m.after.replicas[1].high_watermark for m in played.moments[-3:]] == [1, 1, 2]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_event_of_a_scenario_does_something_and_says_why(name: str) -> None:
    scenario = SCENARIOS[name]
    for rules in (scenario.rules, *scenario.also):
        played = wb.scenarios.play(name, rules=rules)
        for moment in played.moments:
            assert moment.why.endswith("."), moment.event
            assert moment.has_effect, (rules, str(moment.event))
            assert moment.outcome


def test_a_scenario_is_played_with_other_options() -> None:
    played = wb.scenarios.play("G-1", rules="0.10", acks=1)
    assert {sent.acks for sent in played.cluster.produced} == {1}
    assert "committed record lost" not in kinds(played)  # nobody was promised anything
    with pytest.raises(ReplicationError, match=r"'G-99': expected one of G-0, G-0b"):
        wb.scenarios.play("G-99")


def test_events_are_written_as_they_are_read() -> None:
    events = [
        Event("produce", value="m0"), Event("produce", 0, "a b", 1), Event("advance", ms=5),
        Event("run", 2, ms=5), Event("run", ms=5), Event("kill", 1, lose=1),
        Event("crash", 1, lose=2), Event("configure", value="min.insync.replicas=2"),
        Event("delete records", offset=2), Event("validate", value="3", offset=2),
        Event("commit", value="billing orders-0=42"), Event("commit", 1, "g t-12=0"),
        Event("ask offset", value="billing orders-0"), Event("ask offset", 2, "g t-12"),
    ]  # fmt: skip
    named = {
        "produce", "advance", "run", "configure", "delete records", "validate", "commit",
        "ask offset",
    }  # fmt: skip
    without = {"elect unclean", "check ISR", "rest"}
    events += [Event(kind) if kind in without else Event(kind, 1) for kind in set(KINDS) - named]
    for event in events:
        assert event_of(str(event)) == event
    with pytest.raises(ReplicationError, match="'fetch'"):
        event_of("fetch")


def test_a_schedule_that_was_found_is_played_on_real_logs() -> None:
    found = wb.find_schedule("divergence", rules="1.1", bounds=Bounds(crashes=0))
    played = play(found)
    assert kinds(played) >= {"divergence"}
    assert len(played.moments) == len(found.events or ())
    assert played.rows()[-1]["step"] == len(played.moments)


@pytest.mark.parametrize(("rules", "loaded"), [("4.2", 42), ("3.9", 50)])
def test_g14_the_coordinator_waits_and_moves(rules: str, loaded: int) -> None:
    """As the brokers of `coordinator_cases` do; a load up to 3.9 shows everything."""
    played = wb.scenarios.play("G-14", rules=rules)
    asked = [moment.moves[-1].text for moment in played.moments if moment.event.do == "ask offset"]
    assert asked == [
        "no offset is committed", "resume at 42", f"resume at {loaded}", "resume at 50",
        "NOT_COORDINATOR",
    ]  # fmt: skip
    acked = [moment.after.produced[0].is_acked for moment in played.moments[2:9]]
    assert acked == [False, False, False, False, False, True, True]  # with HW 1
    assert played.cluster.produced[1].answer is None  # its coordinator died
    loads = [
        step.numbers["at"]
        for moment in played.moments
        for step in moment.steps
        if step.kind == "partition loaded"
    ]
    assert loads == [1]
    assert played.violations == ()


def test_g13_a_majority_commits_and_votes() -> None:
    """As in KRaft's own log: without follower 2, and only with a record of the new epoch."""
    played = wb.scenarios.play("G-13")
    assert [replica.high_watermark for replica in played.moments[4].after.replicas] == [1, 0, 0]
    assert played.moments[7].after.leader == 1
    marks = [moment.after.replicas[1].high_watermark for moment in played.moments[7:]]
    assert marks == [0, 0, 0, 2]
    assert (logs(played)[1:], kinds(played)) == (["m0 e1 begins"] * 2, set())
    waits = wb.scenarios.play("G-13", rules="4.2")
    assert [replica.high_watermark for replica in waits.moments[4].after.replicas] == [0, 0, 0]


def test_g13_nobody_votes_for_a_log_that_is_behind() -> None:
    cluster = wb.Cluster(3, rules="kraft")
    cluster.round(1)
    cluster.produce("m0")
    cluster.answer(1)
    assert not cluster.elect(2)
    assert cluster.elect(1)
    assert (cluster.leader, cluster.state.leader_epoch) == (1, 1)


def test_g13_without_a_majority_there_is_no_leader() -> None:
    cluster = wb.Cluster(3, rules="kraft")
    for broker in (0, 1):
        cluster.kill(broker)
        cluster.notice(broker)
    assert cluster.leader == -1
    cluster.start(0)
    assert cluster.leader in {0, 2}
