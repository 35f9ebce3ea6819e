"""Bring columns of several schemas together: one type, and arrays of it."""

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import SchemaError
from workbench.layout.integers import INT64_MAX
from workbench.values.far_times import plain_texts, texts_of

Choose = Callable[[Any, Any, str], Any]
"""Returns the type of what has two types, neither with fields, at a path; or raises."""


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether values of a type are bytes, as many as each has or a fixed number."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def merged(kinds: Iterable[pa.DataType]) -> pa.DataType:
    """Return the type that holds values of all types: every field that one of them has.

    Raises:
        SchemaError: a field has types that no type holds exactly.
    """
    return reduce(partial(merged_by, holder), kinds, pa.null())


def merged_by(choose: Choose, left: Any, right: Any, path: str = "") -> Any:
    """Return a type with every field that one of two types has.

    Args:
        choose: decides about two other types, at a path such as ``.a.b[]``.
        left, right: the types; null is nothing that is known.
        path: where they are.

    Raises:
        SchemaError: raised by ``choose``.
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        fields = {field.name: field.type for field in left}
        for field in right:
            here = fields.get(field.name, pa.null())
            fields[field.name] = merged_by(choose, here, field.type, f"{path}.{field.name}")
        return pa.struct(list(fields.items()))
    if pa.types.is_list(left) and pa.types.is_list(right):
        item = merged_by(choose, left.value_type, right.value_type, f"{path}[]")
        return pa.list_(pa.field(left.value_field.name, item))
    if pa.types.is_map(left) and pa.types.is_map(right) and left.key_type == right.key_type:
        item = merged_by(choose, left.item_type, right.item_type, f"{path}[]")
        return pa.map_(left.key_type, item)
    return choose(left, right, path)


def holder(left: Any, right: Any, path: str) -> Any:
    """Return the one of two types of numbers that holds all values of the other.

    Raises:
        SchemaError: neither does, or they are not numbers.
    """
    for narrow, wide in ((left, right), (right, left)):
        if _is_held(narrow, wide):
            return wide
    where = f"field {path[1:]}" if path else "the value"
    raise SchemaError(
        f"{where} is {left} in one schema and {right} in another; scan their topics one by one"
    )


def is_held(narrow: Any, wide: Any) -> bool:
    """Return whether a type has every field of another, and holds all of its values."""

    def choose(here: Any, new: Any, _path: str) -> Any:
        return here if _is_held(new, here) else pa.null()

    return bool(merged_by(choose, wide, narrow) == wide)


def _is_held(narrow: Any, wide: Any) -> bool:
    """Return whether one type of number holds all values of another."""
    if pa.types.is_integer(narrow) and pa.types.is_integer(wide):
        signed = pa.types.is_signed_integer(narrow), pa.types.is_signed_integer(wide)
        return signed != (True, False) and (
            narrow.bit_width < wide.bit_width or (signed[0] == signed[1] and narrow == wide)
        )
    if pa.types.is_floating(wide):
        if pa.types.is_floating(narrow):
            return bool(narrow.bit_width < wide.bit_width)
        return pa.types.is_integer(narrow) and bool(narrow.bit_width < wide.bit_width)
    return False


def aligned(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array as another type: fields by name, missing ones null, others left out.

    Raises:
        pyarrow.ArrowException: a value is not one of that type.
    """
    if array.type == kind:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), kind)
    if pa.types.is_struct(kind) and pa.types.is_struct(array.type):
        mask = array.is_null() if array.null_count else None
        if not kind.num_fields:
            return pa.array([None if bad else {} for bad in array.is_null().to_pylist()], kind)
        there = dict(zip(array.type.names, array.flatten(), strict=True))
        arrays = [
            aligned(there[field.name], field.type)
            if field.name in there
            else pa.nulls(len(array), field.type)
            for field in kind
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)
    if pa.types.is_list(kind) and pa.types.is_list(array.type):
        offsets, items = items_of(array)
        return pa.ListArray.from_arrays(
            offsets, aligned(items, kind.value_type), type=kind, mask=_mask(array)
        )
    if pa.types.is_map(kind) and pa.types.is_map(array.type):
        offsets, items = items_of(array)
        keys, values = items.flatten()
        return pa.MapArray.from_arrays(
            offsets,
            aligned(keys, kind.key_type),
            aligned(values, kind.item_type),
            type=kind,
            mask=_mask(array),
        )
    return array.cast(kind)


