"""The examples in docstrings run: code that is indented below a blank line, and doctests."""

import ast
import doctest
import importlib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.config.broker_config import BrokerConfig
from workbench.runtime.clock import SystemClock

ROOT = Path(__file__).parents[1]
PACKAGES = ("workbench", "widgets", "pyspark_kafka_log")
MAY_HAVE_EXAMPLES = re.compile(r'^( *)"""(?:[^"]|"(?!""))*?\n\n\1    ', re.MULTILINE)
"""Finds, in a module, a text in three quotes that goes on indented below a blank line."""
INDENTED = re.compile(r"(?:^|\n)\n((?:    .*\n?|\n(?=    ))+)")
GIVEN: dict[str, dict[str, Any]] = {
    "workbench.cleaner.schedule.log_cleaner": {
        "config": BrokerConfig.of({}),
        "logs": {},
        "checkpoint_files": {},
        "clock": SystemClock(),
    },
}
"""What the examples of a module take for granted."""


def docstrings(where: re.Pattern[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the module and text of every docstring, of modules that a pattern is found in."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(part for part in parts if part != "__init__")
            source = path.read_text("utf-8")
            if where is not None and where.search(source) is None:
                continue
            nodes: list[ast.AST] = [ast.parse(source)]
            while nodes:  # without expressions, which are most of a tree
                node = nodes.pop()
                nodes += (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt))
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    yield module, ast.get_docstring(node) or ""


def examples(where: re.Pattern[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the module and code of every example; tables and grammars are no code."""
    for module, text in docstrings(where):
        for found in INDENTED.finditer(text):
            code = textwrap.dedent(found[1])
            try:
                tree = ast.parse(code)
            except SyntaxError:
                continue
            if any(isinstance(node, ast.Call | ast.Import) for node in ast.walk(tree)):
                yield module, code


EXAMPLES = list(examples(MAY_HAVE_EXAMPLES))  # to parse all modules takes seconds


def test_the_examples_are_found() -> None:
    modules = {module for module, _ in EXAMPLES}
    assert list(examples()) == EXAMPLES
    assert {"workbench", "workbench.log_manager.manager", *GIVEN} <= modules


@pytest.mark.parametrize(
    ("module", "code"), EXAMPLES, ids=[f"{at}-{module}" for at, (module, _) in enumerate(EXAMPLES)]
)
def test_an_example_runs(
    module: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    names = {**vars(importlib.import_module(module)), **GIVEN.get(module, {})}
    exec(compile(code, f"docstring of {module}", "exec"), names)  # noqa: S102 - it is ours
    if "cleaner" in names and hasattr(names["cleaner"], "shutdown"):
        names["cleaner"].shutdown()


def test_doctests_hold() -> None:
    for module, text in docstrings():
        if ">>>" in text:
            names = vars(importlib.import_module(module))
            test = doctest.DocTestParser().get_doctest(text, names, module, None, None)
            assert doctest.DocTestRunner().run(test).failed == 0, module


def test_every_sample_that_a_docstring_names_is_there() -> None:
    for _, text in docstrings():
        for name in re.findall(r"\bsample_data/[\w./-]*\w", text):
            assert (ROOT / name).exists(), name
