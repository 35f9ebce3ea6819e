"""Arrow's types as Spark has them.

Where Spark has no such type: times of day are their numbers, durations the same, unsigned numbers
the next larger type, decimals of more than 38 digits text; timestamps are in us.
"""

from typing import Any, Final

import pyarrow as pa

from workbench.values.types import items_of

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


def as_spark(array: Any, kind: Any) -> pa.Array:
    """Return an array as the type that `spark_kind` names; what no time in us can be is null."""
    if array.type == kind:
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(array.type) and pa.types.is_struct(kind):
        arrays = [
            as_spark(each, field.type) for each, field in zip(array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)
    if pa.types.is_struct(array.type):
        return pa.array([None if each is None else "{}" for each in array.to_pylist()], kind)
    if pa.types.is_map(array.type):
        offsets, entries = items_of(array)
        keys, values = entries.flatten()
        return pa.MapArray.from_arrays(
            offsets, as_spark(keys, kind.key_type), as_spark(values, kind.item_type),
            type=kind, mask=mask,
        )  # fmt: skip
    if pa.types.is_list(array.type):
        offsets, items = items_of(array)
        return pa.ListArray.from_arrays(
            offsets, as_spark(items, kind.value_type), type=kind, mask=mask
        )
    if pa.types.is_timestamp(kind):
        return _microseconds(array, kind)
    return array.cast(kind)


def _microseconds(array: Any, kind: Any) -> pa.Array:
    try:
        return array.cast(kind, safe=array.type.unit != "ns")
    except pa.ArrowInvalid:
        per_unit = {"s": 1_000_000, "ms": 1000}[array.type.unit]
        most = (2**63 - 1) // per_unit
        times = [
            None if each is None or abs(each) > most else each * per_unit
            for each in array.cast(pa.int64()).to_pylist()
        ]
        return pa.array(times, kind)
