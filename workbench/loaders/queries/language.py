"""What a query can say: its fields, operators, words and forms, declared once.

The parser, the sheet of the record browser, its completions and docs/queries.md follow this module.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Kind = Literal["bytes", "header", "number", "time", "name"]

EQUALS: Final = frozenset({":", "=", "!=", "in", "not in"})
ORDER: Final = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True)
class QueryField:
    """A part of a record that a query can name.

    Attributes:
        name: as it is written.
        kind: what it is compared with, and how.
        column: the column of a scan that it is, or is made of.
        meaning: what it is.
        may_be_null: whether it can be compared with null.
    """

    name: str
    kind: Kind
    column: str
    meaning: str
    may_be_null: bool = False

    @property
    def operators(self) -> frozenset[str]:
        """The operators that it takes."""
        return EQUALS | ORDER if self.kind in {"number", "time"} else EQUALS


_FIELDS: Final = (
    QueryField("key", "bytes", "key", "the key", may_be_null=True),
    QueryField("value", "bytes", "value", "the value", may_be_null=True),
    QueryField("header", "header", "headers", "any header: its name or its value"),
    QueryField("offset", "number", "offset", "the offset"),
    QueryField("timestamp", "time", "timestamp", "the timestamp", may_be_null=True),
    QueryField("time", "time", "timestamp", "the same as timestamp", may_be_null=True),
    QueryField("topic", "name", "topic", "the name of the topic"),
    QueryField("partition", "number", "partition", "the number of the partition"),
    QueryField("producer", "number", "producer_id", "the producer id", may_be_null=True),
    QueryField("size", "number", "size", "bytes of the key and the value"),
    QueryField("key.size", "number", "key.size", "bytes of the key"),
    QueryField("value.size", "number", "value.size", "bytes of the value"),
)
FIELDS: Final = {field.name: field for field in _FIELDS}
"""Every field by its name, in the order in which a sheet lists them."""

FLAGS: Final = {
    "tombstone": "the value is null",
    "keyless": "the key is null",
    "invalid": "the value is neither null nor readable: in the format it is decoded with, or JSON",
}
"""What a record is, or is not: ``is:tombstone``, ``tombstone`` or ``tombstone=false``."""

WORDS: Final = ("and", "or", "not")

OTHER_WORDS: Final = {
    **dict.fromkeys(("&&", "&"), "and"),
    **dict.fromkeys(("||", "|"), "or"),
    **dict.fromkeys(("==", "===", "is", "equals"), "="),
    **dict.fromkeys(("like", "contains"), ":"),
    **dict.fromkeys(("=~", "~", "matches"), ":/…/"),
    "!": "not",
    "<>": "!=",
    "startswith": ":/^…/",
    "between": ":A..B",
    "exists": "the path or the header alone",
}
"""Words and operators of other languages, and what says the same here."""


class Form(NamedTuple):
    """One form of a query, for sheets and pages.

    Attributes:
        example: a query.
        meaning: what it finds.
    """

    example: str
    meaning: str


FORMS: Final = (
    Form("paid", "the key, the value or a header holds it; small letters also find capitals"),
    Form('"two words"', "text with spaces, or with signs that mean something"),
    Form("paid refunded", "both; paid and refunded says the same"),
    Form("paid or refunded", "one of them; and binds before or, and parentheses group"),
    Form("not paid", "the opposite; -paid says the same"),
    Form("key:id-7", "the key holds it; also value:…, header:… (of any name), topic:…"),
    Form("key=id-7", "the key is exactly this; !=, in (a, b), not in (a, b)"),
    Form("value=null", "the value is null; also key=null, timestamp=null, producer=null"),
    Form("header.user=7", "a header of this name is it; header.user alone: there is one"),
    Form(r"/^id-\d+$/", "a regular expression, also in key:/…/; /…/i ignores case"),
    Form("0x00ff", "bytes in hex, also in key:0x00ff"),
    Form("$.customer.id = 42", "JSON in the value: = != < <= > >= in, or : for text in it"),
    Form("$.note", "the field is there, even if it is null; not $.note: it is missing"),
    Form("$.items.sku:abc", "any element of a list; [0] is the first, [*] says any element"),
    Form("key$.id=42", "JSON in the key"),
    Form("offset:10..20", "offsets, both ends included; offset >= 5, offset in (1, 2)"),
    Form("time:2026-03-01", "a day, minute or second in UTC; time:A..B, timestamp >= A"),
    Form("partition:0,2", "these partitions; topic=orders, topic in (a, b)"),
    Form("size > 1000", "bytes of key and value; also key.size, value.size"),
    Form("producer=4001", "the producer id"),
    Form(
        "is:tombstone", "the value is null; is:keyless: the key is; is:invalid: it is not readable"
    ),
)


class Completion(NamedTuple):
    """A completion of the word before the cursor.

    Attributes:
        start: where the word that it replaces begins.
        text: what is put there.
        meaning: what it is.
    """

    start: int
    text: str
    meaning: str


_MOST_COMPLETIONS: Final = 12
_LAST: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s()"])*\Z')


def completions(text: str, at: int, paths: Iterable[str] = ()) -> list[Completion]:
    """Return what the word before a place can become: fields, flags, words and paths.

    Args:
        text: the query so far.
        at: the place of the cursor.
        paths: paths into JSON that records have: ``$.customer.id``.
    """
    found = _LAST.search(text, 0, at)
    word = found[0] if found else ""
    start = at - len(word)
    is_not = word.startswith("-")
    word, start = (word[1:], start + 1) if is_not else (word, start)
    if not word or text.count('"', 0, start) % 2:  # inside of a quoted text
        return []
    known = {name: field.meaning for name, field in FIELDS.items()} | FLAGS
    known |= dict.fromkeys(paths, "a field of the JSON")
    if start > 0 and not is_not:
        known |= {"and": "both", "or": "one of them"}
    known |= {"not": "the opposite"}
    return [
        Completion(start, name, meaning)
        for name, meaning in known.items()
        if name.startswith(word) and name != word
    ][:_MOST_COMPLETIONS]
