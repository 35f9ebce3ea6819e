"""Values as pieces of bytes, and arrays of them when some cannot be parsed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.kernels import dispatch
from workbench.values.column import Bytes, Decoded, Int64s, one_problem
from workbench.values.guard import ValuesTooLargeError

Parse = Callable[[Any], pa.Array]


def pieces_of(data: Bytes, spans: Int64s) -> pa.Array:
    """Return the bytes in spans as large_binary[n], one after the other."""
    starts = np.ascontiguousarray(spans[:, 0])
    offsets = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(spans[:, 1] - starts, out=offsets[1:])
    if len(spans) and bool((spans[:-1, 1] == starts[1:]).all()):  # they already are
        offsets += starts[0]
        out = data
    else:
        out = np.empty(int(offsets[-1]), np.uint8)
        dispatch.gather_bytes(data, starts, offsets, out)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.large_binary(), len(spans), buffers)


def halved(values: Any, parse: Parse, kind: pa.DataType) -> tuple[pa.Array, Int64s]:
    """Return values parsed, and which are bad: those are null.

    Args:
        values: an array or a list.
        parse: the function from some of the values to ``kind``; raises `pyarrow.ArrowException`,
            `OverflowError`, `TypeError` or `ValueError` when any value is bad.
        kind: the type.
    """
    arrays = [pa.nulls(0, kind)]
    bad: list[int] = []
    spans = [(0, len(values))]
    while spans:
        first, end = spans.pop()
        try:
            arrays.append(parse(values[first:end]))
        except ValuesTooLargeError:
            raise
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            if end - first == 1:
                arrays.append(pa.nulls(1, kind))
                bad.append(first)
            else:
                middle = (first + end) // 2
                spans += [(middle, end), (first, middle)]
    array = arrays[1] if len(arrays) == 2 else pa.concat_arrays(arrays)
    return array, np.array(bad, np.int64)


def decoded_one_by_one(
    data: Bytes, spans: Int64s, read: Callable[[bytes], Any], kind: pa.DataType, format_name: str
) -> Decoded:
    """Decode values by a function that takes one.

    Args:
        data: uint8[m]
        spans: int64[n, 2]
        read: from bytes to what `pyarrow.array` takes as ``kind``; raises `ValueError`,
            `TypeError`, `OverflowError` or `RecursionError` for bad bytes, and counts the `ENTRIES`
            that it makes.
        kind: the type.
        format_name: for the problem.
    """
    found: list[Any] = []
    bad: list[int] = []
    reason = ""
    view = memoryview(data)
    for row, (start, end) in enumerate(spans.tolist()):
        try:
            found.append(read(bytes(view[start:end])))
        except ValuesTooLargeError:
            raise
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            reason = reason or (str(error) or type(error).__name__)[:200]
            found.append(None)
            bad.append(row)
    problems = one_problem(np.array(bad, np.int64), f"not {format_name}: {reason}")
    values, unfit = halved(found, lambda some: pa.array(some, kind), kind)
    problems += one_problem(unfit, f"{format_name} of another type")
    return Decoded(values, problems)
