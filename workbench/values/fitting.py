"""Values as Python has them, made to fit a type: what does not fit is null alone, and kept as text.

Text holds anything: of an object or a list, its JSON.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Self

import pyarrow as pa

from workbench.values.guard import ENTRIES
from workbench.values.inference import WHOLE
from workbench.values.types import is_bytes

Special = Callable[[Any, Any], Any]
"""Returns a value as Arrow takes it for a type that is none of JSON's; raises `ValueError`."""

_Fit = Callable[[Any, str, "LeftOut"], Any]
"""Returns a value, at a path, as Arrow takes it; None stays None. Raises `DoesNotFitError`."""


class DoesNotFitError(ValueError):
    """A value cannot be of a type."""


class Number(float):
    """A number with a fraction or an exponent, and its text.

    Attributes:
        text: as it was written.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        """Return the number of a text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class FarTime(str):
    """The text of a time or a duration beyond those that tables hold; fits text alone."""

    __slots__ = ()


class MapEntries(list[tuple[Any, Any]]):
    """The entries of a map."""

    __slots__ = ()


@dataclass
class LeftOut:
    """What of one value does not fit.

    Attributes:
        texts: path, such as ``a.b[]``, → text of what did not fit.
        reasons: path → why, without the value.
    """

    texts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, value: Any, why: str) -> None:
        """Note a value; those of a list are together."""
        path = path.encode("utf-8", "backslashreplace").decode()
        before, text = self.texts.get(path), as_text(value)
        self.texts[path] = text if before is None else f"{before}, {text}"
        self.reasons.setdefault(path, why)


class Fitter:
    """Makes values fit a type.

    Args:
        kind: the type.
        special: for types that JSON does not have.
        names_all: whether a field that the type does not have does not fit, either.
    """

    def __init__(self, kind: Any, special: Special, *, names_all: bool) -> None:
        self._special = special
        self._names_all = names_all
        self._fit = self._of(kind)

    def fit(self, value: Any) -> tuple[Any, LeftOut]:
        """Return a value as Arrow takes it for the type, and what of it does not fit: it is None.

        Raises:
            DoesNotFitError: the whole value does not.
        """
        left_out = LeftOut()
        return None if value is None else self._fit(value, "", left_out), left_out

    def _of(self, kind: Any) -> _Fit:
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return self._list(kind)
        if pa.types.is_map(kind):
            return self._map(kind)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _fit_text
        test = _test_of(kind)
        if test is not None:
            return _tested(test, kind)

        def fit(value: Any, _path: str, _left_out: LeftOut) -> Any:
            if type(value) is FarTime:
                raise _wrong(value, kind)
            try:
                return self._special(value, kind)
            except (ValueError, TypeError, OverflowError, pa.ArrowException):
                raise _wrong(value, kind) from None

        return fit

    def _struct(self, kind: Any) -> _Fit:
        fields = [(each.name, self._inner(each)) for each in kind]
        names = frozenset(kind.names)
        names_all = self._names_all

        def fit(value: Any, path: str, left_out: LeftOut) -> Any:
            if type(value) is not dict:
                raise _wrong(value, kind)
            ENTRIES.take(len(fields) + 1)
            prefix = f"{path}." if path else ""
            if names_all and not value.keys() <= names:
                for name in value.keys() - names:
                    if _says_something(value[name]):
                        left_out.add(f"{prefix}{name}", value[name], "is not in the type")
            return {name: inner(value.get(name), prefix + name, left_out) for name, inner in fields}

        return fit

    def _list(self, kind: Any) -> _Fit:
        inner = self._inner(kind.value_field)

        def fit(value: Any, path: str, left_out: LeftOut) -> Any:
            if type(value) is not list:
                raise _wrong(value, kind)
            ENTRIES.take(len(value) + 1)
            item = f"{path}[]"
            return [inner(each, item, left_out) for each in value]

        return fit

    def _map(self, kind: Any) -> _Fit:
        inner = self._inner(kind.item_field)

        def fit(value: Any, path: str, left_out: LeftOut) -> Any:
            if type(value) is not dict and type(value) is not MapEntries:
                raise _wrong(value, kind)
            ENTRIES.take(len(value) + 1)
            item = f"{path}[]"
            entries = value.items() if type(value) is dict else value
            return [(name, inner(each, item, left_out)) for name, each in entries]

        return fit

    def _inner(self, of: pa.Field) -> _Fit:
        """Return what makes a field or item fit: null if it does not, where it may be null."""
        fit_whole = self._of(of.type)
        nullable = of.nullable

        def fit(value: Any, path: str, left_out: LeftOut) -> Any:
            if value is None:
                if nullable:
                    return None
                raise DoesNotFitError(f"has no {path}")
            try:
                return fit_whole(value, path, left_out)
            except DoesNotFitError as error:
                if not nullable:
                    raise
                left_out.add(path, value, str(error))
                return None

        return fit


