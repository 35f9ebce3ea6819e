"""What a scan and `dump` give of damaged logs: each offset once, and nothing left out untold."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.errors import CorruptDataWarning
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


def scanned(path: Path) -> list[tuple[str, int, int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        table = open_log_directory(path).scan(columns=("topic", "partition", "offset")).to_arrow()
    return [tuple(row.values()) for row in table.to_pylist()]


def dumped(path: Path) -> list[tuple[Any, ...]]:
    rows = run("dump", path, "--format", "jsonl").lines
    return [(row["topic"], row["partition"], row["offset"]) for row in rows]


def log_of(golden: Golden, into: Path) -> tuple[Path, list[Path]]:
    """Return a copy of a partition directory and its segments."""
    folder = into / "java-none-0"
    shutil.copytree(golden("4.2.0-plain-java").directory("data") / "java-none-0", folder)
    return folder, sorted(folder.glob("*.log"))


def test_a_segment_that_is_there_twice_is_read_once(golden: Golden, tmp_path: Path) -> None:
    folder, logs = log_of(golden, tmp_path)
    whole = dumped(folder)
    shutil.copy2(logs[0], folder / f"{10**6:020}.log")
    assert dumped(folder) == scanned(folder) == whole
    assert "offset-range" in run("dump", folder).err


def test_a_segment_that_is_cut_short_is_told_by_dump(golden: Golden, tmp_path: Path) -> None:
    folder, logs = log_of(golden, tmp_path)
    logs[0].write_bytes(logs[0].read_bytes()[:-3])
    assert dumped(folder) == scanned(folder)
    outcome = run("dump", folder, "--strict")
    assert outcome.code == 2
    assert "torn-tail" in outcome.err


def test_zeros_allocated_ahead_are_no_damage(golden: Golden, tmp_path: Path) -> None:
    """A running broker's last segment with preallocate=true; elsewhere such zeros are reported."""
    folder, logs = log_of(golden, tmp_path)
    whole = dumped(folder)
    with logs[-1].open("ab") as file:
        file.truncate(4 << 20)
    scan = open_log_directory(folder).scan()
    assert scan.count() == len(whole)
    assert scan.findings == []
    assert run("dump", folder, "--strict").code == 0
    logs[0].write_bytes(logs[0].read_bytes() + bytes(100))
    assert dumped(folder) == whole
    assert run("dump", folder, "--strict").code == 2


@pytest.mark.parametrize("verb", ["scan", "dump"])
def test_the_largest_timestamp_lies_behind_every_other(verb: str, golden: Golden) -> None:
    """Records at 2^63 - 1 ms are after any time when no end is given."""
    path = golden("4.2.0-plain-timestamps").directory("data") / "extremes-0"
    largest = 2**63 - 1
    if verb == "scan":
        table = open_log_directory(path).scan(timestamps=(largest, None)).to_arrow()
        stamps = table["timestamp"].cast("int64").to_pylist()
    else:
        rows = run("dump", path, "--format", "jsonl", "--since", str(largest)).lines
        stamps = [row["timestamp"] for row in rows]
    assert stamps
    assert set(stamps) == {largest}
