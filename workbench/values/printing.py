"""Decoded values as text for people: one at a time, and never an error."""

import json
from typing import Any

import pyarrow as pa

from workbench.decoders.decoder import failure, printable
from workbench.values.column import ColumnDecoder, Others
from workbench.values.far_times import texts_of

_NONE: Others = {}


def plain_value(value: pa.Scalar) -> Any:
    """Return one value of a decoded column as JSON has it: maps as objects, bytes as hex."""
    kind = value.type
    if not value.is_valid:
        return None
    if pa.types.is_struct(kind):
        return {name: plain_value(value[name]) for name in kind.names}
    if pa.types.is_map(kind):
        return {str(plain_value(each["key"])): plain_value(each["value"]) for each in value.values}
    if pa.types.is_list(kind):
        return [plain_value(each) for each in value.values]
    if pa.types.is_temporal(kind):
        try:
            return str(value.as_py())
        except (OverflowError, ValueError):
            if pa.types.is_duration(kind):
                return value.value
            return texts_of(pa.repeat(value, 1))[0].as_py()
    found = value.as_py()
    return printable(found) if isinstance(found, bool | int | float | str | bytes) else str(found)


def decoded_value(decoder: ColumnDecoder, data: bytes | None, others: Others = _NONE) -> Any:
    """Return what a key or value means, ready for JSON; a failure as `decoders.decoder` has it.

    What of an object does not fit its type is in ``_rescued``: path → text.

    Args:
        decoder: of the column.
        data: the bytes.
        others: the columns that the decoder needs, for this record alone.
    """
    if data is None:
        return None
    found = decoder.decode(pa.array([data], pa.large_binary()), others)
    value = plain_value(found.values[0])
    if found.problems and not isinstance(value, dict):
        return failure(found.problems[0].found, data)
    if found.unfit:
        value.setdefault("_rescued", found.unfit[0])
    return value


def decoded_text(decoder: ColumnDecoder, data: bytes, others: Others = _NONE) -> str:
    """Return what a key or value means as one line: text as it is, otherwise JSON."""
    value = decoded_value(decoder, data, others)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
