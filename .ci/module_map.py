"""The page of the site that lists every module, and the Kafka classes that each follows.

The table comes from docstrings alone: the first line of each module's, and the lines that begin
with ``Kafka:`` anywhere in it. Nothing is imported. `python3 .ci/module_map.py` prints the page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = ("workbench", "widgets", "pyspark_kafka_log")

HEAD = """\
# Every module

One row per module: its dotted path, the first line of its docstring, and the classes of Kafka
that its docstrings name. The last section lists these classes, each with its modules.
"""


def modules(project: Path) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the file of every module; a package before what it holds.

    Args:
        project: the folder that holds the packages.
    """
    for package in PACKAGES:
        for path in sorted((project / package).rglob("*.py"), key=_order):
            parts = path.relative_to(project).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), path


def _order(path: Path) -> tuple[Path, bool, str]:
    return path.parent, path.name != "__init__.py", path.name


def subject(tree: ast.Module) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def kafka_classes(tree: ast.Module) -> list[str]:
    """Return the classes that the ``Kafka:`` lines of a module's docstrings name, sorted."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            for line in re.findall(r"^Kafka: (.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL):
                found.update(re.findall(r"(?<![\w`])[A-Z]\w*[a-z]\w*", line))
    return sorted(found - {"Kafka"})


def module_map(project: Path = PROJECT) -> str:
    """Return the page.

    Args:
        project: the folder that holds the packages.
    """
    page, rows = HEAD, 0
    classes: dict[str, list[str]] = {}
    for name, path in modules(project):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        text = subject(tree).replace("|", "\\|")
        if path.name == "__init__.py":
            page += f"\n## {name}\n\n{text}\n"
            rows = 0
            continue
        if not rows:
            page += "\n| module | subject | Kafka |\n|---|---|---|\n"
        page += f"| `{name}` | {text} | {', '.join(kafka_classes(tree))} |\n"
        rows += 1
        for each in kafka_classes(tree):
            classes.setdefault(each, []).append(f"`{name}`")
    page += "\n## Kafka's classes\n\n| Kafka | module |\n|---|---|\n"
    return page + "".join(f"| {each} | {', '.join(classes[each])} |\n" for each in sorted(classes))


if __name__ == "__main__":
    print(module_map(), end="")
