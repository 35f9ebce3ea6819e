"""Write docs/modules.md: every module, its subject, and the Kafka classes that it mirrors.

The table comes from docstrings alone: the first line of each module's, and the lines that begin
with ``Kafka:`` anywhere in it. Nothing is imported. Run as `python3 .ci/module_map.py` (this is
`make map`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
MAP = PROJECT / "docs" / "modules.md"
PACKAGES = ("workbench", "widgets", "pyspark_kafka_log")

HEAD = """\
# Every module

One row per module: its dotted path, the first line of its docstring, and the classes of Kafka
that its docstrings name. `make map` writes this page from the docstrings; do not edit it by hand.
The layers, from the top one to the bottom one, are in `workbench/README.md`, with a table that
answers "where is this done?".
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
    return page


if __name__ == "__main__":
    MAP.parent.mkdir(exist_ok=True)
    MAP.write_text(module_map(), encoding="utf-8")
    print(MAP.relative_to(PROJECT))
