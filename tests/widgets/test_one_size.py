"""What the disk holds is one number: in the tile, the treemap, the table, Explore and `ls`."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.program import run
from widgets import DiskUsage, LogExplorer, Overview
from workbench.runtime.words import size_text

SAMPLES = Path(__file__).parents[2] / "sample_data"
BROKERS = [SAMPLES / "two-brokers" / "broker1", SAMPLES / "two-brokers" / "broker2"]


def with_holes(folder: Path) -> list[Path]:
    """Return a copy of the sample whose indexes are preallocated, as a running broker has them."""
    shutil.copytree(SAMPLES / "shop-4.3.1", folder / "shop")
    for index in (folder / "shop").glob("orders-*/*.index"):
        os.truncate(index, 10 << 20)
    return [folder / "shop"]


def counted(paths: list[Path]) -> int:
    """Return what the disk holds, by plain counting; blocks are not rounded up."""
    stats = [each.stat() for path in paths for each in path.rglob("*") if each.is_file()]
    return sum(
        each.st_size if each.st_size - each.st_blocks * 512 < 4096 else each.st_blocks * 512
        for each in stats
    )


@pytest.mark.parametrize("what", ["shop-4.3.1", "damaged", "two brokers", "holes"])
def test_every_place_says_the_same_size(what: str, tmp_path: Path) -> None:
    paths = {"two brokers": BROKERS, "holes": None}.get(what, [SAMPLES / what])
    paths = with_holes(tmp_path) if paths is None else paths
    wanted = counted(paths)
    logs = wb.open_log_directory(paths)
    assert DiskUsage(logs).sizes[1] == wanted
    overview = Overview(logs)
    overview.wait(120)
    state: dict[str, Any] = overview.get_state()
    (tile,) = (each for each in state["_tiles"]["sizes"] if each["label"] == "on the disk")
    assert tile["value"] == size_text(wanted)
    assert state["_sections"]["sizes"]["headings"][2] == "on the disk"
    assert f"{size_text(wanted)} on the disk" in LogExplorer(logs).describe()
    listed = run("ls", *paths, "--json").json["totals"]
    assert listed["occupied"] + listed["occupied_by_others"] == wanted
    lengths = listed["size"] + listed["other_size"] - listed["occupied"]
    notes = " ".join(state["_sections"]["sizes"]["notes"])
    assert ("longer than that" in notes) is (lengths > 0) is (what == "holes")
