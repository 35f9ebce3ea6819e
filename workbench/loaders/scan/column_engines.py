"""Records as pandas and DuckDB take them: both from the same Arrow batches."""

from typing import Any, Final, Literal

import pyarrow as pa

from workbench.runtime.extras import optional

DtypeBackend = Literal["numpy_nullable", "pyarrow"]

_INTEGERS: Final = {pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64"}
_NULLABLE: Final = {pa.int8(): "Int8", pa.bool_(): "boolean", **_INTEGERS}
_TEXTS: Final = (pa.string(), pa.large_string())


def data_frame(table: pa.Table, dtype_backend: DtypeBackend | None = None) -> Any:
    """Return a table as a `pandas.DataFrame`; see `Scan.to_pandas` for its types.

    Raises:
        MissingDependencyError: pandas is not installed.
        ValueError: the backend is unknown.
    """
    pd = optional("pandas")
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
    return optional("duckdb").connect()
