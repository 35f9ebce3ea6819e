"""Arrow schemas of the tables that `workbench.tables` declares.

Integers stay integers: what may be missing is a nullable int, never a float. Offsets and positions
are int64, times `timestamp[ms, UTC]`. Null is not empty.
"""

import json
from collections.abc import Iterable
from functools import cache
from typing import Final

import pyarrow as pa

from workbench.tables.columns import TableColumn, columns_of
from workbench.tables.records import RecordBatchRow, RecordRow

TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")
HEADERS: Final = pa.list_(
    pa.field(
        "item",
        pa.struct(
            [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.large_binary())]
        ),
        nullable=False,
    )
)


_OF_PANDAS: Final = {
    pa.int8(): ("int8", "Int8"),
    pa.int16(): ("int16", "Int16"),
    pa.int32(): ("int32", "Int32"),
    pa.int64(): ("int64", "Int64"),
    pa.bool_(): ("bool", "boolean"),
}


def table_schema(fields: Iterable[pa.Field]) -> pa.Schema:
    """Return a schema of which pandas keeps what may be missing: as `Int64`, never as floats.

    `pyarrow.Table.to_pandas`, and pandas when it reads a Parquet file, look into its metadata.
    """
    schema = pa.schema(fields)
    nullable = [field for field in schema if field.nullable and field.type in _OF_PANDAS]
    columns = [
        {
            "name": field.name,
            "field_name": field.name,
            "pandas_type": _OF_PANDAS[field.type][0],
            "numpy_type": _OF_PANDAS[field.type][1],
            "metadata": None,
        }
        for field in nullable
    ]
    told = {"index_columns": [], "column_indexes": [], "columns": columns}
    return schema.with_metadata({"pandas": json.dumps(told)}) if columns else schema


_OF_KIND: Final = {
    "string": pa.string(),
    "category": pa.dictionary(pa.int8(), pa.string()),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "time": TIMESTAMP,
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "headers": HEADERS,
}


@cache
def schema_of(row_class: type) -> pa.Schema:
    """Return the Arrow schema of a table that is declared as a row class."""
    return table_schema(map(_field, columns_of(row_class)))


def _field(column: TableColumn) -> pa.Field:
    kind = _OF_KIND.get(column.kind)
    if column.item is not None:
        kind = pa.list_(_field(column.item))
    elif column.fields:
        kind = pa.struct(list(map(_field, column.fields)))
    return pa.field(column.name, kind, nullable=column.is_nullable)


RECORD_FIELDS: Final = {each.name: each for each in schema_of(RecordRow)}
"""The columns of a scan unless others are asked for."""

SCAN_FIELDS: Final = {**RECORD_FIELDS, **{each.name: each for each in schema_of(RecordBatchRow)}}
