"""What docs/ and CONTRIBUTING.md say is true: their code runs, and shows what the text shows.

A block ``python`` is run in the namespace of its document; the block ``output`` that follows it is
what it prints. In a block ``console`` lines that begin with ``$ `` are commands, run where
`sample_data` is; the lines below each are what it prints. ``...`` matches any text. Blocks
``pyspark`` are run by tests/spark/test_readme.py, other blocks are not.
"""

import contextlib
import doctest
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import drawing
import module_map
import pytest

from tests.cli.program import run

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]
ESSAYS = [*DOCUMENTS, ROOT / "workbench" / "README.md"]
SHELL = {"|", "<", ">", ">>", ";", "&&"}
PACKAGES = "|".join(module_map.PACKAGES)


class Block(NamedTuple):
    """A fenced block of a document.

    Attributes:
        line: where its text begins, from 1.
        kind: the word after the opening fence.
        text: with a line end at its end.
    """

    line: int
    kind: str
    text: str


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a document."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start(2)) + 1, found[1], found[2])
        for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def prose(path: Path) -> str:
    """Return a document without what its programs print."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```(?:output|console)\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def differs(shown: str, printed: str) -> bool:
    """Return whether a program printed something else than a document shows."""
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return not doctest.OutputChecker().check_output(shown, lines, doctest.ELLIPSIS)


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a ``console`` block, each with what is shown below it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not parts[0], "a console block begins with a command"
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts[1:])]


def printed_by(command: str) -> str:
    """Return what a command prints; our own run in this process, unless a shell is needed."""
    name, *arguments = shlex.split(command)
    if name == "kafka-workbench" and not set(shlex.shlex(command, punctuation_chars=True)) & SHELL:
        if arguments[0] == "sql" and "--format" not in arguments:
            arguments += ["--format", "table"]  # documents show what a terminal does
        outcome = run(*arguments)
        return outcome.out + outcome.err
    return subprocess.run(
        ["/bin/sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own with the samples in it, as at the root of the project."""
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.parametrize("path", ESSAYS, ids=lambda path: path.name)
@pytest.mark.usefixtures("here")
def test_the_code_of_a_document_runs_and_prints_what_is_shown(path: Path) -> None:
    names: dict[str, object] = {}
    for block, following in pairwise([*blocks(path), Block(0, "", "")]):
        where = f"{path.name}:{block.line}"
        if block.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, where, "exec"), names)  # noqa: S102 - the text is ours
            shown = following.text if following.kind == "output" else ""
            assert not differs(shown, printed.getvalue()), f"{where}\n{printed.getvalue()}"
        for command, shown in commands(block.text) if block.kind == "console" else []:
            text = printed_by(command)
            assert not differs(shown, text), f"{where}: {command}\n{text}"


@pytest.mark.parametrize("path", ESSAYS, ids=lambda path: path.name)
def test_every_block_says_what_it_is(path: Path) -> None:
    kinds = [block.kind for block in blocks(path)]
    assert set(kinds) <= {"python", "output", "console", "text", "sh", "pyspark"}
    for before, kind in zip(["", *kinds], kinds, strict=False):
        assert kind != "output" or before == "python"


@pytest.mark.parametrize("path", ESSAYS, ids=lambda path: path.name)
def test_every_name_of_ours_in_a_document_is_there(path: Path) -> None:
    for name in set(re.findall(rf"(?<![\w-])(?:{PACKAGES})(?:\.[A-Za-z_]\w*)+", prose(path))):
        if not name.endswith((".md", ".py")):
            pkgutil.resolve_name(name)
    for name in set(re.findall(r"\btests(?:\.\w+)+", prose(path))):
        assert (ROOT / f"{name.replace('.', '/')}.py").exists(), name


@pytest.mark.parametrize("path", ESSAYS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_is_there(path: Path) -> None:
    text = prose(path)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert (path.parent / link).exists(), link
        assert not link.endswith(".py"), "modules move: name them by their dotted path"
    folders = "workbench|widgets|sample_data|tests|notebooks|docs|\\.ci"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
    for verb in re.findall(r"\bmake ([a-z][a-z-]+)\b(?=[`\n ])", text):
        if f"`make {verb}" in text or f"    make {verb}" in text:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb


def test_the_drawing_of_the_layers_is_up_to_date() -> None:
    written = drawing.DRAWING.read_text(encoding="utf-8")
    assert written == drawing.drawing(), "a docstring or a contract changed: run make map"
    folders = {each.name for each in pkgutil.iter_modules([str(ROOT / "workbench")])}
    drawn = set(re.findall(r'class="name">(\w+)<', written))
    assert drawn == {*folders, "widgets"}


def test_the_map_names_every_module_once() -> None:
    named = re.findall(
        r"^(?:\| `|## )((?:workbench|widgets|pyspark_kafka_log)[\w.]*)",
        module_map.module_map(),
        re.MULTILINE,
    )
    there = [name for name, _ in module_map.modules(ROOT)]
    assert sorted(named) == sorted(there)
    assert len(there) > 300


def test_the_readme_or_the_index_leads_to_every_document() -> None:
    readme, index = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/index.md")
    )
    assert "(docs/index.md)" in readme
    for path in DOCUMENTS:
        name = str(path.relative_to(ROOT))
        assert f"({name})" in readme or f"({path.name})" in index or name == "docs/index.md", name
