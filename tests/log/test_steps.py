import ast
from collections.abc import Iterator
from pathlib import Path

import workbench
from workbench.runtime.steps import KINDS, Step

TELLERS = {"tell", "_tell", "tell_file", "Step"}
ENGINE = ("runtime", "log", "cleaner", "log_manager")


def strings(node: ast.expr) -> Iterator[str]:
    """The texts that an argument can be: a constant's, or of both sides of an if."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from strings(node.body)
        yield from strings(node.orelse)


def told_kinds() -> set[str]:
    """The kinds of all steps that the source of the engine reports."""
    found = set()
    for folder in ENGINE:
        for path in (Path(workbench.__file__).parent / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in TELLERS:
                    first = next((text for each in node.args for text in strings(each)), None)
                    found |= {text for text in [first] if text is not None}
                    found |= {
                        text for each in node.args[:1] if isinstance(each, ast.IfExp)
                        for text in strings(each)
                    }  # fmt: skip
    return found


def test_every_step_that_is_told_has_its_kind_explained() -> None:
    assert told_kinds() <= set(KINDS)


def test_every_kind_that_is_explained_is_told() -> None:
    assert set(KINDS) <= told_kinds()


def test_a_step_says_what_where_and_why_in_a_line() -> None:
    step = Step("rolled", "/logs/orders-0/00000000000000000040.log", "full", {"base_offset": 40})
    assert str(step) == "rolled: 00000000000000000040.log; full; base_offset=40"
    assert str(Step("flushed", "orders-0", "", {})) == "flushed: orders-0"
