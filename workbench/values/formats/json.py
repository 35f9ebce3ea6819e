"""JSON of a type, a column at once, and the type that is inferred from JSON.

JSON is read by Arrow, which takes a batch at once: a microsecond or so a value. What Arrow does not
take is found by halving, and read one by one in Python, some 5 to 20 microseconds each.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import SchemaError
from workbench.values.column import Bytes, Decoded, Int64s, spans_of
from workbench.values.fitting import Number
from workbench.values.formats.pieces import FittingReader, halved, pieces_of, refused
from workbench.values.guard import require_size
from workbench.values.inference import (
    MOST_BYTES,
    MOST_FIELDS,
    Shape,
    is_usable,
    known_kind,
    require_looked_at,
)
from workbench.values.types import aligned, widest_item, width_of

_OBJECT: Final = r"(?s)^\s*\{.*\}\s*$"
_FEW: Final = 32  # values that are read one by one where Arrow does not take them together
_MOST_READ: Final = 64 << 20  # bytes of columns that are read for a type


@dataclass(frozen=True)
class JsonDecoder:
    """Decodes JSON objects of a type. Missing fields are null, and those that do not fit are, too.

    Attributes:
        kind: a struct.
        read: the type that was inferred, of which ``kind`` is what it says: what the values have
            beyond it does not fit. None: the type was given, so fields that it does not name are
            skipped.

    Raises:
        SchemaError: JSON cannot be read as that type.
    """

    kind: pa.DataType
    read: pa.DataType | None = None

    def __post_init__(self) -> None:
        try:
            _read_json(pa.array(["{}"], pa.large_string()), self._schema)
        except pa.ArrowNotImplementedError as error:
            raise SchemaError(f"{error}; give another type in the schema") from None
        except pa.ArrowInvalid:
            pass  # a field must not be null: an object without it is bad

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema(list(self.kind if self.read is None else self.read))

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        reader = FittingReader(
            pa.struct(list(self._schema)),
            "a JSON object",
            json_object,
            _by_arrow,
            names_all=self.read is not None,
        )

        def read_few(values: pa.Array, first: int) -> pa.Array:
            return aligned(reader.read(values.to_pylist(), first), self.kind)

        values, _ = halved(pieces_of(data, spans), self._parse, self.kind, read_few, _FEW)
        return reader.decoded(values)

    def _parse(self, values: pa.Array) -> pa.Array:
        if not len(values):
            return pa.nulls(0, self.kind)
        return aligned(_parsed(values, self._schema, ignores=self.read is None), self.kind)


def _parsed(values: pa.Array, schema: pa.Schema, *, ignores: bool) -> pa.Array:
    """Return objects as Arrow reads them.

    Args:
        values: binary[n], n > 0.
        schema: the fields.
        ignores: whether other fields are skipped; otherwise they are an error.

    Raises:
        pyarrow.ArrowException: a value is not such an object.
        ValuesTooLargeError: it would take too much memory.
    """
    # Arrow's reader does not check for UTF-8, and crashes at what is not an object.
    text = values.cast(pa.large_string())
    if not _are_in_braces(text):
        raise pa.ArrowInvalid("not a JSON object")
    if width := widest_item(pa.struct(list(schema))):  # an item of a list may be two bytes
        require_size(int(np.count_nonzero(_bytes_of(text) == ord(","))) * width)
    table = _read_json(text, schema, ignores=ignores)
    # A value ends with a brace and the next begins with one: no object spans both.
    if len(table) != len(values):
        raise pa.ArrowInvalid("several JSON objects in one value")
    if not schema.names:
        return pa.array([{}] * len(values), pa.struct([]))
    columns = [table[name].combine_chunks() for name in schema.names]
    return pa.StructArray.from_arrays(columns, fields=list(schema))


def _are_in_braces(text: pa.Array) -> bool:
    data, spans = spans_of(text)
    starts, ends = spans[:, 0], spans[:, 1]
    if (ends - starts).min() > 1 and (data[starts] == 123).all() and (data[ends - 1] == 125).all():
        return True
    return bool(pc.all(pc.match_substring_regex(text, _OBJECT)).as_py())  # with space around


def _bytes_of(text: pa.Array) -> Bytes:
    """Return the bytes of all texts, one after the other."""
    data, spans = spans_of(text)
    return data[spans[0, 0] : spans[-1, 1]]


def json_object(value: bytes) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        RecursionError: it is nested too deeply.
        ValueError: it is none.
    """
    found = json.loads(value, parse_float=Number, object_pairs_hook=_once)
    if not isinstance(found, dict):
        raise ValueError("not an object")  # noqa: TRY004 - as json raises
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field comes twice")
    return found


