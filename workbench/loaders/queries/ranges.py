"""The ranges in a query: offsets, times and numbers of partitions."""

import re
from collections.abc import Callable
from typing import Final

from workbench.errors import QueryError
from workbench.layout.integers import INT64_MAX, INT64_MIN
from workbench.loaders.queries.language import QueryField
from workbench.runtime.times import DAY, MINUTE, milliseconds

Range = tuple[int, int]
"""[first, end)."""

LOWEST: Final = INT64_MIN
HIGHEST: Final = INT64_MAX
EVERYTHING: Final[Range] = (LOWEST, HIGHEST)

_WIDTHS: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d"), DAY),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"), MINUTE),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"), 1000),
)
"""How many ms a time names that is written without its smaller parts."""

_DIGITS: Final = re.compile(r"\d[\d_]*|\d{1,3}(?:,\d{3})+")
_MOST_DIGITS: Final = 20


def common(first: Range, second: Range) -> Range:
    """Return the part that two ranges have in common; it may be empty."""
    return max(first[0], second[0]), min(first[1], second[1])


def hull(first: Range, second: Range) -> Range:
    """Return the smallest range that holds both; an empty one adds nothing."""
    if first[0] >= first[1]:
        return second
    if second[0] >= second[1]:
        return first
    return min(first[0], second[0]), max(first[1], second[1])


def ranges_of(field: QueryField, operator: str, operand: str) -> list[Range]:
    """Return the numbers or times that a comparison allows.

    Args:
        field: what is compared.
        operator: ``:``, ``=``, ``<``, ``<=``, ``>`` or ``>=``.
        operand: a number or time; ``A..B``, both included; several numbers of partitions.

    Raises:
        QueryError: the operand is something else.
    """
    if field.kind == "time":
        return [_range(operator, operand, _time)]
    if field.name == "partition" and operator in ":=" and ".." not in operand:
        parts = operand.split(",")
        if not all(part.isascii() and part.isdigit() for part in parts):
            raise QueryError(f"partition{operator}{operand} is not partition:0 or partition:0,2")
        return [_whole_number(int(part[:_MOST_DIGITS])) for part in parts]
    what = "an offset" if field.name == "offset" else f"a number, which {field.name} is"

    def number(text: str) -> Range:
        if not text.isascii() or not _DIGITS.fullmatch(text):
            raise QueryError(f"{text!r} is not {what} (expected digits, or a range as 10..20)")
        return _whole_number(int(re.sub("[,_]", "", text)[:_MOST_DIGITS]))

    return [_range(operator, operand, number)]


def _whole_number(number: int) -> Range:
    number = min(number, HIGHEST - 1)
    return number, number + 1


def _range(operator: str, operand: str, read: Callable[[str], Range]) -> Range:
    """Return a range; ``read`` gives what one end of it names, which may be wide."""
    if operator in ":=":
        first, dots, last = operand.partition("..")
        if not dots:
            return read(operand)
        return read(first)[0] if first else LOWEST, read(last)[1] if last else HIGHEST
    start, end = read(operand)
    return {
        "<": (LOWEST, start),
        "<=": (LOWEST, end),
        ">": (end, HIGHEST),
        ">=": (start, HIGHEST),
    }[operator]


def _time(text: str) -> Range:
    if text.isascii() and text.isdigit() and len(text) > 8:
        moment = min(int(text[:20]), HIGHEST - 1)
        return moment, moment + 1
    try:
        start = milliseconds(text)
    except (ValueError, OverflowError):
        raise QueryError(
            f"{text!r} is not a time (expected 2026-03-01, 2026-03-01T12:30, or ms since 1970)"
        ) from None
    width = next((width for form, width in _WIDTHS if form.fullmatch(text)), 1)
    return start, start + width
