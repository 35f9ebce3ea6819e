"""Signatures that show the options of a call, and errors that say what it takes."""

import functools
import inspect
import numbers
import os
import sys
import traceback
from collections import abc
from collections.abc import Callable, Iterable
from types import FunctionType, SimpleNamespace, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from weakref import WeakSet

from workbench.runtime.words import did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])
_EXPLAINED: Final[WeakSet[Callable[..., Any]]] = WeakSet()


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


def explained(call: Function) -> Function:
    """Let a call with arguments that it does not take say in one sentence what it takes.

    What is raised on purpose stays as it is, and so does every error of a call whose arguments are
    of the types that its signature has: those are compared only after it failed. What is explained
    is returned as it is.
    """
    if call in _EXPLAINED:
        return call

    @functools.wraps(call)
    def told(*args: Any, **options: Any) -> Any:
        try:
            return call(*args, **options)
        except (TypeError, AttributeError) as error:
            problem = _problem(call, args, options, error)
            if problem is None:
                raise
            raise TypeError(problem) from error

    _EXPLAINED.add(told)
    return told  # type: ignore[return-value]


def explain_calls(kind: type, also: Iterable[str] = ()) -> None:
    """Let the public methods of a class, and some others, be `explained`."""
    for name, each in list(vars(kind).items()):
        if isinstance(each, FunctionType) and (name in also or not name.startswith("_")):
            setattr(kind, name, explained(each))


def _problem(
    call: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], error: Exception
) -> str | None:
    """Return what is wrong with the arguments; None if it is not they."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if (last.line or "").startswith("raise "):
        return None
    name = call.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    signature = inspect.signature(call)
    try:
        given = signature.bind(*args, **options).arguments
    except TypeError as unbound:
        known = [each for each in signature.parameters if each not in {"self", "logs"}]
        unknown = next((each for each in options if each not in known), None)
        if unknown is None:
            return f"{name}: {unbound}; it takes {', '.join(known) or 'nothing'}"
        elsewhere = getattr(args[0], "_other_options", {}).get(unknown) if args else None
        hint = elsewhere or did_you_mean(unknown, known) or f"; options: {', '.join(known)}"
        return f"unknown option {unknown!r} of {name}{hint if known else ''}"
    hints = _hints(call)
    for each, value in given.items():
        if each in hints and not _fits(value, hints[each]):
            return f"{name}: {each} is {_shown(value)}, not {words_of(hints[each])}"
    return None


def _hints(owner: Any) -> dict[str, Any]:
    """Return the types of the parameters of a call, or of the keys of a typed dictionary.

    Without those that name what only a type checker imports.
    """
    known = dict(vars(sys.modules[owner.__module__]))
    hints: dict[str, Any] = {}
    for name, given in owner.__annotations__.items():
        hint = getattr(given, "__forward_arg__", given)
        try:
            hints |= get_type_hints(SimpleNamespace(__annotations__={name: hint}), known)
        except NameError:
            continue
        packed = get_args(hints[name])
        if packed and hasattr(packed[0], "__required_keys__"):  # **options: Unpack[…]
            del hints[name]
            hints |= _hints(packed[0])
    return hints


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as that can be said; True if it cannot."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if hint is None or hint is type(None):
        return value is None
    kind = _NUMBERS.get(hint, origin or hint)
    if not isinstance(kind, type):
        return True
    try:
        if not isinstance(value, kind):
            return False
    except TypeError:  # a protocol that cannot be asked
        return True
    if isinstance(value, str) and origin is not None:
        return False  # not several of something
    if isinstance(value, list | tuple | set) and len(inner) == 1:
        return all(_fits(each, inner[0]) for each in value)
    return True


def words_of(hint: Any) -> str:
    """Return a type as text: ``text, several or None``."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        each = list(dict.fromkeys(words_of(part) for part in inner))
        each.sort(key="None".__eq__)
        return " or ".join(filter(None, [", ".join(each[:-1]), each[-1]]))
    if origin is Literal:
        return " or ".join(map(str, inner))
    if hint in _WORDS:
        return _WORDS[hint]
    kind = origin or hint
    if isinstance(kind, type):
        several = kind.__module__ == "collections.abc" or kind in {list, tuple, set}
        return _WORDS.get(kind) or ("several" if several else kind.__name__)
    return str(hint)


_LONGEST: Final = 60  # characters
_NUMBERS: Final[dict[Any, type]] = {int: numbers.Integral, float: numbers.Real}
_WORDS: Final[dict[Any, str]] = {
    bool: "True or False", bytes: "bytes", dict: "a mapping", float: "a number",
    int: "a whole number", str: "text", type(None): "None", abc.Callable: "a function",
    abc.Mapping: "a mapping", os.PathLike: "a path",
}  # fmt: skip
