"""Keys and values as text or JSON, a column at once: what ``scan(decode=...)`` plugs in.

A value that cannot be decoded becomes null; the others of its batch do not suffer. JSON is read by
Arrow, which takes a batch at once: a microsecond or so a value. Bad values are found by halving, so
each costs some calls: a topic that is mostly not JSON reads as slowly as by a loop in Python.

A decoding has a name and an entry in `DECODINGS`, which says how to make its `ColumnDecoder`.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Decoding: TypeAlias = str | pa.Schema | pa.StructType
"""How to decode a column: a name in `DECODINGS`, or the type of its JSON."""

SAMPLE: Final = 1000  # records that the type of JSON is inferred from

_OBJECT: Final = r"(?s)^\s*\{.*\}\s*$"

Parse = Callable[[pa.Array], pa.Array]
FirstValues = Callable[[], pa.Array]
"""Returns the first values of a column as large_binary, for what a decoding infers from them."""


@dataclass(frozen=True)
class ColumnDecoder:
    """The decoding of a column of bytes.

    Attributes:
        kind: the type of the decoded column.
        parse: the function from large_binary[n] without nulls to ``kind``; raises
            `pyarrow.ArrowInvalid` when any value is bad.
    """

    kind: pa.DataType
    parse: Parse

    def decode(self, column: pa.Array) -> pa.Array:
        """Return large_binary[n] as ``kind``[n]; null and bad values become null."""
        there = column.drop_null()
        parsed = pa.concat_arrays([pa.nulls(0, self.kind), *_halved(there, self.parse, self.kind)])
        if not column.null_count:
            return parsed
        valid = pc.cast(column.is_valid(), pa.int64())
        places = pc.subtract(pc.cumulative_sum(valid), 1)
        return parsed.take(pc.if_else(column.is_valid(), places, pa.scalar(None, pa.int64())))


def undecoded(raw: pa.Array, decoded: pa.Array) -> list[int]:
    """Return which values are null only because they could not be decoded, ascending."""
    bad = pc.and_(raw.is_valid(), decoded.is_null())
    places: list[int] = pc.indices_nonzero(bad).to_pylist()
    return places


def column_decoder(decoding: Decoding, first_values: FirstValues) -> ColumnDecoder:
    """Return the decoding of a column.

    Args:
        decoding: the requested decoding.
        first_values: the source of values to infer a type from.

    Raises:
        ValueError: the decoding is unknown, or JSON cannot be read as that type.
    """
    if isinstance(decoding, pa.Schema | pa.StructType):
        return _json_decoder(pa.schema(list(decoding)))
    make = DECODINGS.get(decoding) if isinstance(decoding, str) else None
    if make is None:
        names = ", ".join(DECODINGS)
        raise ValueError(
            f"unknown decoding {decoding!r} (expected one of {names}, or the JSON's Arrow schema)"
        )
    return make(first_values)


def inferred_schema(values: Iterable[bytes | None]) -> pa.Schema:
    """Return the type of JSON objects: every field that one of them has, as the first ones have it.

    Whole numbers are int64 unless others among them have fractions; text is text, even where it
    looks like a time; a field that is always null is text.

    Raises:
        ValueError: a field is an object here and something else there.
    """
    found = [value for value in map(_loaded, values) if isinstance(value, dict)]
    try:
        kind = pa.infer_type(found)
    except pa.ArrowException as error:
        raise ValueError(f"the JSON has no single type ({error}); give its schema") from None
    return pa.schema(_readable(kind)) if found else pa.schema([])


def _loaded(value: bytes | None) -> Any:
    try:
        return None if value is None else json.loads(value)
    except (ValueError, RecursionError):
        return None


def _readable(kind: Any) -> list[pa.Field]:
    """Return the fields of a struct as types that JSON can be read as; empty ones are left out."""
    fields = [pa.field(field.name, _named(field.type)) for field in kind]
    return [field for field in fields if field.type != pa.struct([])]


def _named(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct(_readable(kind))
    if pa.types.is_list(kind):
        return pa.list_(_named(kind.value_type))
    return pa.string() if pa.types.is_null(kind) else kind


def _halved(values: pa.Array, parse: Parse, kind: pa.DataType) -> Iterable[pa.Array]:
    """Yield the values parsed, in pieces; a bad one is null."""
    try:
        yield parse(values)
    except pa.ArrowInvalid:
        if len(values) == 1:
            yield pa.nulls(1, kind)
            return
        middle = len(values) // 2
        yield from _halved(values.slice(0, middle), parse, kind)
        yield from _halved(values.slice(middle), parse, kind)


def _json_decoder(schema: pa.Schema) -> ColumnDecoder:
    kind = pa.struct(list(schema))

    def parse(values: pa.Array) -> pa.Array:
        if not len(values):
            return pa.nulls(0, kind)
        # Arrow's reader does not check for UTF-8, and crashes at what is not an object.
        text = values.cast(pa.large_string())
        if not pc.all(pc.match_substring_regex(text, _OBJECT)).as_py():
            raise pa.ArrowInvalid("not a JSON object")
        table = _read_json(text, schema)
        # A line ends with a brace and the next begins with one: no object spans both.
        if len(table) != len(values):
            raise pa.ArrowInvalid("several JSON objects in one value")
        if not schema.names:
            return pa.array([{}] * len(values), kind)
        columns = [table[name].combine_chunks() for name in schema.names]
        return pa.StructArray.from_arrays(columns, fields=list(kind))

    try:
        _read_json(pa.array(["{}"], pa.large_string()), schema)
    except pa.ArrowNotImplementedError as error:
        raise ValueError(f"{error}; give another type in the schema") from None
    except pa.ArrowInvalid:
        pass  # a field must not be null: an object without it is bad
    return ColumnDecoder(kind, parse)


def _read_json(text: pa.Array, schema: pa.Schema) -> pa.Table:
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    nothing, line_end = (pa.scalar(end, pa.large_string()) for end in ("", "\n"))
    lines = pc.binary_join_element_wise(text, nothing, line_end)
    first, *_, end = memoryview(lines.buffers()[1]).cast("q")[lines.offset :][: len(lines) + 1]
    data = lines.buffers()[2][first:end]
    return read_json(
        pa.BufferReader(data),
        read_options=ReadOptions(use_threads=False, block_size=data.size + 1),
        parse_options=ParseOptions(
            explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="ignore"
        ),
    )


def _utf8(_first_values: FirstValues) -> ColumnDecoder:
    return ColumnDecoder(pa.large_string(), _text)


def _text(values: pa.Array) -> pa.Array:
    return values.cast(pa.large_string())


def _json(first_values: FirstValues) -> ColumnDecoder:
    return _json_decoder(inferred_schema(first_values().to_pylist()))


DECODINGS: Final[dict[str, Callable[[FirstValues], ColumnDecoder]]] = {
    "utf8": _utf8,
    "json": _json,
}
"""By name: what makes the decoder of a column, perhaps from the column's first values."""
