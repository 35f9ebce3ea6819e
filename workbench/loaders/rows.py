"""Rows of Python values as Arrow tables: for what is counted in thousands, not in millions."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def table_of(schema: pa.Schema, rows: Iterable[Iterable[Any]]) -> pa.Table:
    """Return rows, as many values each as the schema has fields, as a table."""
    columns = list(zip(*rows, strict=True)) or [() for _ in schema]
    arrays = [pa.array(values, f.type) for values, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)
