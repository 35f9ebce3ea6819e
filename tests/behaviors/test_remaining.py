"""Behaviors that belong to no one module: directories of one broker, and the command line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench
from tests.cli.program import run
from tests.golden.cases import Case

Golden = Callable[[str], Case]


@pytest.fixture
def two_directories(golden: Golden, tmp_path: Path) -> tuple[Path, Path]:
    case = golden("4.2.0-dirs")
    for name in ("data-a", "data-b"):
        shutil.copytree(case.directory(f"after/{name}"), tmp_path / name)
    return tmp_path / "data-a", tmp_path / "data-b"


@pytest.mark.parametrize("line", ["node.id", "cluster.id"])
def test_directories_of_different_brokers_do_not_agree(
    line: str, two_directories: tuple[Path, Path]
) -> None:
    """CK-6: node and cluster must be the same in all directories of a broker."""
    sound = [f for f in workbench.verify(two_directories) if "meta.properties" in f.path]
    assert sound == []
    properties = two_directories[1] / "meta.properties"
    lines = properties.read_text().splitlines()
    changed = [f"{line}=4711" if text.startswith(line) else text for text in lines]
    properties.write_text("\n".join(changed) + "\n")
    findings = [f for f in workbench.verify(two_directories) if "meta.properties" in f.path]
    assert findings
    assert all(finding.severity == "error" for finding in findings)


def test_a_path_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    """DU-8."""
    outcome = run("dump", tmp_path / "nothing.log")
    assert outcome.code == 3
    assert "nothing.log" in outcome.err
    assert run("dump").code != 0


def test_a_dump_stops_after_what_was_asked_for(golden: Golden) -> None:
    """DU-5: half of the records where Kafka's tool prints half of the bytes."""
    directory = golden("4.2.0-plain-java").directory("data") / "java-none-0"
    everything = run("dump", directory, "--format", "jsonl").lines
    half = run("dump", directory, "--format", "jsonl", "--limit", str(len(everything) // 2)).lines
    assert half == everything[: len(everything) // 2]
