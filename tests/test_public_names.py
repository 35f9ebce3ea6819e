"""The public names: listed, sorted, importable, described; errors have one base."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import workbench
import workbench.errors
from workbench.errors import WorkbenchError


def test_the_list_of_public_names_is_sorted_and_whole() -> None:
    assert workbench.__all__ == sorted(workbench.__all__)
    for name in workbench.__all__:
        assert getattr(workbench, name).__doc__, name


def test_the_names_offered_are_the_public_ones_and_checkers_see_the_same() -> None:
    assert set(dir(workbench)) == {*workbench.__all__, "__version__"}
    tree = ast.parse(inspect.getsource(workbench))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == set(workbench.__all__)


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sys, workbench; print(*(m for m in sys.modules if m.startswith('workbench')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["workbench"]


@pytest.mark.parametrize(
    "error",
    [
        e
        for _, e in inspect.getmembers(workbench.errors, inspect.isclass)
        if e.__module__ == "workbench.errors"
    ],
)
def test_every_error_has_the_base_and_a_built_in_one(error: type[Exception]) -> None:
    assert issubclass(error, WorkbenchError)
    if error is not WorkbenchError:
        assert any(base.__module__ == "builtins" for base in error.__mro__[1:-3]), error


def _modules() -> list[str]:
    return [m.name for m in pkgutil.walk_packages(workbench.__path__, "workbench.")]


@pytest.mark.parametrize("name", _modules())
def test_every_module_says_what_it_is_for(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, name


@pytest.mark.parametrize("name", [m for m in _modules() if m.count(".") == 2])
def test_what_a_module_offers_is_described(name: str) -> None:
    module = importlib.import_module(name)
    for attribute, thing in vars(module).items():
        is_ours = getattr(thing, "__module__", None) == name
        is_named = inspect.isfunction(thing) or inspect.isclass(thing)
        if is_ours and is_named and not attribute.startswith("_"):
            assert thing.__doc__, f"{name}.{attribute}"
