"""Make Arrow tables from rows, part by part."""

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar

import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders.scan import arrow
from workbench.loaders.schemas import schema_of
from workbench.tables.columns import json_of
from workbench.tables.directories import FindingRow

Row = TypeVar("Row")

_PART: Final = 1 << 16  # rows


class ArrowTable:
    """A table by its `to_arrow`: in pandas too, and to any library that speaks Arrow."""

    __slots__ = ()

    def to_arrow(self) -> pa.Table:
        """Return the table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return what `to_arrow` returns as a `pandas.DataFrame`."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream the table to any library that speaks the Arrow C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def table_of(row_class: type[Row], rows: Iterable[Row]) -> pa.Table:
    """Return the rows of a table, of which only some thousand are in memory as Python values.

    Args:
        row_class: the class that declares the table, see `workbench.tables.columns`.
        rows: its instances, or objects that have its fields.
    """
    declared: type = row_class
    schema = schema_of(declared)
    values_of, left, parts = attrgetter(*schema.names), iter(rows), []
    while part := [values_of(row) for row in islice(left, _PART)]:
        columns = zip(*part, strict=True)
        arrays = [_array(values, f.type) for values, f in zip(columns, schema, strict=True)]
        parts.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return pa.Table.from_batches(parts, schema)


def joined_table(schema: pa.Schema, parts: Iterable[list[pa.Array]]) -> pa.Table:
    """Return batches of columns as a table."""
    batches = [pa.RecordBatch.from_arrays(arrays, schema=schema) for arrays in parts]
    return pa.Table.from_batches(batches, schema=schema)


def finding_table(findings: Iterable[Finding]) -> pa.Table:
    """Return one row per finding (`FindingRow`)."""
    return table_of(FindingRow, findings)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind == pa.string():
        return arrow.strings(values)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        values = [None if items is None else list(map(_struct, items)) for items in values]
    return pa.array(values, kind)


def _struct(item: Any) -> Any:
    return item if isinstance(item, dict) else json_of(item)
