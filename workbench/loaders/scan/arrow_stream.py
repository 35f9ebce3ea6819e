"""A stream of records as Arrow batches, and what it becomes in other libraries."""

from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa

from workbench.loaders.guessed_names import GuessedNames
from workbench.loaders.scan.column_engines import DtypeBackend, data_frame, register_view


class ArrowStream(GuessedNames):
    """Records with a schema and batches, as libraries take them. Each call reads them again."""

    @property
    def schema(self) -> pa.Schema:
        """Names, types and nullability of the columns."""
        raise NotImplementedError

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield the records as Arrow batches."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield one dict per record."""
        raise NotImplementedError

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Return a reader that streams the records; memory stays bounded whatever the size."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_schema__(self) -> object:
        """Give the schema to any library that asks for it before reading."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream to any library that speaks the Arrow C stream interface; each call reads again."""
        return self.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Return all records as a table. They are all in memory at once."""
        return pa.Table.from_batches(self.batches(), schema=self.schema)

    def to_pandas(self, dtype_backend: DtypeBackend | None = None) -> Any:
        """Return all records as a `pandas.DataFrame`. They are all in memory at once.

        Integers never become floats: columns without nulls get numpy's integers, others pandas'
        nullable ones. Keys, values and headers remain Arrow (`pandas.ArrowDtype`), which copies
        nothing.

        Args:
            dtype_backend: "pyarrow": Arrow types throughout; "numpy_nullable": pandas' own nullable
                types for numbers, booleans and text; default: as above.

        Raises:
            ValueError: the backend is unknown.
        """
        return data_frame(self.to_arrow(), dtype_backend)

    def to_spark(self, spark: Any) -> Any:
        """Return all records as a DataFrame of Spark, with the columns and types of `to_arrow`.

        They are read here, and are all in memory at once. What is larger, Spark reads in tasks of
        its own: ``spark.read.format("kafka-log").load(path)``.

        Args:
            spark: a `pyspark.sql.SparkSession`, such as that of `workbench.spark.session`.
        """
        return spark.createDataFrame(self.to_arrow())

    def to_duckdb(self, table_name: str = "records", connection: Any = None) -> Any:
        """Make this scan a view and return the `duckdb` connection.

        Every query reads the records again, as a stream in bounded memory, and all columns of the
        scan: name those you need in ``columns``. ``create table t as from records`` keeps them.

        Args:
            table_name: name of the view; queries on the connection can use it at once.
            connection: a connection to use; default a new one in memory.

        Raises:
            MissingDependencyError: duckdb is not installed.
        """
        return register_view(self, table_name, connection)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return all records as dicts by column name. They are all in memory at once."""
        return list(iter(self))
