"""Bytes of keys, values and headers as lines for people.

`auto` is the rule of `values.readable`.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from workbench.decoders.hex import HEX
from workbench.decoders.registry import DECODERS
from workbench.loaders.exports.pieces import (
    MOST_DECODED,
    PIECE,
    base64_pieces,
    hex_pieces,
    is_null_at,
    is_text_at,
    size_at,
    utf8_pieces,
)
from workbench.record.columns import BinaryColumn
from workbench.values.readable import AUTO, Readable, as_line, one_line, readable
from workbench.values.schemas.schemas import Schemas

BASE64: Final = "base64"
FORMATS: Final = (AUTO, BASE64, *sorted(DECODERS))
"""The values of --key-format and --value-format."""

_NULL: Final = "null"


@dataclass(frozen=True)
class Formats:
    """The formats of keys or values, perhaps of a topic each.

    Attributes:
        others: the format of the topics that have none of their own.
        by_topic: topic → format.
    """

    others: str = AUTO
    by_topic: Mapping[str, str] = field(default_factory=dict)

    def of(self, topic: str) -> str:
        """Return the format of a topic."""
        return self.by_topic.get(topic, self.others)


KeyText = Callable[[bytes | None], str]
ValueText = Callable[[bytes | None, bytes | None], str]


def plain_text(data: bytes | None) -> str:
    """Return text if the bytes are text, otherwise ``0x`` and hex."""
    return as_line(readable(data))


def plain_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value as `plain_text` has it; huge JSON is text."""
    if size_at(column, index) <= PIECE:
        yield plain_text(column.item(index))
    elif is_text_at(column, index):
        yield from map(one_line, utf8_pieces(column, index, "strict"))
    else:
        yield "0x"
        yield from hex_pieces(column, index)


def size_of(data: bytes | None) -> str:
    """Return how many bytes there are: what is shown instead of private data."""
    return _NULL if data is None else f"{len(data):,} B"


def size_text_at(column: BinaryColumn, index: int) -> str:
    """Return what `size_of` does, without a copy of the value."""
    return _NULL if is_null_at(column, index) else f"{size_at(column, index):,} B"


def base64_text(data: bytes | None) -> str | None:
    """Return bytes as base64; None for null."""
    return None if data is None else base64.b64encode(data).decode()


def _base64_text(data: bytes | None) -> str:
    return base64_text(data) or _NULL * (data is None)


TopicText = Callable[[str, Literal["key", "value"], str], Callable[[bytes], str]]
"""From topic, column and format to what shows one key or value, for formats not in `FORMATS`."""


def key_text(
    name: str,
    topic: str,
    more: TopicText | None = None,
    schemas: Callable[[], Schemas] = Schemas,
) -> KeyText:
    """Return the function that shows the keys of a topic in one of `FORMATS`, or by ``more``.

    Args:
        name: the format.
        topic: its name.
        more: shows other formats.
        schemas: reads the schemas of `_schemas`, for `auto`.
    """
    if name not in FORMATS:
        assert more is not None
        show = more(topic, "key", name)
        return lambda key: _NULL if key is None else show(key)
    if name == BASE64:
        return _base64_text
    read = Readable(topic, schemas).key if name == AUTO else DECODERS[name].key
    return lambda key: as_line(read(key))


def value_text(
    name: str,
    topic: str,
    more: TopicText | None = None,
    schemas: Callable[[], Schemas] = Schemas,
) -> ValueText:
    """Return the function that shows values, given key and value, as `key_text` does."""
    if name not in FORMATS:
        assert more is not None
        show = more(topic, "value", name)
        return lambda _key, value: _NULL if value is None else show(value)
    if name == BASE64:
        return lambda _key, value: _base64_text(value)
    read = Readable(topic, schemas).value if name == AUTO else DECODERS[name].value
    return lambda key, value: as_line(read(key, value))


def pieces(name: str, text: Callable[[], str], column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield a huge key or value in one of `FORMATS`.

    Args:
        name: the format.
        text: gives what a decoder says; it is asked up to `MOST_DECODED` bytes.
        column, index: the key or value.
    """
    if is_null_at(column, index):
        return iter([_NULL])
    if name == BASE64:
        return base64_pieces(column, index)
    if name == HEX.name and size_at(column, index):
        return hex_pieces(column, index)
    if size_at(column, index) > MOST_DECODED:
        return plain_pieces(column, index)
    return iter([text()])
