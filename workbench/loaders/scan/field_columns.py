"""Fields of values as columns of a scan: ``$.total_cents``, named as a query writes them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from workbench.loaders.queries.json_path import step_text, take_path
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.runtime.words import did_you_mean, first_few, unknown_column

if TYPE_CHECKING:
    from workbench.values.registry import ColumnDecoding

_NAMED: Final = 12  # fields that a message names


def field_steps(name: str) -> tuple[str, ...]:
    """Return the names of the fields that a column leads through; empty: it is another column.

    Raises:
        LookupError: there is no such column; the message names the nearest.
    """
    if name in SCAN_FIELDS:
        return ()
    steps, end = take_path(name, 1) if name.startswith("$") else ((), 0)
    names = tuple(step for step in steps if isinstance(step, str))
    if names and names == steps and end == len(name):
        return names
    if name.startswith("$"):
        raise LookupError(
            f"{name} is not a column: fields are $.order_id or $.customer.id, a list is taken whole"
        )
    if name.startswith("value."):
        raise LookupError(f"unknown column {name}; did you mean ${name.removeprefix('value')}?")
    raise LookupError(unknown_column(name, SCAN_FIELDS))


def columns_read(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that must be read for those that are asked for.

    Raises:
        LookupError: one of them does not exist.
    """
    found: dict[str, None] = {}
    for name in names:
        found["value" if field_steps(name) else name] = None
    return tuple(found)


def with_fields(
    decode: "Mapping[str, ColumnDecoding]", names: Iterable[str]
) -> "Mapping[str, ColumnDecoding]":
    """Return decodings for these columns: values of which a field is asked for are JSON."""
    return {"value": "json", **decode} if any(map(field_steps, names)) else decode


def fields_of(kind: pa.DataType) -> list[str]:
    """Return the columns of all fields of values; a struct inside of them is its fields.

    Where no value has a field there are none.

    Raises:
        LookupError: values have no fields.
    """
    if not pa.types.is_struct(kind):
        raise LookupError(f"values have no fields: they are {kind}; decode= says how to read them")
    return _paths(kind, "$") if kind.num_fields else []


def _paths(kind: pa.DataType, path: str) -> list[str]:
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return [path]
    return [name for each in kind for name in _paths(each.type, path + step_text(each.name))]


def field_kind(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type of a field.

    Raises:
        LookupError: values do not have it.
    """
    for place in places_of(name, kind):
        kind = kind.field(place).type
    return kind


def places_of(name: str, kind: pa.DataType) -> list[int]:
    """Return the number of each field that a column leads through.

    Raises:
        LookupError: values do not have it.
    """
    places = []
    whole = kind
    for step in field_steps(name):
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            raise LookupError(f"{name} leads into a list; take the list whole, before .{step}")
        place = kind.get_field_index(step) if pa.types.is_struct(kind) else -1
        if place < 0:
            raise LookupError(_no_field(name, whole))
        places.append(place)
        kind = kind.field(place).type
    return places


def field_of(name: str, values: Any) -> Any:
    """Return a field of values as an array; null where a value or a struct around it is null."""
    import pyarrow.compute as pc

    return pc.struct_field(values, places_of(name, values.type))


def _no_field(name: str, kind: pa.DataType) -> str:
    if not pa.types.is_struct(kind):
        return f"no value has a field {name}: values are {kind}; decode= says how to read them"
    there = fields_of(kind)
    hint = did_you_mean(name, there)
    return f"no value has a field {name}{hint or f'; fields: {first_few(there, _NAMED)}'}"
