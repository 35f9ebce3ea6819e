"""Spark data source "kafka-log": the columns of Spark's own Kafka source, read from segments.

A file has no limit of one reader a partition: every segment may be a task of its own, and small
ones share a task. Spark's filters are not pushed down: Spark 4.1 to 4.3 answer wrongly when a
source accepts them and a DataFrame is used twice. Options do the pruning.

Options: ``path`` (or ``load(path)``), ``subscribe`` (topics, separated by commas),
``subscribePattern`` (a regular expression for whole names); without either, every topic.
``includeHeaders``, ``kafka.isolation.level``, ``failOnDataLoss``, ``maxPartitionBytes``. Other
``kafka.*`` options are for a broker and are passed over; others that are not known are refused.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from workbench.errors import CorruptRecordError
from workbench.inspection.listing import list_log_directories
from workbench.loaders.plan import SegmentRead
from workbench.loaders.scan import CorruptDataWarning, Scan
from workbench.loaders.segment_batches import ReadOptions, read_segment
from workbench.record.buffers import BufferPool

DEFAULT_PARTITION_BYTES: Final = 128 << 20  # of a task: one costs about 70 ms before its first byte
OPEN_COST: Final = 4 << 20  # bytes that opening one more file counts as, as in Spark's own packing

_SCHEMA: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_KNOWN: Final = {
    "path", "subscribe", "subscribepattern", "includeheaders", "failondataloss",
    "maxpartitionbytes",
}  # fmt: skip
_TYPE_NUMBERS: Final = {"CreateTime": 0, "LogAppendTime": 1}


@dataclass(frozen=True)
class SourceOptions:
    """The options of one ``load``, checked.

    Attributes:
        path: what `open_log_directory` takes.
        include_headers: add the ``headers`` column.
        fail_on_data_loss: a damaged batch ends the job; else it is left out with a warning.
    """

    path: str
    subscribe: tuple[str, ...] | None
    subscribe_pattern: str | None
    include_headers: bool
    read_committed: bool
    fail_on_data_loss: bool
    max_partition_bytes: int


def parse_options(options: Mapping[str, str]) -> SourceOptions:
    """Return the options of a ``load``.

    Raises:
        ValueError: one is missing, unknown, or has no meaning.
    """
    given = {name.lower(): value for name, value in options.items()}
    for name in given:
        if name not in _KNOWN and not name.startswith("kafka."):
            raise ValueError(
                f"kafka-log has no option {name!r}; there are {', '.join(sorted(_KNOWN))}"
            )
    if "path" not in given:
        raise ValueError("kafka-log needs a path: load(path) or option('path', …)")
    if "subscribe" in given and "subscribepattern" in given:
        raise ValueError("only one of subscribe and subscribePattern may be given")
    isolation = given.get("kafka.isolation.level", "read_uncommitted")
    if isolation not in {"read_uncommitted", "read_committed"}:
        raise ValueError(f"kafka.isolation.level is {isolation!r}")
    subscribe = given.get("subscribe")
    path = given["path"]
    return SourceOptions(
        path=path.removeprefix("file://")
        if path.startswith("file://")
        else path.removeprefix("file:"),
        subscribe=tuple(t.strip() for t in subscribe.split(",")) if subscribe else None,
        subscribe_pattern=given.get("subscribepattern"),
        include_headers=_flag(given, "includeheaders", default=False),
        read_committed=isolation == "read_committed",
        fail_on_data_loss=_flag(given, "failondataloss", default=True),
        max_partition_bytes=_size(given.get("maxpartitionbytes")),
    )


def _flag(given: dict[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in {"true", "false"}:
        raise ValueError(f"{name} is {text!r}, not true or false")
    return text == "true"


def _size(text: str | None) -> int:
    """Return bytes from ``134217728`` or ``128m``."""
    if text is None:
        return DEFAULT_PARTITION_BYTES
    found = re.fullmatch(r"(\d+)([kmg]?)b?", text.strip().lower())
    if not found or int(found[1]) == 0:
        raise ValueError(f"maxPartitionBytes is {text!r}, not a size like 128m")
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2]]


@dataclass
class LogPartition(InputPartition):
    """What one task reads: some segments, whole."""

    reads: tuple[SegmentRead, ...]


def pack(reads: list[SegmentRead], limit: int) -> list[LogPartition]:
    """Put segments into tasks of about ``limit`` bytes, largest first, as Spark packs files."""
    tasks: list[LogPartition] = []
    current: list[SegmentRead] = []
    size = 0
    for read in sorted(reads, key=lambda r: r.segment.size - r.start, reverse=True):
        bytes_to_read = read.segment.size - read.start
        if current and size + bytes_to_read > limit:
            tasks.append(LogPartition(tuple(current)))
            current, size = [], 0
        current.append(read)
        size += bytes_to_read + OPEN_COST
    if current:
        tasks.append(LogPartition(tuple(current)))
    return tasks


class KafkaLogSource(DataSource):
    """``spark.read.format("kafka-log")``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log"

    def schema(self) -> StructType:
        """Return the seven columns of Spark's Kafka source, and headers when asked for."""
        if parse_options(self.options).include_headers:
            return StructType([*_SCHEMA.fields, StructField("headers", ArrayType(_HEADER))])
        return _SCHEMA

    def reader(self, schema: StructType) -> "KafkaLogReader":
        """Return what plans and reads one ``load``.

        Raises:
            ValueError: a schema was given that is not the source's own.
        """
        if schema.fieldNames() != self.schema().fieldNames():
            raise ValueError("kafka-log has its own schema; select columns instead")
        return KafkaLogReader(parse_options(self.options))


