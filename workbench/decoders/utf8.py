"""Keys and values as UTF-8 text."""

from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder, failure


def decode(data: Bytes | None) -> Any:
    """Return the text, None for null, or a failure that names the first bad byte."""
    if data is None:
        return None
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        return failure(f"byte {error.start} is not UTF-8: {error.reason}", data)


def decode_value(_key: Bytes | None, value: Bytes | None) -> Any:
    """Return the value's text; the key does not matter."""
    return decode(value)


UTF8: Final = Decoder("utf8", decode, decode_value)
