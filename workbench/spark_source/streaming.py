"""A stream over log directories that grow: micro-batches by offset, as Spark's own Kafka source.

An offset of the stream is ``{"orders": {"0": 23}}``: for each partition, the first offset still to
be read. Directories are listed again for every micro-batch. Incomplete batches are not read yet;
but files do not show up to where a live broker's records are replicated, so a reader of a live
leader may see records that are truncated later.

Spark: KafkaMicroBatchStream (4.2)
"""

import math
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from workbench.file_system.mounts import THIS_MACHINE
from workbench.spark_source.options import SourceOptions
from workbench.spark_source.plan.offsets import Offsets, flat, nested
from workbench.spark_source.plan.planning import Plan
from workbench.spark_source.tasks.reading import TaskPartition, TaskReader

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark before 4.2: every micro-batch reads all there is
    ReadAllAvailable = ReadLimit = ReadMaxRows = SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc]


class KafkaLogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plan micro-batches on the driver; read them on the executors."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._reader = TaskReader.of(options, columns)
        self._triggered = -math.inf  # when the last micro-batch did not wait, by a clock in s
        self._last: Offsets | None = None  # where Trigger.AvailableNow is to end
        self._fs = THIS_MACHINE  # or what the last plan has opened

    def _plan(self) -> Plan:
        plan = Plan(self._options, is_stream=True, fs=self._fs)
        self._fs = plan.listing.fs
        return plan

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where a new query starts."""
        return nested(self._plan().ends.resolve(self._options.starting))

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
        """Return the size of a micro-batch."""
        most = self._options.max_offsets
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read no further than the current end."""
        self._last = self._plan().ends.ends()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the current end, for the query's progress."""
        return nested(self._plan().ends.ends())

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """Return where the next micro-batch ends, after ``start``.

        Args:
            start: its first offset; Spark before 4.2 does not give it.
            limit: the most to read.
        """
        plan = self._plan()
        ends = plan.ends
        if start is None:
            return nested(ends.ends())
        before = flat(start)
        latest = dict(ends.ends() if self._last is None else self._last)
        for name, offset in before.items():
            if name in latest:
                plan.require_not_cut(name, offset)
            # In a partition that was deleted or truncated, the query keeps its position.
            latest[name] = max(offset, latest.get(name, offset))
        starts = {name: before.get(name, 0) for name in latest}
        for name in latest.keys() - before.keys():
            starts[name] = ends.start(name) if name in ends.partitions else latest[name]
        if self._waits(sum(latest.values()) - sum(starts.values())):
            return start
        if limit is None or isinstance(limit, ReadAllAvailable):
            return nested(latest)
        return nested(limited(starts, latest, limit.max_rows))

    def _waits(self, count: int) -> bool:
        """Return whether a micro-batch waits, because there are only so many new offsets.

        Spark: KafkaMicroBatchStream.delayBatch (4.2)
        """
        least, now = self._options.min_offsets, time.monotonic()
        is_enough = least is None or count >= least or self._last is not None
        if is_enough or now - self._triggered >= self._options.max_delay_ms / 1000:
            self._triggered = now
            return False
        return True

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the tasks of a micro-batch; partitions new since ``start`` from their beginning.

        Raises:
            OffsetOutOfRangeError: offsets no longer exist, with failOnDataLoss.
            CorruptRecordError: a `.log` is not a readable file, with onCorrupt=fail.
        """
        plan = self._plan()
        plan.left_out()  # not as rows: each micro-batch would repeat them
        before = flat(start)
        ends = {
            name: offset for name, offset in flat(end).items() if plan.has(name, before, offset)
        }
        starts = {name: before.get(name, plan.ends.start(name)) for name in ends}
        return [TaskPartition(task) for task in plan.tasks(starts, ends)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a task's records."""
        assert isinstance(partition, TaskPartition)
        return self._reader.batches(partition.task)


def limited(starts: Offsets, ends: Offsets, most: int) -> Offsets:
    """Return ends such that there are at most ``most`` offsets, shared by what each has left.

    At least one offset is taken while any is left.

    Spark: KafkaMicroBatchStream.rateLimit (4.2)
    """
    left = {name: max(0, end - starts[name]) for name, end in ends.items()}
    total = sum(left.values())
    if total <= most:
        return ends
    taken = {name: count * most // total for name, count in left.items()}
    spare = most - sum(taken.values())
    # What rounding left over goes to those that have most left.
    for name in sorted(left, key=lambda name: taken[name] - left[name]):
        extra = min(spare, left[name] - taken[name])
        taken[name] += extra
        spare -= extra
    return {name: starts[name] + taken[name] for name in ends}
