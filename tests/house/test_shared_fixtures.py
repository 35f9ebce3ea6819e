"""No test finds what the test of another module left behind on a server or a broker."""

import ast
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
LIVING: Final = {"Asker", "Broker", "Server", "ServedProcess"}
"""What a test can change by asking: a group that a test makes on a server stays there."""


def _scope(function: ast.FunctionDef) -> str:
    """Return the scope of a fixture; "function" of all else."""
    for decorator in function.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "scope":
                return str(ast.literal_eval(keyword.value))
    return "function"


def _names(node: ast.expr | None) -> set[str]:
    """Return the names in an annotation."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} if node else set()


def test_modules_share_no_server_and_no_broker() -> None:
    files = sorted(TESTS.rglob("conftest.py"))
    assert len(files) > 5
    shared = [
        f"{path.relative_to(TESTS)}: {node.name}"
        for path in files
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and _scope(node) != "function"
        and _names(node.returns) & LIVING
    ]
    assert shared == [], "make it for each test, or in the module that changes it"
