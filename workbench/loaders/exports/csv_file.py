"""Records as CSV, as RFC 4180 says: null is nothing, an empty text is ``""``."""

import base64
import contextlib
import json
from collections.abc import Callable, Iterable
from typing import IO, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

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
        batches, schema: of a scan that decodes nothing.
        file: an open file.
        text: how keys, values and headers are written; "utf8" writes other bytes as ``\xNN``.
        escapes: put an apostrophe before text that a spreadsheet would run as a formula.
        clean: a function applied to every text; None: texts are written as they are.
    """
    from pyarrow import csv

    fields = [
        field.with_type(pa.large_string()) if field.name in _BINARY else field for field in schema
    ]
    written = pa.schema([pa.field(field.name, field.type) for field in fields])
    with csv.CSVWriter(file, written) as writer:
        for batch in batches:
            arrays = [
                _as_text(name, column, text) if name in _BINARY else column
                for name, column in zip(schema.names, batch.columns, strict=True)
            ]
            if escapes:
                arrays = [_without_formulas(column) for column in arrays]
            if clean is not None:
                arrays = [_cleaned(column, clean) for column in arrays]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=written))


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _without_formulas(column: pa.Array) -> pa.Array:
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
