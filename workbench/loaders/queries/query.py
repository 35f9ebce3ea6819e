r"""Queries on records, as they are typed: ``paid -test key:id-7 $.amount>100 time:2026-03-01``.

Words between spaces are conditions, and a record must meet all of them:

    paid              the key, the value or a header holds it
    "two words"       the same, with spaces in it
    -paid             it does not
    key:id-7          the key holds it; so value:… and header:…
    key=id-7          the key is it
    header.trace:7    the header of that name holds it; header.trace alone: there is one
    /^id-\d+$/        a regular expression, also in key:/…/; /…/i ignores case
    0x00ff            bytes in hex, also in key:0x00ff
    $.customer.id=42  JSON in the value: = != < <= > >=, : for text it holds; $.note: it is there
    key$.id=42        JSON in the key; items[0].sku, items[*].sku, ["a b"]
    offset:10..20     offsets, both included; offset>=10
    time:2026-03-01   that day, minute or second in UTC; time:A..B, time>=A, or ms since 1970
    partition:0,2     numbers of partitions
    is:tombstone      the value is null; is:keyless: the key is null

A word without capitals also finds ASCII's. Bytes are searched as they are stored; null holds
nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from workbench.errors import QueryError
from workbench.loaders.queries.conditions import (
    AnyOf,
    ColumnOf,
    Condition,
    Holds,
    HoldsHeader,
    HoldsJson,
    IsNull,
    Not,
)
from workbench.loaders.queries.json_path import comparison, take_path
from workbench.loaders.queries.patterns import Mask, Pattern, literal, regular_expression
from workbench.loaders.queries.ranges import (
    EVERYTHING,
    Range,
    common,
    offset_range,
    partition_numbers,
    time_range,
)

LONGEST: Final = 10_000
"""Characters of a query."""

_RANGED: Final = re.compile(r"(?P<name>offset|time|partition)(?P<operator>[<>]=?|[:=])")
_PLACED: Final = re.compile(
    r'(?P<name>key|value|header)(?:\.(?P<header>[^\s:="]+|"[^"]*"))?(?P<operator>[:=])'
)
_HEADER: Final = re.compile(r'header\.(?P<header>[^\s:="]+|"[^"]*")(?=\s|$)')
_PATH: Final = re.compile(r"(?P<name>key|value)?\$(?=[.\[])")
_COMPARED: Final = re.compile(r"!=|[<>]=?|[:=]")
_IS: Final = re.compile(r"is:(?P<what>\S*)")
_OPERAND: Final = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"(?=\s|$)'
    r"|/(?P<expression>(?:[^/\\]|\\.)+)/(?P<flag>i?)(?=\s|$)"
    r"|0x(?P<hex>(?:[0-9A-Fa-f]{2})+)(?=\s|$)"
    r"|(?P<word>\S+)"
)
_KINDS: Final[dict[str, Condition]] = {
    "tombstone": IsNull("value"),
    "keyless": IsNull("key"),
}


@dataclass(frozen=True)
class Query:
    """The conditions of a query. Can be pickled, and shared by threads.

    Attributes:
        text: as it was typed.
        conditions: what a record must meet, all of it.
        offsets, times: [first, end), times in ms.
        partitions: numbers; None: all.
    """

    text: str = ""
    conditions: tuple[Condition, ...] = ()
    offsets: Range = EVERYTHING
    times: Range = EVERYTHING
    partitions: frozenset[int] | None = None

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that the conditions look at."""
        return frozenset().union(*(each.columns for each in self.conditions))

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return bool[n]: which of the records in ``keep`` meet all conditions.

        Args:
            column: gives the columns of the chunk. Offsets, times and partitions are not looked
                at: what is outside of them is not read in the first place.
            keep: bool[n].
        """
        for each in self.conditions:
            if not np.any(keep):
                break
            keep = each.mask(column, keep)
        return keep


def parse(text: str) -> Query:
    """Return the query that a text writes.

    Raises:
        QueryError: a condition has no meaning.
    """
    if len(text) > LONGEST:
        raise QueryError(f"the query has {len(text):,} characters (at most {LONGEST:,})")
    return _Parser(text).query()


class _Parser:
    """Takes one condition after the other from a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._conditions: list[Condition] = []
        self._ranges = {"offset": EVERYTHING, "time": EVERYTHING}
        self._partitions: frozenset[int] | None = None

    def query(self) -> Query:
        """Return the query."""
        while (found := self._take(re.compile(r"\s*(?P<not>-(?=\S))?(?=\S)"))) is not None:
            self._one(is_not=found["not"] is not None)
        return Query(
            self._text.strip(),
            tuple(self._conditions),
            self._ranges["offset"],
            self._ranges["time"],
            self._partitions,
        )

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _one(self, *, is_not: bool) -> None:
        start = self._at
        if found := self._take(_RANGED):
            if is_not:
                raise QueryError(f"{found[0]} cannot be negated: give the range that is wanted")
            self._narrow(found["name"], found["operator"], start)
            return
        condition = self._condition(start)
        self._conditions.append(Not(condition) if is_not else condition)

    def _narrow(self, name: str, operator: str, start: int) -> None:
        operand = self._plain_operand(start)
        if name == "partition":
            numbers = partition_numbers(operator, operand)
            before = self._partitions
            self._partitions = numbers if before is None else before & numbers
            return
        made = offset_range if name == "offset" else time_range
        self._ranges[name] = common(self._ranges[name], made(operator, operand))

    def _condition(self, start: int) -> Condition:
        if found := self._take(_HEADER):
            return HoldsHeader(_name(found["header"]), None)
        if (found := self._take(_PLACED)) and not (found["header"] and found["name"] != "header"):
            pattern = self._pattern(start, is_whole=found["operator"] == "=")
            if found["name"] != "header":
                return Holds(found["name"], pattern)
            name = found["header"]
            return HoldsHeader(None if name is None else _name(name), pattern)
        self._at = start
        if found := self._take(_PATH):
            return self._path(found["name"] or "value", start)
        if found := self._take(_IS):
            if found["what"] not in _KINDS:
                raise QueryError(f"{found[0]} is unknown (expected is:{', is:'.join(_KINDS)})")
            return _KINDS[found["what"]]
        pattern = self._pattern(start, is_whole=False)
        return AnyOf((Holds("key", pattern), Holds("value", pattern), HoldsHeader(None, pattern)))

    def _path(self, name: str, start: int) -> Condition:
        steps, self._at = take_path(self._text, self._at)
        operator = self._take(_COMPARED)
        if operator is None:
            if self._at < len(self._text) and not self._text[self._at].isspace():
                raise QueryError(
                    f"{self._word(start)}: the path cannot be read at {self._rest()!r}"
                )
            return HoldsJson(name, steps, None)
        if operator[0] == ":":
            return HoldsJson(name, steps, self._pattern(start, is_whole=False))
        found = self._take(_OPERAND)
        if found is None:
            raise QueryError(f"{self._word(start)} lacks what to compare with")
        if found["quoted"] is not None:
            return HoldsJson(name, steps, comparison(operator[0], _plain(found), is_quoted=True))
        return HoldsJson(name, steps, comparison(operator[0], found[0], is_quoted=False))

    def _pattern(self, start: int, *, is_whole: bool) -> Pattern:
        found = self._take(_OPERAND)
        if found is None:
            raise QueryError(f"{self._word(start)} lacks what to find")
        if found["expression"] is not None:
            expression = found["expression"].replace(r"\/", "/")
            if is_whole:
                expression = rf"\A(?:{expression})\z"
            return regular_expression(expression, ignores_case=bool(found["flag"]))
        make: Callable[[bytes], Pattern] = partial(literal, is_whole=is_whole)
        if found["hex"] is not None:
            return make(bytes.fromhex(found["hex"]))
        text = _plain(found)
        data = text.encode("utf-8", "surrogatepass")
        is_small = not is_whole and text == text.lower()
        return literal(data, ignores_case=is_small, is_whole=is_whole)

    def _plain_operand(self, start: int) -> str:
        found = self._take(_OPERAND)
        if found is None:
            raise QueryError(f"{self._word(start)} lacks a value")
        return _plain(found)

    def _word(self, start: int) -> str:
        return self._text[start : self._at].strip()

    def _rest(self) -> str:
        return self._text[self._at :].split()[0]


def _plain(found: re.Match[str]) -> str:
    """Return an operand as text, without the quotes."""
    if found["quoted"] is None:
        return found[0]
    return re.sub(r"\\(.)", r"\1", found["quoted"])


def _name(text: str) -> bytes:
    return text.strip('"').encode("utf-8", "surrogatepass")
