"""The type of values that have no schema: one rule, whatever reads them and in whatever order.

A `Shape` takes values one by one and keeps what was seen at each place. Its type holds all of them:
whole numbers beside fractions are doubles, whole numbers beyond int64 are decimals, and what has no
other type in common (a number and text, an object and a list) is text. Null, ``[]`` and ``{}``
decide nothing.
"""

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa

from workbench.errors import SchemaError

MOST_FIELDS: Final = 5000
"""Fields of a type that is inferred; a value with more of its own is not looked at for it."""

MOST_BYTES: Final = 8 << 20
"""Bytes of a value that is looked at for a type."""

WHOLE: Final = pa.decimal128(38, 0)
"""The type of whole numbers some of which are beyond int64."""

_DEEPEST: Final = 60
_NO_NAME: Final = re.compile("[\0\ud800-\udfff]")
"""What no field of Arrow can have in its name: other libraries end the name at a zero byte."""

_INT64: Final = range(-(2**63), 2**63)
_DIGITS: Final = 10**WHOLE.precision

_INTEGER, _LARGE, _FRACTION = 1, 2, 4
_BOOLEAN, _TEXT, _BYTES, _TIME, _LIST, _OBJECT = 8, 16, 32, 64, 128, 256
_SEEN: Final[dict[type, int]] = {
    float: _FRACTION,
    bool: _BOOLEAN,
    str: _TEXT,
    bytes: _BYTES,
    np.datetime64: _TIME,
}
_KINDS: Final[dict[int, pa.DataType]] = {
    _INTEGER: pa.int64(),
    _LARGE: WHOLE,
    _LARGE | _INTEGER: WHOLE,
    _FRACTION: pa.float64(),
    _FRACTION | _INTEGER: pa.float64(),
    _FRACTION | _LARGE: pa.float64(),
    _FRACTION | _LARGE | _INTEGER: pa.float64(),
    _BOOLEAN: pa.bool_(),
    _BYTES: pa.binary(),
    _TIME: pa.timestamp("ns"),
}


class Shape:
    """What was seen at one place of values: of which kinds, with which fields, with which items."""

    __slots__ = ("fields", "item", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.fields: dict[str, Shape] = {}
        self.item: Shape | None = None

    def add(self, value: Any) -> None:
        """Add a value: null, number, text, bytes, time in ns, list or dict by names of fields."""
        kind = type(value)
        if kind is dict:
            self.seen |= _OBJECT
            for name, each in value.items():
                field = self.fields.get(name)
                if field is None:
                    if _NO_NAME.search(name):
                        continue
                    field = self.fields[name] = Shape()
                field.add(each)
        elif kind is list:
            self.seen |= _LIST
            if self.item is None:
                self.item = Shape()
            for each in value:
                self.item.add(each)
        elif kind is int:
            # Beyond 38 digits a number is text.
            self.seen |= _INTEGER if value in _INT64 else _LARGE if abs(value) < _DIGITS else _TEXT
        elif value is not None:
            self.seen |= _SEEN[kind]

    def merge(self, other: "Shape") -> "Shape":
        """Add what was seen of other values, and return this shape."""
        self.seen |= other.seen
        for name, field in other.fields.items():
            self.fields.setdefault(name, Shape()).merge(field)
        if other.item is not None:
            self.item = (self.item or Shape()).merge(other.item)
        return self

    def kind(self) -> pa.DataType:
        """Return the type that holds all values; null, lists of null and empty structs as seen."""
        if not self.seen:
            return pa.null()
        if self.seen == _OBJECT:
            return pa.struct([(name, each.kind()) for name, each in self.fields.items()])
        if self.seen == _LIST:
            assert self.item is not None
            return pa.list_(self.item.kind())
        return _KINDS.get(self.seen, pa.string())

    @property
    def size(self) -> int:
        """How many fields there are, at any depth."""
        inner = [*self.fields.values(), *([] if self.item is None else [self.item])]
        return len(self.fields) + sum(each.size for each in inner)

    def require_size(self, format_name: str) -> None:
        """Check that there are not too many fields for a type.

        Raises:
            SchemaError: there are.
        """
        if self.size > MOST_FIELDS:
            raise SchemaError(
                f"the values of {format_name} have more than {MOST_FIELDS:,} fields; give their "
                "schema"
            )


def known_kind(kind: Any, unknown: pa.DataType | None = None) -> pa.DataType | None:
    """Return what a type of `Shape.kind` says: without empty structs, and what is always null.

    Args:
        kind: the type.
        unknown: the type of what is always null; None: it is left out.

    Returns:
        None if it says nothing.
    """
    if pa.types.is_null(kind):
        return unknown
    if pa.types.is_list(kind):
        item = known_kind(kind.value_type, unknown)
        return None if item is None else pa.list_(item)
    if not pa.types.is_struct(kind):
        return kind
    inner = ((field.name, known_kind(field.type, unknown)) for field in kind)
    fields = [(name, each) for name, each in inner if each is not None]
    return pa.struct(fields) if fields else None


def require_looked_at(largest: int) -> None:
    """Report values none of which was looked at.

    Args:
        largest: the bytes of the largest of them; 0: some were looked at, or there are none.

    Raises:
        SchemaError: there are some, all of them too large.
    """
    if largest:
        raise SchemaError(
            f"the values have up to {largest:,} bytes (a type is inferred from values of at most "
            f"{MOST_BYTES:,}); give their schema"
        )


def is_usable(value: Any) -> bool:
    """Return whether a type can be inferred from a value: not too deep, and few fields."""
    names: set[tuple[str, ...]] = set()
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, list):
            waiting += [(path, item) for item in each if isinstance(item, dict | list)]
        elif isinstance(each, dict):
            if len(path) > _DEEPEST:
                return False
            for name, item in each.items():
                names.add((*path, name))
                if len(names) > MOST_FIELDS:
                    return False
                if isinstance(item, dict | list):
                    waiting.append(((*path, name), item))
    return True
