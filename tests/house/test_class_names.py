"""The name of a public class means one thing, in all packages."""

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("workbench", "widgets", "pyspark_kafka_log")


def _classes() -> dict[str, list[str]]:
    """Return the modules of every public class, by its name."""
    found = defaultdict(list)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_a_public_class_has_a_name_of_its_own() -> None:
    several = {name: sorted(where) for name, where in _classes().items() if len(where) > 1}
    assert several == {}
