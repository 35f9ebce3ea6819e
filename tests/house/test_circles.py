"""No modules import each other in a circle, not even inside of functions: a contract sees rooms."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def modules() -> dict[str, Path]:
    """Return the files of all modules by their names."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in ("workbench", "widgets")
        for path in (ROOT / package).rglob("*.py")
    }


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield modules and names of every import that runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield from imports(other)
        else:
            yield from imports(node)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return modules of which each imports the next one; empty if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_modules_import_each_other_in_no_circle() -> None:
    ours = modules()
    assert len(ours) > 500
    graph: dict[str, set[str]] = {}
    for name, path in ours.items():
        found = set()
        for module, inner in imports(ast.parse(path.read_text("utf-8"))):
            found.add(f"{module}.{inner}" if f"{module}.{inner}" in ours else module)
        graph[name] = found & ours.keys()
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) != []
    assert circle({"a": {"b"}, "b": {"c"}, "d": {"a"}}) == []


def test_an_import_inside_of_a_function_is_seen_and_one_for_types_is_not() -> None:
    text = """
def f():
    from workbench.a import b

if TYPE_CHECKING:
    from workbench.c import d
"""
    assert [*imports(ast.parse(text))] == [("workbench.a", "b")]
