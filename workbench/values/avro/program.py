"""Compile a schema to the program that `kernels.avro` reads values by, and its columns to Arrow."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from workbench.kernels import dispatch
from workbench.kernels.plain import avro as ops
from workbench.layout.integers import INT64_MAX
from workbench.values.avro.reader import bounds, exact, fits, most_bytes
from workbench.values.avro.schema import DURATION, Node
from workbench.values.guard import require_size
from workbench.values.types import width_of

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_NUMBERS_AT_ONCE: Final = 4 << 20  # entries of all columns together, about
_DECIMAL128: Final = 16  # bytes

_OPERATIONS: Final = {
    "boolean": ops.BOOLEAN,
    "float": ops.FLOAT,
    "double": ops.DOUBLE,
    "string": ops.STRING,
    "bytes": ops.BYTES,
    "fixed": ops.FIXED,
    "enum": ops.ENUM,
}
_IS_BYTES: Final = {"string", "bytes", "fixed"}


@dataclass(frozen=True)
class AvroProgram:
    """A compiled schema without types that contain themselves; see `kernels.plain.avro`.

    Attributes:
        operations: int64[m, 4]
        jumps: int64[k]
        numbers: the column of each node that has one, and of a map's keys by ``(id, "key")``.
        is_bytes: bool[nodes]: whether the column has starts and lengths.
        has_loops: whether a value may have more entries than one for each node.
    """

    operations: Int64s
    jumps: Int64s
    numbers: dict[Any, int]
    is_bytes: npt.NDArray[np.bool_]
    has_loops: bool


def compile_schema(root: Node) -> AvroProgram:
    """Return the program for a schema."""
    compiler = _Compiler()
    compiler.emit(root)
    compiler.operations.append([ops.END, 0, 0, 0])
    return AvroProgram(
        np.array(compiler.operations, np.int64),
        np.array(compiler.jumps or [0], np.int64),
        compiler.numbers,
        np.array(compiler.is_bytes or [False], np.bool_),
        compiler.has_loops,
    )


class _Compiler:
    def __init__(self) -> None:
        self.operations: list[list[int]] = []
        self.jumps: list[int] = []
        self.numbers: dict[Any, int] = {}
        self.is_bytes: list[bool] = []
        self.has_loops = False

    def column(self, key: Any, *, is_bytes: bool) -> int:
        self.numbers[key] = len(self.is_bytes)
        self.is_bytes.append(is_bytes)
        return self.numbers[key]

    def emit(self, node: Node) -> None:
        if node.kind == "null":
            return
        if node.kind == "record":
            for child in node.children:
                self.emit(child)
            return
        column = self.column(id(node), is_bytes=node.kind in _IS_BYTES)
        if node.kind in {"int", "long"}:
            low, high = bounds(node)
            self.operations.append([ops.LONG if high == INT64_MAX else ops.INT, column, low, high])
        elif node.kind in {"array", "map"}:
            self._loop(node, column)
        elif node.kind == "union":
            self._union(node, column)
        else:
            sizes = {"bytes": most_bytes(node), "fixed": node.size, "enum": len(node.names)}
            operation = _OPERATIONS[node.kind]
            self.operations.append([operation, column, sizes.get(node.kind, 0), 0])

    def _loop(self, node: Node, column: int) -> None:
        self.has_loops = True
        loop = [ops.LOOP, column, 0, 0]
        self.operations.append(loop)
        if node.kind == "map":
            keys = self.column((id(node), "key"), is_bytes=True)
            self.operations.append([ops.STRING, keys, 0, 0])
        self.emit(node.children[0])
        self.operations.append([ops.NEXT, column, 0, 0])
        loop[2] = len(self.operations)

    def _union(self, node: Node, column: int) -> None:
        first = len(self.jumps)
        self.jumps.extend([0] * len(node.children))
        self.operations.append([ops.UNION, column, first, len(node.children)])
        ends = []
        for place, branch in enumerate(node.children, first):
            self.jumps[place] = len(self.operations)
            self.emit(branch)
            ends.append([ops.JUMP, 0, 0, 0])
            self.operations.append(ends[-1])
        for jump in ends:
            jump[2] = len(self.operations)


@dataclass(frozen=True)
class _Columns:
    """What the kernel read: columns of numbers, and the bytes that some of them point to.

    Attributes:
        unfit: gets where decimals begin that have more digits than their type.
    """

    program: AvroProgram
    data: Bytes
    places: Int64s
    counts: Int64s
    numbers: Int64s
    unfit: list[Int64s]

    def of(self, key: Any) -> Int64s:
        column = self.program.numbers[key]
        first = int(self.places[column, 0])
        return self.numbers[first : first + int(self.counts[column])]

    def lengths_of(self, key: Any) -> Int64s:
        column = self.program.numbers[key]
        first = int(self.places[column].sum())
        return self.numbers[first : first + int(self.counts[column])]


def decode_spans(
    root: Node, program: AvroProgram, data: Bytes, spans: Int64s
) -> tuple[pa.Array, Int64s, Int64s]:
    """Return the values that are good, and int64[n, 2]: `GOOD` or a problem, and its byte.

    The third array has where decimals begin that have more digits than their type: they are null.

    Args:
        root: the schema.
        program: compiled from it.
        data: uint8[m]
        spans: int64[n, 2]: first byte and end of each value.

    Raises:
        TooLargeError: the array would take too much memory.
    """
    results = np.zeros((len(spans), 2), np.int64)
    at_once = max(_NUMBERS_AT_ONCE // len(program.is_bytes), 1)
    arrays = [pa.nulls(0, root.arrow)]
    unfit = [np.zeros(0, np.int64)]
    built = 0
    for first in range(0, len(spans), at_once):
        some = slice(first, first + at_once)
        arrays.append(_decode_some(root, program, data, spans[some], results[some], unfit))
        built += arrays[-1].nbytes
        require_size(built)
    array = arrays[1] if len(arrays) == 2 else pa.concat_arrays(arrays)
    return array, results, np.concatenate(unfit)


def _decode_some(
    root: Node,
    program: AvroProgram,
    data: Bytes,
    spans: Int64s,
    results: Int64s,
    unfit: list[Int64s],
) -> pa.Array:
    counts = np.zeros(len(program.is_bytes), np.int64)
    rooms = np.full(len(counts), len(spans), np.int64)
    places = np.zeros((len(counts), 2), np.int64)
    memory = ops.working_memory(len(counts))
    common = (data, spans, program.operations, program.jumps, places, counts, memory)
    if program.has_loops:
        dispatch.decode_avro(*common, np.zeros(0, np.int64), results, False)  # noqa: FBT003
        rooms = counts.copy()
        spans = np.ascontiguousarray(spans[results[:, 0] == ops.GOOD])
        common = (data, spans, *common[2:])
        counts[:] = 0
    sizes = rooms * (1 + program.is_bytes)
    places[:, 0] = np.cumsum(sizes) - sizes
    places[:, 1] = rooms
    numbers = np.empty(int(sizes.sum()), np.int64)
    written = np.zeros((len(spans), 2), np.int64) if program.has_loops else results
    dispatch.decode_avro(*common, numbers, written, True)  # noqa: FBT003
    good = int((written[:, 0] == ops.GOOD).sum())
    columns = _Columns(program, data, places, counts, numbers, unfit)
    require_size(_size(root, good, columns))
    return _build(root, good, columns)


def _size(node: Node, count: int, columns: _Columns) -> int:
    """Return about how many bytes the array of a node takes that was read ``count`` times."""
    if node.kind == "null":
        return 8 * count  # what an index into it takes
    if node.kind == "record":
        return 8 * count + sum(_size(child, count, columns) for child in node.children)
    found = columns.of(id(node))
    if node.kind == "union":
        total = 0
        for number, branch in enumerate(node.children):
            taken = int((found == number).sum())
            # Where another branch was taken there is a null.
            total += _size(branch, taken, columns) + (count - taken) * width_of(branch.arrow)
        return total
    if node.kind in {"array", "map"}:
        return 8 * count + _size(node.children[0], int(found.sum()), columns)
    if node.kind == "enum":
        longest = max((len(name) for name in node.names), default=0)
        return count * (8 + longest)
    if node.kind in _IS_BYTES:
        return 8 * count + int(columns.lengths_of(id(node)).sum())
    return count * width_of(node.arrow)


def _build(  # noqa: C901, PLR0911 — one case for each kind of type
    node: Node, count: int, columns: _Columns
) -> pa.Array:
    """Return the array of a node that was read ``count`` times."""
    if node.kind == "null":
        return pa.nulls(count)
    if node.kind == "record":
        arrays = [_build(child, count, columns) for child in node.children]
        if not arrays:
            return pa.Array.from_buffers(node.arrow, count, [None])
        return pa.StructArray.from_arrays(arrays, fields=list(node.arrow))
    found = columns.of(id(node))
    if node.kind == "union":
        return _union(node, found, columns)
    if node.kind in {"array", "map"}:
        offsets = np.concatenate([[0], np.cumsum(found)])
        items = _build(node.children[0], int(offsets[-1]), columns)
        starts = pa.array(offsets, pa.int32())
        if node.kind == "array":
            return pa.ListArray.from_arrays(starts, items, type=node.arrow)
        key = (id(node), "key")
        keys = _bytes(columns, columns.of(key), columns.lengths_of(key), pa.large_string())
        return pa.MapArray.from_arrays(starts, keys, items, type=node.arrow)
    if node.kind == "enum":
        return pa.array(node.names, pa.large_string()).take(pa.array(found))
    if node.kind in _IS_BYTES:
        return _of_bytes(node, found, columns.lengths_of(id(node)), columns)
    if node.kind == "boolean":
        return pa.array(found.astype(np.bool_))
    if node.kind == "float":
        return pa.array(found.astype(np.uint32).view(np.float32))
    if node.kind == "double":
        return pa.array(found.view(np.float64))
    numbers = pa.array(found.astype(np.int32) if node.kind == "int" else found)
    return numbers if numbers.type == node.arrow else numbers.view(node.arrow)


def _union(node: Node, branches: Int64s, columns: _Columns) -> pa.Array:
    """Return a nullable type, or a struct of branches; those not taken are null."""
    arrays = []
    for number, branch in enumerate(node.children):
        if branch.kind == "null":
            continue
        taken = branches == number
        array = _build(branch, int(taken.sum()), columns)
        if len(array) != len(branches):
            places = np.cumsum(taken) - 1
            array = array.take(pa.array(places, mask=~taken))
        arrays.append(array)
    if node.nullable_of is not None:
        return arrays[0]
    is_null = np.isin(branches, [i for i, b in enumerate(node.children) if b.kind == "null"])
    if not arrays:
        return pa.array([None] * len(branches), node.arrow)
    mask = pa.array(is_null) if is_null.any() else None
    return pa.StructArray.from_arrays(arrays, fields=list(node.arrow), mask=mask)


def _bytes(columns: _Columns, starts: Int64s, lengths: Int64s, kind: pa.DataType) -> pa.Array:
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    dispatch.gather_bytes(columns.data, starts, offsets, out)
    if pa.types.is_fixed_size_binary(kind):
        return pa.Array.from_buffers(kind, len(starts), [None, pa.py_buffer(out)])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(out)]
    return pa.Array.from_buffers(kind, len(starts), buffers)


def _of_bytes(node: Node, starts: Int64s, lengths: Int64s, columns: _Columns) -> pa.Array:
    if pa.types.is_decimal(node.arrow):
        return _decimals(node.arrow, starts, lengths, columns)
    if node.arrow == DURATION:
        parts = _bytes(columns, starts, lengths, pa.binary(12))
        words = np.frombuffer(parts.buffers()[1], np.dtype("<u4")).reshape(-1, 3)
        arrays = [pa.array(np.ascontiguousarray(words[:, part])) for part in range(3)]
        return pa.StructArray.from_arrays(arrays, fields=list(DURATION))
    return _bytes(columns, starts, lengths, node.arrow)


def _decimals(kind: pa.DataType, starts: Int64s, lengths: Int64s, columns: _Columns) -> pa.Array:
    """Return decimals of two's complement bytes, big end first; null where digits are too many."""
    if kind.byte_width > _DECIMAL128 or (len(lengths) and int(lengths.max()) > _DECIMAL128):
        pieces = zip(starts.tolist(), lengths.tolist(), strict=True)
        every = [exact(columns.data[at : at + size].tobytes(), kind.scale) for at, size in pieces]
        is_fit = [fits(each, kind) for each in every]
        columns.unfit.append(starts[~np.array(is_fit, np.bool_)])
        found = [each if held else None for each, held in zip(every, is_fit, strict=True)]
        return pa.array(found, kind)
    # Little end first, and wider than any of them, so that the bound of the digits fits in too.
    data = columns.data if len(columns.data) else np.zeros(1, np.uint8)
    wide = np.zeros((len(starts), 2 * _DECIMAL128), np.uint8)
    has_sign = (lengths > 0) & (data[np.minimum(starts, len(data) - 1)] >= 0x80)
    wide[has_sign] = 0xFF
    for byte in range(_DECIMAL128):
        there = lengths > byte
        wide[there, byte] = data[(starts + lengths - 1 - byte)[there]]
    narrow = np.ascontiguousarray(wide[:, :_DECIMAL128])
    array = pa.Array.from_buffers(kind, len(starts), [None, pa.py_buffer(narrow)])
    all_digits = pa.decimal256(76, 0)
    unscaled = pa.Array.from_buffers(all_digits, len(starts), [None, pa.py_buffer(wide)])
    is_fit = pc.less(pc.abs(unscaled), pa.scalar(10**kind.precision, all_digits))
    if pc.all(is_fit).as_py():
        return array
    columns.unfit.append(starts[~is_fit.to_numpy(zero_copy_only=False)])
    return pc.if_else(is_fit, array, pa.scalar(None, kind))
