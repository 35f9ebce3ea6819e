"""Bytes of keys, values and headers as text for people.

`auto` uses Kafka's decoder if the topic is one of Kafka's own, otherwise text if the bytes are
printable UTF-8, otherwise hex.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, Final

from workbench.cli.output import safe
from workbench.decoders.decoder import Decoder, printable
from workbench.decoders.registry import DECODERS, decoder_for

AUTO: Final = "auto"
BASE64: Final = "base64"
FORMATS: Final = (AUTO, BASE64, *sorted(DECODERS))
"""The values of --key-format and --value-format."""

_NULL: Final = "null"

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
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    escaped = escaped.replace("\r", "\\r")
    return escaped if escaped.isprintable() else f"0x{data.hex()}"


def size_of(data: bytes | None) -> str:
    """Return how many bytes there are: what is shown instead of private data."""
    return _NULL if data is None else f"{len(data):,} B"


def _json_text(value: Any) -> str:
    if isinstance(value, str):
        return safe(value)
    return safe(json.dumps(printable(value), ensure_ascii=False, default=str))


def _base64_text(data: bytes | None) -> str:
    return _NULL if data is None else base64.b64encode(data).decode()


def _decoder(name: str, topic: str) -> Decoder | None:
    return decoder_for(topic) if name == AUTO else DECODERS[name]


def key_text(name: str, topic: str) -> KeyText:
    """Return the function that shows the keys of a topic in one of `FORMATS`."""
    if name == BASE64:
        return _base64_text
    decoder = _decoder(name, topic)
    if decoder is None:
        return plain_text
    decode = decoder.key
    return lambda key: _NULL if key is None else _json_text(decode(key))


def value_text(name: str, topic: str) -> ValueText:
    """Return the function that shows values, given key and value, in one of `FORMATS`."""
    if name == BASE64:
        return lambda _key, value: _base64_text(value)
    decoder = _decoder(name, topic)
    if decoder is None:
        return lambda _key, value: plain_text(value)
    decode = decoder.value
    return lambda key, value: _NULL if value is None else _json_text(decode(key, value))
