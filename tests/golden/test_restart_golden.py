"""The engine starts on what brokers left, and leaves what the same brokers left after a restart."""

import re
import shutil
import warnings
from collections.abc import Callable
from html import unescape
from pathlib import Path
from random import Random

import pytest

from tests.cli.program import run
from tests.golden.cases import CASES, Case
from tests.golden.directories import differences, state_of, with_leaders
from tests.golden.known_differences import KNOWN, unexplained
from tests.golden.pairs import PAIRED, copy_directory, pairs_of, refusals_of, trials_of
from tests.golden.restart import restart
from widgets.verification.verifier import Verifier
from workbench.errors import CorruptDataWarning, WorkbenchError
from workbench.inspection.partition import DiskPartition
from workbench.log_directory import LogDirectory, open_log_directory

Golden = Callable[[str], Case]


@pytest.mark.parametrize("name", PAIRED)
def test_the_engine_leaves_what_the_broker_left(name: str, golden: Golden, workplace: Path) -> None:
    for number, pair in enumerate(pairs_of(golden(name))):
        directory = copy_directory(pair, workplace / str(number))
        restart(directory, pair)
        theirs = state_of(pair.after)
        found = differences(with_leaders(state_of(directory), theirs), theirs)
        assert unexplained(pair, found) == [], pair.name


REFUSING = [name for name in PAIRED if "damage" in name]
WORDS = (
    (r"[Rr]ecord size( is smaller than minimum record overhead| -?\d+ smaller)", "at least 14"),
    (r"Unexpected aborted transaction version (\d+)", "aborted transaction (found {},"),
)


@pytest.mark.parametrize("name", REFUSING)
def test_where_a_broker_does_not_start_the_engine_refuses_for_the_same_reason(
    name: str, golden: Golden, workplace: Path
) -> None:
    refused = 0
    for pair, directory, words in refusals_of(golden(name), workplace):
        with pytest.raises(WorkbenchError) as raised:
            restart(directory, pair)
        reason = next(
            (reason.format(*found.groups()))
            for pattern, reason in WORDS
            if (found := re.search(pattern, words))
        )
        assert reason in str(raised.value), words[:300]
        refused += 1
    expected = len(golden(name).info.get("headline", {}).get("fatal", {}))
    assert refused == expected + sum(len(pair.refusals) for pair in pairs_of(golden(name)))


# The judge can say no.


def test_a_directory_is_equal_to_its_copy(golden: Golden, workplace: Path) -> None:
    pair = next(pairs_of(golden("4.2.0-damage-unclean")))
    shutil.copytree(pair.after, workplace / "copy")
    assert differences(state_of(workplace / "copy"), state_of(pair.after)) == []
    assert len(state_of(pair.after).partitions) > 90


def test_nothing_done_is_not_taken_for_recovery(golden: Golden) -> None:
    for name in ("4.2.0-crash-produce-1", "4.2.0-retention", "3.9.1-damage-clean", "k2.3-crash"):
        for pair in pairs_of(golden(name)):
            theirs = state_of(pair.after)
            found = differences(with_leaders(state_of(pair.before), theirs), theirs)
            assert unexplained(pair, found) != [], pair.name


MUTATIONS = {
    "log": "*.log",
    "index": "*.index",
    "timeindex": "*.timeindex",
    "txnindex": "*.txnindex",
    "snapshot": "*.snapshot",
    "epochs": "leader-epoch-checkpoint",
    "recovery-point-offset-checkpoint": "recovery-point-offset-checkpoint",
}


@pytest.mark.parametrize("kind", MUTATIONS)
@pytest.mark.parametrize("how", ["a bit", "gone", "shorter"])
def test_one_change_is_one_difference_of_its_kind(
    kind: str, how: str, golden: Golden, workplace: Path
) -> None:
    pair = next(pairs_of(golden("4.2.0-damage-clean")))
    theirs = state_of(pair.after)
    random = Random(f"{kind} {how}")
    files = sorted(f for f in pair.after.rglob(MUTATIONS[kind]) if f.stat().st_size > 8)
    for number, chosen in enumerate(random.sample(files, min(3, len(files)))):
        copy = workplace / str(number)
        shutil.copytree(pair.after, copy)
        file = copy / chosen.relative_to(pair.after)
        data = bytearray(file.read_bytes())
        if how == "gone":
            file.unlink()
        elif how == "shorter":
            file.write_bytes(data[:-3])
        else:
            data[-2] ^= 1
            file.write_bytes(data)
        found = differences(state_of(copy), theirs)
        assert {each.kind for each in found} == {kind}, file
        assert unexplained(pair, found) == found


