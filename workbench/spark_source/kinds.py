"""Arrow's types as Spark has them.

Where Spark has no such type: times of day are their numbers, durations the same, unsigned numbers
the next larger type, decimals of more than 38 digits text; timestamps are in us.
"""

from typing import Any, Final

import pyarrow as pa

_UNSIGNED: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
}


def spark_kind(kind: Any) -> Any:
    """Return the type that Spark takes for an Arrow type."""
    if kind in _UNSIGNED:
        return _UNSIGNED[kind]
    if pa.types.is_struct(kind):
        fields = [pa.field(field.name, spark_kind(field.type)) for field in kind]
        return pa.struct(fields) if fields else pa.string()
    if pa.types.is_map(kind):
        return pa.map_(spark_kind(kind.key_type), spark_kind(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", spark_kind(kind.value_type)))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    is_text = pa.types.is_null(kind) or pa.types.is_large_string(kind)
    return pa.string() if is_text or pa.types.is_decimal256(kind) else kind
