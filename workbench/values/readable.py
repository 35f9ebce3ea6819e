"""Keys and values as people read them: the one rule of terminal, JSON lines, CSV, SQL and Python.

Records of a topic of Kafka's own or of MirrorMaker are read by its decoder. Bytes that begin with
the id of a schema that the topic `_schemas` of the same directories has are read by that schema.
UTF-8 without control characters is text, and text that is one JSON object or array is JSON. All
other bytes stay bytes, shown as marked hex. What a decoder cannot read is shown as its bytes,
with the reason.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from workbench.decoders.decoder import Decoder, JsonText, failure, printable
from workbench.decoders.json import is_json
from workbench.decoders.registry import decoder_for
from workbench.runtime.words import escaped_json, json_text, safe
from workbench.values.schemas.schemas import Schemas

if TYPE_CHECKING:
    from workbench.values.schemas.framed import FramedDecoder

AUTO: Final = "auto"
"""The name of the rule among the formats."""

_NULL: Final = "null"
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")  # not \t \n \r \x1b
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_BLANKS: Final = str.maketrans(dict.fromkeys("\n\t\r", " "))
_FIRST_BYTES: Final = (0, 1)  # of values that begin with the id or the GUID of a schema


def is_text(text: str) -> bool:
    """Return whether decoded UTF-8 is text: its only controls are tab, line ends and escape."""
    return _CONTROL.search(text) is None


def readable(data: bytes | None) -> str | bytes | None:
    """Return text as `str`, JSON as `JsonText`, other bytes as they are, None for null."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    if not is_text(text):
        return data
    return JsonText(text) if text.startswith(("{", "[")) and is_json(text) else text


def as_json(found: Any) -> str:
    """Return what was read as JSON on one line; bytes are an object with hex ``bytes``."""
    if isinstance(found, JsonText):  # line ends are between its tokens: a string has none
        return escaped_json(found.translate(_BLANKS))
    if isinstance(found, bytes):
        return f'{{"bytes": "{found.hex()}"}}'
    return json_text(printable(found), default=str)


def one_line(text: str) -> str:
    """Return text with backslashes, tabs, line ends and what is not printable escaped."""
    return safe(text.translate(_ESCAPES))


def as_line(found: Any) -> str:
    """Return what was read as one printable line; bytes are ``0x`` and hex."""
    if found is None:
        return _NULL
    if isinstance(found, JsonText):
        return safe(found.translate(_BLANKS))
    if isinstance(found, str):
        return one_line(found) or '""'
    if isinstance(found, bytes):
        return f"0x{found.hex()}"
    if is_failure(found):
        return safe(f"0x{found['bytes']} (not decoded: {found['error']})")
    return safe(json.dumps(printable(found), ensure_ascii=False, default=str))


def as_text(found: Any) -> str | None:
    """Return what was read as text that is not escaped: text and JSON as they are stored."""
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, bytes):
        return f"0x{found.hex()}"
    if is_failure(found):
        return f"0x{found['bytes']} (not decoded: {found['error']})"
    return json.dumps(printable(found), ensure_ascii=False, default=str)


def is_failure(found: Any) -> bool:
    """Return whether a decoder could not read the bytes: `decoders.decoder.failure`."""
    return isinstance(found, dict) and found.keys() == {"error", "bytes"}


@dataclass(frozen=True)
class Readable:
    """Reads the keys and values of a topic by the rule, one by one.

    Attributes:
        topic: its name.
        schemas: reads the schemas of `_schemas`; called when the first value begins like an id.
    """

    topic: str
    schemas: Callable[[], Schemas] = field(default=Schemas, compare=False)

    @cached_property
    def _decoder(self) -> Decoder | None:
        return decoder_for(self.topic)

    def key(self, key: bytes | None) -> Any:
        """Return what a key means."""
        if key is not None and self._decoder is not None:
            return self._decoder.key(key)
        return self._framed(key)

    def value(self, key: bytes | None, value: bytes | None) -> Any:
        """Return what a value means."""
        if value is not None and self._decoder is not None:
            return self._decoder.value(key, value)
        return self._framed(value)

    def _framed(self, data: bytes | None) -> Any:
        found = self.by_schema(data)
        return readable(data) if found is data else found

    def by_schema(self, data: bytes | None) -> Any:
        """Return what bytes mean by the schema whose id they begin with; the bytes if none."""
        if data and data[0] in _FIRST_BYTES and (framed := self._by_id) is not None:
            decoder = framed.alone(data)
            if isinstance(decoder, str):
                return failure(decoder, data)
            if decoder is not None:
                from workbench.values.guard import GuardedDecoder
                from workbench.values.printing import decoded_value

                return decoded_value(GuardedDecoder(decoder), data)
        return data

    @cached_property
    def _by_id(self) -> "FramedDecoder | None":
        """Return what decodes values that name schemas; None if there are no schemas."""
        found = self.schemas()
        if not found.by_id:
            return None
        import pyarrow as pa  # needed by those alone: a batch is described without it

        from workbench.values.schemas.framed import FramedDecoder

        return FramedDecoder("value", found, pa.null(), None, in_headers=False)
