"""Make Arrow tables from rows of Python values: for thousands of rows, not millions."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders import schemas
from workbench.loaders.scan import arrow


def table_of(schema: pa.Schema, rows: Iterable[Iterable[Any]]) -> pa.Table:
    """Return rows, as many values each as the schema has fields, as a table."""
    columns = list(zip(*rows, strict=True)) or [() for _ in schema]
    arrays = [_array(values, f.type) for values, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def finding_table(findings: Iterable[Finding], schema: pa.Schema = schemas.FINDINGS) -> pa.Table:
    """Return one row per finding; the schema's fields are those of `schemas.FINDINGS`."""
    rows = (finding.as_dict() for finding in findings)
    return table_of(schema, ([row[name] for name in schema.names] for row in rows))


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return arrow.strings(values) if kind == pa.string() else pa.array(values, kind)
