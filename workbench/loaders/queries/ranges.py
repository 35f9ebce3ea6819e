"""The ranges in a query: offsets, times and numbers of partitions."""

import re
from collections.abc import Callable
from typing import Final

from workbench.errors import QueryError
from workbench.runtime.times import milliseconds

Range = tuple[int, int]
"""[first, end)."""

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1
EVERYTHING: Final[Range] = (LOWEST, HIGHEST)

_WIDTHS: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d"), 86_400_000),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"), 60_000),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"), 1000),
)
"""How many ms a time names that is written without its smaller parts."""

_DIGITS: Final = re.compile(r"\d[\d,_]*")


def common(first: Range, second: Range) -> Range:
    """Return the part that two ranges have in common; it may be empty."""
    return max(first[0], second[0]), min(first[1], second[1])


def offset_range(operator: str, operand: str) -> Range:
    """Return the offsets of ``offset:10..20`` (both included), ``offset>=10`` and so on.

    Raises:
        QueryError: the operand is not an offset, or a range of them.
    """
    return _range(operator, operand, _offset)


def time_range(operator: str, operand: str) -> Range:
    """Return the times, in ms, of ``time:2026-03-01..2026-03-02`` (both days included) and so on.

    Raises:
        QueryError: the operand is not a time, or a range of them.
    """
    return _range(operator, operand, _time)


def partition_numbers(operator: str, operand: str) -> frozenset[int]:
    """Return the numbers of ``partition:0,2``.

    Raises:
        QueryError: something else is there.
    """
    parts = operand.split(",")
    if operator not in ":=" or not all(part.isascii() and part.isdigit() for part in parts):
        raise QueryError(f"partition{operator}{operand} is not partition:0 or partition:0,2")
    return frozenset(int(part) for part in parts)


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


def _offset(text: str) -> Range:
    if not text.isascii() or not _DIGITS.fullmatch(text):
        raise QueryError(f"{text!r} is not an offset (expected digits, or a range as 10..20)")
    offset = min(int(text.replace(",", "").replace("_", "")[:20]), HIGHEST - 1)
    return offset, offset + 1


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
