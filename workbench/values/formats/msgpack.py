"""MessagePack.

Source: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.errors import SchemaError
from workbench.runtime.extras import optional
from workbench.values.column import Bytes, Decoded, Int64s
from workbench.values.formats.pieces import decoded_one_by_one
from workbench.values.formats.samples import first_values, usable_samples
from workbench.values.guard import ENTRIES
from workbench.values.types import is_bytes


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

        def read(value: bytes) -> Any:
            return _shaped(_unpacked(value), self.kind)

        return decoded_one_by_one(data, spans, read, self.kind, "MessagePack")


def inferred_type(values: Iterable[bytes | None]) -> pa.DataType:
    """Return the type of MessagePack values: every field that one of them has.

    Raises:
        MissingDependencyError: msgpack is not installed.
        SchemaError: they have no single type.
    """
    found = []
    for value in first_values(values):
        try:
            found.append(_unpacked(value))
        except (ValueError, TypeError, RecursionError):
            continue
    found = usable_samples(found, "MessagePack")
    try:
        return pa.infer_type(found)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise SchemaError(f"the MessagePack has no single type ({error}); give its type") from None


def _unpacked(value: bytes) -> Any:
    msgpack = optional("msgpack", "msgpack")
    try:
        found = msgpack.unpackb(value, strict_map_key=False, timestamp=0)
    except msgpack.UnpackException as error:
        raise ValueError(str(error) or type(error).__name__) from None
    return _named(found, msgpack.Timestamp, msgpack.ExtType)


def _named(value: Any, timestamp: type, extension: type) -> Any:
    """Return a value with names of fields as text, and times and extensions as Arrow takes them."""
    if isinstance(value, dict):
        return {str(k): _named(each, timestamp, extension) for k, each in value.items()}
    if isinstance(value, extension):
        return value.data  # type: ignore[attr-defined]
    if isinstance(value, list):
        return [_named(each, timestamp, extension) for each in value]
    if isinstance(value, timestamp):
        return np.int64(value.to_unix_nano()).astype("M8[ns]")  # type: ignore[attr-defined]
    return value


def _shaped(value: Any, kind: Any) -> Any:
    """Return a value as Arrow takes it for a type; raises `TypeError` if it is of another."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(name, _shaped(each, kind.item_type)) for name, each in value.items()]
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            raise TypeError(f"{type(value).__name__} instead of a map")
        ENTRIES.take(kind.num_fields + 1)
        return {field.name: _shaped(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if not isinstance(value, list):
            raise TypeError(f"{type(value).__name__} instead of an array")
        return [_shaped(each, kind.value_type) for each in value]
    if isinstance(value, bool) != pa.types.is_boolean(kind):
        raise TypeError(f"{type(value).__name__} instead of {kind}")
    if isinstance(value, bytes) and not is_bytes(kind):
        raise TypeError(f"bytes instead of {kind}")
    return value
