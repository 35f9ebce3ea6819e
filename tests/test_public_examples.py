"""Every public name has an example that runs: in the README, in docs/, or in a notebook.

Their code is run by tests/test_readme.py, tests/test_docs.py, tests/spark and tests/notebooks. Here
it is read: which functions it calls, and of which class, by what annotations say of the results.
"""

import ast
import builtins
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import workbench
from tests.test_public_names import public_functions

ROOT: Final = Path(__file__).parents[1]
CLASSES: Final = {
    name: thing for name in workbench.__all__ if inspect.isclass(thing := getattr(workbench, name))
}
Kinds = frozenset[type]
NONE: Final[Kinds] = frozenset()


def programs() -> Iterator[str]:
    """Yield the code of each document and each notebook."""
    for path in [ROOT / "README.md", ROOT / "workbench/README.md", *(ROOT / "docs").glob("*.md")]:
        found = re.findall(
            r"^```py(?:thon|spark)\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        yield "".join(found)
    for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.py"):
        text = path.read_text("utf-8")
        answers = re.findall(r"^# ```python\n((?:#.*\n)*?)# ```$", text, re.MULTILINE)
        yield text + "".join(re.sub(r"^# ?", "", each, flags=re.MULTILINE) for each in answers)


class Usage(ast.NodeVisitor):
    """What one program uses.

    Attributes:
        used: functions that it names, and classes that it makes or gets.
    """

    def __init__(self) -> None:
        self.used: set[object] = set()
        self._things: dict[str, object] = {}  # modules, classes and functions by their names here
        self._kinds: dict[str, Kinds] = {}  # variable → public classes that it may be of

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == "workbench":
                self._things[alias.asname or alias.name] = workbench

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if node.module == "workbench":
                self._things[alias.asname or alias.name] = getattr(workbench, alias.name)

    def visit_Assign(self, node: ast.Assign) -> None:
        kinds = self.kinds(node.value)
        for target in node.targets:
            self._bind(target, kinds)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._bind(node.target, self.kinds(node.value))

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            kinds = self.kinds(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, kinds)
        for statement in node.body:
            self.visit(statement)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, _elements(self.kinds(node.iter)))
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            self.kinds(node)
        else:
            super().generic_visit(node)

    def _bind(self, target: ast.expr, kinds: Kinds) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self._kinds[node.id] = self._kinds.get(node.id, NONE) | kinds

    def kinds(self, node: ast.expr) -> Kinds:
        """Return the public classes that an expression may be of, and note what it uses."""
        found = self._kinds_of(node)
        self.used |= found
        return found

    def _kinds_of(self, node: ast.expr) -> Kinds:
        if isinstance(node, ast.Name):
            self._thing(node)
            return self._kinds.get(node.id, NONE)
        if isinstance(node, ast.Attribute):
            return NONE if self._thing(node) is not None else self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            self.kinds(node.slice)
            return _elements(self.kinds(node.value), "__getitem__")
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            for part in node.generators:
                self._bind(part.target, _elements(self.kinds(part.iter)))
                for condition in part.ifs:
                    self.kinds(condition)
            if isinstance(node, ast.DictComp):
                return self.kinds(node.key) | self.kinds(node.value)
            return self.kinds(node.elt)
        if isinstance(node, ast.NamedExpr):
            self.visit(node)
        parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        return NONE.union(*map(self.kinds, parts))

    def _thing(self, node: ast.expr) -> object:
        """Return the module, class or function of ours that an expression names; None: none."""
        found: object = None
        if isinstance(node, ast.Name):
            found = self._things.get(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self._thing(node.value)
            found = None if owner is None else getattr(owner, node.attr, None)
        if inspect.isfunction(found):
            self.used.add(found)
        return found

    def _attribute(self, node: ast.Attribute) -> Kinds:
        kinds = NONE
        owners = self.kinds(node.value)
        for owner in owners:
            found = inspect.getattr_static(owner, node.attr, None)
            if inspect.isfunction(found):
                self.used.add(found)
            kinds |= _result(found, owner) if found is not None else NONE
        return kinds

    def _call(self, node: ast.Call) -> Kinds:
        given = [self.kinds(each) for each in [*node.args, *(k.value for k in node.keywords)]]
        thing = self._thing(node.func)
        if inspect.isclass(thing):
            return frozenset({thing}) & frozenset(CLASSES.values())
        if thing is not None:
            return _result(thing, object)
        if isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id):
            return NONE.union(*map(_elements, given))  # list, next, sorted, …
        kinds = self.kinds(node.func)
        if not kinds and isinstance(node.func, ast.Attribute):
            return self.kinds(node.func.value)  # dict.values, list.pop, …
        return kinds


def _named(annotation: object, owner: type) -> Kinds:
    """Return the public classes that an annotation names."""
    text = annotation if isinstance(annotation, str) else repr(annotation)
    words = set(re.findall(r"\w+", text))
    own = {owner} if "Self" in words else set()
    return frozenset({CLASSES[word] for word in words & CLASSES.keys()} | own)


def _result(thing: Any, owner: type) -> Kinds:
    """Return the public classes that a function returns, or a property is of."""
    if isinstance(thing, property):
        thing = thing.fget
    elif isinstance(thing, cached_property):
        thing = thing.func
    return _named(getattr(thing, "__annotations__", {}).get("return", ""), owner)


def _elements(kinds: Kinds, how: str = "__iter__") -> Kinds:
    """Return the public classes of what objects contain, and their own: of a list of them."""
    found = kinds
    for kind in kinds:
        method = getattr(kind, how, None)
        is_own = inspect.isfunction(method)
        bases = getattr(kind, "__orig_bases__", "")
        found |= _result(method, kind) if is_own else _named(bases, kind)
    return found


def used_by(programs: Iterable[str]) -> set[object]:
    """Return the functions and classes of ours that programs use."""
    used: set[object] = set()
    for program in programs:
        usage = Usage()
        usage.visit(ast.parse(program))
        used |= usage.used
    return used


def test_every_public_name_has_an_example_that_runs() -> None:
    used = used_by(programs())
    assert [name for name, thing in public_functions() if thing not in used] == []


def test_an_example_is_of_the_class_whose_name_it_calls() -> None:
    program = """
import workbench as wb

def shown(other):
    other.elect(0)

with wb.Cluster(2) as cluster:
    cluster.isolate(1)
"heal"  # cluster.heal(1)
[partition.verify() for partition in wb.open_log_directory("x").topic("orders").partitions]
wb.open_log_directory("x")["orders-0"].segments[0].read()
for finding in wb.verify("x"):
    finding.as_dict()
"""
    used = used_by([program])
    assert {
        workbench.Cluster.isolate,
        workbench.Partition.verify,
        workbench.Segment.read,
        workbench.Finding.as_dict,
        workbench.verify,
    } <= used
    assert not used & {workbench.Cluster.heal, workbench.Cluster.elect, workbench.compact}
