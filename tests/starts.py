"""Which other programs a test starts, found in what it uses, so that no mark can be forgotten.

It follows the names in the code of a test and of its fixtures, in that of the helpers that they
name, and so on, within `tests`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import pytest

STARTERS: Final = {
    ("cimpl", "Consumer"): "librdkafka",
    ("cimpl", "Producer"): "librdkafka",
    ("confluent_kafka.admin", "AdminClient"): "librdkafka",
    ("tests.kafka_broker", "Broker"): "broker",
    ("tests.kafka_broker", "compile_java"): "broker",
    ("tests.kafka_broker", "java_command"): "broker",
    ("tests.kafka_broker", "resolve"): "broker",
    ("tests.kafka_broker", "run_java"): "broker",
    ("playwright.sync_api", "sync_playwright"): "browser",
}
"""Module and name of what starts another program → the mark of tests that use it."""


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark tests by what they use; those of Spark, which has Kafka's classes, have its mark."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("spark") is None:
            for name in sorted(_marks(item)):
                item.add_marker(name)


def _marks(item: pytest.Function) -> set[str]:
    params = [*item.callspec.params.values()] if hasattr(item, "callspec") else []
    definitions = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - nothing else tells
    fixtures = [each.func for several in definitions for each in several]
    called = (item.obj, *fixtures, *filter(callable, params))
    return {name for used in called for name in started_by(used)}


@cache
def started_by(used: Any) -> frozenset[str]:
    """Return the marks of what something uses."""
    found, seen, left = set[str](), set[int](), [used]
    while left:
        each = left.pop()
        if isinstance(each, Mapping):
            left += each.values()
        elif isinstance(each, list | tuple | set | frozenset):
            left += each
        elif callable(each):
            function = unwrap(getattr(each, "__func__", each))
            if id(function) in seen:
                continue
            seen.add(id(function))
            place = (getattr(function, "__module__", ""), getattr(function, "__qualname__", ""))
            if place in STARTERS:
                found.add(STARTERS[place])
            elif str(place[0]).startswith("tests."):
                left += _named(function)
    return frozenset(found)


@cache
def _named(function: Any) -> tuple[Any, ...]:
    """Return what a function or the methods of a class name."""
    if isinstance(function, type):
        members = [each for base in function.__mro__ for each in vars(base).values()]
        return tuple(getattr(each, "fget", None) or each for each in members)
    if not isinstance(function, FunctionType):
        return ()
    names = set(_names(function.__code__))
    found = [function.__globals__[name] for name in names & function.__globals__.keys()]
    modules = [each for each in found if isinstance(each, ModuleType)]
    modules += [import_module(name) for name in names if name.startswith("tests.")]
    ours = [each for each in modules if each.__name__.startswith("tests.")]
    found += [getattr(module, name) for module in ours for name in names if hasattr(module, name)]
    found += [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    return tuple(found)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is None
    except ValueError:
        return True
