"""All partitions are verified in the background: progress, partial results, cancel, limits."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.golden.cases import Case
from widgets import LogExplorer, _background
from widgets.verification import check as checking
from widgets.verification.check import Verification, WholeCheck
from widgets.verification.finding_store import MOST_FINDINGS, FindingStore
from workbench.inspection.findings import Finding

DATA = Path(__file__).parents[2] / "sample_data"
DAMAGED = DATA / "damaged"

Golden = Callable[[str], Case]


def test_everything_is_found_that_verify_finds() -> None:
    explorer = LogExplorer(DAMAGED)
    explorer.verify_all().wait()
    state = explorer.get_state()
    expected = wb.verify(DAMAGED)
    rows = {(row["path"], row["kind"], row["found"]) for row in state["_findings"]}
    assert rows == {(each.path, each.kind, each.found) for each in expected}
    assert sum(n for each in state["_counts"].values() for n in each.values()) == len(expected)
    assert set(state["_verified"]) == set(explorer.logs.listing.partitions)
    check = state["_verification"]
    assert (check["state"], check["checked"]) == ("done", check["partitions"])
    assert check["bytes"] == check["size"] > 0


def test_a_finding_outside_of_partitions_is_counted_at_its_file() -> None:
    explorer = LogExplorer(DAMAGED)
    explorer.verify_all().wait()
    state = explorer.get_state()
    keys = {node["key"] for node in state["_directory"]["nodes"]}
    outside = {row["path"] for row in state["_findings"] if row["partition"] is None}
    files = ("log-start", "recovery-point", "replication")
    assert outside == {str(DAMAGED / f"{name}-offset-checkpoint") for name in files}
    assert outside <= set(state["_counts"]) & keys


def test_what_was_found_before_a_cancellation_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = LogExplorer(DAMAGED)
    logs = explorer.logs
    seen: list[str] = []
    book = FindingStore()

    def tell(check: Verification) -> None:
        seen.append(check.status)
        if len(book.verified) == 12:
            check.cancel()

    check = Verification(logs.listing, tell, WholeCheck(book))
    monkeypatch.setattr(_background, "TOLD_EVERY", 0.0)
    check.start()
    check.wait()
    assert check.status == seen[-1] == "canceled"
    assert 12 <= len(book.verified) < len(logs.listing.partitions)
    assert book.rows
    assert check.progress()["checked"] == len(book.verified)


def test_a_second_check_is_the_one_that_runs_and_cancel_is_a_message() -> None:
    explorer = LogExplorer(DATA / "shop-4.3.1")
    first = explorer.verify_all()
    assert explorer.verify_all() is first
    explorer.send = lambda *_args, **_options: None
    explorer.receive(explorer, {"kind": "cancel", "id": 1}, [])
    first.wait()
    assert first.status in {"canceled", "done"}  # it may have been quicker
    assert explorer.get_state()["_verification"]["state"] == first.status


def test_reading_again_keeps_findings_and_says_what_changed_since(tmp_path: Path) -> None:
    data = tmp_path / "damaged"
    shutil.copytree(DAMAGED, data)
    explorer = LogExplorer(data)
    explorer.verify_all().wait()
    before = explorer.get_state()
    explorer.refresh()
    state = explorer.get_state()
    names = ("_findings", "_counts", "_verified", "_verification")
    assert {name: state[name] for name in names} == {name: before[name] for name in names}
    assert state["_changed"] == []
    with (data / "healthy-0" / f"{0:020d}.log").open("ab") as file:
        file.write(bytes(20))
    shutil.rmtree(data / "cut-middle-0")
    explorer.refresh()
    state = explorer.get_state()
    assert state["_changed"] == ["healthy-0"]
    assert set(before["_verified"]) - set(state["_verified"]) == {"cut-middle-0"}
    assert "cut-middle-0" not in {row["partition"] for row in state["_findings"]}
    assert "cut-middle-0" not in state["_counts"]
    explorer.verify("healthy-0")
    assert explorer.get_state()["_changed"] == []
    assert {row["partition"] for row in state["_findings"]} > {None, "huge-length-0"}


def test_a_failed_check_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = LogExplorer(DAMAGED)

    def fail(*_args: object, **_options: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(checking, "verify_partitions", fail)
    explorer.verify_all().wait()
    state = explorer.get_state()
    assert state["_error"] == "the disk is gone"
    assert state["_verification"]["state"] == "failed"


def test_a_list_of_findings_is_bounded_and_the_rest_is_counted(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    partition = logs["dmg-flip-value-0"]
    path = partition.segments[0].path
    finding = Finding("crc", "error", path, 0, 40, "a", "b", "c")
    book = FindingStore()
    book.enter(partition.name, partition, [finding] * (MOST_FINDINGS + 7))
    assert len(book.rows) == MOST_FINDINGS
    assert book.left_out == 7
    assert book.counts[partition.name] == {"error": MOST_FINDINGS + 7}
    book.enter(partition.name, partition, [])
    assert book.rows == []
    assert book.counts == {}
