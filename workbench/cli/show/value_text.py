"""Bytes of keys, values and headers as text for people.

`auto` uses Kafka's decoder if the topic is one of Kafka's own, otherwise text if the bytes are
printable UTF-8, otherwise hex.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from workbench.cli.output import safe
from workbench.cli.show.pieces import (
    MOST_DECODED,
    PIECE,
    base64_pieces,
    hex_pieces,
    is_null_at,
    size_at,
    utf8_pieces,
)
from workbench.decoders.decoder import Decoder, printable
from workbench.decoders.hex import HEX
from workbench.decoders.registry import DECODERS, decoder_for
from workbench.record.columns import BinaryColumn

AUTO: Final = "auto"
BASE64: Final = "base64"
FORMATS: Final = (AUTO, BASE64, *sorted(DECODERS))
"""The values of --key-format and --value-format."""

_NULL: Final = "null"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_LINE_ENDS: Final = str.maketrans("", "", "\n\t\r")

KeyText = Callable[[BinaryColumn, int], Iterator[str]]
ValueText = Callable[[BinaryColumn, BinaryColumn, int], Iterator[str]]


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


def size_text_at(column: BinaryColumn, index: int) -> str:
    """Return how many bytes a value has: what is shown instead of private data."""
    return _NULL if is_null_at(column, index) else f"{size_at(column, index):,} B"


def _json_text(value: Any) -> str:
    if isinstance(value, str):
        return safe(value)
    return safe(json.dumps(printable(value), ensure_ascii=False, default=str))


def _decoder(name: str, topic: str) -> Decoder | None:
    return decoder_for(topic) if name == AUTO else DECODERS[name]


def _by_pieces(name: str) -> Callable[[BinaryColumn, int], Iterator[str]]:
    """Return the function that shows what no decoder gets."""
    return {BASE64: base64_pieces, HEX.name: hex_pieces}.get(name, plain_pieces)


def key_text(name: str, topic: str) -> KeyText:
    """Return the function that shows the keys of a topic in one of `FORMATS`, in pieces.

    Keys and values above `pieces.MOST_DECODED` are shown without a decoder.
    """
    in_pieces = _by_pieces(name)
    decoder = None if name == BASE64 else _decoder(name, topic)

    def show(keys: BinaryColumn, at: int) -> Iterator[str]:
        if decoder is None or is_null_at(keys, at) or size_at(keys, at) > MOST_DECODED:
            return in_pieces(keys, at)
        return iter([_json_text(decoder.key(keys.item(at)))])

    return show


def value_text(name: str, topic: str) -> ValueText:
    """Return the function that shows values, given keys and values, as `key_text` shows keys."""
    in_pieces = _by_pieces(name)
    decoder = None if name == BASE64 else _decoder(name, topic)

    def show(keys: BinaryColumn, values: BinaryColumn, at: int) -> Iterator[str]:
        largest = max(size_at(keys, at), size_at(values, at))
        if decoder is None or is_null_at(values, at) or largest > MOST_DECODED:
            return in_pieces(values, at)
        return iter([_json_text(decoder.value(keys.item(at), values.item(at)))])

    return show
