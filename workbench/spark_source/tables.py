"""Formats "kafka-log-batches", "-segments", "-indexes" and "-findings": log directories by SQL.

The tables are those of `logs.inspect`, made in tasks of segments or, for findings, of partitions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from workbench.file_system.source import Files
from workbench.inspection.broker_version import meant_broker
from workbench.inspection.findings import Finding, without_info
from workbench.inspection.listing import Root, list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.verify.checkpoints import checkpoints_of
from workbench.inspection.verify.logs import DirectoryFacts, verify_logs
from workbench.inspection.verify.verify import verify_partitions
from workbench.loaders import schemas
from workbench.loaders.remote import all_opened
from workbench.loaders.scan import arrow
from workbench.loaders.scan.splits import OPEN_COST
from workbench.loaders.schemas import schema_of
from workbench.loaders.tables import segment_tables
from workbench.loaders.tables.rows import finding_table
from workbench.spark_source.first_line import tells_first
from workbench.spark_source.option_values import flag, small_names
from workbench.spark_source.options import SourceOptions, parse_options
from workbench.spark_source.plan.planning import Plan
from workbench.spark_source.worker import keep_open, spare_collections
from workbench.tables.directories import FindingRow
from workbench.tables.segments import BatchRow, IndexEntryRow, SegmentRow

Found = Sequence[tuple[DiskPartition, Segment]]

_WIDER: Final = {pa.uint32(): pa.int64(), schemas.TIMESTAMP: pa.timestamp("us", tz="UTC")}
"""The types that Spark has instead of those that it lacks."""


def _index_entries(found: Found) -> pa.Table:
    parts = [
        table.append_column("index", arrow.repeated(name, pa.string(), len(table)))
        for name, table in (
            ("offset", segment_tables.offset_index(found)),
            ("time", segment_tables.time_index(found)),
        )
    ]
    joined = pa.concat_tables(parts, promote_options="default")
    return joined.select(schema_of(IndexEntryRow).names)


def _for_spark(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, _WIDER.get(field.type, field.type)) for field in schema])


class SegmentsTask(InputPartition):
    """The segments that one task makes rows of.

    Attributes:
        found: the segments, each with its partition.
    """

    def __init__(self, found: Found) -> None:
        self.found = found


class FindingsTask(InputPartition):
    """The partitions of one log directory that one task checks.

    Attributes:
        partitions: the partitions.
        facts: what the log directory says of them; None: the task checks the files outside
            partitions.
        fs: what the driver has opened.
    """

    def __init__(
        self, partitions: Sequence[DiskPartition], facts: DirectoryFacts | None, fs: Files
    ) -> None:
        self.partitions = partitions
        self.facts = facts
        self.fs = fs


def _grouped(sizes: Iterable[int], limit: int) -> Iterator[slice]:
    """Yield slices of a list, each of items of about ``limit`` bytes together."""
    start = end = total = 0
    for end, size in enumerate(sizes):
        if total and total + size > limit:
            yield slice(start, end)
            start, total = end, 0
        total += size + OPEN_COST
    if total:
        yield slice(start, end + 1)


@tells_first
class SegmentsReader(DataSourceReader):
    """Read a table of segments.

    Args:
        options: the options of the ``load``.
        make: the function that makes the table.
        schema: the schema of its rows, as Spark accepts them.
    """

    def __init__(
        self, options: SourceOptions, make: Callable[[Found], pa.Table], schema: pa.Schema
    ) -> None:
        self._options = options
        self._make = make
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """Return the tasks."""
        chosen = Plan(replace(self._options, tier=None)).partitions  # as `logs.inspect`
        found = [(each, segment) for each in chosen for segment in each.segments]
        sizes = (segment.size for _, segment in found)
        groups = _grouped(sizes, self._options.max_partition_bytes)
        return [SegmentsTask(found[group]) for group in groups] or [SegmentsTask(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a task's rows."""
        assert isinstance(partition, SegmentsTask)
        keep_open(each.fs for each, _ in partition.found)
        for one in partition.found:
            yield from self._make([one]).cast(self._schema).to_batches()
        spare_collections()


