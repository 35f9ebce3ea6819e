"""Our cleaner leaves what brokers' cleaners left, pass by pass."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case, names
from tests.golden.compaction import Compaction, compact, compactions_of, round_ends
from tests.golden.compaction_judge import compaction_differences, values_in

Golden = Callable[[str], Case]

ROUND_ENDS_SINCE = (4, 0)
"""Before, no batch stayed for being the last of its round (KAFKA-17076)."""

INDEX_OVERFLOWS = {("2.8.2-compact-grouping", "before2"), ("2.8.2-compact-grouping", "before3")}
"""2.8.2 wrote one index entry for what it read at once; with one for each batch they do not fit."""


def _copy(compaction: Compaction, into: Path) -> Path:
    ignored = shutil.ignore_patterns(".lock")
    return Path(shutil.copytree(compaction.pair.before, into, ignore=ignored))


@pytest.mark.parametrize("name", names("compact-", version="4.") + names("compact-", version="3."))
def test_the_cleaner_leaves_what_the_broker_left(
    name: str, golden: Golden, workplace: Path
) -> None:
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        directory = _copy(compaction, workplace / pair.label)
        rounds = compact(directory, compaction)
        extra = round_ends(rounds) if pair.number < ROUND_ENDS_SINCE else None
        assert compaction_differences(directory, pair.after, extra) == [], pair.name


@pytest.mark.parametrize("name", names("compact-", version="2."))
def test_the_cleaner_keeps_the_values_that_brokers_without_delete_horizons_kept(
    name: str, golden: Golden, workplace: Path
) -> None:
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        if (pair.case, pair.label) in INDEX_OVERFLOWS:
            continue
        directory = _copy(compaction, workplace / pair.label)
        compact(directory, compaction)
        for folder in compaction.rounds:
            assert values_in(directory / folder) == values_in(pair.after / folder), pair.name


def test_something_was_cleaned(golden: Golden) -> None:
    for name in names("compact-"):
        passes = list(compactions_of(golden(name)))
        assert any(compaction.rounds for compaction in passes), name
    full = next(iter(compactions_of(golden("4.2.0-compact-manykeys"))))
    assert len(full.rounds["many-0"]) == 2


# The judge can say no.


def test_nothing_done_is_not_taken_for_cleaning(golden: Golden) -> None:
    for name in names("compact-", version="4."):
        for compaction in compactions_of(golden(name)):
            pair = compaction.pair
            found = compaction_differences(pair.before, pair.after)
            assert bool(compaction.rounds) <= bool([each for each in found if each.kind == "log"])
