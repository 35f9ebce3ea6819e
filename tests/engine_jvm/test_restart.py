"""The engine starts and stops on every directory of the archives as Kafka 4.2's classes do.

Whatever version wrote them: the engine goes by the rules of 4.2, not by those of the broker.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.engine_jvm.kafka_restart import Start, kafka_restarts
from tests.golden.cases import Case
from tests.golden.directories import Difference, differences, state_of
from tests.golden.pairs import PAIRED, Pair, copy_directory, pairs_of, single_topics
from tests.golden.restart import restart
from workbench.config.broker_rules import MODELED_RULES
from workbench.errors import WorkbenchError

Golden = Callable[[str], Case]

REFUSED_SINCE = {
    ("k0.9-damage", "clean-before"): ("d-zero-tail", "d-flip-first-of-last"),
}
"""Topics with which the broker of the case started and 4.2 does not; 0.9 did not read the end."""

NOT_REWRITTEN = Difference(
    "leftover", "dmg-epoch-tmp-left-0", "leader-epoch-checkpoint.tmp is too much"
)
"""Kafka writes leader epochs at each start, the engine when they change; so this remains."""


class Trial(NamedTuple):
    """The same directory twice: for the engine, and for Kafka, which has been there already."""

    pair: Pair
    ours: Path
    theirs: Path
    answer: str


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, golden: Golden, common_workplace: Path
) -> dict[str, list[Trial]]:
    """Trials of the cases that tests of this run ask for; one JVM starts on all of them."""
    into = common_workplace
    asked = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and hasattr(item, "callspec")
    }
    made: list[tuple[str, Pair, Path, Path]] = []
    for name in sorted(asked):
        for number, pair in enumerate(pairs_of(golden(name))):
            folder = into / f"{name}-{number}"
            refused = REFUSED_SINCE.get((name, pair.label), ())
            ours, theirs = (copy_directory(pair, folder / each, refused) for each in "ab")
            made.append((name, pair, ours, theirs))
    starts = [Start(theirs, pair) for _, pair, _, theirs in made]
    found: dict[str, list[Trial]] = {}
    for (name, pair, ours, theirs), answer in zip(made, kafka_restarts(starts, into), strict=True):
        found.setdefault(name, []).append(Trial(pair, ours, theirs, answer))
    return found


@pytest.mark.broker
@pytest.mark.parametrize("name", PAIRED)
def test_what_is_there_afterwards_is_the_same(name: str, trials: dict[str, list[Trial]]) -> None:
    for trial in trials[name]:
        assert trial.answer == "done", trial.pair.name
        restart(trial.ours, trial.pair, reads=False, sets_aside=False, rules=MODELED_RULES)
        found = differences(state_of(trial.ours), state_of(trial.theirs))
        assert [each for each in found if each != NOT_REWRITTEN] == [], trial.pair.name


@pytest.mark.broker
def test_both_refuse_the_same_topics_that_0_9_started_with(golden: Golden, workplace: Path) -> None:
    refused: dict[str, set[str]] = {"ours": set(), "theirs": set()}
    (name, label), expected = next(iter(REFUSED_SINCE.items()))
    pair = next(pair for pair in pairs_of(golden(name)) if pair.label == label)
    ours = single_topics(pair, workplace / "a")
    theirs = single_topics(pair, workplace / "b")
    answers = kafka_restarts([Start(path, pair) for path in theirs.values()], workplace)
    for topic, answer in zip(theirs, answers, strict=True):
        if answer != "done":
            refused["theirs"].add(topic)
        try:
            restart(ours[topic], pair, reads=False, rules=MODELED_RULES)
        except WorkbenchError:
            refused["ours"].add(topic)
        else:
            assert differences(state_of(ours[topic]), state_of(theirs[topic])) == []
    assert refused["ours"] == refused["theirs"] == set(expected)
