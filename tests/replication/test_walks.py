"""Random schedules: from 2.7 on no promise is broken, and older rules break known ones."""

from collections import Counter
from random import Random

import pytest

from tests.replication.campaign import known_kinds, smallest
from tests.replication.walks import Walk, next_event, play
from workbench.replication.rules import Rules, TruncationRule
from workbench.replication.simulation.events import do
from workbench.replication.simulation.invariants import violations
from workbench.runtime.steps import Step

STEPS = 250


def walks(rules: str | Rules, seeds: int) -> list[Walk]:
    """Return walks of 2 to 4 brokers and a minimum of 1 or 2 in-sync replicas."""
    return [
        Walk(seed, rules, brokers=2 + seed % 3, min_isr=1 + seed // 3 % 2, steps=STEPS)
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("seeds", [30, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("rules", ["2.7", "2.8", "3.6", "4.2", "kraft"])
def test_no_promise_is_broken(rules: str, seeds: int) -> None:
    steps = 0
    for walk in walks(rules, seeds):
        played, _, events, broken = play(walk)
        assert broken == [], f"{walk}\n" + "\n".join(map(repr, events))
        steps += played
    assert steps == seeds * STEPS


@pytest.mark.parametrize(
    ("rules", "at_least"),
    [
        ("0.10", {"in-sync replicas differ", "committed record lost"}),
        ("1.1", {"divergence", "in-sync replicas differ"}),
        ("2.0.0", {"in-sync replicas differ"}),
    ],
)
def test_old_rules_break_known_promises(rules: str, at_least: set[str]) -> None:
    found = Counter(v.kind for walk in walks(rules, 60) for v in play(walk)[3])
    assert at_least <= set(found) <= known_kinds(rules)


WITHOUT = {
    "truncation by one offset": {"truncation": TruncationRule.LEADER_EPOCH},
    "truncation at the high watermark": {"truncation": TruncationRule.HIGH_WATERMARK},
    "a leader without an entry for its epoch, which knows no epoch before its first": {
        "truncation": TruncationRule.LEADER_EPOCH_AND_OFFSET,
        "new_leader_assigns_epoch": False,
        "answers_below_first": False,
        "same_leader_skips": 99,
    },
}


@pytest.mark.parametrize("changes", WITHOUT.values(), ids=WITHOUT)
def test_the_newest_rules_need_each_of_their_parts(changes: dict[str, object]) -> None:
    rules = Rules.of("4.2")._replace(**changes)  # type: ignore[arg-type]
    assert any(play(walk)[3] for walk in walks(rules, 60))


def test_walks_go_everywhere() -> None:
    kinds: Counter[str] = Counter()

    def observe(step: Step) -> None:
        kinds[step.kind] += 1

    for walk in walks("4.2", 8):
        rng = Random(f"{walk}")
        cluster = walk.cluster(storage="light", observer=observe)
        for _ in range(walk.steps):
            do(cluster, next_event(cluster, rng))
    wanted = {
        "leader made", "follower made", "high watermark raised", "high watermark learned",
        "ISR expanding", "ISR shrinking", "ISR changed", "divergence found", "follower truncated",
        "request waits",
    }  # fmt: skip
    assert wanted <= set(kinds)


def test_a_broken_promise_is_told_in_few_events() -> None:
    walk = next(walk for walk in walks("1.1", 60) if play(walk)[3])
    _, _, events, (broken, *_) = play(walk)
    fewer = smallest(walk, events, broken.kind)
    assert len(fewer) < len(events)
    cluster = walk.cluster(storage="light")
    for event in fewer:
        do(cluster, event)
    assert broken.kind in {violation.kind for violation in violations(cluster)}
