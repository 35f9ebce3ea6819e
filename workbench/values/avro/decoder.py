"""Decode Avro values of one schema to an Arrow array."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from workbench.errors import CorruptRecordError
from workbench.kernels.plain import avro as ops
from workbench.values.avro.program import AvroProgram, compile_schema, decode_spans
from workbench.values.avro.reader import read_value, special
from workbench.values.avro.schema import Node, parse_schema
from workbench.values.column import Bytes, Decoded, Int64s, at_rows, one_problem, spread
from workbench.values.fitting import DoesNotFitError
from workbench.values.formats.pieces import FittingReader

_WORDS: Final = {
    ops.CUT_SHORT: "the value is truncated",
    ops.NOT_UTF8: "text is not UTF-8",
    ops.TOO_MANY: "more items than bytes",
    ops.LEFT_OVER: "bytes are left over",
}


@dataclass(frozen=True)
class AvroDecoder:
    """Decodes Avro's binary encoding; what is read is what was written, without defaults.

    Attributes:
        schema: the writer's schema: JSON, as text or as Python has it.
        references: schemas whose named types it uses; see `parse_schema`.

    Raises:
        SchemaError: it is not an Avro schema.
    """

    schema: Any
    references: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        _ = self._root

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the schema is parsed again."""
        return {"schema": self.schema, "references": self.references}

    @cached_property
    def _root(self) -> Node:
        return parse_schema(self.schema, self.references)

    @cached_property
    def _program(self) -> AvroProgram:
        return compile_schema(self._root)

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded values."""
        return self._root.arrow

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        if self._root.is_recursive:
            return self._one_by_one(data, spans)
        array, results, unfit = decode_spans(self._root, self._program, data, spans)
        is_unfit = results[:, 0] == ops.OUT_OF_RANGE
        is_unfit[_rows_at(unfit, spans)] = True
        if len(array) == len(spans) and not is_unfit.any():
            return Decoded(array)
        problems = []
        for code, words in _WORDS.items():
            bad = np.flatnonzero(results[:, 0] == code)
            where = f"byte {results[bad[0], 1]}: {words}" if len(bad) else words
            problems.extend(one_problem(bad, f"not Avro of its schema: {where}"))
        found = spread(array, np.flatnonzero(results[:, 0] == ops.GOOD), len(spans))
        if not is_unfit.any():
            return Decoded(found, problems)
        rows = np.flatnonzero(is_unfit)
        few = self._one_by_one(data, spans[rows])
        places = np.arange(len(spans))
        places[rows] = len(spans) + np.arange(len(rows))
        return Decoded(
            pa.concat_arrays([found, few.values]).take(pa.array(places)),
            problems + at_rows(few.problems, rows),
            {int(rows[row]): texts for row, texts in few.unfit.items()},
        )

    def _one_by_one(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode values of which a field may be out of range: it is null, and its text is kept."""
        reader = FittingReader(
            self.kind, "Avro of its schema", self._load, special, names_all=False
        )
        values = reader.read([data[start:end].tobytes() for start, end in spans.tolist()])
        return reader.decoded(values)

    def _load(self, data: bytes) -> Any:
        try:
            return read_value(self._root, data)
        except (CorruptRecordError, RecursionError) as error:
            words = getattr(error, "problem", "types nested too deeply")
            raise DoesNotFitError(f"is not Avro of its schema: {words}") from None


def _rows_at(places: Int64s, spans: Int64s) -> Int64s:
    """Return the rows in whose bytes some places are."""
    if not len(places):
        return places
    order = np.argsort(spans[:, 0], kind="stable")
    return order[np.searchsorted(spans[order, 0], places, side="right") - 1]
