"""Widgets show remote segments beside local ones, and records of both."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.program import run
from tests.golden.cases import Case
from widgets import DiskUsage, LogExplorer, RecordBrowser
from widgets.view.packing import unpack
from workbench.cli.app import screen_of

NAME = "tier-local-0"


@pytest.fixture(scope="module")
def case(golden: Callable[[str], Case]) -> Case:
    return golden("4.2.0-tiered")


@pytest.fixture
def logs(case: Case) -> wb.LogDirectory:
    return wb.open_log_directory(case.directory("data"), remote=case.path / "tier")


def strip_of(explorer: LogExplorer) -> dict[str, Any]:
    strip: dict[str, Any] = explorer.get_state("_strip")["_strip"]
    return strip


def result_of(code: str) -> Any:
    """Return the value of the last line of a query."""
    lines = code.rpartition("\n")
    names: dict[str, Any] = {}
    exec(lines[0], names)  # noqa: S102 - our own
    return eval(lines[2], names)  # noqa: S307 - our own


def test_the_explorer_shows_remote_segments_before_the_local_ones(
    logs: wb.LogDirectory,
) -> None:
    explorer = LogExplorer(logs, selected={"partition": NAME})
    strip = strip_of(explorer)
    assert strip["base_offset"] == ["0", "48", "96", "140", "188"]
    objects = [name and name[20:21] + name[-4:] for name in strip["remote"]]
    assert objects == ["-.log", "-.log", None, None, None]
    assert explorer.selected["segment"] == 96  # nothing is fetched before it is asked for
    assert "3 segments and 2 remote" in strip["about"]
    explorer.selected = {"partition": NAME, "offset": 50}
    assert explorer.selected["segment"] == 48
    sent: Any = explorer.get_state("_segment")["_segment"]
    assert sent["name"] == strip["remote"][1]
    assert unpack(sent["batches"]["base_offset"])[0] == 48
    assert [row[0] for row in sent["head"]][:3] == ["48", "49", "50"]
    assert [each.base_offset for each in result_of(explorer.query["segments"])][1] == 48
    assert result_of(explorer.query["batches"]).base_offset == 48
    assert result_of(explorer.query["records"])["offset"].tolist() == [50]


def test_findings_of_remote_segments_are_of_their_partition(case: Case, tmp_path: Path) -> None:
    tier = tmp_path / "tier"
    shutil.copytree(case.path / "tier", tier)
    (damaged,) = tier.glob(f"{NAME}-*/{48:020}-*.log")
    data = bytearray(damaged.read_bytes())
    data[-5] ^= 1
    damaged.write_bytes(data)
    explorer = LogExplorer(wb.open_log_directory(case.directory("data"), remote=tier))
    explorer.verify(NAME)
    (row,) = explorer.get_state("_findings")["_findings"]
    assert (row["partition"], row["segment"], row["kind"]) == (NAME, "48", "crc")
    explorer.selected = {"partition": NAME}
    assert strip_of(explorer)["findings"] == [0, 1, 0, 0, 0]


def test_following_keeps_the_tier_and_sees_what_was_moved_to_it(case: Case, tmp_path: Path) -> None:
    data, tier = tmp_path / "data", tmp_path / "tier"
    shutil.copytree(case.directory("data"), data)
    shutil.copytree(case.path / "tier", tier)
    logs = wb.open_log_directory(data, remote=tier)
    explorer = LogExplorer(logs, selected={"partition": NAME, "segment": 140}, follow=True)
    assert explorer.follower is not None
    explorer.follower.stop()
    explorer.look()
    for path in (data / NAME).glob(f"{96:020}.*"):
        path.unlink()  # as retention does after the copy
    assert explorer.look()
    strip = strip_of(explorer)
    assert [name is not None for name in strip["remote"]] == [True, True, True, False, False]
    assert explorer.logs.scan(topics="tier-local").count() == 200
    assert not explorer.look()
    explorer.refresh()
    assert strip_of(explorer) == strip


def test_the_record_browser_reads_the_whole_log(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, partition=NAME, show_values=True)
    browser.wait()
    result: Any = browser.get_state("_result")["_result"]
    assert result["count"] == 200
    assert result["rows"][0] is not None
    assert "remote=" in browser.code["python"]
    assert len(result_of(browser.code["python"])) == 200


def test_remote_segments_take_no_bytes_of_the_disk(logs: wb.LogDirectory, case: Case) -> None:
    usage = DiskUsage(logs)
    local = DiskUsage(case.directory("data"))
    assert usage.sizes == local.sizes
    usage.at = ["tier-local", NAME, "remote tier"]
    nodes: Any = usage.get_state("_partition")["_partition"]["nodes"]
    remote = {node[1]: (node[4], node[5]) for node in nodes if node[6] == "remote"}
    assert [name[:4] for name in remote] == ["…0-F", "…48-"]
    assert list(remote.values()) == [(2359, 0), (2335, 0)]
    usage.refresh()
    assert usage.logs.tier


def test_the_screen_of_the_app_opens_the_tier(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.path)
    data = str(case.directory("data"))
    tier = wb.open_log_directory(data, remote="tier").tier
    screen = screen_of([data], tier, show_values=False)()
    assert len(screen.explorer.logs["tier-local-0"].segments_of_log) == 5
    done = run("app", data, "--remote", "none", "--remote-key", "key1")
    assert done.code == 3
    assert "is not an id, '=' and a file" in done.err
