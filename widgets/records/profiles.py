"""What the columns of records hold: the commonest values, or how numbers are spread; what differs.

Values are what the lens shows, see `field_columns`. A term is a condition of a query, which finds
the records with a value; there is none for what a query cannot look into.
"""

import itertools
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from widgets.records.field_columns import (
    MOST_OF_FIELD,
    PLAIN_COLUMNS,
    document_of,
    field_of,
    field_value,
    plain_value,
    values_of,
)
from widgets.view.record_cells import ReadRecord
from widgets.view.records import Lens
from widgets.view.text import quoted
from workbench.values.formats.text import field_text

MOST_TOP: Final = 5
"""Values that a profile names."""

BINS: Final = 24
"""Bars of numbers, of equal width."""

FEW: Final = 8
"""Numbers of so few different values are listed as values, not as bars."""

MOST_COMPARED: Final = 60
"""Fields that are compared between two samples."""

LEAST_DIFFERENCE: Final = 0.1
"""Of shares, so that it is named; it must also be so large that chance hardly makes it."""

MOST_DISTINCT: Final = 100_000
"""Different values that are counted apart."""

MOST_GROUPS: Final = 1000
"""Of those, how many are listed: the commonest."""

_OF_VALUES: Final = frozenset({"key", "value", "headers"})
_DEVIATIONS: Final = 3.3
_NOT_SEARCHED: Final = frozenset({"headers", "value", "time"})
_QUANTILES: Final = 6


def is_hidden(name: str, lens: Lens) -> bool:
    """Return whether a lens hides what a column has."""
    return not lens.show_values and (name in _OF_VALUES or name not in PLAIN_COLUMNS)


def values_in(
    name: str, records: Sequence[ReadRecord], documents: Sequence[Any], lens: Lens
) -> list[Any]:
    """Return what records have in a column; None for nothing.

    Args:
        name: of the column.
        records: the records.
        documents: what `documents_for` returns for them.
        lens: how much is shown.
    """
    if name in PLAIN_COLUMNS:
        return [plain_value(name, each, lens) for each in records]
    field = field_of(name)
    return [field_value(values_of(field, each)) for each in documents]


def documents_for(names: Iterable[str], records: Sequence[ReadRecord], lens: Lens) -> Sequence[Any]:
    """Return what `document_of` gives of each record; nothing where no column is a field of it."""
    if all(name in PLAIN_COLUMNS for name in names):
        return ()
    return [document_of(each, lens) for each in records]


def is_searched(name: str, records: Iterable[ReadRecord], lens: Lens) -> bool:
    """Return whether a query finds what a column shows: not what was decoded, or masked."""
    if name in _NOT_SEARCHED or lens.mask is not None:
        return False
    column = "key" if name.startswith("key") else "value"
    is_of_values = name == "key" or name not in PLAIN_COLUMNS
    return not (is_of_values and any(column in each.meaning for each in records))


def term_of(name: str, value: Any) -> str | None:
    """Return the condition that a column is a value; None where no query says that."""
    if name == "partition":
        topic, _, number = str(value).rpartition("-")
        return f"topic={quoted(topic)} partition:{number}"
    if name == "key":
        return None if value is None else f"key={quoted(str(value))}"
    if isinstance(value, list | dict) or (value is None and name in PLAIN_COLUMNS):
        return None
    if value is None:
        return f"-{name}"
    return f"{name}={json.dumps(value, ensure_ascii=False)}"


def range_term(name: str, low: float, high: float) -> str:
    """Return the condition that a column is a number from low to high, both included."""
    return f"{name}>={json.dumps(low)} {name}<={json.dumps(high)}"


def profile_of(name: str, values: Sequence[Any], *, is_searched: bool = True) -> dict[str, Any]:
    """Return what a column has: one value per record, None for none.

    Returns:
        ``none``: how many have no value; ``distinct``: how many values there are; ``low`` and
        ``high`` of numbers, and ``bins``: how many are in each of `BINS` ranges of equal width;
        ``top``: text, count and term of the commonest values, unless every one is different;
        ``range``: what a query calls the numbers, null if it cannot look into them.
    """
    counts = _counted(values)
    none = counts.pop(None, 0)
    profile: dict[str, Any] = {"none": none, "distinct": len(counts)}
    if not counts:
        return profile
    if _are_numbers(counts):
        profile |= {"low": min(counts), "high": max(counts)}
        if len(counts) > FEW:
            bins = _bins(counts)
            return profile | {"bins": bins, "range": name if is_searched else None}
    if max(counts.values()) > 1 or len(counts) == 1:
        profile["top"] = _listed(name, counts.most_common(MOST_TOP), is_searched=is_searched)
    return profile


def _counted(values: Iterable[Any]) -> Counter[Any]:
    """Return how often each value is there: one that cannot be counted as its text."""
    return Counter(
        _Exact(value)
        if isinstance(value, bool)
        else value
        if value is None or isinstance(value, int | float | str)
        else field_text(value)
        for value in values
    )


