"""`verify` on every golden directory: nothing of healthy ones, the right thing of every damage."""

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.golden.cases import CASES, Case
from tests.golden.verdicts import DAMAGED, Edit, edits_of, findings_of, of_topic, place_of
from workbench.inspection.findings import KINDS, Finding

Golden = Callable[[str], Case]

PENDING = {
    "leftover-deleted",
    "leftover-cleaned",
    "leftover-temporary",  # a killed broker was writing a checkpoint
    "directory-deleted",
    "directory-stray",
    "directory-future",
    "time-lookup-blind",  # a cleaning left a segment without a record
    "timestamp-range",  # plain-timestamps: producers gave times up to 2^63-1
    "open-transaction",  # compact-txn: a transaction that its producer never ended
    "checkpoint-partition",  # the cases are parts of one broker's directory: others' folders lack
}
"""Information about what really is there, in healthy directories too."""

COPIED = {
    "index-zeros", "time-index-zeros", "time-index-short", "snapshot-missing", "not-checkpointed",
}  # fmt: skip
"""dirs: forgotten-0 was copied from a killed broker into the directory of one shut down cleanly."""

KILLED = {
    "torn-tail": "the broker was killed, and the file cut by hand where its text says torn",
    "zero-tail": "the topic has preallocate=true, or zeros were written behind the cut",
    "index-beyond-end": "index entries of batches that were cut off",
    "time-index-beyond-end": "index entries of batches that were cut off",
    "transaction-index-entry": "the marker that was cut off has an entry",
}
SWAPPING = {"leftover-swap": "the broker was killed in the middle of replacing segments"}


class Expected(NamedTuple):
    """Kinds that an edit must give, and may give besides; why, where it gives none."""

    must: set[str]
    may: frozenset[str] = frozenset()
    reason: str = ""


def gives(*must: str, may: tuple[str, ...] = ()) -> Expected:
    return Expected(set(must), frozenset(may))


def unseen(reason: str, *may: str) -> Expected:
    return Expected(set(), frozenset(may), reason)


CUT = ("index-beyond-end", "time-index-beyond-end", "snapshot-beyond-end")

