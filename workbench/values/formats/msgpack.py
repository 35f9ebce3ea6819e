"""MessagePack.

Source: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.runtime.extras import optional
from workbench.values.column import Bytes, Decoded, Int64s
from workbench.values.fitting import as_text
from workbench.values.formats.pieces import FittingReader
from workbench.values.inference import (
    MOST_BYTES,
    Shape,
    is_usable,
    known_kind,
    require_looked_at,
)


@dataclass(frozen=True)
class MessagePackDecoder:
    """Decodes MessagePack of a type: fields it does not name are skipped, missing ones are null.

    Attributes:
        kind: the type.

    Raises:
        MissingDependencyError: msgpack is not installed.
    """

    kind: pa.DataType

    def __post_init__(self) -> None:
        optional("msgpack", "msgpack")

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        reader = FittingReader(self.kind, "MessagePack", _unpacked, _time, names_all=False)
        view = memoryview(data)
        values = [bytes(view[start:end]) for start, end in spans.tolist()]
        return reader.decoded(reader.read(values))


def inferred_type(values: Iterable[pa.Array]) -> pa.DataType:
    """Return the type of MessagePack values: every field that one of them has.

    Args:
        values: large_binary[n] each.

    Raises:
        MissingDependencyError: msgpack is not installed.
        SchemaError: they have too many fields, or each has too many bytes.
    """
    shape, largest, is_known = Shape(), 0, False
    for array in values:
        for value in array.drop_null().to_pylist():
            if len(value) > MOST_BYTES:
                largest = max(largest, len(value))
                continue
            is_known = True
            with suppress(ValueError, TypeError, RecursionError):
                found = _unpacked(value)
                if is_usable(found):
                    shape.add(found)
        shape.require_size("MessagePack")
    require_looked_at(0 if is_known else largest)
    return known_kind(shape.kind(), pa.string()) or pa.null()


def _time(value: Any, kind: Any) -> Any:
    """Return a time; Arrow takes it for any type of times."""
    if isinstance(value, np.datetime64):
        return value
    raise ValueError(f"{type(value).__name__} is not {kind}")


def _unpacked(value: bytes) -> Any:
    msgpack = optional("msgpack", "msgpack")
    try:
        found = msgpack.unpackb(
            value, strict_map_key=False, timestamp=0, object_pairs_hook=_named_once
        )
    except msgpack.UnpackException as error:
        raise ValueError(str(error) or type(error).__name__) from None
    return _named(found, msgpack.Timestamp, msgpack.ExtType)


def _named_once(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a map with names of fields as text."""
    found = {as_text(name): each for name, each in pairs}
    if len(found) < len(pairs):
        raise ValueError("a field comes twice")
    return found


def _named(value: Any, timestamp: type, extension: type) -> Any:
    """Return a value with times and extensions as Arrow takes them.

    A time beyond those that are ns in an int64, the years 1677 to 2262, is text.
    """
    if isinstance(value, dict):
        return {name: _named(each, timestamp, extension) for name, each in value.items()}
    if isinstance(value, extension):
        return value.data  # type: ignore[attr-defined]
    if isinstance(value, list):
        return [_named(each, timestamp, extension) for each in value]
    if isinstance(value, timestamp):
        nanoseconds = value.to_unix_nano()  # type: ignore[attr-defined]
        if abs(nanoseconds) < 2**63:
            return np.int64(nanoseconds).astype("M8[ns]")
        seconds, rest = divmod(nanoseconds, 10**9)
        return f"{np.datetime64(seconds, 's')}.{rest:09d}"
    return value
