"""Make Arrow tables from rows of Python values, part by part."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders import schemas
from workbench.loaders.scan import arrow

_PART: Final = 1 << 16  # rows


def table_of(schema: pa.Schema, rows: Iterable[Iterable[Any]]) -> pa.Table:
    """Return rows, as many values each as the schema has fields, as a table.

    Only some thousand rows are there as Python values at a time.
    """
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
    return arrow.strings(values) if kind == pa.string() else pa.array(values, kind)