EDITS = {
    "none": unseen("nothing was done"),
    "t-none": unseen("nothing was done"),
    # bytes of batches
    "flip-value": gives("crc"),
    "flip-value-last": gives("crc"),
    "flip-first-batch": gives("crc"),
    "flip-crc": gives("crc"),
    "flip-attributes": gives("crc"),
    "flip-offset": gives("offset-order"),
    "flip-epoch": gives("batch-epoch"),
    "magic-3": gives("magic"),
    "magic-1": gives("crc"),
    "magic-neg": gives("magic"),
    "length-0": gives("batch-size"),
    "length-14": gives("batch-size"),
    "length-48": gives("batch-size"),
    "length-plus-1": gives("crc", "batch-size"),
    "length-neg": gives("batch-size"),
    "length-huge": gives("batch-size"),
    "count-neg": gives("crc"),
    "t-flip-marker": gives("crc"),
    # ends of logs
    "cut-last-mid-batch": gives("torn-tail", may=CUT),
    "cut-last-10-of-header": gives("torn-tail", may=CUT),
    "cut-last-17": gives("torn-tail", may=CUT),
    "cut-last-empty": gives("snapshot-beyond-end", "time-index-beyond-end", may=CUT),
    "cut-middle-mid-batch": gives("torn-tail", "index-beyond-end", "time-index-beyond-end"),
    "cut-middle-at-batch": gives("missing-offsets", "index-beyond-end", "time-index-beyond-end"),
    "cut-first-empty": gives(
        "missing-offsets", "index-beyond-end", "time-index-beyond-end", "time-lookup-blind"
    ),
    "t-cut-marker": gives("snapshot-beyond-end", may=CUT),
    "tail-zeros": gives("zero-tail"),
    "tail-11-zeros": gives("zero-tail"),
    "tail-17-zeros": gives("zero-tail"),
    "tail-18-zeros": gives("zero-tail"),
    "tail-garbage": gives("garbage-tail"),
    "tail-old-batch": gives("offset-order", may=CUT),
    # segments
    "rm-log-first": gives("orphan"),
    "rm-log-middle": gives("orphan", "missing-offsets"),
    "rm-log-last": gives("orphan", "snapshot-beyond-end"),
    "rm-segment-middle": gives("missing-offsets"),
    "rm-segment-last": gives("snapshot-beyond-end"),
    "duplicate-segment": gives("offset-range", "index-missing", "time-index-missing"),
    "overlap-segment": gives("offset-range", "index-missing", "time-index-missing"),
    "empty-segment-beyond": gives("missing-offsets", "snapshot-missing"),
    "base-beyond-content": gives("offset-range", "orphan", "index-missing", "time-index-missing"),
    # indexes
    "index-rm": gives("index-missing"),
    "index-rm-last": gives("index-missing"),
    "index-rm-all": gives("index-missing"),
    "t-index-rm": gives("index-missing"),
    "both-index-rm": gives("index-missing", "time-index-missing"),
    "index-empty": unseen("a segment that was appended in one call has no entries either"),
    "index-garbage": gives("index-entry", "index-order"),
    "index-garbage-last": gives("index-entry", "index-order"),
    "index-zeros": gives("index-zeros"),
    "index-long": gives("index-beyond-end"),
    "index-long-last": gives("index-beyond-end"),
    "index-misaligned": gives("index-size"),
    "index-misaligned-last": gives("index-size"),
    "index-swapped": gives("index-order"),
    "timeindex-rm": gives("time-index-missing"),
    "timeindex-rm-all": gives("time-index-missing"),
    "timeindex-empty": gives("time-index-short"),
    "timeindex-garbage": gives("time-index-entry", "time-index-order"),
    "timeindex-garbage-last": gives("time-index-entry", "time-index-order"),
    "timeindex-misaligned": gives("time-index-size"),
    "timeindex-long": gives("time-index-beyond-end"),
    "t-txnindex-rm": gives("transaction-index-incomplete"),
    "t-txnindex-empty": gives("transaction-index-incomplete"),
    "t-txnindex-misaligned": gives("transaction-index-size"),
    "t-txnindex-garbage": gives("transaction-index-entry", may=("transaction-index-version",)),
    "t-txnindex-version-1": gives("transaction-index-entry"),
    "t-txnindex-below-base": gives("transaction-index-entry"),
    # leftovers
    "cleaned-left": gives("leftover-cleaned"),
    "deleted-left": gives("leftover-deleted"),
    "snapshot-deleted-left": gives("leftover-deleted"),
    "epoch-tmp-left": gives("leftover-temporary"),
    "swap-complete": gives("leftover-swap"),
    "swap-log-only": gives("leftover-swap"),
    "swap-index-missing": gives("leftover-swap"),
    "swap-and-original": gives("leftover-swap"),
    "swap-merged": gives("leftover-swap"),
    "swap-and-cleaned": gives("leftover-swap", "leftover-cleaned"),
    "swap-then-cleaned-lower": gives("leftover-swap", "leftover-cleaned"),
    # The flipped byte of the swapped log is in a base offset (2.8.2, 4.2.0) or in a batch (3.9.1).
    "swap-corrupt": gives("leftover-swap", may=("crc", "offset-order")),
    "stray-file": gives("unknown-file"),
    "stray-log-name": gives("unknown-file"),
    "stray-subdir": gives("unknown-folder"),
    "orphan-index": gives("orphan", "snapshot-beyond-end", "snapshot-damaged"),
    # other files of a partition
    "epoch-rm": gives("leader-epochs-missing"),
    "epoch-empty": gives("leader-epochs-missing"),
    "epoch-ahead": gives("leader-epochs-mismatch"),
    "metadata-rm": gives("partition-metadata-missing"),
    "t-snapshot-rm-all": gives("snapshot-missing"),
    "t-snapshot-rm-last": gives("snapshot-missing"),
    "t-snapshot-only-first": gives("snapshot-missing"),
    "t-snapshot-garbage": gives("snapshot-damaged"),
    "t-snapshot-last-garbage": gives("snapshot-damaged"),
    "t-snapshot-last-empty": gives("snapshot-damaged"),
    "t-snapshot-last-flip": gives("snapshot-damaged"),
    "t-snapshot-last-version": gives("snapshot-damaged"),
    "t-snapshot-stray": gives("snapshot-beyond-end", "snapshot-contents"),
    # the cases of 0.9 to 2.3
    "d-none": unseen("nothing was done"),
    "d-cut-tail": gives("torn-tail", may=CUT),
    "d-cut-header": gives("torn-tail", may=CUT),
    "d-cut-middle": gives("torn-tail", may=CUT),
    "d-flip-last": gives("crc"),
    "d-flip-first-of-last": gives("crc"),
    "d-flip-middle": gives("crc"),
    "d-zero-tail": gives("zero-tail"),
    "d-garbage-tail": gives("garbage-tail"),
    "d-empty-last": unseen("0.9 keeps nothing that knew the end but the checkpoints", *CUT),
    "d-no-index": gives("index-missing"),
    "d-garbage-index": gives("index-entry", may=("index-order",)),
    "d-garbage-index-last": gives("index-entry", "index-order"),
    "d-odd-index": gives("index-size"),
    "d-zero-index": gives("index-zeros"),
    "d-index-ahead": gives("index-beyond-end"),
    "d-empty-index": unseen("as index-empty"),
    "d-orphan-index": gives("orphan"),
    "d-missing-middle": gives("missing-offsets"),
    "d-deleted-files": gives("leftover-deleted"),
    "d-cleaned-copy": gives("leftover-cleaned"),
    "d-swap-only": gives("leftover-swap"),
    "d-swap-copy": gives("leftover-swap"),
    "d-swap-and-cleaned": gives("leftover-swap", "leftover-cleaned"),
    "d-strange-file": gives("unknown-file"),
    "d-no-timeindex": gives("time-index-missing"),
    "d-garbage-timeindex": gives("time-index-entry", may=("time-index-order",)),
    "d-garbage-timeindex-last": gives("time-index-entry", "time-index-order"),
    "d-odd-timeindex": gives("time-index-size"),
    "d-wrong-timeindex": gives("time-index-entry", "time-index-short"),
    "d-no-snapshot": gives("snapshot-missing"),
    "d-garbage-snapshot": gives("snapshot-damaged"),
    "d-flip-snapshot": gives("snapshot-damaged"),
    "d-no-epochs": gives("leader-epochs-missing"),
    "d-epochs-ahead": gives("leader-epochs-mismatch"),
    "d-garbage-txnindex": gives("transaction-index-entry"),
    "d-no-txnindex": gives("transaction-index-incomplete"),
}  # fmt: skip

