"""Queries on records, as they are typed: ``paid -test key:id-7 $.amount > 100 time:2026-03-01``.

docs/queries.md shows every form; `language.FORMS` lists them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol, TypeVar

from workbench.errors import QueryError
from workbench.loaders.queries.conditions import (
    AllOf,
    ColumnOf,
    Condition,
    Invalid,
    OfTopic,
    admits,
    every,
    range_of,
    with_decoders,
)
from workbench.loaders.queries.parser import condition_of
from workbench.loaders.queries.patterns import Mask
from workbench.loaders.queries.ranges import Range
from workbench.runtime.words import did_you_mean
from workbench.values.column import ColumnDecoder

LONGEST: Final = 10_000
"""Characters of a query."""


class OfPartition(Protocol):
    """What is asked about a partition."""

    @property
    def topic(self) -> str:
        """The topic's name."""

    @property
    def partition(self) -> int:
        """The partition's number."""


P = TypeVar("P", bound=OfPartition)


@dataclass(frozen=True)
class Query:
    """The condition of a query. Can be pickled, and shared by threads.

    Attributes:
        text: as it was typed.
        condition: what a record must meet.
    """

    text: str = ""
    condition: AllOf = field(default_factory=lambda: AllOf(()))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What a record must meet, all of it; empty: nothing."""
        return self.condition.conditions

    @cached_property
    def offsets(self) -> Range:
        """[first, end): no record outside of these offsets meets it."""
        return range_of(self.condition, "offset")

    @cached_property
    def times(self) -> Range:
        """[first, end) in ms: no record outside of these times meets it."""
        return range_of(self.condition, "timestamp")

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that the conditions look at."""
        return self.condition.columns

    def mask(self, column: ColumnOf, keep: Mask) -> Mask:
        """Return bool[n]: which of the records in ``keep`` meet all conditions.

        Args:
            column: gives the columns of the chunk.
            keep: bool[n].
        """
        return self.condition.mask(column, keep)

    def admitted(self, partitions: Iterable[P], known: Iterable[OfPartition]) -> list[P]:
        """Return the partitions that can have such records.

        Args:
            partitions: those that are searched.
            known: all that there are.

        Raises:
            LookupError: the query names a topic that is not there.
        """
        asked = [each for each in every(self.condition) if isinstance(each, OfTopic)]
        topics = sorted({each.topic for each in known}) if asked else []
        for each in asked:
            for name in each.names:
                if name not in topics:
                    raise LookupError(f"unknown topic {name}{did_you_mean(name, topics)}")
            if not any(map(each.admits, topics)):
                raise LookupError(f"no topic has such a name (there are {', '.join(topics)})")
        return [
            each
            for each in partitions
            if admits(self.condition, each.topic, each.partition) is not False
        ]

    def names(self, topic: str) -> bool:
        """Return whether it asks for a topic by its name."""
        return any(isinstance(c, OfTopic) and c.admits(topic) for c in every(self.condition))

    @property
    def asks_invalid(self) -> bool:
        """Whether it asks for what cannot be read."""
        return any(isinstance(each, Invalid) for each in every(self.condition))

    def with_decoders(self, decoders: Mapping[str, ColumnDecoder]) -> "Query":
        """Return the query for which ``invalid`` is what these decoders cannot read."""
        condition = with_decoders(self.condition, decoders)
        assert isinstance(condition, AllOf)
        return replace(self, condition=condition)


def parse(text: str, *, ignores_case: bool = False) -> Query:
    """Return the query that a text writes.

    Args:
        text: the query.
        ignores_case: whether all its words find ASCII letters in both cases; without it, those in
            small letters alone do.

    Raises:
        QueryError: it has no meaning; the message names the place, and what would have one.
    """
    if not isinstance(text, str):
        raise TypeError(f"the query is {text!r}, not text or a Query")
    if len(text) > LONGEST:
        raise QueryError(f"the query has {len(text):,} characters (at most {LONGEST:,})")
    return Query(text.strip(), condition_of(text, ignores_case=ignores_case))


def all_of(queries: Iterable[Query], conditions: Iterable[Condition] = ()) -> Query:
    """Return the query that asks for what several ask for, and for conditions."""
    given = list(queries)
    inner = (each for query in given for each in query.conditions)
    return Query(
        " ".join(f"({query.text})" for query in given if query.text), AllOf((*inner, *conditions))
    )
