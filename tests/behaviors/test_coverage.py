"""Which behaviors of Kafka's own tests are held by tests here: those that name their numbers."""

import ast
import re
from collections import defaultdict
from itertools import groupby
from pathlib import Path

import pytest

from tests.behaviors.catalogue import BEHAVIORS, DO_NOT_APPLY, LETTERS

TESTS = Path(__file__).parents[1]
_NUMBER = re.compile(rf"\b(?:{'|'.join(LETTERS)})-\d+\b")


def named() -> dict[str, list[str]]:
    """Return for each number the tests that name it in their docstrings."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in _NUMBER.findall(ast.get_docstring(node) or ""):
                    found[number].append(f"{path.relative_to(TESTS)}::{node.name}")
    return found


def test_every_behavior_that_applies_is_held_by_a_test(
    capsys: pytest.CaptureFixture[str],
) -> None:
    held = named()
    apply = [number for number in BEHAVIORS if number not in DO_NOT_APPLY]
    missing = [number for number in apply if number not in held]
    with capsys.disabled():
        print(f"\n{len(apply) - len(missing)} of {len(apply)} behaviors that apply are held")  # noqa: T201
        for number in missing:
            print(f"  not held: {number}: {BEHAVIORS[number]}")  # noqa: T201
        for reason, numbers in groupby(DO_NOT_APPLY, lambda number: DO_NOT_APPLY[number]):
            print(f"  left out: {', '.join(numbers)}: {reason}")  # noqa: T201
    assert missing == []


def test_every_number_that_a_test_names_is_in_the_catalogue() -> None:
    assert set(named()) <= set(BEHAVIORS)
    assert set(DO_NOT_APPLY) <= set(BEHAVIORS)


def test_what_does_not_apply_is_not_held_by_a_test_all_the_same() -> None:
    assert set(named()) & set(DO_NOT_APPLY) == set()
