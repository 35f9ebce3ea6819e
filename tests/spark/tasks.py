"""The source without Spark: what the driver plans, pickled, and read as executors read it."""

import pickle
from typing import Any

import pyarrow as pa

from workbench.spark_source.columns import arrow_schema
from workbench.spark_source.source import KafkaLogSource
from workbench.spark_source.tasks.reading import TaskPartition

ORDER = ("topic", "partition", "offset")


class Load:
    """One ``load``, planned when it is made.

    Attributes:
        tasks: as Spark would hand them out.
    """

    def __init__(self, path: object, **options: object) -> None:
        given = {name.replace("__", "."): str(value) for name, value in options.items()}
        given = {"includeInternal": "true", **given}  # as `scan(include_internal=True)`
        source = KafkaLogSource({"path": str(path), **given})
        self.schema = arrow_schema(source.schema().fieldNames())
        self._reader = source.reader(source.schema())
        self.tasks: list[TaskPartition] = pickle.loads(pickle.dumps(self._reader.partitions()))  # noqa: S301 - our own

    def read(self, task: TaskPartition) -> pa.Table:
        """Return what one task reads."""
        return pa.Table.from_batches(self._reader.read(task), self.schema)

    def table(self) -> pa.Table:
        """Return what all tasks read."""
        return pa.concat_tables(map(self.read, self.tasks))


def rows(table: pa.Table, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a table by topic, partition and offset; ``columns`` beside those.

    Times are numbers: some are beyond what a datetime can be.
    """
    ordered = table.select([*ORDER, *columns]).sort_by([(name, "ascending") for name in ORDER])
    if "timestamp" in columns:
        place = ordered.schema.get_field_index("timestamp")
        times = ordered.column(place).cast(pa.int64())
        ordered = ordered.set_column(place, "timestamp", times)
    return ordered.to_pylist()  # type: ignore[no-any-return]
