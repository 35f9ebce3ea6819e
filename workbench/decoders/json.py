"""Keys and values as JSON."""

import json
from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder, JsonText, failure


def _refuse(name: str) -> None:
    raise ValueError(name)


_STRICT: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def is_json(text: str) -> bool:
    """Return whether text is one JSON value, and no word such as ``NaN`` is in it."""
    try:
        _STRICT.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def decode(data: Bytes | None) -> Any:
    """Return JSON as it is stored, with every digit and field; text as `str`, None for null.

    What has ``NaN`` or infinity in it is read as values of Python. A JSON ``null`` gives None too;
    the raw value distinguishes the two. What is not JSON is a failure with the position.
    """
    if data is None:
        return None
    raw = bytes(data)
    try:
        text = raw.decode(json.detect_encoding(raw), "surrogatepass")
        if text.lstrip(" \t\r\n").startswith(("{", "[")) and is_json(text):
            return JsonText(text)
        found = json.loads(text)
    except UnicodeDecodeError as error:
        return failure(f"byte {error.start} is not text: {error.reason}", data)
    except (ValueError, RecursionError) as error:
        return failure(f"not JSON: {error}", data)
    return JsonText(text) if isinstance(found, float) and is_json(text) else found


def decode_value(_key: Bytes | None, value: Bytes | None) -> Any:
    """Return the value of the value's JSON; the key does not matter."""
    return decode(value)


JSON: Final = Decoder("json", decode, decode_value)
