"""Keys and values that are decoded or masked before Spark gets them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from workbench.inspection.partition import DiskPartition
from workbench.loaders.scan.decoding import Applied, ValueColumns
from workbench.loaders.scan.scan import Scan
from workbench.spark_source.columns import ALL_COLUMNS
from workbench.spark_source.kinds import spark_kind
from workbench.spark_source.options import SourceOptions, parse_options
from workbench.spark_source.plan.planning import Plan

MOST_INFERRED: Final = 256 << 20
"""Bytes of logs that the driver reads for a type; of larger ones it reads the first records."""


@dataclass(frozen=True)
class SparkValues:
    """What happens to columns in a task. Can be pickled.

    Attributes:
        values: decodes and masks.
        schema: of the batches that it gives.
    """

    values: ValueColumns
    schema: pa.Schema

    @classmethod
    def of(cls, options: SourceOptions, columns: tuple[str, ...]) -> "SparkValues | None":
        """Return what the options ask for; None if columns are neither decoded nor masked.

        The records are read here, on the driver, where their types depend on them: all of logs of
        up to `MOST_INFERRED` bytes, otherwise the first ones.

        Raises:
            MissingDependencyError: a format needs a package.
            SchemaError: a decoding or mask cannot be used.
        """
        if not options.decode and not options.masks.rules:
            return None
        plan = Plan(options)
        names = [ALL_COLUMNS[name].scan_name for name in columns if name in ALL_COLUMNS]
        scan = Scan(
            plan.listing,
            columns=tuple(dict.fromkeys(names)) or ("offset",),
            decode={name: how for name, how in options.decode.items() if name in names},
            mask=options.masks,
            include_control=options.include_control,
        )
        scan.partitions = plan.partitions
        scan.infers_from_first = sum(map(_size_of, plan.partitions)) > MOST_INFERRED
        return cls(scan.values, scan.schema)

    @classmethod
    def of_texts(cls, options: Mapping[str, str], columns: tuple[str, ...]) -> "SparkValues | None":
        """Return what the options of a ``load`` ask for, before the others are checked.

        Raises:
            As `of`, and ValueError: an option has no meaning.
        """
        if not {name.lower() for name in options} & {"decode", "mask"}:
            return None
        ending = {name for name in options if name.lower().startswith("ending")}
        return cls.of(parse_options(options, streaming=not ending), columns)

    @property
    def kinds(self) -> dict[str, pa.DataType]:
        """The types in Spark's batches of the columns that are decoded or masked."""
        return {
            name: spark_kind(self.schema.field(name).type)
            for name in ("key", "value")
            if name in self.schema.names
        }

    def apply(self, batch: pa.RecordBatch, topic: str, path: str) -> Applied:
        """Return a batch decoded and masked, and what could not be decoded."""
        return self.values.apply(batch, self.schema, topic, path)


def _size_of(partition: DiskPartition) -> int:
    return sum(segment.size for segment in partition.segments_of_log)
