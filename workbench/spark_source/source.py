"""Format "kafka-log": the columns of Spark's own Kafka source, read from segments.

Filters are not pushed down: Spark 4.1 to 4.3 answer wrongly when a source accepts them and a
DataFrame is used twice. Options do the pruning, and so do ``columns`` or a schema of the user's.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from workbench.spark_source.columns import NO_KINDS, spark_schema
from workbench.spark_source.first_line import tells_first
from workbench.spark_source.options import SourceOptions, parse_columns, parse_options
from workbench.spark_source.plan.planning import Plan
from workbench.spark_source.stream_writing import KafkaLogStreamWriter
from workbench.spark_source.streaming import KafkaLogStreamReader
from workbench.spark_source.tasks.reading import TaskPartition, TaskReader
from workbench.spark_source.tasks.values import SparkValues
from workbench.spark_source.writing import KafkaLogWriter, parse_write_options


def chosen_columns(schema: StructType, own: StructType) -> tuple[str, ...]:
    """Return the columns that a schema names, which may be some of the source's ``own``.

    Raises:
        ValueError: a name or type is not the source's.
    """
    types = {field.name: field.dataType for field in own}
    for field in schema:
        if types.get(field.name) != field.dataType:
            there = ", ".join(f"{name} {kind.simpleString()}" for name, kind in types.items())
            wrong = f"{field.name} {field.dataType.simpleString()}"
            raise ValueError(f"the schema asks for {wrong}; kafka-log has {there}")
    return tuple(schema.fieldNames())


@tells_first
class KafkaLogSource(DataSource):
    """``spark.read``, ``readStream``, ``df.write`` and ``writeStream`` with format "kafka-log"."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log"

    def schema(self) -> StructType:
        """Return the seven columns of Spark's Kafka source, and what options add.

        Raises:
            ValueError: an option has no meaning.
        """
        columns = parse_columns(self.options)
        values = SparkValues.of_texts(self.options, columns)
        return spark_schema(columns, NO_KINDS if values is None else values.kinds)

    def reader(self, schema: StructType) -> "KafkaLogReader":
        """Return the reader of one ``load``.

        Raises:
            ValueError: an option, or a column of the schema, has no meaning.
        """
        columns = chosen_columns(schema, self.schema())
        return KafkaLogReader(parse_options(self.options), columns)

    def streamReader(self, schema: StructType) -> KafkaLogStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of a stream.

        Raises:
            ValueError: an option, or a column of the schema, has no meaning.
        """
        columns = chosen_columns(schema, self.schema())
        return KafkaLogStreamReader(parse_options(self.options, streaming=True), columns)

    def writer(self, schema: StructType, overwrite: bool) -> KafkaLogWriter:  # noqa: FBT001 - Spark's
        """Return the writer of one ``save``.

        Raises:
            ValueError: an option has no meaning, or the columns cannot be written.
        """
        return KafkaLogWriter(parse_write_options(self.options, schema), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> KafkaLogStreamWriter:  # noqa: FBT001, N802 - Spark's
        """Return the writer of a stream.

        Raises:
            ValueError: an option or the output mode has no meaning, or the columns cannot be
                written.
        """
        return KafkaLogStreamWriter(parse_write_options(self.options, schema), overwrite=overwrite)


@tells_first
class KafkaLogReader(DataSourceReader):
    """Plan tasks on the driver; read them on the executors."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._reader = TaskReader.of(options, columns)

    def partitions(self) -> list[InputPartition]:
        """Return the tasks; one that reads nothing when there is nothing to read."""
        plan = Plan(self._options)
        found = [TaskPartition(task) for task in plan.batch_tasks() or [()]]
        left_out = plan.left_out()
        if left_out and self._options.on_corrupt == "rows":
            found.append(TaskPartition((), left_out))
        return list(found)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a task's records."""
        assert isinstance(partition, TaskPartition)
        yield from self._reader.damage(partition.left_out)
        yield from self._reader.batches(partition.task)
