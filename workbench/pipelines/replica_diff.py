"""Replica diff: which records two copies of the same logs do not share.

It compares what a consumer gets at an offset, so batches may be split and compressed differently:
by a leader that converts, a mirror, or a cleaned follower. Batches that are equal byte for byte are
never decoded: `comparison.records` is the core, here and in `compare_replicas`.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.comparison.records import Effort, differences
from workbench.inspection.partition import DiskPartition
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.splits import OPEN_COST
from workbench.loaders.schemas import schema_of
from workbench.pipelines.sizes import MOST_TASKS
from workbench.pipelines.source_options import LOG, source_options
from workbench.spark_source.option_values import Paths
from workbench.spark_source.options import DEFAULT_PARTITION_BYTES, parse_options
from workbench.spark_source.plan.planning import Plan
from workbench.spark_source.worker import keep_open, spare_collections
from workbench.tables.records import RecordDifferenceRow

MISSING: Final = "missing"
EXTRA: Final = "extra"
DIFFERENT: Final = "different"

_KINDS: Final = (DIFFERENT, MISSING, EXTRA)  # in the order of `comparison.records.Differences`
_COLUMNS: Final = "topic string, partition int, offset bigint, difference string"


@dataclass(frozen=True)
class DiffTask:
    """The part of a log that one task compares.

    Attributes:
        topic, partition: the log.
        left, right: the two copies; None: that side lacks the log.
        low, high: the offsets [low, high).
    """

    topic: str
    partition: int
    left: DiskPartition | None
    right: DiskPartition | None
    low: int
    high: int

    @property
    def size(self) -> int:
        """Bytes of the larger copy, the whole log."""
        return max(each.size for each in (self.left, self.right) if each is not None)

    def rows(self, effort: Effort | None = None) -> Iterator[pa.RecordBatch]:
        """Yield a row per offset at which the copies differ, ascending.

        Args:
            effort: is counted up.

        Raises:
            OSError: a file cannot be read.
        """
        found = differences(
            self.left, self.right, self.low, self.high,
            lineage=False, check_crc=True, effort=effort,
        )  # fmt: skip
        for each in found:
            offsets = np.concatenate(each)
            order = np.argsort(offsets)
            kinds = np.repeat(np.arange(len(each)), [len(kind) for kind in each])
            columns = [
                pa.repeat(pa.scalar(self.topic), len(offsets)),
                pa.repeat(pa.scalar(self.partition, pa.int32()), len(offsets)),
                pa.array(offsets[order]),
                pa.array(_KINDS).take(pa.array(kinds[order])),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema_of(RecordDifferenceRow))


def replica_diff(
    spark: SparkSession,
    left: Paths,
    right: Paths,
    topics: Sequence[str] = (),
    *,
    everywhere: bool = False,
) -> DataFrame:
    """Return one row per offset at which two copies of a log differ, by topic, partition, offset.

    Columns: topic, partition, offset, difference: "missing" (only left has it), "extra" (only right
    has it), "different" (both, with another key, value, headers, timestamp or kind). Transaction
    markers are compared; unreadable records count as not being there.

    A follower may lag, and a log may have been truncated at its start: offsets that only one of two
    copies reaches are left out unless ``everywhere`` is set. A log that one side lacks entirely is
    a difference.

    Args:
        spark: a session that knows the formats.
        left: log directories of one broker.
        right: those of the other.
        topics: names, that both have; none: all that left or right has.
        everywhere: whether to compare even where only one copy begins or ends.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic is not in both.
    """
    tasks = diff_tasks(left, right, topics, everywhere=everywhere)
    sizes = {(each.topic, each.partition): each.size for each in tasks}
    charged = sum(sizes.values()) + OPEN_COST * len(tasks)
    together = max(1, min(len(tasks), -(-charged // DEFAULT_PARTITION_BYTES)))
    # Tasks in their order, small ones together: no shuffle, and no sort, which would compare twice.
    numbers = spark.range(0, len(tasks), 1, together)
    return numbers.mapInArrow(partial(_compare, [*map(pickle.dumps, tasks)]), _COLUMNS)


def diff_tasks(
    left: Paths, right: Paths, topics: Sequence[str] = (), *, everywhere: bool = False
) -> list[DiffTask]:
    """Return the tasks of `replica_diff`; see there for the arguments."""
    options = [parse_options(source_options(paths, topics)) for paths in (left, right)]
    logs = [{(p.topic, p.partition): p for p in Plan(each).partitions} for each in options]
    total = max(sum(copy.size for copy in side.values()) for side in logs)
    size = max(options[0].max_partition_bytes, total // MOST_TASKS)
    tasks = []
    for topic, partition in sorted({*logs[0], *logs[1]}):
        one, other = (side.get((topic, partition)) for side in logs)
        low, high = 0, HIGHEST
        both = [copy for copy in (one, other) if copy is not None]
        if not everywhere and len(both) == 2:
            low = max(copy.log_start_offset for copy in both)
            high = min(copy.log_end_offset for copy in both)
        for first, end in _ranges(both, low, high, size):
            tasks.append(DiffTask(topic, partition, one, other, first, end))
    return tasks


def _ranges(
    copies: Sequence[DiskPartition], low: int, high: int, most: int
) -> list[tuple[int, int]]:
    """Return [low, high) in ranges of about ``most`` bytes, which begin where a segment does."""
    edges, size = [low], 0
    for segment in max(copies, key=lambda copy: copy.size).segments:
        if size >= most and low < segment.base_offset < high:
            edges.append(segment.base_offset)
            size = 0
        size += segment.size
    return [(first, end) for first, end in pairwise([*edges, high]) if first < end]


def _compare(tasks: Sequence[bytes], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Compare what the tasks name whose numbers are given."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            task: DiffTask = pickle.loads(tasks[number])  # noqa: S301 - the driver's own bytes
            keep_open(each.fs for each in (task.left, task.right) if each is not None)
            yield from task.rows()
    spare_collections()


def summarize(differences: DataFrame) -> DataFrame:
    """Return one row per partition and difference: records, first_offset, last_offset."""
    return (
        differences.groupBy(*LOG, "difference")
        .agg(
            F.count("*").alias("records"),
            F.min("offset").alias("first_offset"),
            F.max("offset").alias("last_offset"),
        )
        .orderBy(*LOG, "difference")
    )
