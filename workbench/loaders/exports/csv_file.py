"""Records as CSV, as RFC 4180 says: null is nothing, an empty text is ``""``."""

import base64
import contextlib
import json
from collections.abc import Callable, Iterable
from typing import IO, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from workbench.values.far_times import texts_of
from workbench.values.printing import plain_value

TextForm = Literal["utf8", "hex", "base64"]

_FORMULA: Final = r"\A[=+\-@\t\r]"
_NUMBER: Final = r"\A[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\z"
_BINARY: Final = frozenset({"key", "value", "headers"})
_SHOWN: Final[dict[str, Callable[[bytes], str]]] = {
    "utf8": lambda data: data.decode("utf-8", "backslashreplace"),
    "hex": bytes.hex,
    "base64": lambda data: base64.b64encode(data).decode(),
}


def write_csv(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    file: IO[bytes],
    *,
    text: TextForm = "utf8",
    escapes: bool = True,
    clean: Callable[[str], str] | None = None,
) -> None:
    r"""Write the batches of a scan as CSV.

    Args:
        batches, schema: of a scan; decoded values are written as JSON.
        file: an open file.
        text: how keys, values and headers are written; "utf8" writes other bytes as ``\xNN``.
        escapes: put an apostrophe before text that a spreadsheet would run as a formula.
        clean: a function applied to every text; None: texts are written as they are.
    """
    from pyarrow import csv

    as_bytes = {field.name for field in schema if _is_raw(field)}
    as_json = {
        field.name
        for field in schema
        if field.name in _BINARY - as_bytes and pa.types.is_nested(field.type)
    }
    texts = as_bytes | as_json
    texts |= {field.name for field in schema if pa.types.is_timestamp(field.type)}
    written = pa.schema(
        [(f.name, pa.large_string() if f.name in texts else f.type) for f in schema]
    )
    with csv.CSVWriter(file, written) as writer:
        for batch in batches:
            arrays = [
                _as_text(name, column, text)
                if name in as_bytes
                else _as_json(column)
                if name in as_json
                else _as_time(column)
                if pa.types.is_timestamp(column.type)
                else column
                for name, column in zip(schema.names, batch.columns, strict=True)
            ]
            if escapes:
                arrays = [without_formulas(column) for column in arrays]
            if clean is not None:
                arrays = [_cleaned(column, clean) for column in arrays]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=written))


def _is_raw(field: pa.Field) -> bool:
    """Return whether a column has bytes as they were read, and not decoded values."""
    return field.name == "headers" or (
        field.name in _BINARY and str(field.type) in {"binary", "large_binary"}
    )


def _as_time(column: pa.Array) -> pa.Array:
    """Return times in UTC as ISO 8601, as `runtime.times.time_text` has them."""
    return pc.replace_substring(texts_of(column), " ", "T", max_replacements=1)


def _as_json(column: pa.Array) -> pa.Array:
    """Return decoded values as JSON text."""
    texts = [
        json.dumps(plain_value(each), ensure_ascii=False) if each.is_valid else None
        for each in column
    ]
    return pa.array(texts, pa.large_string())


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def without_formulas(column: pa.Array) -> pa.Array:
    """Return text with an apostrophe before what a spreadsheet would run as a formula."""
    if not _is_text(column):
        return column
    runs = pc.match_substring_regex(column, _FORMULA)
    runs = pc.and_(runs, pc.invert(pc.match_substring_regex(column, _NUMBER)))
    if not pc.any(runs).as_py():
        return column
    apostrophe, nothing = pa.scalar("'", column.type), pa.scalar("", column.type)
    escaped = pc.binary_join_element_wise(apostrophe, column, nothing)
    return pc.if_else(runs, escaped, column)


def _cleaned(column: pa.Array, clean: Callable[[str], str]) -> pa.Array:
    if not _is_text(column):
        return column
    texts = [None if value is None else clean(value) for value in column.to_pylist()]
    return pa.array(texts, column.type)


def _as_text(name: str, column: pa.Array, form: TextForm) -> pa.Array:
    """Return keys, values or headers as an Arrow array of strings."""
    if name != "headers" and form == "utf8":
        with contextlib.suppress(pa.ArrowInvalid):  # some are not UTF-8: one at a time, then
            return column.cast(pa.large_string())
    show = _SHOWN[form]

    def shown(value: bytes | None) -> str | None:
        return None if value is None else show(value)

    if name == "headers":
        texts: list[str | None] = [
            json.dumps([[header["key"], shown(header["value"])] for header in row])
            for row in column.to_pylist()
        ]
    else:
        texts = [shown(value) for value in column.to_pylist()]
    return pa.array(texts, pa.large_string())