class _Exact(int):
    """A truth value, which is not the number that equals it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exact) and int(self) == int(other)

    def __hash__(self) -> int:
        return hash(("truth", int(self)))


def _plain(value: Any) -> Any:
    return bool(value) if isinstance(value, _Exact) else value


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(
        isinstance(each, int | float) and not isinstance(each, _Exact) and math.isfinite(each)
        for each in values
    )


def _bins(counts: Mapping[Any, int]) -> list[int]:
    low, high = min(counts), max(counts)
    bins = [0] * BINS
    for value, count in counts.items():
        bins[min(BINS - 1, int((value - low) * BINS / (high - low)))] += count
    return bins


def _listed(name: str, counted: Iterable[tuple[Any, int]], *, is_searched: bool) -> list[list[Any]]:
    """Return text, count and term of values."""
    return [
        [_text(value), count, term_of(name, _plain(value)) if is_searched else None]
        for value, count in counted
    ]


def _text(value: Any) -> str:
    return "none" if value is None else field_text(_plain(value))[:MOST_OF_FIELD]


class ValueCount:
    """How many records have each value of a column, counted a while at a time.

    Attributes:
        counted: how many records were looked at.

    Args:
        name: of the column.
        records: the records; those that cannot be read any more are not among them.
        lens: how much is shown.
    """

    def __init__(self, name: str, records: Iterator[ReadRecord], lens: Lens) -> None:
        self._name, self._records, self._lens = name, records, lens
        self._counts: Counter[Any] = Counter()
        self._is_searched = True
        self._others = 0
        self.counted = 0
        self.is_over = False

    def advance(self, seconds: float) -> None:
        """Count on, for about so long."""
        end = time.monotonic() + seconds
        while not self.is_over and time.monotonic() < end:
            some = list(itertools.islice(self._records, 200))
            self.is_over = not some
            self.counted += len(some)
            self._is_searched = self._is_searched and is_searched(self._name, some, self._lens)
            documents = documents_for([self._name], some, self._lens)
            values = values_in(self._name, some, documents, self._lens)
            for value, count in _counted(values).items():
                if value in self._counts or len(self._counts) < MOST_DISTINCT:
                    self._counts[value] += count
                else:
                    self._others += count

    def state(self) -> dict[str, Any]:
        """Return ``counted``, ``is_over``, ``distinct``, and ``rows``: see `_listed`.

        ``left_out``: how many values are not listed; ``others``: records with values that were not
        counted apart.
        """
        common = self._counts.most_common(MOST_GROUPS)
        return {
            "counted": self.counted,
            "is_over": self.is_over,
            "distinct": len(self._counts),
            "left_out": len(self._counts) - len(common),
            "others": self._others,
            "rows": _listed(self._name, common, is_searched=self._is_searched),
        }


def differences(
    names: Iterable[str], inside: Sequence[ReadRecord], outside: Sequence[ReadRecord], lens: Lens
) -> list[dict[str, Any]]:
    """Return the columns whose values differ most between two samples, the most different first.

    Of each, the value, or the range of numbers, whose share differs most.

    Returns:
        ``name``, ``text``, ``inside`` and ``outside``: shares from 0 to 1; ``term``.
    """
    if not inside or not outside:
        return []
    found = []
    compared = [*itertools.islice(names, MOST_COMPARED)]
    parts = [(some, documents_for(compared, some, lens)) for some in (inside, outside)]
    for name in compared:
        first, second = (values_in(name, some, documents, lens) for some, documents in parts)
        is_found = is_searched(name, [*inside, *outside], lens)
        best = max(
            _compared(name, first, second),
            key=lambda each: (
                abs(each[1] - each[2]) + (each[1] > each[2]) / 20
            ),  # rather what is there
            default=None,
        )
        if best is not None and _is_real(best[1], best[2], len(inside), len(outside)):
            text, share, other, term = best
            found.append(
                {"name": name, "text": text, "inside": share, "outside": other,
                 "term": term if is_found else None}
            )  # fmt: skip
    return sorted(found, key=lambda each: -abs(each["inside"] - each["outside"]))


def _compared(
    name: str, first: Sequence[Any], second: Sequence[Any]
) -> Iterator[tuple[str, float, float, str | None]]:
    """Yield text, both shares and term of what could differ."""
    one, other = _counted(first), _counted(second)
    numbers = [each for each in {*one, *other} if each is not None]
    if len(numbers) > FEW and _are_numbers(numbers):
        for low, high in _ranges(sorted(each for each in [*first, *second] if each is not None)):
            shares = [_share(some, _between(low, high)) for some in (first, second)]
            yield f"{low:,} – {high:,}", shares[0], shares[1], range_term(name, low, high)
        yield "none", one[None] / len(first), other[None] / len(second), term_of(name, None)
        return
    for value in {*one, *other}:
        term = term_of(name, _plain(value))
        yield _text(value), one[value] / len(first), other[value] / len(second), term


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: value is not None and low <= value <= high


def _share(values: Sequence[Any], holds: Callable[[Any], bool]) -> float:
    return sum(map(holds, values)) / len(values)


def _ranges(ascending: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield ranges from one quantile of all numbers to another."""
    last = len(ascending) - 1
    ends = [ascending[last * each // _QUANTILES] for each in range(_QUANTILES + 1)]
    yield from dict.fromkeys(
        (low, high) for low, high in itertools.combinations(ends, 2) if low < high
    )


def _is_real(first: float, second: float, count: int, other: int) -> bool:
    """Return whether two shares differ by much, and by more than chance makes them differ."""
    both = (first * count + second * other) / (count + other)
    deviation = math.sqrt(max(both * (1 - both), 1e-9) * (1 / count + 1 / other))
    return abs(first - second) >= max(LEAST_DIFFERENCE, _DEVIATIONS * deviation)
