"""What a finding says a broker would do is what the broker of the case did with the same bytes."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case
from tests.golden.verdicts import DAMAGED, Edit, edits_of, findings_of, of_topic
from workbench.inspection.findings import Finding
from workbench.inspection.listing import list_log_directories

Golden = Callable[[str], Case]
Check = Callable[[Finding, re.Match[str], "Outcome"], bool]


class Outcome:
    """A topic's folder before and after a broker ran on it."""

    def __init__(self, case: Case, edit: Edit) -> None:
        self.name = f"{edit.topic}-0"
        self.old = case.directory(edit.before)
        self.new = case.directory(edit.after)
        self.before = of_topic(self.old, edit.topic, case.version)
        self.after = of_topic(self.new, edit.topic, case.version)
        refused = case.info.get("broker_refused", {}).get(edit.before.removesuffix("-before"), [])
        self.has_started = not edit.before.startswith("fatal/") and edit.topic not in {
            each["topic"] for each in refused
        }

    def file(self, finding: Finding) -> Path:
        return self.new / finding.path

    def has_still(self, finding: Finding) -> bool:
        """Whether the same is found in the same file, swapped in, after the broker ran."""
        path = finding.path.removesuffix(".swap")
        return any(f.kind == finding.kind and f.path == path for f in self.after)

    @property
    def log_end(self) -> int:
        partitions = list_log_directories(self.new / self.name).roots[0].partitions
        return partitions[0].log_end_offset


def is_cut(_finding: Finding, said: re.Match[str], outcome: Outcome) -> bool:
    # The first of several damaged batches determines where the log is truncated.
    ends = [re.search(said.re.pattern, f.broker) for f in outcome.before]
    return outcome.log_end == min(int(end[1]) for end in ends if end is not None)


def is_gone(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return not outcome.has_still(finding)


def stays(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return outcome.has_still(finding)


def is_deleted(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return not outcome.file(finding).exists()


def is_left(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return outcome.file(finding).exists()


def is_refused(_finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return not outcome.has_started


def is_stray(_finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return any(outcome.new.glob(f"{outcome.name}.*-stray"))


def is_empty(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return outcome.file(finding).with_suffix(".timeindex").stat().st_size == 0


def is_index_empty(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return outcome.file(finding).with_suffix(".index").stat().st_size == 0


def is_swapped(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    swap = outcome.file(finding)
    return not swap.exists() and swap.with_suffix("").exists()


def is_there(finding: Finding, _said: re.Match[str], outcome: Outcome) -> bool:
    return outcome.file(finding).with_suffix(".index").exists()


CLAIMS: dict[str, Check] = {
    r"recovery truncates the log here, at offset (\d+)": is_cut,
    r"recovery truncates these bytes, at offset (\d+)": is_cut,
    r"recovery rebuilds (this|the) index": is_gone,
    r"a broker starts without checking": stays,
    r"recovery begins after this segment": stays,
    r"a broker does not check this index": stays,
    r"a broker checks only the last entry of this index": stays,
    r"it reads the whole segment and rebuilds its indexes": is_gone,
    r"the broker starts, but every fetch from here fails": stays,
    r"A broker makes an empty index in its place": is_index_empty,
    r"Neither a broker nor recovery detects it|[Aa] broker does not detect it": stays,
    r"the broker does not start|A broker does not start": is_refused,
    r"A broker deletes (these files|the index|the snapshot) when it (starts|loads)": is_deleted,
    r"A broker ignores (the file|folders)": is_left,
    r"A broker renames the directory to -stray": is_stray,
    r"A broker reads the whole segment when it starts and rebuilds the index": is_there,
    r"A broker creates an empty time index and does not fill it": is_empty,
    r"A broker completes the swap when it starts": is_swapped,
    r"ignores these bytes": stays,
}

EXCEPTIONS = {
    ("0.9.0.1", "d-garbage-tail"): "0.9 died of OutOfMemoryError on these bytes",
    ("2.8.2", "tail-old-batch"): "rebuilt, it holds the same: the last batch is not the highest",
    ("3.9.1", "tail-old-batch"): "as in 2.8.2",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_broker_did_what_the_findings_say(name: str, golden: Golden) -> None:
    case = golden(name)
    wrong = []
    for edit in edits_of(case):
        if not (case.directory(edit.before) / f"{edit.topic}-0").exists():
            continue
        if (case.version, edit.name) in EXCEPTIONS:
            continue
        outcome = Outcome(case, edit)
        for finding in outcome.before:
            for claim, check in CLAIMS.items():
                said = re.search(claim, finding.broker)
                if said is not None and not check(finding, said, outcome):
                    wrong.append((edit.before, edit.name, finding.kind, claim, finding.broker))
    assert wrong == []


def test_each_of_these_claims_was_made_and_held(golden: Golden) -> None:
    made = set()
    for name in DAMAGED:
        case = golden(name)
        for edit in edits_of(case):
            if (case.directory(edit.before) / f"{edit.topic}-0").exists():
                for finding in of_topic(case.directory(edit.before), edit.topic, case.version):
                    made |= {claim for claim in CLAIMS if re.search(claim, finding.broker)}
    assert made == set(CLAIMS)


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.2.0"])
def test_a_broker_stops_at_the_shared_files_that_are_said_to_stop_it(
    version: str, golden: Golden
) -> None:
    case = golden(f"{version}-damage-directory")
    for trial, outcome in case.info["headline"]["outcome"].items():
        label = f"{trial}/before"
        if label not in case.labels or trial == "cleaner-checkpoint-garbage":
            continue  # that one was tried with the cleaner off: the text says what then
        said = [
            finding.kind
            for finding in findings_of(case.directory(label))
            if re.search(r"exits|does not start", finding.broker)
        ]
        if version == "2.8.2" and trial.startswith("meta-properties"):
            continue  # with ZooKeeper it starts: the text says so
        if trial == "meta-properties-other-node":
            continue  # the directory does not tell
        stopped = not outcome["started"] or "died_later" in outcome
        assert stopped == bool(said), trial
