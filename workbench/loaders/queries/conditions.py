"""Conditions on records: each gives a mask over the Arrow columns of a chunk."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from workbench.loaders.queries.json_path import (
    NOT_JSON,
    Comparison,
    OneOf,
    Step,
    needed_text,
    parsed,
    values_at,
)
from workbench.loaders.queries.patterns import Mask, Pattern, literal
from workbench.loaders.queries.ranges import EVERYTHING, Range, common, hull
from workbench.values.column import ColumnDecoder

ColumnOf = Callable[[str], Any]
"""From the name of a column of a scan to its Arrow array."""

_SIZES: Final = {"size": ("key", "value"), "key.size": ("key",), "value.size": ("value",)}
"""What the bytes of a size are in."""


class Columns:
    """The columns of a chunk, each made once, and what conditions could not look into.

    Attributes:
        unread: name and row of the keys and values that a path should have looked into, and that
            are not JSON.

    Args:
        make: gives a column by its name.
    """

    def __init__(self, make: ColumnOf) -> None:
        self._make = make
        self._made: dict[str, Any] = {}
        self.unread: set[tuple[str, int]] = set()

    def __call__(self, name: str) -> Any:
        """Return a column."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]


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
        is_null: whether the value must be null.
        is_not: whether the value must be there and not hold the pattern, or not be null.
    """

    name: bytes | None
    pattern: Pattern | None
    is_null: bool = False
    is_not: bool = False

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
            if self.is_null:
                fits &= _nulls(values) != self.is_not
            elif self.pattern is not None:
                found = self.pattern.find(values)
                fits &= ~(found | _nulls(values)) if self.is_not else found
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
        wanted: a pattern, which looks at text and at numbers as they are written; a comparison, or
            several; None: anything that is there.
    """

    name: str
    steps: tuple[Step, ...]
    wanted: Pattern | Comparison | OneOf | None

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
                for at, document in _documents(self.name, column, keep)
                for text in _texts(values_at(document, self.steps))
            ]
            fits = self.wanted.find(pa.array([text for _, text in pairs], pa.large_binary()))
            found[[pairs[at][0] for at in np.flatnonzero(fits)]] = True
            return found
        holds = (lambda _: True) if self.wanted is None else self.wanted.holds
        for at, document in _documents(self.name, column, keep):
            found[at] = any(map(holds, values_at(document, self.steps)))
        return found


def _documents(name: str, column: ColumnOf, keep: Mask) -> Iterator[tuple[int, Any]]:
    """Yield the places of the JSON in a column of bytes, and the JSON; note what is none."""
    values = column(name)
    unread = column.unread if isinstance(column, Columns) else set()
    for at, data in _items(values, keep):
        document = parsed(data)
        if document is not NOT_JSON:
            yield at, document
        else:
            unread.add((name, at))


def _items(values: Any, keep: Mask) -> Iterator[tuple[int, memoryview]]:
    """Yield the places of the items of a large_binary array that are not null, and the items."""
    _, ends, content = values.buffers()
    offsets = np.frombuffer(ends, np.int64)[values.offset :].tolist()
    data = memoryview(content or b"")
    for at in np.flatnonzero(keep & ~_nulls(values)).tolist():
        yield at, data[offsets[at] : offsets[at + 1]]


def _texts(values: Iterator[Any]) -> Iterator[bytes]:
    """Yield texts, and numbers as they are written; of a list, those of its elements."""
    for value in values:
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, str | int | float) and not isinstance(each, bool):
                yield str(each).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Invalid:
    """The value is not null, and cannot be read.

    Attributes:
        decoders: by column, what is to read it; none: values are read as JSON.
    """

    decoders: Mapping[str, ColumnDecoder] = field(default_factory=dict)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that are read."""
        needed = (name for each in self.decoders.values() for name in each.needs)
        return frozenset((*(self.decoders or ("value",)), *needed))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records have one."""
        found = np.zeros(len(keep), np.bool_)
        for name, decoder in self.decoders.items():
            decoded = decoder.decode(column(name), {each: column(each) for each in decoder.needs})
            is_null = np.asarray(decoded.values.is_null().to_numpy(zero_copy_only=False), np.bool_)
            found |= is_null & ~_nulls(column(name))
        if not self.decoders:
            for at, data in _items(column("value"), keep):
                found[at] = parsed(data) is NOT_JSON
        return keep & found


