"""What the search finds by itself: KIP-101, KIP-279, KAFKA-7415; and that 4.2 has none of them."""

from dataclasses import replace

import pytest

from workbench.errors import ConfigError, ReplicationError
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import Bounds, Event
from workbench.replication.simulation.invariants import INVARIANTS, violations
from workbench.replication.simulation.search import Schedule, find_schedule

LOSS, DIVERGENCE, DIFFER = "committed record lost", "divergence", "in-sync replicas differ"


def holds_on_real_logs(found: Schedule, kind: str) -> None:
    """Play a schedule on real logs: the promise breaks at its last event, and not before."""
    assert found.events is not None
    broken: list[set[str]] = []

    def look(_: Event, cluster: Cluster) -> None:
        broken.append({violation.kind for violation in violations(cluster)})

    with found.play(after=look) as cluster:
        assert INVARIANTS[kind](cluster) == found.violation
    assert [kind in each for each in broken] == [False] * (len(broken) - 1) + [True]


@pytest.mark.parametrize(
    ("kind", "rules", "length", "bounds"),
    [
        (LOSS, "0.10", 6, Bounds()),
        (DIVERGENCE, "0.10", 10, Bounds(crashes=1)),
        (DIVERGENCE, "1.1", 9, Bounds(crashes=0)),
        (DIFFER, "2.0.0", 8, Bounds(crashes=0)),
    ],
)
def test_the_search_finds_what_the_kips_tell(
    kind: str, rules: str, length: int, bounds: Bounds, capsys: pytest.CaptureFixture[str]
) -> None:
    found = find_schedule(kind, rules=rules, bounds=bounds)
    assert found.events is not None
    with capsys.disabled():
        print(f"\n{rules}: {kind} after {found.states:,} states")  # noqa: T201
    assert len(found.events) == length
    assert found.violation is not None
    assert found.violation in str(found)
    holds_on_real_logs(found, kind)


def test_the_search_finds_a_leader_without_an_entry_for_its_epoch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """KAFKA-7415: once both have a record, so that no epoch is before the first one."""
    begin = Event("produce", value="m0"), Event("rest")
    bounds = Bounds(crashes=0)
    found = find_schedule(DIFFER, rules="2.0.0", begin=begin, bounds=bounds)
    with capsys.disabled():
        print(f"\n{found}")  # noqa: T201
    holds_on_real_logs(found, DIFFER)
    assert found.events is not None
    assert len(found.events) - len(begin) == 8
    newer = find_schedule(DIFFER, rules="2.0.1", begin=begin, bounds=bounds)
    assert (newer.events, newer.is_complete) == (None, True)


@pytest.mark.parametrize(
    ("rules", "bounds"),
    [("4.2", Bounds(records=2, crashes=2, elections=2)), ("2.8", Bounds(2, 1, 1))],
)
def test_newer_rules_break_nothing(
    rules: str, bounds: Bounds, capsys: pytest.CaptureFixture[str]
) -> None:
    """In all states within the bounds."""

    def any_violation(cluster: Cluster) -> str | None:
        return next((violation.text for violation in violations(cluster)), None)

    found = find_schedule(any_violation, rules=rules, bounds=bounds, depth=100)
    with capsys.disabled():
        print(f"\n{found}")  # noqa: T201
    assert (found.events, found.is_complete) == (None, True)


def test_the_schedules_of_older_rules_break_nothing_by_newer_ones() -> None:
    for kind, rules, bounds in [
        (LOSS, "0.10", Bounds()),
        (DIVERGENCE, "1.1", Bounds(crashes=0)),
        (DIFFER, "2.0.0", Bounds(crashes=0)),
    ]:
        found = find_schedule(kind, rules=rules, bounds=bounds)
        for newer in ("2.1", "2.8", "4.2"):
            with replace(found, rules=newer).play() as cluster:
                cluster.rest()
                assert violations(cluster) == []


def test_a_search_ends_at_its_limits() -> None:
    found = find_schedule(LOSS, most_states=50)
    assert (found.events, found.is_complete, found.states) == (None, False, 50)
    assert "nothing found in the first 50 states" in str(found)
    found = find_schedule(LOSS, depth=2)
    assert (found.events, found.is_complete) == (None, False)
    with pytest.raises(ReplicationError, match="no schedule was found"):
        found.play()


def test_a_search_for_something_unknown() -> None:
    with pytest.raises(ReplicationError, match="expected a function or one of 'two leaders'"):
        find_schedule("records get tired")
    with pytest.raises(ConfigError, match="not a version"):
        find_schedule(LOSS, rules="newest")


def test_a_search_from_a_function_and_from_events() -> None:
    begin = (Event("produce", value="first"),)
    quiet = Bounds(crashes=0, elections=0)

    def is_acked(cluster: Cluster) -> str | None:
        return "acked" if cluster.produced[0].is_acked else None

    found = find_schedule(is_acked, begin=begin, bounds=quiet)
    assert found.events is not None
    assert [str(event) for event in found.events] == [
        "produce first", "fetch 1", "answer 1", "fetch 1",
    ]  # fmt: skip
    longer = find_schedule(is_acked, begin=begin, bounds=quiet, brokers=3, min_insync_replicas=3)
    assert longer.events is not None
    assert len(longer.events) == 7
