"""Keys and values as JSON."""

import json
from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder, failure


def decode(data: Bytes | None) -> Any:
    """Return the value of the JSON, None for null, or a failure with the position.

    A JSON ``null`` gives None too; the raw value distinguishes the two.
    """
    if data is None:
        return None
    try:
        return json.loads(bytes(data))
    except UnicodeDecodeError as error:
        return failure(f"byte {error.start} is not text: {error.reason}", data)
    except (ValueError, RecursionError) as error:
        return failure(f"not JSON: {error}", data)


def decode_value(_key: Bytes | None, value: Bytes | None) -> Any:
    """Return the value of the value's JSON; the key does not matter."""
    return decode(value)


JSON: Final = Decoder("json", decode, decode_value)
