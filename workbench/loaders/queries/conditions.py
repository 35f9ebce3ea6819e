"""Conditions on records: each gives a mask over the Arrow columns of a chunk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from workbench.loaders.queries.json_path import (
    NOT_JSON,
    Comparison,
    Step,
    needed_text,
    parsed,
    values_at,
)
from workbench.loaders.queries.patterns import Mask, Pattern, literal

ColumnOf = Callable[[str], Any]
"""From the name of a column to its Arrow array: key, value, headers or is_transactional."""


class Condition(Protocol):
    """What must be true of a record. Can be pickled, and shared by threads."""

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that it looks at."""

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return bool[n]: which of the records in ``keep`` meet it."""


@dataclass(frozen=True)
class Holds:
    """The key, or the value, holds a pattern."""

    name: str
    pattern: Pattern

    @property
    def columns(self) -> frozenset[str]:
        """The one column."""
        return frozenset((self.name,))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records hold it."""
        return keep & self.pattern.find(column(self.name))


@dataclass(frozen=True)
class HoldsHeader:
    """A header has this name, and a value that holds the pattern.

    Attributes:
        name: None: any header, whose name may hold the pattern instead.
        pattern: None: any value, even null.
    """

    name: bytes | None
    pattern: Pattern | None

    @property
    def columns(self) -> frozenset[str]:
        """The headers."""
        return frozenset(("headers",))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records have such a header."""
        lists = column("headers")
        names, values = (lists.values.field(at) for at in (0, 1))
        names = names.cast("binary")
        if self.name is None:
            assert self.pattern is not None
            fits = self.pattern.find(names) | self.pattern.find(values)
        else:
            fits = literal(self.name, is_whole=True).find(names)
            if self.pattern is not None:
                fits &= self.pattern.find(values)
        starts = np.frombuffer(lists.buffers()[1], np.int32)[: len(lists) + 1]
        owners = np.searchsorted(starts, np.flatnonzero(fits), side="right") - 1
        found = np.zeros(len(lists), np.bool_)
        found[owners] = True
        return keep & found


@dataclass(frozen=True)
class HoldsJson:
    """The JSON in the key or the value has, at a path, what is wanted.

    Attributes:
        name: "key" or "value".
        wanted: a pattern, which looks at text and at numbers as they are written; a comparison;
            None: anything that is there.
    """

    name: str
    steps: tuple[Step, ...]
    wanted: Pattern | Comparison | None

    @property
    def columns(self) -> frozenset[str]:
        """The one column."""
        return frozenset((self.name,))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records have it."""
        values = column(self.name)
        wanted = self.wanted if isinstance(self.wanted, Comparison) else None
        needed = needed_text(self.steps, wanted)
        if needed is not None:
            keep = keep & Pattern(needed).find(values)
        found = np.zeros(len(keep), np.bool_)
        if isinstance(self.wanted, Pattern):
            pairs = [
                (at, text)
                for at, document in _documents(values, keep)
                for text in map(_text, values_at(document, self.steps))
                if text is not None
            ]
            fits = self.wanted.find(pa.array([text for _, text in pairs], pa.large_binary()))
            found[[pairs[at][0] for at in np.flatnonzero(fits)]] = True
            return found
        holds = (lambda _: True) if self.wanted is None else self.wanted.holds
        for at, document in _documents(values, keep):
            found[at] = any(map(holds, values_at(document, self.steps)))
        return found


def _documents(values: Any, keep: Mask) -> Iterator[tuple[int, Any]]:
    """Yield the places of the JSON in a large_binary array, and the JSON."""
    _, ends, content = values.buffers()
    offsets = np.frombuffer(ends, np.int64)[values.offset :].tolist()
    data = memoryview(content or b"")
    for at in np.flatnonzero(keep & ~_nulls(values)).tolist():
        document = parsed(data[offsets[at] : offsets[at + 1]])
        if document is not NOT_JSON:
            yield at, document


def _text(value: Any) -> bytes | None:
    """Return a text, or a number as it is written; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class IsNull:
    """The key, or the value, is null."""

    name: str

    @property
    def columns(self) -> frozenset[str]:
        """The one column."""
        return frozenset((self.name,))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records have none."""
        values = column(self.name)
        return keep if values.null_count == len(values) else keep & _nulls(values)


@dataclass(frozen=True)
class AnyOf:
    """One of the conditions is met."""

    conditions: tuple[Condition, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all."""
        return frozenset().union(*(each.columns for each in self.conditions))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records meet one."""
        found = np.zeros(len(keep), np.bool_)
        for each in self.conditions:
            found |= each.mask(column, keep & ~found)
        return found


@dataclass(frozen=True)
class Not:
    """The condition is not met."""

    condition: Condition

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the condition."""
        return self.condition.columns

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records do not meet it."""
        return keep & ~self.condition.mask(column, keep)


def _nulls(values: Any) -> Mask:
    """Return bool[n]: which items of an Arrow array are null."""
    validity = values.buffers()[0]
    if validity is None:
        return np.zeros(len(values), np.bool_)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return np.asarray(bits[values.offset : values.offset + len(values)] == 0, np.bool_)
