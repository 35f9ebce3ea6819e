"""Write Arrow batches as one Parquet file, whose row groups several workers encode side by side.

pyarrow encodes one row group after the other. Here each becomes a Parquet file in memory, made by
pyarrow, and the file on disk has the bytes of their row groups and one footer for all. It is byte
for byte what pyarrow alone would write.

One writer that gets all batches in turn would need no footer of ours, but it encodes in one thread:
as measured, two cores then gain 1.3x at most, and here up to 1.5x (uncompressed) and 1.7x (lz4).

The footer is a struct in the compact protocol of Thrift; only positions in the file change in it:
https://github.com/apache/parquet-format (`FileMetaData`).
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import IO, Any, Final, NamedTuple

import pyarrow as pa

from workbench.runtime.workers import in_order
from workbench.values.types import converted, mapped

ROW_GROUP: Final = 16 << 20  # bytes in memory of a row group

_MAGIC: Final = b"PAR1"
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _, _STRUCT = range(1, 13)

_FILE_ROWS, _FILE_GROUPS = 3, 4  # fields of `FileMetaData`
_GROUP_COLUMNS, _GROUP_POSITION, _GROUP_ORDINAL = 1, 5, 7  # of `RowGroup`
_CHUNK_METADATA: Final = 3  # of `ColumnChunk`
_CHUNK_POSITIONS: Final = frozenset({2, 4, 6})  # chunk; offset index, column index
_PAGE_POSITIONS: Final = frozenset({9, 10, 11, 14})  # of `ColumnMetaData`: pages, bloom filter


class _Struct(dict[int, tuple[int, Any]]):
    """The fields of a Thrift struct: number to type and value."""


class _List(NamedTuple):
    """A Thrift list: the type of its items, and these."""

    kind: int
    items: list[Any]


class _RowGroup(NamedTuple):
    """A row group that is encoded: its bytes, as they are in a file, and the file's footer."""

    data: memoryview
    footer: _Struct
    rows: int


def write_parquet(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    file: IO[bytes],
    compression: str,
    row_group_bytes: int = ROW_GROUP,
    workers: int = 1,
) -> int:
    """Write batches to an open file as Parquet and return how many rows they had.

    Args:
        batches: they are taken by any worker, never by two at once.
        schema: of the batches.
        file: to write to.
        compression: a codec that pyarrow knows.
        row_group_bytes: bytes of a row group in memory; it ends with the batch that reaches this.
        workers: threads that encode row groups side by side.
    """

    def encode(group: list[pa.RecordBatch]) -> Iterator[_RowGroup]:
        yield _encoded(group, schema, compression)

    fields = [each.with_type(mapped(each.type, _written)) for each in schema]
    schema = pa.schema(fields, schema.metadata)
    footer = _encoded([], schema, compression).footer
    groups: list[Any] = []
    count, position = 0, len(_MAGIC)
    file.write(_MAGIC)
    encoded = in_order(
        _row_groups(batches, row_group_bytes), encode, workers, lambda group: len(group.data)
    )
    with closing(encoded):
        for group in encoded:
            file.write(group.data)
            for each in group.footer[_FILE_GROUPS][1].items:
                groups.append(_moved(each, position - len(_MAGIC), len(groups)))
            count += group.rows
            position += len(group.data)
    footer[_FILE_ROWS] = _I64, count
    footer[_FILE_GROUPS] = _LIST, _List(_STRUCT, groups)
    tail = bytearray()
    _write_struct(tail, footer)
    file.write(tail + len(tail).to_bytes(4, "little") + _MAGIC)
    return count


