"""Let Spark find the format "kafka-log" without help: it searches packages named ``pyspark_…``.

Spark imports this in every session that looks for a data source, so nothing of the workbench is
imported before the format is used.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
    )
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """`workbench.spark_source.source.KafkaLogSource`, imported when it is used."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log"

    def _source(self) -> DataSource:
        from workbench.spark_source.source import KafkaLogSource

        return KafkaLogSource(self.options)

    def schema(self) -> "StructType | str":
        """Return the columns that the options ask for."""
        return self._source().schema()

    def reader(self, schema: "StructType") -> "DataSourceReader":
        """Return the reader of one ``load``."""
        return self._source().reader(schema)

    def streamReader(self, schema: "StructType") -> "DataSourceStreamReader":  # noqa: N802
        """Return the reader of a stream."""
        return self._source().streamReader(schema)

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceArrowWriter":  # noqa: FBT001
        """Return the writer of one ``save``."""
        return self._source().writer(schema, overwrite)  # type: ignore[return-value]

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "DataSourceStreamWriter":  # noqa: FBT001, N802
        """Return the writer of a stream."""
        return self._source().streamWriter(schema, overwrite)
