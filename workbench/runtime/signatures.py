"""Signatures that show the options which a function passes on."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def shows(options: Iterable[inspect.Parameter]) -> Callable[[Function], Function]:
    """Let `help`, editors and notebooks show parameters in place of ``**options``."""

    def shown(function: Function) -> Function:
        found = inspect.signature(function)
        own = [each for each in found.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [each for each in options if each.name not in found.parameters]
        function.__signature__ = found.replace(  # type: ignore[attr-defined]
            parameters=[*own, *more]
        )
        return function

    return shown


def options_of(function: Callable[..., Any], *others: str) -> list[inspect.Parameter]:
    """Return the parameters of a function that can be named, but for some and the first.

    Args:
        function: a function, or a class.
        others: the names of those that are left out.
    """
    found = inspect.signature(function).parameters.values()
    named = [each for each in found if each.kind in {each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD}]
    return [
        each.replace(kind=each.KEYWORD_ONLY) for each in named if each.name not in {*others, "self"}
    ]