def _row_groups(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield as many batches together as have ``size`` bytes, the last fewer."""
    group: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        group.append(batch)
        held += batch.nbytes
        if held >= size:
            yield group
            group, held = [], 0
    if group:
        yield group


def _encoded(group: list[pa.RecordBatch], schema: pa.Schema, compression: str) -> _RowGroup:
    """Return a row group; without batches, the footer of a file that has none."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    rows = sum(map(len, group))
    with pq.ParquetWriter(sink, schema, compression=compression) as writer:
        if group:
            writer.write_table(pa.Table.from_batches([_as(schema, each) for each in group]), rows)
            group.clear()  # before the next one is read
    data = sink.getbuffer()
    end = len(data) - len(_MAGIC) - 4
    start = end - int.from_bytes(data[end : end + 4], "little")
    footer, _ = _read_struct(data, start)
    return _RowGroup(data[len(_MAGIC) : start], footer, rows)


def _written(kind: Any) -> Any:
    """Return the type that Parquet has for a type: a struct without fields is text."""
    return pa.string() if pa.types.is_struct(kind) else kind


def _as(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    arrays = [converted(each, kind) for each, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _moved(group: _Struct, by: int, ordinal: int) -> _Struct:
    """Change where a `RowGroup` says that its bytes are, and its number."""
    for chunk in group[_GROUP_COLUMNS][1].items:
        _move(chunk, _CHUNK_POSITIONS, by)
        _move(chunk[_CHUNK_METADATA][1], _PAGE_POSITIONS, by)
    _move(group, {_GROUP_POSITION}, by)
    if _GROUP_ORDINAL in group:
        group[_GROUP_ORDINAL] = _I16, ordinal
    return group


def _move(struct: _Struct, fields: Iterable[int], by: int) -> None:
    for field in fields:
        kind, position = struct.get(field, (0, 0))
        if position:  # 0: there is none
            struct[field] = kind, position + by


def _read_number(data: memoryview, at: int) -> tuple[int, int]:
    """Return an unsigned varint, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _read_struct(data: memoryview, at: int) -> tuple[_Struct, int]:
    """Return the struct at a position, and the position after it."""
    struct, field = _Struct(), 0
    while head := data[at]:
        kind, step, at = head & 15, head >> 4, at + 1
        if step:
            field += step
        else:
            number, at = _read_number(data, at)
            field = (number >> 1) ^ -(number & 1)
        value, at = _read(data, at, kind)
        struct[field] = kind, value
    return struct, at + 1


def _read(data: memoryview, at: int, kind: int) -> tuple[Any, int]:
    """Return the value of a type at a position, and the position after it."""
    if kind in {_TRUE, _FALSE}:  # the type of a field says it
        return None, at
    if kind in {_BYTE, _DOUBLE, _BINARY}:
        size = {_BYTE: 1, _DOUBLE: 8}.get(kind)
        if size is None:
            size, at = _read_number(data, at)
        return bytes(data[at : at + size]), at + size
    if kind in {_I16, _I32, _I64}:
        number, at = _read_number(data, at)
        return (number >> 1) ^ -(number & 1), at
    if kind == _STRUCT:
        return _read_struct(data, at)
    if kind not in {_LIST, _SET}:
        raise ValueError(f"a Parquet footer has a field of Thrift's type {kind}")
    inner, count = data[at] & 15, data[at] >> 4
    at += 1
    if count == 15:
        count, at = _read_number(data, at)
    items = []
    for _ in range(count):
        item, at = _read(data, at, _BYTE if inner in {_TRUE, _FALSE} else inner)
        items.append(item)
    return _List(inner, items), at


def _write_number(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_struct(out: bytearray, struct: _Struct) -> None:
    before = 0
    for field in sorted(struct):
        kind, value = struct[field]
        if 0 < field - before < 16:
            out.append((field - before) << 4 | kind)
        else:
            out.append(kind)
            _write_number(out, field << 1)
        _write(out, kind, value)
        before = field
    out.append(0)


def _write(out: bytearray, kind: int, value: Any) -> None:
    if kind in {_BYTE, _DOUBLE}:
        out += value
    elif kind == _BINARY:
        _write_number(out, len(value))
        out += value
    elif kind in {_I16, _I32, _I64}:
        _write_number(out, (value << 1) ^ (value >> 63))
    elif kind == _STRUCT:
        _write_struct(out, value)
    elif kind in {_LIST, _SET}:
        inner, items = value
        if len(items) < 15:
            out.append(len(items) << 4 | inner)
        else:
            out.append(0xF0 | inner)
            _write_number(out, len(items))
        for item in items:
            _write(out, _BYTE if inner in {_TRUE, _FALSE} else inner, item)
