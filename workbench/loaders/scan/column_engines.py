"""Records as pandas, DuckDB and Parquet take them: every one from the same Arrow batches."""

from collections.abc import Iterable, Iterator
from typing import IO, Any, Final, Literal

import pyarrow as pa

from workbench.errors import MissingDependencyError

DtypeBackend = Literal["numpy_nullable", "pyarrow"]

ROW_GROUP: Final = 16 << 20  # bytes in memory of a row group that is written to Parquet
_INTEGERS: Final = {pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64"}
_NULLABLE: Final = {pa.int8(): "Int8", pa.bool_(): "boolean", **_INTEGERS}
_TEXTS: Final = (pa.string(), pa.large_string())


def data_frame(table: pa.Table, dtype_backend: DtypeBackend | None = None) -> Any:
    """Return a table as a `pandas.DataFrame`; see `Scan.to_pandas` for its types.

    Raises:
        ValueError: the backend is unknown.
    """
    import pandas as pd

    if dtype_backend not in {None, "numpy_nullable", "pyarrow"}:
        raise ValueError(f"dtype_backend is {dtype_backend!r}, not numpy_nullable or pyarrow")
    has_nulls = {field.type for field in table.schema if table[field.name].null_count}

    def dtype_of(kind: pa.DataType) -> Any:
        own = _NULLABLE.get(kind)
        if dtype_backend == "numpy_nullable" and kind in _TEXTS:
            return pd.StringDtype()
        if dtype_backend == "pyarrow" or not (own or pa.types.is_timestamp(kind)):
            return pd.ArrowDtype(kind)
        if own and (dtype_backend == "numpy_nullable" or kind in has_nulls):
            return pd.api.types.pandas_dtype(own)
        return None

    frame = table.to_pandas(types_mapper=dtype_of)
    for field in table.schema if dtype_backend is None else ():
        # Types are mapped for all columns alike: those without nulls need no nullable one.
        if field.type in _INTEGERS and not table[field.name].null_count:
            plain = field.type.to_pandas_dtype()
            frame[field.name] = frame[field.name].astype(plain, copy=False)
    return frame


def register_view(stream: Any, name: str, connection: Any = None) -> Any:
    """Register a stream of Arrow batches as a `duckdb` view, and return the connection.

    Args:
        stream: an object with ``__arrow_c_schema__`` and ``__arrow_c_stream__``, which every query
            calls.
        name: the view's name; a view of that name is replaced.
        connection: default a new one in memory.

    Raises:
        MissingDependencyError: duckdb is not installed.
    """
    connection = new_connection() if connection is None else connection
    connection.register(name, stream)
    return connection


def new_connection() -> Any:
    """Return a `duckdb` connection to a new database in memory.

    Raises:
        MissingDependencyError: duckdb is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError("duckdb", "pip install duckdb") from error
    return duckdb.connect()


def write_parquet(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    file: IO[bytes],
    compression: str,
    row_group_bytes: int = ROW_GROUP,
) -> int:
    """Write batches to an open file as Parquet and return how many rows they had."""
    import pyarrow.parquet as pq

    count = 0
    with pq.ParquetWriter(file, schema, compression=compression) as writer:
        for group in _row_groups(batches, row_group_bytes):
            writer.write_table(pa.Table.from_batches(group), sum(map(len, group)))
            count += sum(map(len, group))
            group.clear()  # before the next one is read
    return count


def _row_groups(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield as many batches together as have ``size`` bytes, the last fewer."""
    group: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        group.append(batch)
        held += batch.nbytes
        if held >= size:
            yield group
            group, held = [], 0
    if group:
        yield group
