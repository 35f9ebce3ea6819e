"""Record columns to Arrow: the same memory, without a copy, wherever nothing is filtered out.

Arrays are made of buffers and never by `pyarrow.array` or `pyarrow.scalar`: these import pandas,
which costs a new process half a second.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.layout import problems
from workbench.layout.attributes import CODEC_NAMES, TIMESTAMP_TYPE_NAMES, codec_name
from workbench.loaders.schemas import HEADERS, SCAN_FIELDS, TIMESTAMP
from workbench.record.columns import BinaryColumn, HeaderColumn, RecordColumns

Rows = npt.NDArray[Any]

NO_ABSENT: Final = object()
_PROBLEMS: Final = dict(sorted(problems.WORDS.items()))
_WHERE: Final = ("topic", "partition", "segment", "file")


def _bitmap(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def integers(values: npt.NDArray[Any], kind: pa.DataType, absent: object = -1) -> pa.Array:
    """Return integers or times as an Arrow array; ``absent`` (in files: -1) becomes null.

    Args:
        values: int[n], of the width of ``kind``; times in ms.
        absent: pass `NO_ABSENT` when every value means itself.
    """
    plain = np.ascontiguousarray(values)
    validity = None
    if absent is not NO_ABSENT:
        valid = plain != absent
        validity = None if np.count_nonzero(valid) == len(valid) else _bitmap(valid)
    return pa.Array.from_buffers(kind, len(plain), [validity, pa.py_buffer(plain)])


def booleans(values: npt.NDArray[np.bool_]) -> pa.Array:
    """Return bool[n] as an Arrow array."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bitmap(values)])


def binary(column: BinaryColumn, kind: pa.DataType | None = None) -> pa.Array:
    """Return a binary column as large_binary (or large_string, when its bytes are UTF-8)."""
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    buffers = [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    kind = kind or pa.large_binary()
    return pa.Array.from_buffers(kind, len(column), buffers, null_count=column.null_count)


def text(column: BinaryColumn) -> pa.Array:
    """Return bytes as strings; invalid UTF-8 becomes replacement characters."""
    raw = binary(column)
    try:
        return raw.cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid:
        values = (value.as_buffer() for value in raw)
        return strings([str(value, "utf-8", "replace") for value in values])


def headers(column: HeaderColumn) -> pa.Array:
    """Return headers as ``list<struct<key, value>>``; a record without any has an empty list."""
    item = HEADERS.value_type
    pairs = pa.StructArray.from_arrays(
        [text(column.keys), binary(column.values)], fields=[item.field(0), item.field(1)]
    )
    buffers = [None, pa.py_buffer(column.offsets)]
    return pa.Array.from_buffers(HEADERS, len(column), buffers, children=[pairs])


def utf8(text: str) -> bytes:
    r"""Return text as UTF-8. A byte of a file's name that is not UTF-8 is written as ``\udcff``."""
    return text.encode("utf-8", "backslashreplace")


def strings(values: Sequence[str | None]) -> pa.Array:
    """Return a few strings as an Arrow array; None is null."""
    parts = [b"" if value is None else utf8(value) for value in values]
    offsets = np.zeros(len(parts) + 1, np.int32)
    offsets[1:] = np.cumsum([len(part) for part in parts])
    valid = np.array([value is not None for value in values], np.bool_)
    validity = None if valid.all() else _bitmap(valid)
    data = pa.py_buffer(b"".join(parts))
    return pa.Array.from_buffers(pa.string(), len(parts), [validity, pa.py_buffer(offsets), data])


def repeated(value: str | int, kind: pa.DataType, count: int) -> pa.Array:
    """Return one value ``count`` times."""
    if isinstance(value, int):
        return integers(np.full(count, value, kind.to_pandas_dtype()), kind, NO_ABSENT)
    text = utf8(value)
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(len(text))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text * count)]
    return pa.Array.from_buffers(kind, count, buffers)


def _names(codes: npt.NDArray[Any], words: dict[int, str]) -> pa.Array:
    """Return small codes as words; a code without a word is null."""
    if len(codes) and (codes == codes[0]).all():
        word = words.get(int(codes[0]))
        count = len(codes)
        return pa.nulls(count, pa.string()) if word is None else repeated(word, pa.string(), count)
    keys = list(words)
    places = np.searchsorted(keys, codes).astype(np.int32)
    places[~np.isin(codes, keys)] = -1
    indices = integers(places, pa.int32())
    return pa.DictionaryArray.from_arrays(
        indices, strings(list(words.values()))
    ).dictionary_decode()


def timestamp_types(codes: npt.NDArray[Any]) -> pa.Array:
    """Return ``CreateTime``, ``LogAppendTime`` or null for each code."""
    return _names(codes, TIMESTAMP_TYPE_NAMES)


def codecs(codes: npt.NDArray[Any]) -> pa.Array:
    """Return the codec's name for each id."""
    return _names(codes, {code: codec_name(code) for code in range(len(CODEC_NAMES) + 3)})


def problem_words(codes: npt.NDArray[Any]) -> pa.Array:
    """Return what each of `layout.problems` is as text; null for `OK`."""
    return _names(codes, _PROBLEMS)


def sequences(columns: RecordColumns, rows: Rows) -> npt.NDArray[np.int32]:
    """Return int32[n]: each record's sequence, -1 without; wraps from 2**31 - 1 to 0."""
    base = rows["base_sequence"][columns.batch].astype(np.int64)
    delta = columns.offsets - rows["base_offset"][columns.batch]
    return np.where(base < 0, -1, (base + delta) % 2**31).astype(np.int32)


def column(
    name: str, columns: RecordColumns, rows: Rows, where: tuple[str, int, int, str]
) -> pa.Array:
    """Return one column of a scan for the records of a chunk.

    Args:
        name: one of `SCAN_FIELDS`.
        rows: BATCH_ROW[m] that ``columns.batch`` numbers.
        where: (topic, partition, base offset of the segment, path of its file).
    """
    count = len(columns)
    kind = SCAN_FIELDS[name].type
    if name in _WHERE:
        return repeated(where[_WHERE.index(name)], kind, count)
    if name == "offset":
        return integers(columns.offsets, kind, NO_ABSENT)
    if name == "timestamp":
        return integers(columns.timestamps, TIMESTAMP)
    if name in {"key", "value", "headers"}:
        source: Any = getattr(columns, {"key": "keys", "value": "values"}.get(name, name))
        return headers(source) if name == "headers" else binary(source)
    if name == "bytes":
        return integers(columns.sizes(), kind, NO_ABSENT)
    if name == "sequence":
        return integers(sequences(columns, rows), kind)
    field = {"batch_base_offset": "base_offset", "batch_position": "position"}.get(name, name)
    if name == "timestamp_type":
        return timestamp_types(columns.timestamp_types(rows))
    values = rows[field][columns.batch]
    if name == "codec":
        return codecs(values)
    if kind == pa.bool_():
        return booleans(values)
    return integers(values, kind, -1 if SCAN_FIELDS[name].nullable else NO_ABSENT)
