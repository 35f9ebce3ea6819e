"""Keys and values as hexadecimal digits, for any bytes."""

from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder


def decode(data: Bytes | None) -> Any:
    """Return two digits per byte; None for null."""
    return None if data is None else bytes(data).hex()


def decode_value(_key: Bytes | None, value: Bytes | None) -> Any:
    """Return the value's digits; the key does not matter."""
    return decode(value)


HEX: Final = Decoder("hex", decode, decode_value)
