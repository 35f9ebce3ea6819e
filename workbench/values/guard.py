"""One guard around every format: whatever a schema or a value makes it raise, and however large.

Somebody else's bytes decide what a decoder builds. What making one raises is a `SchemaError`; what
decoding raises is a problem of the values that raise it, found by halving, and the others are
decoded. Sizes are computed before arrays are made: what would take too much memory is a problem.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from workbench.errors import SchemaError, WorkbenchError
from workbench.values.column import ColumnDecoder, ColumnProblem, Decoded, Others

LARGEST_SCHEMA: Final = 4 << 20
"""Bytes or characters of a schema, with what it imports."""

MOST_BUILT: Final = 256 << 20
"""Bytes of a column that is decoded at once: more only where its values have nearly as many."""

MOST_ENTRIES: Final = 500_000
"""Fields and items that are made one by one, for the values that are decoded at once."""

_LONGEST: Final = 300  # characters of the words of an error


class ValuesTooLargeError(ValueError):
    """Values would take too much memory once they are decoded."""

    def __init__(self, size: int) -> None:
        super().__init__(f"decoded it would take {size:,} bytes (expected at most {MOST_BUILT:,})")


def require_size(size: int) -> None:
    """Check what an array will take before it is made.

    Raises:
        TooLargeError: it is too much.
    """
    if size > MOST_BUILT:
        raise ValuesTooLargeError(size)


def words_of(error: BaseException) -> str:
    """Return an error as text that can be printed and encoded."""
    text = str(error) or type(error).__name__
    if isinstance(error, RecursionError):
        text = "nested too deeply"
    elif isinstance(error, MemoryError):
        text = f"not enough memory: {text}"
    return text.encode("utf-8", "backslashreplace").decode()[:_LONGEST]


@contextmanager
def as_schema_error() -> Iterator[None]:
    """Raise whatever making a decoder raises as an error of its schema.

    Raises:
        SchemaError: anything but another error of the workbench was raised.
    """
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        raise SchemaError(f"it cannot be used: {words_of(error)}") from error


class Entries(threading.local):
    """Counts what is made one by one for the values that a thread decodes at once."""

    left = MOST_ENTRIES

    def take(self, count: int) -> None:
        """Count entries.

        Raises:
            TooLargeError: they are too many.
        """
        self.left -= count
        if self.left < 0:
            raise ValuesTooLargeError(MOST_BUILT + 1)


ENTRIES: Final = Entries()


@dataclass(frozen=True)
class GuardedDecoder:
    """A decoder of a column whose problems affect only the values that have them.

    Attributes:
        inner: the decoder.
    """

    inner: ColumnDecoder

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded column."""
        return self.inner.kind

    @property
    def needs(self) -> tuple[str, ...]:
        """Other columns that `decode` looks at."""
        return self.inner.needs

    def decode(self, column: pa.Array, others: Others) -> Decoded:
        """Decode large_binary[n]; never raises."""
        budget = max(MOST_BUILT, 16 * column.nbytes)
        arrays: list[pa.Array] = []
        problems: list[ColumnProblem] = []
        unfit: dict[int, dict[str, str]] = {}
        failed: dict[str, ColumnProblem] = {}
        waiting = [(0, len(column))]
        while waiting:
            first, end = waiting.pop()
            try:
                found = self._decoded(column, others, first, end)
                if found.values.nbytes > budget:
                    raise ValuesTooLargeError(found.values.nbytes)  # noqa: TRY301 - as if it were not made
            except Exception as error:  # noqa: BLE001 - whatever a format raises, also another package's
                if end - first > 1 and budget > 0:
                    middle = (first + end) // 2
                    waiting += [(middle, end), (first, middle)]
                    continue
                arrays.append(pa.nulls(end - first, self.kind))
                words = words_of(error)
                before = failed.get(words)
                failed[words] = ColumnProblem(
                    first if before is None else before.row,
                    end - first + (0 if before is None else before.count),
                    words,
                )
                continue
            budget -= found.values.nbytes
            arrays.append(found.values)
            problems += [replace(each, row=first + each.row) for each in found.problems]
            unfit.update({first + row: texts for row, texts in found.unfit.items()})
        values = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
        return Decoded(values, problems + list(failed.values()), unfit)

    def _decoded(self, column: pa.Array, others: Others, first: int, end: int) -> Decoded:
        """Decode some rows."""
        ENTRIES.left = MOST_ENTRIES
        if (first, end) == (0, len(column)):
            return self.inner.decode(column, others)
        count = end - first
        some: dict[str, Any] = {name: each.slice(first, count) for name, each in others.items()}
        return self.inner.decode(column.slice(first, count), some)
