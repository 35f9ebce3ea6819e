"""Our cleaner leaves what brokers' cleaners left, pass by pass."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case, names
from tests.golden.compaction import Compaction, compact, compactions_of
from tests.golden.compaction_judge import compaction_differences, survivor_differences
from tests.golden.known_differences import KNOWN_OF_CLEANING, unexplained
from workbench.config.broker_rules import MODELED_RULES
from workbench.errors import UnsupportedFormatError

Golden = Callable[[str], Case]

CLEANED = "compact-|groups"
OLDER = tuple(names("compaction|message-format|mixed-wrapper|offsets"))
"""Cases of the brokers up to 2.3."""

UNCLEANED = {
    "k0.10.0-message-format": "the cleaner died of messages of another magic than their wrapper",
    "k0.9-offsets": "there is the active segment alone",
}


def _copy(compaction: Compaction, into: Path) -> Path:
    ignored = shutil.ignore_patterns(".lock")
    return Path(shutil.copytree(compaction.pair.before, into, ignore=ignored))


@pytest.mark.parametrize("name", [*names(CLEANED, version="4."), *names(CLEANED, version="3.")])
def test_the_cleaner_leaves_what_the_broker_left(
    name: str, golden: Golden, workplace: Path
) -> None:
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        directory = _copy(compaction, workplace / pair.label)
        compact(directory, compaction)
        assert compaction_differences(directory, pair.after) == [], pair.name


@pytest.mark.parametrize("name", [*OLDER, *names(CLEANED, version="2.")])
def test_what_older_brokers_kept_is_kept(name: str, golden: Golden, workplace: Path) -> None:
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        directory = _copy(compaction, workplace / pair.label)
        compact(directory, compaction)
        for folder in compaction.rounds:
            found = survivor_differences(directory / folder, pair.after / folder)
            assert unexplained(pair, found, KNOWN_OF_CLEANING) == [], pair.name


@pytest.mark.parametrize("name", [*OLDER, *names(CLEANED, version="2.")])
def test_indexes_after_a_cleaning_are_those_of_the_version(
    name: str, golden: Golden, workplace: Path
) -> None:
    """Before 3.9, one entry at most for what the cleaner read at once; before 2.0, first offsets.

    Compared where the segment is the broker's, byte for byte: other compressors move later batches.
    """
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        directory = _copy(compaction, workplace / pair.label)
        compact(directory, compaction)
        for folder in compaction.rounds:
            for log in sorted((pair.after / folder).glob("*.log")):
                mine = directory / folder / log.name
                if not mine.exists() or mine.read_bytes() != log.read_bytes():
                    continue
                for kind in (".index", ".timeindex"):
                    theirs = log.with_suffix(kind)
                    if theirs.exists():
                        assert mine.with_suffix(kind).read_bytes() == theirs.read_bytes(), theirs


def test_what_4_2_cannot_clean_we_cannot(golden: Golden, workplace: Path) -> None:
    compaction = next(compactions_of(golden("k0.10.0-compaction")))
    directory = _copy(compaction, workplace / "copy")
    with pytest.raises(UnsupportedFormatError, match="ends the round"):
        compact(directory, compaction, MODELED_RULES)


def test_something_was_cleaned(golden: Golden) -> None:
    for name in (*names(CLEANED), *OLDER):
        passes = list(compactions_of(golden(name)))
        assert any(compaction.rounds for compaction in passes) != (name in UNCLEANED), name
    full = next(iter(compactions_of(golden("4.2.0-compact-manykeys"))))
    assert len(full.rounds["many-0"]) == 2


# The judge can say no.


def test_nothing_done_is_not_taken_for_cleaning(golden: Golden) -> None:
    for name in names("compact-", version="4."):
        for compaction in compactions_of(golden(name)):
            pair = compaction.pair
            found = compaction_differences(pair.before, pair.after)
            assert bool(compaction.rounds) <= bool([each for each in found if each.kind == "log"])
