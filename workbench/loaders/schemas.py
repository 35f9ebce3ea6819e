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
_ALWAYS_OF_PANDAS: Final = {pa.string(): ("unicode", "string[pyarrow]")}
"""Types of pandas that are an integer's or boolean's only where nulls may be, and a text's always.

Bytes are objects, whose `.str` can decode them; that of an Arrow type cannot.
"""


def table_schema(fields: Iterable[pa.Field]) -> pa.Schema:
    """Return a schema that pandas takes as `Scan.to_pandas` does, whatever the table.

    What may be missing is `Int64`, never floats; text is `string[pyarrow]`, never objects.
    `pyarrow.Table.to_pandas`, and pandas when it reads a Parquet file, look into its metadata.
    """
    schema = pa.schema(fields)
    types = {
        field.name: _OF_PANDAS.get(field.type) if field.nullable else None for field in schema
    } | {
        field.name: _ALWAYS_OF_PANDAS[field.type]
        for field in schema
        if field.type in _ALWAYS_OF_PANDAS
    }
    columns = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": of_pandas[0],
            "numpy_type": of_pandas[1],
            "metadata": None,
        }
        for name, of_pandas in types.items()
        if of_pandas is not None
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
