"""Decode Avro values of one schema to an Arrow array."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from workbench.errors import CorruptRecordError
from workbench.kernels.plain import avro as ops
from workbench.values.avro.program import AvroProgram, compile_schema, decode_spans
from workbench.values.avro.reader import read_value
from workbench.values.avro.schema import Node, parse_schema
from workbench.values.column import Bytes, Decoded, Int64s, one_problem, spread
from workbench.values.guard import ValuesTooLargeError

_WORDS: Final = {
    ops.CUT_SHORT: "the value is truncated",
    ops.OUT_OF_RANGE: "a value is out of range",
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
        array, results = decode_spans(self._root, self._program, data, spans)
        if len(array) == len(spans):
            return Decoded(array)
        problems = []
        for code, words in _WORDS.items():
            bad = np.flatnonzero(results[:, 0] == code)
            where = f"byte {results[bad[0], 1]}: {words}" if len(bad) else words
            problems.extend(one_problem(bad, f"not Avro of its schema: {where}"))
        good = np.flatnonzero(results[:, 0] == ops.GOOD)
        return Decoded(spread(array, good, len(spans)), problems)

    def _one_by_one(self, data: Bytes, spans: Int64s) -> Decoded:
        found: list[Any] = []
        bad: list[int] = []
        words = ""
        for row, (start, end) in enumerate(spans.tolist()):
            try:
                found.append(read_value(self._root, data[start:end].tobytes()))
            except ValuesTooLargeError:
                raise
            except (CorruptRecordError, ArithmeticError, RecursionError, ValueError) as error:
                words = words or str(getattr(error, "problem", "types nested too deeply"))
                found.append(None)
                bad.append(row)
        problem = one_problem(np.array(bad, np.int64), f"not Avro of its schema: {words}")
        return Decoded(pa.array(found, self.kind), problem)
