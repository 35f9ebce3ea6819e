"""A stream over log directories that grow: micro-batches by offset, as Spark's own Kafka source.

An offset of the stream is ``{"orders": {"0": 23}, "topic ids": {"orders": {"0": "iN2p…"}}}``: for
each partition, the first offset still to be read, and the id of the topic, so that a topic that was
deleted and made again is not taken for the one before it. Directories are listed again for every
micro-batch. Incomplete batches are not read yet; but files do not show up to where a live broker's
records are replicated, so a reader of a live leader may see records that are truncated later.

Spark: KafkaMicroBatchStream (4.2)
"""

import math
import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from workbench.file_system.source import THIS_MACHINE
from workbench.files.partition_metadata import is_made_again
from workbench.spark_source.first_line import tells_first
from workbench.spark_source.options import SourceOptions
from workbench.spark_source.plan.offsets import Offsets, StreamPosition
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


T = TypeVar("T")


@tells_first
class KafkaLogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plan micro-batches on the driver; read them on the executors."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._reader = TaskReader.of(options, columns)
        self._triggered = -math.inf  # when the last micro-batch did not wait, by a clock in s
        self._last: StreamPosition | None = None  # where Trigger.AvailableNow is to end
        self._fs = THIS_MACHINE  # or what the last plan has opened
        self._metadata: dict[str, tuple[int, ...] | None] = {}  # of partitions, after the last plan

    def _planned(self, ask: Callable[[Plan], T]) -> tuple[Plan, T]:
        """Return a plan and what it answers, of each partition while it is of one topic.

        A topic may be deleted and made again while its logs are listed and read: an offset of the
        one would get the id of the other. So an answer counts only if every `partition.metadata` is
        there afterwards as it was before the logs were listed.
        """
        while True:
            plan = Plan(self._options, is_stream=True, fs=self._fs)
            self._fs = plan.listing.fs
            found = ask(plan)
            before, self._metadata = self._metadata, plan.metadata_now()
            if all(before.get(name) == now for name, now in self._metadata.items()):
                return plan, found

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where a new query starts."""
        starting = self._options.starting
        return self._planned(lambda plan: plan.at(plan.ends.resolve(starting)))[1].as_json()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
        """Return the size of a micro-batch."""
        most = self._options.max_offsets
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read no further than the current end."""
        _, self._last = self._planned(Plan.end)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the current end, for the query's progress."""
        return self._planned(Plan.end)[1].as_json()

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """Return where the next micro-batch ends, after ``start``.

        Args:
            start: its first offset; Spark before 4.2 does not give it.
            limit: the most to read.
        """
        plan, now = self._planned(Plan.end)
        ends = plan.ends
        if start is None:
            return now.as_json()
        position = StreamPosition.parse(start)
        before = _begun(plan, position)
        latest = now.offsets if self._last is None else _target(self._last, now)
        for name, offset in before.items():
            if name in latest:
                plan.require_not_cut(name, offset)
            # In a partition that was deleted or truncated, the query keeps its position.
            latest[name] = max(offset, latest.get(name, offset))
        ids = position.topic_ids | now.topic_ids
        starts = {name: before.get(name, 0) for name in latest}
        for name in latest.keys() - before.keys():
            starts[name] = ends.start(name) if name in ends.partitions else latest[name]
        if self._waits(sum(latest.values()) - sum(starts.values())):
            return start
        if limit is not None and not isinstance(limit, ReadAllAvailable):
            latest = limited(starts, latest, limit.max_rows)
        return StreamPosition(latest, ids).as_json()

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
            InconsistentTopicIdError, OffsetOutOfRangeError: a topic was made again, or offsets no
                longer exist, with failOnDataLoss.
            CorruptRecordError: a `.log` is not a readable file, with onCorrupt=fail.
        """
        plan, _ = self._planned(attrgetter("topic_ids"))
        plan.left_out()  # not as rows: each micro-batch would repeat them
        before, last = _begun(plan, StreamPosition.parse(start)), StreamPosition.parse(end)
        ends = {
            name: offset
            for name, offset in last.offsets.items()
            if plan.has(name, before, offset)
            and not plan.is_made_again(name, last.topic_ids.get(name))  # after this was planned
        }
        starts = {name: before.get(name, plan.ends.start(name)) for name in ends}
        return [TaskPartition(task) for task in plan.tasks(starts, ends)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a task's records."""
        assert isinstance(partition, TaskPartition)
        return self._reader.batches(partition.task)


def _begun(plan: Plan, position: StreamPosition) -> Offsets:
    """Return where partitions are gone on with: a topic that was made again from its beginning.

    Raises:
        InconsistentTopicIdError: a topic was made again, with failOnDataLoss.
    """
    return {
        name: plan.ends.start(name)
        if plan.is_made_again(name, position.topic_ids.get(name))
        else offset
        for name, offset in position.offsets.items()
    }


def _target(last: StreamPosition, now: StreamPosition) -> Offsets:
    """Return where Trigger.AvailableNow is to end, if topics were made again since it was fixed."""
    return {
        name: now.offsets[name]
        if is_made_again(last.topic_ids.get(name), now.topic_ids.get(name))
        else offset
        for name, offset in last.offsets.items()
    }


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
