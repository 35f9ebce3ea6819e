"""Make Arrow tables from rows, part by part."""

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders import schemas
from workbench.loaders.scan import arrow
from workbench.tables.columns import json_of

_PART: Final = 1 << 16  # rows


def table_of(table: type | pa.Schema, rows: Iterable[Any]) -> pa.Table:
    """Return the rows of a table, of which only some thousand are in memory as Python values.

    Args:
        table: the class of the rows; or a schema, of which each row has as many values as fields.
        rows: the rows.
    """
    schema = table if isinstance(table, pa.Schema) else schemas.schema_of(table)
    if isinstance(table, type) and not issubclass(table, tuple):
        rows = map(attrgetter(*schema.names), rows)
    left, parts = iter(rows), []
    while part := list(islice(left, _PART)):
        parts.append(_part(schema, part))
    return pa.Table.from_batches(parts, schema)


def _part(schema: pa.Schema, rows: Sequence[Iterable[Any]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [_array(values, f.type) for values, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def finding_table(findings: Iterable[Finding], schema: pa.Schema = schemas.FINDINGS) -> pa.Table:
    """Return one row per finding; the schema's fields are those of `schemas.FINDINGS`."""
    rows = (finding.as_dict() for finding in findings)
    return table_of(schema, ([row[name] for name in schema.names] for row in rows))


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind == pa.string():
        return arrow.strings(values)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        values = [None if items is None else list(map(_struct, items)) for items in values]
    return pa.array(values, kind)


def _struct(item: Any) -> Any:
    return item if isinstance(item, dict) else json_of(item)
