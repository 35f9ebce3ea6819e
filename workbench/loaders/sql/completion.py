"""What a word of a query in SQL can become: topics, tables, their columns, fields of values."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from workbench.inspection.listing import Listing
from workbench.loaders.queries.language import Completion
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import SCAN_FIELDS, schema_of
from workbench.loaders.sql.fields import fields_in
from workbench.loaders.sql.run import RECORDS, TABLES
from workbench.loaders.tables.inspect import Inspect
from workbench.tables import (
    cleaning,
    cluster,
    directories,
    foresight,
    groups,
    offsets,
    segments,
    stuck,
    transactions,
)

MOST: Final = 14
_ROW: Final = re.compile(r"\(`(\w+)`\)")
_ROWS: Final = (
    cleaning, cluster, directories, foresight, groups, offsets, segments, stuck, transactions
)  # fmt: skip
_WORD: Final = re.compile(r'(?:"[^"]*"?|[\w$-])*(?:\.[\w$]*)*\Z')
_NAME: Final = re.compile(r'"([^"]+)"|(\w[\w-]*)')
_PLAIN: Final = re.compile(r"[a-z_]\w*", re.IGNORECASE)
_AFTER_TABLE: Final = re.compile(r"(?:from|join)\s+\Z", re.IGNORECASE)
_KEYWORDS: Final = (
    "select", "from", "where", "group by all", "order by", "limit", "count(*)", "sum(", "avg(",
    "min(", "max(", "join", "using", "having", "distinct", "show tables", "and", "or", "not",
    "desc", "is null", "is not null", "like", "between", "case when", "decode(", "octet_length(",
)  # fmt: skip


def completions(listing: Listing, text: str, at: int, *, fields: bool) -> list[Completion]:
    """Return what the word before a place of a query can become, tables first after ``from``.

    Args:
        listing: the directories.
        text: the query so far.
        at: the place of the cursor.
        fields: whether names of fields of JSON in keys and values are among them.
    """
    found = _WORD.search(text, 0, at)
    word = found[0] if found else ""
    start = at - len(word)
    is_table = _AFTER_TABLE.search(text, 0, start) is not None
    if not word and not is_table:
        return []
    topics = sorted({each.topic for each in listing.partitions.values()})
    named = {each[1] or each[2] for each in _NAME.finditer(text)}
    if is_table:
        known = _tables(topics)
    elif re.match(r"(key|value)\.", word):
        known = _fields(listing, [each for each in topics if each in named]) if fields else iter(())
    else:
        known = _columns(topics, named)
    low = word.lower().strip('"')
    return [
        Completion(start, name, meaning)
        for name, meaning in dict(known).items()
        if name.lower().strip('"').startswith(low) and name != word
    ][:MOST]


def _tables(topics: list[str]) -> Iterator[tuple[str, str]]:
    for topic in topics:
        is_plain = _PLAIN.fullmatch(topic) and topic.lower() not in {*TABLES, *_KEYWORDS}
        yield topic if is_plain else '"{}"'.format(topic.replace('"', '""')), "topic"
    yield RECORDS, "all topics but Kafka's own"
    yield from ((name, "table") for name in TABLES)


def _columns(topics: list[str], named: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns of what a query names, of records if that is nothing; then words of SQL."""
    for table in TABLES:
        if table in named:
            yield from ((name, table) for name in columns_of(table))
    if named & {*topics, RECORDS} or not named & set(TABLES):
        yield from (('"offset"' if each == "offset" else each, "record") for each in SCAN_FIELDS)
    yield from ((word, "") for word in _KEYWORDS)
    yield from _tables(topics)


@cache
def columns_of(table: str) -> tuple[str, ...]:
    """Return the columns of a table of inspection: of the rows that its docstring names."""
    named = _ROW.search(getattr(Inspect, table).__doc__ or "")
    rows = next((vars(each)[named[1]] for each in _ROWS if named and named[1] in vars(each)), None)
    return () if rows is None else tuple(schema_of(rows).names)


def _fields(listing: Listing, topics: list[str]) -> Iterator[tuple[str, str]]:
    for topic in topics:
        for column in ("value", "key"):
            names = fields_in(Scan(listing, topics=topic), column)
            yield from ((f"{column}.{name}", topic) for name in sorted(names))