class KafkaLogReader(DataSourceReader):
    """Plans segments into tasks on the driver, reads them on the executors."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[LogPartition]:
        """Return the tasks. An empty log directory still gives one, which reads nothing."""
        options = self._options
        listing = list_log_directories(options.path.split(","))
        topics = options.subscribe
        if options.subscribe_pattern is not None:
            names = {p.topic for p in listing.partitions.values()}
            topics = tuple(t for t in sorted(names) if re.fullmatch(options.subscribe_pattern, t))
        level = "read_committed" if options.read_committed else "read_uncommitted"
        scan = Scan(listing, topics=topics, isolation_level=level)  # type: ignore[arg-type]
        return pack(scan.plan(), options.max_partition_bytes) or [LogPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a task's records.

        Raises:
            CorruptRecordError: a batch is damaged and failOnDataLoss is true.
        """
        names = ["key", "value", "topic", "partition", "offset", "timestamp", "timestamp_type"]
        if self._options.include_headers:
            names.append("headers")
        options, pool = ReadOptions(tuple(names)), BufferPool()
        assert isinstance(partition, LogPartition)
        for read in partition.reads:
            for batch, findings in read_segment(read, options, pool):
                for finding in findings:
                    if self._options.fail_on_data_loss:
                        raise CorruptRecordError(finding.path, finding.position, finding.found)
                    warnings.warn(str(finding), CorruptDataWarning, stacklevel=2)
                if batch.num_rows:
                    yield to_spark(batch)


def to_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a scan's batch with Spark's names and the only Arrow types that Spark accepts."""
    arrays: list[pa.Array] = []
    for name in batch.schema.names:
        column = batch.column(name)
        if name in {"key", "value"}:
            column = column.cast(pa.binary())
        elif name == "timestamp":
            column = column.cast(pa.timestamp("us", tz="UTC"))
        elif name == "timestamp_type":
            column = _type_numbers(column)
        elif name == "headers":
            column = _nullable_headers(column)
        arrays.append(column)
    names = ["timestampType" if name == "timestamp_type" else name for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, names)


def _type_numbers(words: pa.Array) -> pa.Array:
    """Return 0 for CreateTime, 1 for LogAppendTime, -1 for none, as Kafka numbers them."""
    encoded = words.dictionary_encode()
    numbers = [_TYPE_NUMBERS.get(word.as_py(), -1) for word in encoded.dictionary]
    indices = encoded.indices.fill_null(len(numbers))
    return pa.array([*numbers, -1], pa.int32()).take(indices)


def _nullable_headers(lists: Any) -> pa.Array:
    """Return headers as Spark's source gives them: null, not an empty list, without any."""
    offsets = np.asarray(lists.offsets)
    items = lists.values
    pairs = pa.StructArray.from_arrays(
        [items.field("key"), items.field("value").cast(pa.binary())], ["key", "value"]
    )
    empty = np.diff(offsets) == 0
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pairs, mask=pa.array(empty) if empty.any() else None
    )
