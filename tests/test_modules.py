"""Every module says what it is for, offers what it lists, and describes what it offers."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pydoc import locate

import pytest

import pyspark_kafka_log
import widgets
import workbench
from tests.test_docstrings import docstrings


def _modules() -> list[str]:
    """Return the names of all modules."""
    packages = (workbench, widgets, pyspark_kafka_log)
    return [
        name
        for package in packages
        for name in (
            package.__name__,
            *(m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
        )
    ]


@pytest.mark.parametrize("name", _modules())
def test_a_module_and_what_it_offers_are_described(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, name
    for attribute, thing in vars(module).items():
        is_ours = getattr(thing, "__module__", None) == name
        is_named = inspect.isfunction(thing) or inspect.isclass(thing)
        if is_ours and is_named and not attribute.startswith("_"):
            assert thing.__doc__, f"{name}.{attribute}"


def test_every_name_in_a_list_of_public_names_can_be_imported() -> None:
    modules = map(importlib.import_module, _modules())
    listing = [module for module in modules if hasattr(module, "__all__")]
    assert {workbench, widgets} < set(listing)
    for module in listing:
        assert len(set(module.__all__)) == len(module.__all__), module.__name__
        assert [name for name in module.__all__ if not hasattr(module, name)] == [], module.__name__


def _raised() -> Iterator[tuple[str, str]]:
    """Yield a module and the name of an error that one of its docstrings says is raised."""
    for module, text in docstrings():
        section = re.search(r"^Raises:\n((?: {4}.*\n?|\n)+)", text, re.MULTILINE)
        for names in re.findall(
            r"^ {4}(\w[\w., ]*?):", section[1] if section else "", re.MULTILINE
        ):
            yield from ((module, name) for name in names.split(", "))


def test_errors_that_docstrings_raise_are_there() -> None:
    raised = list(_raised())
    assert len(raised) > 1000
    named = {each: thing for name in _modules()
             for each, thing in vars(importlib.import_module(name)).items()}  # fmt: skip
    for module, name in raised:
        places = ("", "click.", "traitlets.")
        error = named.get(name) or next(filter(None, (locate(place + name) for place in places)), 0)
        assert inspect.isclass(error), f"{module}: {name}"
        assert issubclass(error, BaseException), f"{module}: {name}"