SHARED = {
    "leader-epoch-garbage": gives("leader-epochs-damaged"),
    "leader-epoch-version": gives("leader-epochs-damaged"),
    "leader-epoch-count": gives("leader-epochs-damaged"),
    "partition-metadata-garbage": gives("partition-metadata-damaged"),
    "partition-metadata-other-id": unseen("only the cluster knows which id is right"),
    "partition-metadata-rm": gives("partition-metadata-missing"),
    "recovery-point-garbage": gives("checkpoint-damaged"),
    "recovery-point-garbage-unclean": gives("checkpoint-damaged"),
    "recovery-point-beyond-end-unclean": gives("checkpoint-beyond-end"),
    "log-start-garbage": gives("checkpoint-damaged"),
    "log-start-middle": unseen("a log start within a segment is what DeleteRecords leaves"),
    "log-start-beyond-end": gives("checkpoint-beyond-end"),
    "high-watermark-garbage": gives("checkpoint-damaged"),
    "high-watermark-beyond-end": gives("checkpoint-beyond-end"),
    "high-watermark-rm": gives("checkpoint-missing"),
    "cleaner-checkpoint-garbage": gives("checkpoint-damaged"),
    "cleaner-checkpoint-garbage-cleaner-on": gives("checkpoint-damaged"),
    "dir-unparsable": gives("unknown-folder"),
    "dir-unparsable-number": gives("unknown-folder"),
    "dir-dashes": gives("unknown-folder"),
    "dir-unknown-topic": gives("topic-id", "not-checkpointed"),
    "dir-delete-left": gives("directory-deleted"),
    "dir-empty": gives("no-segments", may=("partition-metadata-missing",)),
    "dir-rm": gives("checkpoint-partition"),
    "top-stray-file": gives("unknown-file"),
    "meta-properties-rm": gives("meta-properties-missing"),
    "meta-properties-garbage": gives("meta-properties-damaged"),
    "meta-properties-other-node": unseen("only the broker's configuration knows its own id"),
    "clean-flag-garbage": gives("clean-shutdown-damaged"),
}  # fmt: skip


def exception_of(case: Case, edit: Edit) -> Expected | None:
    """Return what an edit gives instead in some cases."""
    if edit.text.startswith("NOT APPLICABLE"):
        return unseen("the case says that there was nothing to edit")
    if edit.text == edit.text.partition(":")[0] + ": 0 bytes replaced by 0: ":
        return unseen("the index was empty: nothing was put in place of nothing")
    if edit.name.endswith("timeindex") and case.version == "0.9.0.1":
        return unseen("no time indexes before 0.10.1")
    if edit.name == "metadata-rm" and case.version == "2.8.2":
        return unseen("with ZooKeeper a broker writes it again, and some lack it after an upgrade")
    if edit.name == "t-snapshot-rm-last" and case.kind != "damage-clean":
        return unseen("a killed broker leaves no snapshot at the log end")
    return None


