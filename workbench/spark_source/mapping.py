"""Format "kafka-log-map": a function of the batches that a task reads; only its results are rows.

A scan decodes a million records in the time in which Spark takes a few hundred thousand rows from
Python. So what a function can sum up or write in the task never goes to the JVM.
"""

import base64
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from workbench.spark_source.first_line import tells_first
from workbench.spark_source.options import parse_columns, parse_options
from workbench.spark_source.source import KafkaLogReader

Batches = Iterator[pa.RecordBatch]
Function = Callable[[Batches], Batches]
Schema = Any
"""DDL, a StructType or an Arrow schema."""

_dumps: Final[Any] = cloudpickle.dumps

_OPTION: Final = "mapfunction"
"""The option with the pickled function, in base 64."""


@tells_first
class MappedSource(DataSource):
    """``format("kafka-log-map")``, which `mapped` uses: its option holds a pickled function."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log-map"

    def schema(self) -> StructType:
        """Refuse to guess.

        Raises:
            ValueError: always: only the caller knows what the function returns.
        """
        raise ValueError("kafka-log-map needs a schema and a function: call wb.spark.map_batches")

    def reader(self, schema: StructType) -> "MappedReader":
        """Return the reader of one ``load``.

        Raises:
            ValueError: an option is missing or invalid.
        """
        options = dict(self.options)
        pickled = next((options.pop(n) for n in list(options) if n.lower() == _OPTION), None)
        if pickled is None:
            raise ValueError("kafka-log-map needs a function: call wb.spark.map_batches")
        scan = KafkaLogReader(parse_options(options), parse_columns(options))
        return MappedReader(scan, base64.b64decode(pickled), schema)


@tells_first
class MappedReader(DataSourceReader):
    """Plan tasks as the source does, and call the function in each.

    Args:
        scan: the source's reader.
        pickled: the function, pickled; unpickled where it is called.
        schema: the schema of its results.
    """

    def __init__(self, scan: KafkaLogReader, pickled: bytes, schema: StructType) -> None:
        self._scan = scan
        self._pickled = pickled
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """Return the tasks of the source."""
        return self._scan.partitions()

    def read(self, partition: InputPartition) -> Batches:
        """Yield the function's results for one task.

        Raises:
            TypeError: the function returned something else than batches.
            ValueError: its batches do not have the schema.
        """
        function: Function = pickle.loads(self._pickled)  # noqa: S301 - the caller's own function
        wanted = _arrow_schema(self._schema)
        for batch in function(self._scan.read(partition)):
            yield conformed(batch, wanted)


def _arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema of the batches that Spark takes for a schema."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.0 and 4.1: UTC is the default
        return to_arrow_schema(schema)


def conformed(batch: Any, wanted: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a schema, cast to its types.

    Raises:
        TypeError: it is not a batch.
        ValueError: it lacks a column, or a value does not fit the type.
    """
    if not isinstance(batch, pa.RecordBatch):
        kind = type(batch).__name__
        raise TypeError(f"map_batches: the function yielded a {kind}, not a pyarrow.RecordBatch")
    names = batch.schema.names
    if sorted(names) != sorted(wanted.names):
        raise ValueError(
            f"map_batches: the function yielded columns {', '.join(names)}; "
            f"the schema has {', '.join(wanted.names)}"
        )
    if batch.schema.equals(wanted):
        return batch
    arrays = []
    for field in wanted:
        array = batch.column(field.name)
        try:
            array = array.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"map_batches: column {field.name} is {array.type}, the schema has {field.type}: "
                f"{error}"
            ) from error
        if array.null_count and not field.nullable:
            raise ValueError(f"map_batches: column {field.name} has nulls, the schema allows none")
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def mapped(
    spark: SparkSession, function: Function, schema: Schema, options: Mapping[str, object]
) -> DataFrame:
    """Return what a function makes of the batches that the tasks of a ``load`` read.

    Args:
        spark: a session that knows the format.
        function: batches of one task to batches; it is pickled, with what it refers to.
        schema: the schema of its results: DDL, a StructType or an Arrow schema.
        options: those of the ``load``, with ``path``. Booleans are written as Spark does, lists and
            mappings as JSON; None leaves an option out.
    """
    kind: Any = from_arrow_schema(schema) if isinstance(schema, pa.Schema) else schema
    pickled = base64.b64encode(_dumps(function)).decode()
    texts = {name: _text(value) for name, value in options.items() if value is not None}
    reader = spark.read.format(MappedSource.name()).schema(kind).options(**texts)
    return reader.option("mapFunction", pickled).load()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, list | dict) else str(value)
