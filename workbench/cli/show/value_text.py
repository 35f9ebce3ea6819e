"""Bytes of keys, values and headers as text for people.

`auto` uses Kafka's decoder if the topic is one of Kafka's own, otherwise text if the bytes are
printable UTF-8, otherwise hex.
"""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from workbench.cli.output import safe
from workbench.decoders.decoder import Decoder, printable
from workbench.decoders.hex import HEX
from workbench.decoders.registry import DECODERS, decoder_for
from workbench.loaders.exports.pieces import (
    MOST_DECODED,
    PIECE,
    base64_pieces,
    hex_pieces,
    is_null_at,
    size_at,
    utf8_pieces,
)
from workbench.record.columns import BinaryColumn

AUTO: Final = "auto"
BASE64: Final = "base64"
FORMATS: Final = (AUTO, BASE64, *sorted(DECODERS))
"""The values of --key-format and --value-format."""

_NULL: Final = "null"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_LINE_ENDS: Final = str.maketrans("", "", "\n\t\r")

KeyText = Callable[[bytes | None], str]
ValueText = Callable[[bytes | None, bytes | None], str]


def plain_text(data: bytes | None) -> str:
    """Return text if every character is printable, otherwise ``0x`` and hex."""
    if data is None:
        return _NULL
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"0x{data.hex()}"
    if text.isprintable():
        return text or '""'
    # Line ends and tabs are text too, but would break the line that they are in.
    escaped = text.translate(_ESCAPES)
    return escaped if escaped.isprintable() else f"0x{data.hex()}"


def plain_pieces(column: BinaryColumn, index: int) -> Iterator[str]:
    """Yield one value as `plain_text` has it."""
    if size_at(column, index) <= PIECE:
        yield plain_text(column.item(index))
    else:
        is_plain, is_escaped = _kind_of_text(column, index)
        if is_plain or is_escaped:
            for text in utf8_pieces(column, index, "strict"):
                yield text if is_plain else text.translate(_ESCAPES)
        else:
            yield "0x"
            yield from hex_pieces(column, index)


def _kind_of_text(column: BinaryColumn, index: int) -> tuple[bool, bool]:
    """Return whether the bytes are printable text, and whether they are if escaped."""
    is_plain = True
    try:
        for text in utf8_pieces(column, index, "strict"):
            if not text.isprintable():
                is_plain = False
                if not text.translate(_LINE_ENDS).isprintable():
                    return False, False
    except UnicodeDecodeError:
        return False, False
    return is_plain, True


def size_of(data: bytes | None) -> str:
    """Return how many bytes there are: what is shown instead of private data."""
    return _NULL if data is None else f"{len(data):,} B"


def size_text_at(column: BinaryColumn, index: int) -> str:
    """Return what `size_of` does, without a copy of the value."""
    return _NULL if is_null_at(column, index) else f"{size_at(column, index):,} B"


def _json_text(value: Any) -> str:
    if isinstance(value, str):
        return safe(value)
    return safe(json.dumps(printable(value), ensure_ascii=False, default=str))


def base64_text(data: bytes | None) -> str | None:
    """Return bytes as base64; None for null."""
    return None if data is None else base64.b64encode(data).decode()


def _base64_text(data: bytes | None) -> str:
    return base64_text(data) or _NULL * (data is None)


def _decoder(name: str, topic: str) -> Decoder | None:
    return decoder_for(topic) if name == AUTO else DECODERS.get(name)


TopicText = Callable[[str, Literal["key", "value"], str], Callable[[bytes], str]]
"""From topic, column and format to what shows one key or value, for formats not in `FORMATS`."""


def key_text(name: str, topic: str, more: TopicText | None = None) -> KeyText:
    """Return the function that shows the keys of a topic in one of `FORMATS`, or by ``more``."""
    if name not in FORMATS:
        assert more is not None
        show = more(topic, "key", name)
        return lambda key: _NULL if key is None else show(key)
    if name == BASE64:
        return _base64_text
    decoder = _decoder(name, topic)
    if decoder is None:
        return plain_text
    decode = decoder.key
    return lambda key: _NULL if key is None else _json_text(decode(key))


def value_text(name: str, topic: str, more: TopicText | None = None) -> ValueText:
    """Return the function that shows values, given key and value, as `key_text` does."""
    if name not in FORMATS:
        assert more is not None
        show = more(topic, "value", name)
        return lambda _key, value: _NULL if value is None else show(value)
    if name == BASE64:
        return lambda _key, value: _base64_text(value)
    decoder = _decoder(name, topic)
    if decoder is None:
        return lambda _key, value: plain_text(value)
    decode = decoder.value
    return lambda key, value: _NULL if value is None else _json_text(decode(key, value))


def pieces(
    name: str, topic: str, text: Callable[[], str], column: BinaryColumn, index: int
) -> Iterator[str]:
    """Yield a huge key or value in one of `FORMATS`.

    Args:
        name: the format.
        topic: decides what `auto` means.
        text: gives what a decoder says; it is asked up to `MOST_DECODED` bytes.
        column, index: the key or value.
    """
    if is_null_at(column, index):
        return iter([_NULL])
    if name == BASE64:
        return base64_pieces(column, index)
    is_known = name not in FORMATS or _decoder(name, topic) is not None
    if not is_known or size_at(column, index) > MOST_DECODED:
        return hex_pieces(column, index) if name == HEX.name else plain_pieces(column, index)
    return iter([text()])
