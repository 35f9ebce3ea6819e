"""What decoders of columns are given, and what they give back."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from workbench.values.schemas.schemas import Schemas

ColumnName = Literal["key", "value"]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Others = Mapping[str, pa.Array]


@dataclass(frozen=True)
class ColumnProblem:
    """Why some values of a column are null or incomplete.

    Attributes:
        row: of the first of them.
        count: how many there are.
        found: what was found in the first.
        is_whole: whether the values are null; otherwise only what does not fit of them is.
    """

    row: int
    count: int
    found: str
    is_whole: bool = True


@dataclass(frozen=True)
class Decoded:
    """A decoded column.

    Attributes:
        values: the decoder's ``kind``[n]; null where bytes are null or cannot be decoded.
        problems: one for each reason.
        unfit: row → path → the text of what does not fit the type and is null, for values that are
            not null as a whole.
    """

    values: pa.Array
    problems: list[ColumnProblem] = field(default_factory=list)
    unfit: dict[int, dict[str, str]] = field(default_factory=dict)


class ColumnDecoder(Protocol):
    """Decodes a column of keys or values. Can be pickled; calls share nothing that changes."""

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded column."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Other columns that `decode` looks at: ``key``, ``value``, ``headers``."""

    def decode(self, column: pa.Array, others: Others) -> Decoded:
        """Decode large_binary[n]; never raises for what the bytes are.

        Args:
            column: the bytes.
            others: the columns of ``needs``, for the same records.
        """


class SpanDecoder(Protocol):
    """Decodes bytes that are all of one schema. Can be pickled."""

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded values."""

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode values; never raises for what the bytes are.

        Args:
            data: uint8[m]
            spans: int64[n, 2]: first byte and end of each value.
        """


@dataclass(frozen=True)
class Column:
    """The column that a decoder is asked for, for decoders that look before they decode.

    Attributes:
        name: key or value.
        sample: reads columns of the first records of each partition.
        schemas: reads the schemas of the topic `_schemas` in the same log directories.
        values: reads the column of all records, some at a time.
    """

    name: ColumnName
    sample: Callable[[tuple[str, ...]], Others]
    schemas: "Callable[[], Schemas]"
    values: Callable[[], Iterable[pa.Array]]


@dataclass(frozen=True)
class WholeValues:
    """Decodes a column whose bytes are values of one schema, from the first byte to the last."""

    values: SpanDecoder

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded column."""
        return self.values.kind

    @property
    def needs(self) -> tuple[str, ...]:
        """No other columns."""
        return ()

    def decode(self, column: pa.Array, _others: Others) -> Decoded:
        """Decode large_binary[n]."""
        data, spans = spans_of(column)
        rows = valid_rows(column)
        found = self.values.decode_spans(data, spans if rows is None else spans[rows])
        if rows is None:
            return found
        return Decoded(
            spread(found.values, rows, len(column)),
            at_rows(found.problems, rows),
            {int(rows[row]): texts for row, texts in found.unfit.items()},
        )


def spans_of(column: pa.Array) -> tuple[Bytes, Int64s]:
    """Return the bytes of large_binary[n] and int64[n, 2]: first byte and end of each."""
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, np.int64)[column.offset : column.offset + len(column) + 1]
    if not len(column):
        offsets = np.zeros(1, np.int64)
    return (
        np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8),
        np.ascontiguousarray(np.stack([offsets[:-1], offsets[1:]], axis=1)),
    )


def valid_rows(column: pa.Array) -> Int64s | None:
    """Return which values are not null; None if all are."""
    if not column.null_count:
        return None
    return np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))


def spread(values: pa.Array, rows: Int64s, length: int) -> pa.Array:
    """Return an array of ``length`` with ``values`` at ``rows`` and nulls elsewhere."""
    if len(values) == length and bool((rows == np.arange(length)).all()):
        return values
    places = np.full(length, -1, np.int64)
    places[rows] = np.arange(len(rows))
    return values.take(pa.array(places, mask=places < 0))


def at_rows(problems: list[ColumnProblem], rows: Int64s) -> list[ColumnProblem]:
    """Return problems of some rows as problems of the column that has them."""
    return [replace(problem, row=int(rows[problem.row])) for problem in problems]


def one_problem(bad: Int64s, found: str) -> list[ColumnProblem]:
    """Return the problem of rows, ascending; none for no rows."""
    return [ColumnProblem(int(bad[0]), len(bad), found)] if len(bad) else []