@dataclass(frozen=True)
class WithinRanges:
    """A number is there, and in one of the ranges; or in none of them.

    Attributes:
        name: a column of numbers or times, or one of sizes.
        ranges: [first, end) each; times in ms.
        is_not: whether it must be in none of them.
    """

    name: str
    ranges: tuple[Range, ...]
    is_not: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at."""
        return frozenset(_SIZES.get(self.name, (self.name,)))

    @property
    def range(self) -> Range:
        """A range that holds all its numbers."""
        if self.is_not:
            return EVERYTHING
        whole = self.ranges[0]
        for each in self.ranges[1:]:
            whole = hull(whole, each)
        return whole

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records have such a number."""
        if self.name in _SIZES:
            numbers = sum(_sizes(column(name)) for name in _SIZES[self.name])
            return keep & self._fits(numbers)
        values = column(self.name)
        kind = np.dtype(f"i{values.type.bit_width // 8}")
        numbers = np.frombuffer(values.buffers()[1], kind)[values.offset :][: len(values)]
        return keep & self._fits(numbers) & ~_nulls(values)

    def _fits(self, numbers: Any) -> Mask:
        fits = np.zeros(len(numbers), np.bool_)
        for first, end in self.ranges:
            fits |= (numbers >= first) & (numbers < end)
        return np.asarray(fits != self.is_not, np.bool_)

    def admits(self, partition: int) -> bool | None:
        """Return whether a partition of this number can have such records; None: it may."""
        return bool(self._fits(np.array([partition]))[0]) if self.name == "partition" else None


@dataclass(frozen=True)
class OfTopic:
    """The name of the topic holds a pattern.

    Attributes:
        pattern: what it holds.
        names: the topics that were named.
    """

    pattern: Pattern
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The one column."""
        return frozenset(("topic",))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return all records, or none: those of a chunk have one topic."""
        topics = column("topic").slice(0, 1).cast("binary")
        return keep & bool(self.pattern.find(topics).all())

    def admits(self, topic: str) -> bool:
        """Return whether it is this topic."""
        name = topic.encode("utf-8", "surrogateescape")
        return bool(self.pattern.find(pa.array([name], pa.binary()))[0])


def _sizes(values: Any) -> Any:
    """Return int64[n]: bytes of the items of a large_binary array; 0 for null."""
    ends = np.frombuffer(values.buffers()[1], np.int64)[values.offset :][: len(values) + 1]
    return np.where(_nulls(values), 0, np.diff(ends))


@dataclass(frozen=True)
class IsNull:
    """The key, the value, or another column, is null."""

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
class AllOf:
    """All conditions are met."""

    conditions: tuple[Condition, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all."""
        return frozenset().union(*(each.columns for each in self.conditions))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return which records meet all."""
        for each in self.conditions:
            if not np.any(keep):
                break
            keep = each.mask(column, keep)
        return keep


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


def range_of(condition: Condition, name: str) -> Range:
    """Return a range in which the numbers of a column are if a record meets a condition."""
    if isinstance(condition, WithinRanges) and condition.name == name:
        return condition.range
    if isinstance(condition, AllOf):
        whole = EVERYTHING
        for each in condition.conditions:
            whole = common(whole, range_of(each, name))
        return whole
    if isinstance(condition, AnyOf):
        found = [range_of(each, name) for each in condition.conditions]
        whole = found[0]
        for each_range in found[1:]:
            whole = hull(whole, each_range)
        return whole
    return EVERYTHING


def admits(condition: Condition, topic: str, partition: int) -> bool | None:
    """Return whether the records of a partition meet a condition; None: some may.

    Args:
        condition: the condition.
        topic, partition: the topic's name and the partition's number.
    """
    if isinstance(condition, OfTopic):
        return condition.admits(topic)
    if isinstance(condition, WithinRanges):
        return condition.admits(partition)
    if isinstance(condition, Not):
        inner = admits(condition.condition, topic, partition)
        return None if inner is None else not inner
    if isinstance(condition, AllOf | AnyOf):
        decides = isinstance(condition, AnyOf)
        found = [admits(each, topic, partition) for each in condition.conditions]
        if decides in found:
            return decides
        return None if None in found else not decides
    return None


def with_decoders(condition: Condition, decoders: Mapping[str, ColumnDecoder]) -> Condition:
    """Return a condition in which ``invalid`` is what decoders cannot read."""
    if isinstance(condition, Invalid):
        return Invalid(decoders)
    if isinstance(condition, Not):
        return Not(with_decoders(condition.condition, decoders))
    if isinstance(condition, AllOf | AnyOf):
        inner = tuple(with_decoders(each, decoders) for each in condition.conditions)
        return replace(condition, conditions=inner)
    return condition


def every(condition: Condition) -> Iterator[Condition]:
    """Yield a condition and all those inside of it."""
    yield condition
    if isinstance(condition, Not):
        yield from every(condition.condition)
    if isinstance(condition, AllOf | AnyOf):
        for each in condition.conditions:
            yield from every(each)


def _nulls(values: Any) -> Mask:
    """Return bool[n]: which items of an Arrow array are null."""
    validity = values.buffers()[0]
    if validity is None:
        return np.zeros(len(values), np.bool_)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return np.asarray(bits[values.offset : values.offset + len(values)] == 0, np.bool_)
