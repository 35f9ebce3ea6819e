"""What the doors say of old directories is what the brokers that wrote them did; 4.2 would not."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case
from tests.golden.compaction import Compaction, compactions_of
from tests.golden.compaction_judge import entries_in
from tests.golden.directories import state_of
from tests.golden.pairs import Pair, copy_directory, pairs_of
from tests.naive import read
from workbench.config.internal_topics import METADATA_LOG
from workbench.file_system.dry import DryFileSystem
from workbench.files.names import BOOTSTRAP_CHECKPOINT
from workbench.foresight.copies.repair import recover_directory
from workbench.foresight.copies.retaining import retain
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


def kept_by_plan(compaction: Compaction, folder: str, kafka: str | None) -> set[int]:
    """Return the offsets that a plan keeps below where the broker's cleaning ended."""
    pair = compaction.pair
    rounds = compaction.rounds[folder]
    own = dict(pair.config_of(folder[:-2]))
    if kafka == "4.2":  # it takes no segments this small
        own["internal.segment.bytes"] = own.pop("segment.bytes")
    config = {f"{folder[:-2]}:{name}": value for name, value in own.items()}
    plan = open_log_directory(str(pair.before))[folder].plan_cleaning(
        config, now=[each.now for each in rounds], kafka=kafka
    )
    table = plan.decisions.to_pydict()
    last = max(table["round"])
    return {
        offset
        for number, offset, is_kept in zip(
            table["round"], table["offset"], table["is_kept"], strict=True
        )
        if number == last and is_kept
    }


def left_by_broker(compaction: Compaction, folder: str) -> set[int]:
    """Return the offsets of records that the broker left below where its cleaning ended."""
    end = compaction.rounds[folder][-1].end
    assert end is not None
    every = (r for entry in entries_in(compaction.pair.after / folder) for r in read(entry))
    return {record.offset for record in every if record.offset < end}


def test_a_plan_for_2_8_drops_the_tombstones_that_2_8_2_dropped(golden: Golden) -> None:
    differs = 0
    for compaction in compactions_of(golden("2.8.2-compact-tombstones")):
        for folder in compaction.rounds:
            left = left_by_broker(compaction, folder)
            assert kept_by_plan(compaction, folder, "2.8.2") == left, folder
            assert kept_by_plan(compaction, folder, None) == left, folder  # it shows 2.4
            differs += kept_by_plan(compaction, folder, "4.2") != left
    assert differs > 0


def test_retention_of_0_9_goes_by_the_times_of_files(golden: Golden) -> None:
    (pair,) = pairs_of(golden("k0.9-retention"))
    done = retain(
        str(pair.before),
        pair.now,
        dict(pair.broker),
        topic_configs=dict(pair.topics),
        fs=DryFileSystem(within=[str(pair.before)], now=lambda: pair.now),
    )
    assert (done.broker.version, done.broker.reason) == (
        "0.9.0",
        "meta.properties is there, as since 0.9",
    )
    before, after = state_of(pair.before).partitions, state_of(pair.after).partitions
    gone = {(fate.partition, fate.base_offset) for fate in done.segments if fate.is_deleted}
    compared = {fate.partition for fate in done.segments}
    expected = {
        (name, base) for name in compared for base in before[name].logs.keys() - after[name].logs
    }
    assert gone == expected
    assert gone
    assert {fate.rule for fate in done.segments} == {"retention.bytes", "retention.ms"}
    assert any("file time" in fate.reason for fate in done.segments)


def recovered(pair: Pair, into: Path, kafka: str | None) -> dict[str, dict[int, tuple[int, str]]]:
    directory = copy_directory(pair, into)
    recover_directory(
        str(directory), dict(pair.broker), topic_configs=dict(pair.topics), kafka=kafka
    )
    found = {name: state.logs for name, state in state_of(directory).partitions.items()}
    shutil.rmtree(directory)
    return found


def test_recover_completes_a_swap_as_the_broker_did(golden: Golden, workplace: Path) -> None:
    differs = []
    for number, pair in enumerate(pairs_of(golden("k1.1-interrupted-swap"))):
        theirs = state_of(pair.after).partitions["swap-0"].logs
        assert recovered(pair, workplace / f"a{number}", None)["swap-0"] == theirs, pair.name
        if recovered(pair, workplace / f"b{number}", "4.2")["swap-0"] != theirs:
            differs.append(pair.label)
    assert differs == ["kill9"]  # where the segment before the swap goes, too


@pytest.mark.parametrize(
    ("kafka", "where", "exception"),
    [("3.8", METADATA_LOG, "RuntimeException"),
     ("3.7", BOOTSTRAP_CHECKPOINT, "IllegalArgumentException")],
)  # fmt: skip
def test_what_holds_an_unknown_level_is_named(
    golden: Golden, kafka: str, where: str, exception: str
) -> None:
    """3.8.1 has a name for level 21, and refuses it in the metadata log; 3.7.2 has none."""
    found = open_log_directory(golden("3.9.1-raft").directory("after")).predict_startup(kafka=kafka)
    assert f"metadata.version in {where} is 21, which {kafka} does not know" in found.problem
    assert found.exception == f"java.lang.{exception}"
