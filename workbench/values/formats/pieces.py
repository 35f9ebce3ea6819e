"""Values as pieces of bytes, and arrays of them when some cannot be parsed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from workbench.kernels import dispatch
from workbench.values.column import Bytes, ColumnProblem, Decoded, Int64s, one_problem
from workbench.values.fitting import DoesNotFitError, Fitter, LeftOut, Special
from workbench.values.guard import ValuesTooLargeError

Parse = Callable[[Any], pa.Array]
ReadFew = Callable[[Any, int], pa.Array]
"""Returns a few values, given with the row of the first, one by one; raises only
`ValuesTooLargeError`."""

_STEP: Final = 4096  # values that are taken together at first

_NAMED: Final = 5  # fields that a problem names


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


def halved(
    values: Any, parse: Parse, kind: pa.DataType, read_few: ReadFew | None = None, few: int = 1
) -> tuple[pa.Array, Int64s]:
    """Return values parsed, and which are bad: those are null.

    Args:
        values: an array or a list.
        parse: the function from some of the values to ``kind``; raises `pyarrow.ArrowException`,
            `OverflowError`, `TypeError` or `ValueError` when any value is bad.
        kind: the type.
        read_few: reads those that ``parse`` does not take, about ``few`` at a time; None: a value
            that it does not take alone is bad.
        few: how many.
    """
    arrays = [pa.nulls(0, kind)]
    bad: list[int] = []

    def takes(first: int, end: int) -> bool:
        try:
            arrays.append(parse(values[first:end]))
        except ValuesTooLargeError:
            raise
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return False
        return True

    for first, end in refused(len(values), takes, few, adapts=read_few is not None):
        if read_few is not None:
            arrays.append(read_few(values[first:end], first))
        else:
            arrays.append(pa.nulls(1, kind))
            bad.append(first)
    array = arrays[1] if len(arrays) == 2 else pa.concat_arrays(arrays)
    return array, np.array(bad, np.int64)


def refused(
    count: int, takes: Callable[[int, int], bool], few: int, *, adapts: bool = True
) -> Iterator[tuple[int, int]]:
    """Yield what is not taken of some values, as spans of rows, ascending; found by halving.

    Args:
        count: how many values there are.
        takes: takes the values of a span, first row and end, or returns False.
        few: spans of so many are not halved.
        adapts: whether spans are not halved either where most of what was before them was refused:
            halving then costs more than it saves.
    """
    step = _STEP if adapts else max(1, count)
    is_mostly_refused = False
    for start in range(0, count, step):
        waiting = [(start, min(start + step, count))]
        alone = 0
        while waiting:
            first, end = waiting.pop()
            if takes(first, end):
                continue
            if end - first <= few or is_mostly_refused:
                alone += end - first
                yield first, end
            else:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
        is_mostly_refused = adapts and 2 * alone >= min(step, count - start)


def decoded_one_by_one(
    data: Bytes,
    spans: Int64s,
    read: Callable[[bytes], Any],
    kind: pa.DataType,
    format_name: str,
    special: Special | None = None,
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
        special: as of `Fitter`, which fits what ``pyarrow.array`` does not take; None: it is null.
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
    if special is not None:
        reader = FittingReader(kind, format_name, lambda value: value, special, names_all=False)
        values, _ = halved(found, lambda some: pa.array(some, kind), kind, reader.read)
        of_fields = reader.decoded(values)
        return replace(of_fields, problems=problems + of_fields.problems)
    values, unfit = halved(found, lambda some: pa.array(some, kind), kind)
    problems += one_problem(unfit, f"{format_name} of another type")
    return Decoded(values, problems)


@dataclass
class FittingReader:
    """Reads values one by one into a type; what does not fit is null, and noted.

    Attributes:
        kind: the type.
        wanted: what a value should be, for problems.
        load: from bytes to a value as Python has it; raises `ValueError`, `TypeError`,
            `OverflowError` or `RecursionError` for bad bytes.
        special, names_all: see `Fitter`.
        bad: row → why, without a reason "", of values that are null.
        unfit: row → what of it does not fit.
    """

    kind: pa.DataType
    wanted: str
    load: Callable[[bytes], Any]
    special: Special
    names_all: bool
    bad: dict[int, str] = field(default_factory=dict)
    unfit: dict[int, LeftOut] = field(default_factory=dict)

    @cached_property
    def _fitter(self) -> Fitter:
        return Fitter(self.kind, self.special, names_all=self.names_all)

    def read(self, values: Sequence[bytes], first: int = 0) -> pa.Array:
        """Return ``kind``[n].

        Args:
            values: the bytes.
            first: row of the first.

        Raises:
            ValuesTooLargeError: they would take too much memory.
        """
        found: list[Any] = []
        for row, value in enumerate(values, first):
            try:
                fitting, left_out = self._fitter.fit(self.load(value))
            except ValuesTooLargeError:
                raise
            except (ValueError, TypeError, OverflowError, RecursionError) as error:
                self.bad[row] = str(error) if isinstance(error, DoesNotFitError) else ""
                found.append(None)
            else:
                found.append(fitting)
                if left_out.texts:
                    self.unfit[row] = left_out
        array, odd = halved(found, lambda some: pa.array(some, self.kind), self.kind)
        for row in odd.tolist():
            self.bad[first + row] = ""
            self.unfit.pop(first + row, None)
        return array

    def decoded(self, values: pa.Array) -> Decoded:
        """Return a column, with what was noted."""
        texts = {row: each.texts for row, each in sorted(self.unfit.items())}
        return Decoded(values, self._problems(), texts)

    def _problems(self) -> list[ColumnProblem]:
        problems = []
        if self.bad:
            row = min(self.bad)
            why = self.bad[row]
            found = f"the value {why}" if why else f"not {self.wanted}"
            problems.append(ColumnProblem(row, len(self.bad), found))
        reasons: dict[str, str] = {}
        for _, each in sorted(self.unfit.items()):
            for path, why in each.reasons.items():
                if len(reasons) <= _NAMED:
                    reasons.setdefault(path, why)
        if reasons:
            (path, why), *others = reasons.items()
            more = ", ".join(name for name, _ in others[: _NAMED - 1])
            more = f"; also {more}{' and more' if len(others) >= _NAMED else ''}" if more else ""
            found = f"field {path} {why}{more}"
            problems.append(ColumnProblem(min(self.unfit), len(self.unfit), found, is_whole=False))
        return problems
