"""Records as pandas, Polars and DuckDB take them: all from the same Arrow batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from workbench.layout.integers import INT64_MAX
from workbench.runtime.extras import optional
from workbench.values.types import converted, mapped

DtypeBackend = Literal["numpy_nullable", "pyarrow"]

_INTEGERS: Final = {pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64"}
_NULLABLE: Final = {pa.int8(): "Int8", pa.bool_(): "boolean", **_INTEGERS}
_INFINITY: Final = INT64_MAX  # microseconds, to DuckDB
_MOST: Final = _INFINITY // 1000 - 1  # ms that are microseconds of an int64
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
        if dtype_backend is None and kind == pa.string():
            return pd.StringDtype("pyarrow")  # as of the tables of `inspect`
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


def held_kind(kind: Any) -> Any:
    """Return the type that Polars and DuckDB have: decimals of more than 38 digits are text."""
    return mapped(kind, lambda each: pa.string() if pa.types.is_decimal256(each) else each)


def _held(table: Any) -> Any:
    """Return a table or batch with the types of `held_kind`."""
    fields = [each.with_type(held_kind(each.type)) for each in table.schema]
    arrays = [
        column if column.type == field.type else converted(_whole(column), field.type)
        for column, field in zip(table.columns, fields, strict=True)
    ]
    return type(table).from_arrays(arrays, schema=pa.schema(fields, table.schema.metadata))


def _whole(column: Any) -> pa.Array:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def polars_frame(table: Any) -> Any:
    """Return a table or batch as a `polars.DataFrame`; see `held_kind` for its types.

    Raises:
        MissingDependencyError: polars is not installed.
    """
    return optional("polars").from_arrow(_held(table))


class DuckdbStream:
    """A stream of Arrow batches for DuckDB, whose times are microseconds; see `held_kind`.

    Times that DuckDB cannot hold, after the year 294246 or as far before 1970, are its
    ``infinity`` and ``-infinity``: DuckDB itself would refuse the whole query.

    Args:
        stream: an object with ``__arrow_c_schema__`` and ``__arrow_c_stream__``.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def _schema(self) -> pa.Schema:
        given = getattr(self._stream, "schema", None)
        return pa.schema(map(_for_duckdb, pa.schema(self._stream) if given is None else given))

    def __arrow_c_schema__(self) -> object:
        """Give the schema to DuckDB, which asks for it before it reads."""
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream to DuckDB; each call reads again."""
        schema = self._schema
        given = pa.RecordBatchReader.from_stream(self._stream)
        batches = (
            pa.RecordBatch.from_arrays(list(map(_in_microseconds, batch.columns)), schema=schema)
            for batch in map(_held, given)
        )
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return reader.__arrow_c_stream__(requested_schema)


def _for_duckdb(field: pa.Field) -> pa.Field:
    kind = held_kind(field.type)
    is_time = pa.types.is_timestamp(kind) and kind.unit == "ms"
    return field.with_type(pa.timestamp("us", kind.tz) if is_time else kind)


def _in_microseconds(column: pa.Array) -> pa.Array:
    """Return times in ms as DuckDB takes them, other columns as they are."""
    kind = column.type
    if not (pa.types.is_timestamp(kind) and kind.unit == "ms"):
        return column
    times = column.cast(pa.int64())
    scaled = pc.multiply(pc.max_element_wise(-_MOST, pc.min_element_wise(times, _MOST)), 1000)
    scaled = pc.if_else(pc.greater(times, _MOST), _INFINITY, scaled)
    scaled = pc.if_else(pc.less(times, -_MOST), -_INFINITY, scaled)
    return pc.if_else(times.is_valid(), scaled, None).cast(pa.timestamp("us", kind.tz))


def lazy_frame(
    schema: pa.Schema, batches_of: Callable[[tuple[str, ...]], Iterable[pa.RecordBatch]]
) -> Any:
    """Return records as a `polars.LazyFrame`, which reads only the columns that a query needs.

    Args:
        schema: of all columns.
        batches_of: returns the records with some of the columns; every call reads them again.

    Raises:
        MissingDependencyError: polars is not installed.
    """
    sources = optional("polars.io.plugins", "polars")

    def read(
        columns: list[str] | None, predicate: Any, rows: int | None, _size: int | None
    ) -> Iterator[Any]:
        names = schema.names if columns is None else columns or schema.names[:1]
        for batch in batches_of(tuple(names)):
            frame = polars_frame(batch)
            frame = frame if predicate is None else frame.filter(predicate)
            if rows is not None:
                frame = frame.head(rows)
                rows -= frame.height
            yield frame
            if rows == 0:
                return

    whole = polars_frame(schema.empty_table())
    return sources.register_io_source(read, schema=whole.schema)


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
    connection.register(name, DuckdbStream(stream))
    return connection


def new_connection() -> Any:
    """Return a `duckdb` connection to a new database in memory.

    Raises:
        MissingDependencyError: duckdb is not installed.
    """
    return optional("duckdb").connect()
