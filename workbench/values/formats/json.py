"""JSON of a type, a column at once, and the type that is inferred from JSON.

JSON is read by Arrow, which takes a batch at once: a microsecond or so a value. Bad values are
found by halving, so each costs some calls: a topic that is mostly not JSON reads as slowly as by a
loop in Python.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import SchemaError
from workbench.values.column import Bytes, Decoded, Int64s, one_problem
from workbench.values.formats.pieces import halved, pieces_of
from workbench.values.formats.samples import first_values, usable_samples
from workbench.values.guard import require_size
from workbench.values.types import holder, merged_by, widest_item

_OBJECT: Final = r"(?s)^\s*\{.*\}\s*$"


@dataclass(frozen=True)
class JsonDecoder:
    """Decodes JSON objects of a type: fields it does not name are skipped, missing ones are null.

    Attributes:
        kind: a struct.

    Raises:
        SchemaError: JSON cannot be read as that type.
    """

    kind: pa.DataType

    def __post_init__(self) -> None:
        try:
            _read_json(pa.array(["{}"], pa.large_string()), pa.schema(list(self.kind)))
        except pa.ArrowNotImplementedError as error:
            raise SchemaError(f"{error}; give another type in the schema") from None
        except pa.ArrowInvalid:
            pass  # a field must not be null: an object without it is bad

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        values, bad = halved(pieces_of(data, spans), self._parse, self.kind)
        return Decoded(values, one_problem(bad, f"not JSON of {_short(self.kind)}"))

    def _parse(self, values: pa.Array) -> pa.Array:
        if not len(values):
            return pa.nulls(0, self.kind)
        # Arrow's reader does not check for UTF-8, and crashes at what is not an object.
        text = values.cast(pa.large_string())
        if not pc.all(pc.match_substring_regex(text, _OBJECT)).as_py():
            raise pa.ArrowInvalid("not a JSON object")
        schema = pa.schema(list(self.kind))
        if width := widest_item(self.kind):  # an item of a list may be two bytes
            commas = pc.sum(pc.count_substring(text, ",")).as_py() or 0
            require_size(commas * width)
        table = _read_json(text, schema)
        # A line ends with a brace and the next begins with one: no object spans both.
        if len(table) != len(values):
            raise pa.ArrowInvalid("several JSON objects in one value")
        if not schema.names:
            return pa.array([{}] * len(values), self.kind)
        columns = [table[name].combine_chunks() for name in schema.names]
        return pa.StructArray.from_arrays(columns, fields=list(self.kind))


def _short(kind: pa.DataType) -> str:
    text = str(kind)
    return text if len(text) <= 80 else f"{text[:80]}…"


def inferred_schema(values: Iterable[bytes | None]) -> pa.Schema:
    """Return the type of JSON objects: every field that one of them has, as the first ones have it.

    Whole numbers are int64 unless others among them have fractions; text is text, even where it
    looks like a time; a field that is always null is text.

    Raises:
        SchemaError: a field is an object here and something else there.
    """
    return readable_schema(inferred_kind(first_values(values)))


def inferred_kind(values: Iterable[bytes | None]) -> pa.DataType:
    """Return the type of JSON objects, with null for what is always null; null without objects.

    Raises:
        SchemaError: a field is an object here and something else there.
    """
    found = usable_samples(
        [each for each in map(_loaded, values) if isinstance(each, dict)], "JSON"
    )
    try:
        return pa.infer_type(found)
    except pa.ArrowException as error:
        raise SchemaError(f"the JSON has no single type ({error}); give its schema") from None


def merged_kind(left: Any, right: Any) -> Any:
    """Return the type of the JSON of two types of `inferred_kind`.

    Raises:
        SchemaError: a field is an object here and something else there.
    """
    return merged_by(_number, left, right)


def _number(left: Any, right: Any, path: str) -> Any:
    """Return the type of numbers some of which are fractions."""
    return (
        pa.float64() if {left, right} == {pa.int64(), pa.float64()} else holder(left, right, path)
    )


def readable_schema(kind: Any) -> pa.Schema:
    """Return the fields of a type of `inferred_kind` as types that JSON can be read as."""
    return pa.schema(_readable(kind) if pa.types.is_struct(kind) else [])


def _loaded(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return json.loads(value)
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
