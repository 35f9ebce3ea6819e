"""Names, keys, values and headers never steer a terminal, nor make a line of their own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.cli.terminal import on_a_terminal
from workbench.log_manager.manager import LogManager
from workbench.runtime.words import safe

SAMPLES = Path(__file__).parents[2] / "sample_data"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.\x7f[red]\r\nnothing wrong"
ESCAPED = r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.\x7f[red]\r\nnothing wrong"
FOLDER = f"{HOSTILE}-0"

COMMANDS = (
    ("ls",),
    ("ls", "--topics"),
    ("describe",),
    ("describe", "-p", FOLDER),
    ("describe", "-p", FOLDER, "--segment", "0"),
    ("describe", "-p", FOLDER, "--segment", "0", "--batch", "0", "--show-values"),
    ("dump", "--format", "text", "--show-values", "--full"),
    ("dump", "--format", "text", "--show-values", "--value-format", "utf8"),
    ("search", "owned", "--show-values"),
    ("verify", "--info"),
    ("predict",),
    ("explain", "-p", FOLDER),
    ("plan", "-p", FOLDER, "--keys", "3"),
    ("what-if", "--set", "retention.ms=1", "--why"),
    ("retention", "--dry-run", "--now", "2000000000000"),
    ("dump", "--topic", HOSTILE[:-1]),
    ("verify", "--partition", f"{HOSTILE}-1"),
    ("describe", "-p", FOLDER, "--segment", "77"),
    ("ls", "--debug", "--topic", HOSTILE[:-1]),
)


@pytest.fixture(name="logs", scope="module")
def logs_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "logs"
    data = HOSTILE.encode()
    with LogManager([str(path)]) as manager:
        log = manager.get_or_create_log("orders-0")
        log.append([(data, data), (b"key", b"\xff" + data)])
        log.append([(data, None)])
    (path / "orders-0").rename(path / FOLDER)
    with (path / FOLDER / f"{0:020d}.log").open("ab") as file:
        file.write(b"garbage that is not a batch")
    (path / FOLDER / f"{HOSTILE}.txt").touch()
    (path / HOSTILE).mkdir()
    Path(os.fsdecode(os.fsencode(path / "notes") + b"\xff\x1b[2J")).touch()
    return path


def arguments_for(command: tuple[str, ...], logs: Path) -> list[str]:
    return [command[0], str(logs), *command[1:]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_what_steers_a_terminal(command: tuple[str, ...], logs: Path) -> None:
    outcome = run(*arguments_for(command, logs))
    shown = outcome.out + outcome.err
    assert shown
    for line in shown.split("\n"):
        assert line.isprintable(), line
        assert line != "nothing wrong"


@pytest.mark.parametrize("command", [COMMANDS[at] for at in (0, 3, 6, 9, 10)], ids=" ".join)
def test_a_terminal_gets_no_escape_sequence_but_ours(command: tuple[str, ...], logs: Path) -> None:
    shown = on_a_terminal(*arguments_for(command, logs))
    without_ours = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert ESCAPED in without_ours
    for line in without_ours.split("\r\n"):
        assert line.isprintable(), line


def test_names_are_shown_with_escapes_and_are_exact_in_json(logs: Path) -> None:
    assert f"{ESCAPED}-0" in run("ls", logs).out
    (listed,) = run("ls", logs, "--json").json["partitions"]
    assert listed["name"] == FOLDER
    assert listed["topic"] == HOSTILE
    (first, *_) = run("dump", logs, "--format", "jsonl").lines
    assert first["value"] == {"bytes": HOSTILE.encode().hex()}


def test_safe_text_stays_as_it_is() -> None:
    for text in ("", "orders-0", "Kraków, 10 €", safe(HOSTILE), r"a\x1b"):
        assert safe(text) == text
    assert safe(HOSTILE) == ESCAPED
    assert safe(os.fsdecode(b"\xff")) == r"\udcff"


def test_warnings_and_tracebacks_are_safe_too(tmp_path: Path) -> None:
    folder = tmp_path / HOSTILE
    shutil.copytree(SAMPLES / "damaged" / "flipped-byte-0", folder / "flipped-byte-0")
    for arguments in (
        ["export", str(folder), "--to", "-", "--format", "csv", "--columns", "offset"],
        ["ls", str(tmp_path / f"{HOSTILE}?")],
        ["ls", "--debug", str(tmp_path / f"{HOSTILE}?")],
    ):
        program = [sys.executable, "-m", "workbench.cli.main", *arguments]
        shown = subprocess.run(
            program, capture_output=True, text=True, check=False, errors="strict"
        )
        assert "owned" in shown.stderr
        for line in shown.stderr.split("\n"):
            assert line.isprintable(), line


def test_markup_of_rich_is_text(tmp_path: Path) -> None:
    folder = tmp_path / "[red]orders[bold]:boom:-0"
    shutil.copytree(SAMPLES / "damaged" / "healthy-0", folder)
    for command in ("ls", "describe", "dump"):
        assert "[red]orders[bold]:boom:-0" in on_a_terminal(command, str(folder))
    assert json.dumps(folder.name) in run("ls", tmp_path, "--json").out