def test_every_known_difference_is_of_brokers_that_are_there(golden: Golden) -> None:
    pairs = [pair for name in PAIRED for pair in pairs_of(golden(name))]
    for row in KNOWN:
        assert any(pair.number < row.before for pair in pairs), row


# Shared files and whole folders.

DIRECTORY_CASES = [case.name for case in CASES if case.kind == "damage-directory"]
NOT_OF_LOGS = {
    "high-watermark-garbage": "the file is the replica manager's",
    "cleaner-checkpoint-garbage-cleaner-on": "the file is the cleaner's",
    "meta-properties-rm": "a broker wants a formatted directory; the engine writes the file again",
    "meta-properties-other-node": "which node it is, the broker's configuration says",
    "meta-properties-garbage": "2.8.2 read no broker id, and did not mind",
    "partition-metadata-other-id": "which id is right, the cluster says",
}
REPLACED = {
    "partition-metadata-rm": "the broker makes an empty log in place of the one it set aside",
    "dir-empty": "as partition-metadata-rm",
    "dir-rm": "the broker makes an empty log in place of the one that is missing",
    "log-start-middle": "3.9.1 ran its retention, too",
}
"""What a broker does besides: only of the other partition is all compared."""


@pytest.mark.parametrize("name", DIRECTORY_CASES)
def test_damage_to_shared_files_has_the_same_end(
    name: str, golden: Golden, workplace: Path
) -> None:
    compared = refused = 0
    for trial, pair, stayed in trials_of(golden(name)):
        directory = copy_directory(pair, workplace / trial)
        if trial in NOT_OF_LOGS:
            continue
        if not stayed:
            with pytest.raises(WorkbenchError):
                restart(directory, pair)
            refused += 1
            continue
        restart(directory, pair)
        theirs = state_of(pair.after)
        found = unexplained(pair, differences(with_leaders(state_of(directory), theirs), theirs))
        if trial in REPLACED:
            found = [each for each in found if each.partition.startswith("dmg-t-none")]
        assert found == [], trial
        compared += 1
    assert compared >= 10
    assert refused >= 8


# What a start removes is said before.


def test_verify_and_recover_say_which_readable_records_a_start_removes(
    golden: Golden, workplace: Path
) -> None:
    """The broker left the log end offsets; a scan counts the records."""
    pair = next(pairs_of(golden("4.2.0-damage-unclean")))
    before, after = open_log_directory(pair.before), open_log_directory(pair.after)
    aside = {path.name.partition(".")[0] for path in pair.after.glob("*-stray")}
    kept = before.keys() - aside
    wanted = {name: _readable_from(before, name, after[name]) for name in kept}
    lost = {name: count for name, count in wanted.items() if count}
    findings = before.verify()
    sentence = findings.removal
    assert sentence.startswith(
        f"If a broker starts now, it removes {sum(lost.values())} records that can be read: "
    )
    assert "".join(sentence.split()) in "".join(run("verify", pair.before).out.split())
    assert sentence in unescape(before.report())
    check = Verifier(before.listing).verify_all()
    check.wait()
    assert check.progress()["removal"] == sentence
    objects = run("verify", pair.before, "--json").json
    told = {each["path"].split("/")[-2]: each["removed_at_start"] for each in objects}
    assert {name: count for name, count in told.items() if count} == lost
    text = sentence
    first = min(lost)
    end = after[first].log_end_offset
    topic = first.removesuffix("-0")
    assert (
        f"kafka-workbench export {pair.before} {first}.parquet -t {topic} -p 0 --offsets {end}:"
    ) in text
    rows = run("recover", pair.before, "--to", workplace / "out", "--json").json["partitions"]
    assert {row["name"]: row["records_lost"] for row in rows if row["records_lost"]} == lost
    assert {row["log_end_before"] for row in rows if row["name"] in lost} == {64}


def _readable_from(before: LogDirectory, name: str, after: DiskPartition) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        offsets = before.scan(partitions=name, columns=["offset"]).to_arrow()["offset"].to_pylist()
    return sum(offset >= after.log_end_offset for offset in offsets)