def _fit_text(value: Any, _path: str, _left_out: LeftOut) -> Any:
    text = value if type(value) is str else as_text(value)
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DoesNotFitError("is not UTF-8")
    return text


def _test_of(kind: Any) -> Callable[[Any], bool] | None:
    """Return what says whether a value is of a type; None for the types that JSON does not have."""
    if pa.types.is_boolean(kind):
        return lambda value: type(value) is bool
    if pa.types.is_integer(kind):
        bits, is_signed = kind.bit_width, pa.types.is_signed_integer(kind)
        low, end = (-(1 << bits - 1), 1 << bits - 1) if is_signed else (0, 1 << bits)
        return lambda value: type(value) is int and low <= value < end
    if pa.types.is_floating(kind):
        return _is_double
    if is_bytes(kind):
        return lambda value: type(value) is bytes
    if pa.types.is_null(kind):
        return lambda _value: False
    if kind == WHOLE:
        return lambda value: type(value) is int and abs(value) < 10**WHOLE.precision
    return None


def _tested(test: Callable[[Any], bool], kind: Any) -> _Fit:
    is_double = pa.types.is_floating(kind)  # Arrow takes no whole number that it would round

    def fit(value: Any, _path: str, _left_out: LeftOut) -> Any:
        if test(value):
            return float(value) if is_double and type(value) is int else value
        raise _wrong(value, kind)

    return fit


def as_text(value: Any) -> str:
    """Return a value as text: text itself, otherwise its JSON, of what JSON does not have `str`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Number):
        return value.text
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if value is not None and not isinstance(value, bool | int | float | list | dict):
        return str(value)
    return _json(value)


def _json(value: Any) -> str:
    """Return a value as JSON, with numbers as they were written."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_json(name)}: {_json(each)}" for name, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    if isinstance(value, Number):
        return value.text
    return json.dumps(value, ensure_ascii=False, default=as_text)


def _says_something(value: Any) -> bool:
    """Return whether anything is lost without a value: null and what holds only null is nothing."""
    if isinstance(value, list | dict):
        return any(map(_says_something, value.values() if isinstance(value, dict) else value))
    return value is not None


def _is_double(value: Any) -> bool:
    """Return whether a value is a number that a double is about; 1e400 is not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        number = float(value)
    except OverflowError:
        return False
    return not (isinstance(value, Number) and number in (float("inf"), float("-inf")))


_WORDS: Final[dict[type, str]] = {
    bool: "true or false", int: "a number", float: "a number", Number: "a number", str: "text",
    Decimal: "a number", bytes: "bytes", list: "a list", dict: "an object",
    FarTime: "beyond the times that a table holds",
}  # fmt: skip


def _wrong(value: Any, kind: Any) -> DoesNotFitError:
    text = str(kind)
    short = text if len(text) <= 40 else f"{text[:40]}…"
    found = _WORDS.get(type(value), type(value).__name__)
    return DoesNotFitError(f"is {found} (expected {short})")