def _by_arrow(value: Any, kind: Any) -> Any:
    """Return a value of a type that JSON does not have, such as a time, as Arrow reads its text."""
    text = value.text if isinstance(value, Number) else json.dumps(value)
    line = pa.array([f'{{"it": {text}}}'], pa.large_string())
    return _read_json(line, pa.schema([("it", kind)]))["it"][0].as_py()


def inferred_kind(values: Iterable[pa.Array]) -> pa.DataType:
    """Return the type of the JSON objects among values: `Shape.kind`, a struct.

    Args:
        values: large_binary[n] each.

    Raises:
        SchemaError: they have too many fields, or each has too many bytes.
    """
    kind = json_shape(values).kind()
    return kind if pa.types.is_struct(kind) else pa.struct([])


def json_shape(values: Iterable[pa.Array]) -> Shape:
    """Return what is seen in the JSON objects among values.

    Raises:
        As `inferred_kind`.
    """
    shape, largest, is_known = Shape(), 0, False
    for array in values:
        for value in _news(array.drop_null(), shape):
            if len(value) > MOST_BYTES:
                largest = max(largest, len(value))
                continue
            is_known = True
            found = _loaded(value)
            if isinstance(found, dict):
                shape.add(found)
        is_known = is_known or bool(shape.fields)
        shape.require_size("JSON")
    require_looked_at(0 if is_known else largest)
    return shape


def _news(values: pa.Array, shape: Shape) -> Iterator[bytes]:
    """Yield the values that may have what a shape does not have yet; it may grow meanwhile.

    A value that Arrow reads as the shape's type adds nothing to it.
    """
    step = max(_FEW, min(len(values), _MOST_READ // max(1, width_of(shape.kind()))))
    for start in range(0, len(values), step):
        some = values[start : start + step]

        def takes(first: int, end: int, some: pa.Array = some) -> bool:
            return bool(shape.fields) and _adds_nothing(some[first:end], shape)

        for first, end in refused(len(some), takes, _FEW):
            yield from some[first:end].to_pylist()


def _adds_nothing(values: pa.Array, shape: Shape) -> bool:
    try:
        _parsed(values, pa.schema(list(_as_seen(shape.kind()))), ignores=False)
    except (pa.ArrowException, ValueError):
        return False
    return True


def _as_seen(kind: Any) -> Any:
    """Return a type without decimals: Arrow reads text as them."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_seen(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_as_seen(kind.value_type))
    return pa.int64() if pa.types.is_decimal(kind) else kind


def json_decoder(kind: pa.DataType, unknown: pa.DataType | None = None) -> JsonDecoder:
    """Return the decoder of a type of `inferred_kind`.

    Args:
        kind: the type.
        unknown: the type of what is always null; None: it is left out.
    """
    return JsonDecoder(known_kind(kind, unknown) or pa.struct([]), kind)


def _loaded(value: bytes) -> Any:
    """Return what JSON says; None if it is none, or no type can be inferred from it."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    # Only these can have too many fields, or be too deep.
    is_odd = len(value) > 4 * MOST_FIELDS or value.count(b"{") > 50
    return None if is_odd and not is_usable(found) else found


def _read_json(text: pa.Array, schema: pa.Schema, *, ignores: bool = True) -> pa.Table:
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    data = pa.py_buffer(_bytes_of(text))  # Arrow needs nothing between objects
    return read_json(
        pa.BufferReader(data),
        read_options=ReadOptions(use_threads=False, block_size=data.size + 1),
        parse_options=ParseOptions(
            explicit_schema=schema,
            newlines_in_values=True,
            unexpected_field_behavior="ignore" if ignores else "error",
        ),
    )