def mapped(kind: Any, change: Callable[[Any], Any]) -> Any:
    """Return a type in which the types that have none inside are changed."""
    if pa.types.is_struct(kind) and kind.num_fields:
        return pa.struct([each.with_type(mapped(each.type, change)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(mapped(kind.value_type, change)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, mapped(kind.item_type, change))
    return change(kind)


def converted(array: Any, kind: Any) -> pa.Array:
    """Return an array as a type of the same form; what no time in us can be is null.

    A struct without fields can also be text: ``{}``.
    """
    if array.type == kind:
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(array.type) and pa.types.is_struct(kind):
        arrays = [
            converted(each, field.type) for each, field in zip(array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)
    if pa.types.is_struct(array.type):
        return pc.if_else(array.is_valid(), pa.scalar("{}", kind), pa.scalar(None, kind))
    if pa.types.is_map(array.type):
        offsets, entries = items_of(array)
        keys, values = entries.flatten()
        return pa.MapArray.from_arrays(
            offsets, converted(keys, kind.key_type), converted(values, kind.item_type),
            type=kind, mask=mask,
        )  # fmt: skip
    if pa.types.is_list(array.type):
        offsets, items = items_of(array)
        return pa.ListArray.from_arrays(
            offsets, converted(items, kind.value_type), type=kind, mask=mask
        )
    if pa.types.is_timestamp(kind):
        return _microseconds(array, kind)
    return texts_of(array).cast(kind) if pa.types.is_string(kind) else array.cast(kind)


def _microseconds(array: Any, kind: Any) -> pa.Array:
    try:
        return array.cast(kind, safe=array.type.unit != "ns")
    except pa.ArrowInvalid:
        per_unit = {"s": 1_000_000, "ms": 1000}[array.type.unit]
        most = INT64_MAX // per_unit
        times = [
            None if each is None or abs(each) > most else each * per_unit
            for each in array.cast(pa.int64()).to_pylist()
        ]
        return pa.array(times, kind)


def _mask(array: pa.Array) -> Any:
    return array.is_null() if array.null_count else None


def items_of(array: Any) -> tuple[Any, Any]:
    """Return offsets from 0 and the items of a list, or the entries of a map, of any slice."""
    if pa.types.is_map(array.type):
        kind = array.type
        pair = [pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]
        array = array.cast(pa.list_(pa.struct(pair)))
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    ends = pc.cumulative_sum(lengths)
    return pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())]), array.flatten()


def fields_of(kind: Any, path: str = "") -> set[str]:
    """Return the paths of all fields of a type."""
    if pa.types.is_struct(kind):
        own = {f"{path}{field.name}" for field in kind}
        return own.union(*(fields_of(f.type, f"{path}{f.name}.") for f in kind))
    if pa.types.is_list(kind):
        return fields_of(kind.value_type, f"{path[:-1]}[].")
    if pa.types.is_map(kind):
        return fields_of(kind.item_type, f"{path[:-1]}[].")
    return set()


def width_of(kind: Any) -> int:
    """Return the bytes that each value of a type takes, null or not, without text and items."""
    if pa.types.is_struct(kind):
        return 1 + sum(width_of(field.type) for field in kind)
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return 8
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text and bytes
        return 8


def widest_item(kind: Any) -> int:
    """Return the bytes that the widest item of a list or map in a type takes; 0 without any."""
    if pa.types.is_struct(kind):
        return max((widest_item(field.type) for field in kind), default=0)
    if pa.types.is_map(kind):
        return max(8 + width_of(kind.item_type), widest_item(kind.item_type))
    if pa.types.is_list(kind):
        return max(width_of(kind.value_type), widest_item(kind.value_type))
    return 0


def as_texts(array: Any, kind: Any) -> pa.Array:
    """Return an array as a type that differs only where a mask made text of other types."""
    if array.type == kind:
        return array
    mask = _mask(array)
    if pa.types.is_struct(kind):
        arrays = [
            as_texts(each, field.type) for each, field in zip(array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)
    if pa.types.is_list(kind):
        offsets, items = items_of(array)
        return pa.ListArray.from_arrays(
            offsets, as_texts(items, kind.value_type), type=kind, mask=mask
        )
    assert pa.types.is_large_string(kind), f"{array.type} is masked as {kind}"
    return plain_texts(array)