def is_damaged(case_name: str, label: str) -> bool:
    return "damage" in case_name and label != "base"


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_healthy_directories_of_every_era_give_no_warning(name: str, golden: Golden) -> None:
    case = golden(name)
    for label in case.labels:
        if is_damaged(name, label):
            continue
        found = findings_of(case.directory(label))
        wrong = [f for f in found if f.severity != "info"]
        assert {f.kind for f in found if f.severity == "info"} <= PENDING
        if re.search(r"torn-before|^before$", label) and "crash" in name:
            wrong = [f for f in wrong if f.kind not in KILLED]
        if label.startswith("kill"):
            wrong = [f for f in wrong if f.kind not in SWAPPING]
        if case.kind == "interrupted-swap":  # before the checkpoint that says: it was compacted
            wrong = [f for f in wrong if f.kind != "time-lookup-blind"]
        if case.kind == "dirs":
            wrong = [f for f in wrong if not (f.kind in COPIED and "forgotten-0" in f.path)]
        assert wrong == []


@pytest.mark.parametrize("name", DAMAGED)
def test_every_edit_gives_what_the_table_says(name: str, golden: Golden) -> None:
    case = golden(name)
    wrong = {}
    for edit in edits_of(case):
        if not (case.directory(edit.before) / f"{edit.topic}-0").exists():
            continue  # the edits that stop a broker were taken out, see fatal
        expected = exception_of(case, edit) or EDITS.get(edit.name) or EDITS["none"]
        kinds = {finding.kind for finding in of_topic(case.directory(edit.before), edit.topic)}
        if not expected.must <= kinds <= expected.must | expected.may:
            wrong[edit.before, edit.name] = kinds
    assert wrong == {}


@pytest.mark.parametrize("name", DAMAGED)
def test_the_finding_points_at_the_edited_bytes(name: str, golden: Golden) -> None:
    case = golden(name)
    checked = 0
    for edit in edits_of(case):
        folder = case.directory(edit.before) / f"{edit.topic}-0"
        expected = exception_of(case, edit) or EDITS.get(edit.name) or EDITS["none"]
        place = place_of(edit, folder) if folder.exists() else None
        if place is None or not expected.must:
            continue
        found = of_topic(case.directory(edit.before), edit.topic)
        places = {(f.path.split("/")[1], f.position) for f in found if f.kind in expected.must}
        if edit.name in {"cut-middle-at-batch", "cut-last-empty", "cut-first-empty"}:
            continue  # nothing is left of what was cut; its traces are elsewhere
        if edit.name == "t-cut-marker":
            continue
        assert place in places, (edit, places)
        checked += 1
    assert checked >= 7


@pytest.mark.parametrize("name", [c.name for c in CASES if c.kind == "damage-directory"])
def test_edits_of_shared_files_give_what_the_table_says(name: str, golden: Golden) -> None:
    case = golden(name)
    trials = [step["trial"] for step in case.info["steps"] if step["do"] == "edit"]
    assert set(trials) <= set(SHARED)
    for trial in trials:
        expected = SHARED[trial]
        label = f"{trial}/before"
        if label not in case.labels:
            continue
        kinds = {f.kind for f in findings_of(case.directory(label))} - {"checkpoint-partition"}
        if trial == "dir-rm":
            kinds.add("checkpoint-partition")
            named = [f.found for f in findings_of(case.directory(label)) if f.kind in expected.must]
            assert "dmg-none-0" in named[0]
        if case.version == "2.8.2":
            expected = WITH_ZOOKEEPER.get(trial, expected)
        assert expected.must <= kinds <= expected.must | expected.may, trial


WITH_ZOOKEEPER = {
    "partition-metadata-rm": unseen("a broker with ZooKeeper writes it again"),
    "dir-unknown-topic": gives("not-checkpointed"),
}


def test_the_metadata_log_of_a_killed_controller_is_healthy(golden: Golden) -> None:
    case = golden("4.2.0-raft")
    assert [f for f in findings_of(case.directory("before")) if f.severity != "info"] == []


@pytest.mark.parametrize(
    "name", [*DAMAGED, "4.2.0-damage-directory", "4.2.0-dirs", "4.2.0-compact-txn"]
)
def test_every_kind_is_in_the_list(name: str, golden: Golden) -> None:
    case = golden(name)
    for label in case.labels:
        assert {finding.kind for finding in findings_of(case.directory(label))} <= set(KINDS)


def severities(found: list[Finding], kind: str) -> set[str]:
    return {finding.severity for finding in found if finding.kind == kind}


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.2.0"])
def test_a_torn_tail_is_worse_after_a_clean_stop(version: str, golden: Golden) -> None:
    for mode, severity in (("clean", "error"), ("unclean", "warning")):
        directory = golden(f"{version}-damage-{mode}").directory("before")
        found = of_topic(directory, "dmg-cut-last-mid-batch")
        assert severities(found, "torn-tail") == {severity}