@tells_first
class FindingsReader(DataSourceReader):
    """Check log directories.

    Args:
        options: the options of the ``load``.
        deep: see `LogDirectory.verify`.
    """

    def __init__(self, options: SourceOptions, *, deep: bool) -> None:
        self._options = options
        self._deep = deep

    def partitions(self) -> list[InputPartition]:
        """Return the tasks; files outside partitions are checked if no topic is chosen."""
        plan = Plan(self._options)
        fs, chosen = plan.listing.fs, {each.path for each in plan.replicas}
        rules = meant_broker(plan.listing, None).rules
        tasks: list[InputPartition] = []
        for root in plan.listing.roots:
            found = [each for each in root.partitions if each.path in chosen]
            facts = DirectoryFacts.of(root, rules, checkpoints_of(root)[0])
            for group in _grouped((each.size for each in found), self._options.max_partition_bytes):
                some = found[group]
                tasks.append(FindingsTask(some, facts.about(some), fs))
        is_chosen = self._options.topics or self._options.partitions or self._options.pattern
        return [*tasks, *([] if is_chosen else [FindingsTask((), None, fs)])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a task's findings."""
        assert isinstance(partition, FindingsTask)
        keep_open([partition.fs])
        if partition.facts is None:
            steps = self._outside_partitions(partition.fs)
        else:
            checked = verify_logs(partition.partitions, partition.facts, deep=self._deep)
            steps = (result.findings for _, result in checked)
        found = [finding for findings in steps for finding in without_info(findings)]
        yield from finding_table(found).cast(_for_spark(schema_of(FindingRow))).to_batches()
        spare_collections()

    def _outside_partitions(self, fs: Files) -> Iterator[list[Finding]]:
        paths, fs = all_opened(self._options.paths, fs)
        listing = list_log_directories(paths, whole=False, fs=fs)
        if self._options.tier is not None:
            self._options.tier.attach(listing)
        rules = meant_broker(listing, None).rules
        for checked, findings in verify_partitions(listing, deep=False, rules=rules):
            if isinstance(checked, Root):
                yield findings


@tells_first
class _TableSource(DataSource):
    """A table that is read as a format of its own."""

    table: ClassVar[str]
    rows: ClassVar[pa.Schema]

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return f"kafka-log-{cls.table}"

    def schema(self) -> StructType:
        """Return the columns."""
        return from_arrow_schema(_for_spark(self.rows), prefer_timestamp_ntz=False)

    def _options(self) -> SourceOptions:
        """Return what to read: Kafka's own topics too, as `logs.inspect` does."""
        given = {k: v for k, v in self.options.items() if k.lower() != "deep"}
        return replace(parse_options(given), include_internal=True)


@tells_first
class BatchesSource(_TableSource):
    """``format("kafka-log-batches")``: one row per batch, from the headers (`BatchRow`)."""

    table = "batches"
    rows = schema_of(BatchRow)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """Return the reader."""
        return SegmentsReader(self._options(), segment_tables.batches, _for_spark(self.rows))


@tells_first
class SegmentsSource(_TableSource):
    """``format("kafka-log-segments")``: one row per segment (`SegmentRow`)."""

    table = "segments"
    rows = schema_of(SegmentRow)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """Return the reader."""
        return SegmentsReader(self._options(), segment_tables.segments, _for_spark(self.rows))


@tells_first
class IndexesSource(_TableSource):
    """``format("kafka-log-indexes")``: one row per entry of an index (`IndexEntryRow`)."""

    table = "indexes"
    rows = schema_of(IndexEntryRow)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """Return the reader."""
        return SegmentsReader(self._options(), _index_entries, _for_spark(self.rows))


@tells_first
class FindingsSource(_TableSource):
    """``format("kafka-log-findings")``: one row per finding of `LogDirectory.verify`.

    Option ``deep`` is the same, and true by default.
    """

    table = "findings"
    rows = schema_of(FindingRow)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """Return the reader."""
        deep = flag(small_names(self.options), "deep", default=True)
        return FindingsReader(self._options(), deep=deep)


TABLES: Final = (BatchesSource, SegmentsSource, IndexesSource, FindingsSource)
"""Every format of a table."""
