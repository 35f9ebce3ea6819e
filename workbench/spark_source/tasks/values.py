"""Keys and values that are decoded or masked before Spark gets them."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders.scan.decoding import ValueColumns
from workbench.loaders.scan.scan import Scan
from workbench.spark_source.columns import ALL_COLUMNS
from workbench.spark_source.kinds import spark_kind
from workbench.spark_source.options import SourceOptions, parse_options
from workbench.spark_source.plan.planning import Plan


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

        The first records are read here, on the driver, where their types depend on them.

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

    def apply(
        self, batch: pa.RecordBatch, topic: str, path: str
    ) -> tuple[pa.RecordBatch, list[Finding]]:
        """Return a batch decoded and masked, and what could not be decoded."""
        return self.values.apply(batch, self.schema, topic, path)
