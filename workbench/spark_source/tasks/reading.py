"""A task: pieces of segments to Arrow batches for Spark, by the same scan."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from workbench.errors import CorruptDataWarning, LogDirectoryError
from workbench.inspection.segment import Segment
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.segment_batches import ReadOptions, SegmentBatch, read_segment
from workbench.loaders.scan.splits import located
from workbench.record.buffers import thread_pool
from workbench.runtime.words import plural
from workbench.spark_source.columns import (
    ALL_COLUMNS,
    DAMAGE_COLUMN,
    NO_KINDS,
    Kinds,
    arrow_schema,
    damage_rows,
    to_spark,
)
from workbench.spark_source.options import OnCorrupt, SourceOptions
from workbench.spark_source.plan.planning import (
    DataLossWarning,
    Task,
    UnreadableLogs,
    unreadable_error,
)
from workbench.spark_source.plan.reads import require_as_planned
from workbench.spark_source.plan.remote_tier import TierOptions, segments_from
from workbench.spark_source.tasks.committed import with_markers
from workbench.spark_source.tasks.following import found_again, is_of_another_topic
from workbench.spark_source.tasks.values import SparkValues
from workbench.spark_source.worker import keep_open, spare_collections

_MOST_LISTINGS: Final = 100  # of one piece


class TaskPartition(InputPartition):
    """What Spark sends to one task.

    Attributes:
        task: the reads.
        left_out: what cannot be read at all, to be shown as rows.
    """

    def __init__(self, task: Task, left_out: Sequence[UnreadableLogs] = ()) -> None:
        self.task = task
        self.left_out = left_out


@dataclass(frozen=True)
class TaskReader:
    """The options of every task of a query, sent to each of them.

    Attributes:
        paths: the log directories.
        columns: names of the columns to give, in order.
        include_control: whether to return control records too.
        read_committed: leave out aborted records and stop at the last stable offset.
        fail_on_data_loss: offsets that were deleted since end the job.
        on_corrupt: the treatment of an unreadable batch.
        batch_rows: rows of a batch at the most; None: any.
        values: decodes and masks columns; None: they are left as they are.
        tier: the remote tier; None: there is none.
    """

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    include_control: bool
    read_committed: bool
    fail_on_data_loss: bool
    on_corrupt: OnCorrupt
    batch_rows: int | None
    values: SparkValues | None
    tier: TierOptions | None

    @classmethod
    def of(cls, options: SourceOptions, columns: tuple[str, ...]) -> "TaskReader":
        """Return the reader for a query with these options that wants these columns."""
        return cls(
            options.paths,
            columns,
            options.include_control,
            options.read_committed,
            options.fail_on_data_loss,
            options.on_corrupt,
            options.batch_rows,
            SparkValues.of(options, columns),
            options.tier,
        )

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return arrow_schema(self.columns, self._kinds)

    @property
    def _kinds(self) -> Kinds:
        return NO_KINDS if self.values is None else self.values.kinds

    def damage(self, left_out: Sequence[UnreadableLogs]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each file that is left out, with onCorrupt=rows."""
        schema = self.schema
        for topic, partition, findings in left_out:
            yield damage_rows(findings, (topic, partition), schema)

    def batches(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield a task's records.

        Raises:
            CorruptRecordError: a batch is damaged or a file cannot be read, with onCorrupt=fail.
            LogDirectoryError: offsets were deleted since the job was planned, with failOnDataLoss.
        """
        keep_open(each.partition.fs for each in task)
        wanted = [ALL_COLUMNS[name].scan_name for name in self.columns if name != DAMAGE_COLUMN]
        names = tuple(dict.fromkeys(wanted)) or ("offset",)
        if self.values is not None:
            names = self.values.values.read
        options = ReadOptions(names, include_control=self.include_control)
        schema, kinds = self.schema, self._kinds
        left_out = undecoded = 0
        for planned in task:
            for read, (batch, findings) in self._followed(planned, options):
                where = (read.partition.topic, read.partition.partition)
                if findings and self.on_corrupt == "fail":
                    raise unreadable_error(findings[0])
                left_out += len(findings)
                if findings and self.on_corrupt == "rows":
                    yield damage_rows(findings, where, schema)
                for part in self._parts(batch):
                    columns, bad = self._applied(part, read)
                    undecoded += bad
                    yield from self._slices(to_spark(columns, schema, kinds))
        spare_collections()
        lost = plural(undecoded, "key or value", "keys and values")
        words = [f"{lost} null or incomplete: they cannot be decoded"] if undecoded else []
        if left_out and self.on_corrupt == "skip":
            words.append(f"{left_out} damaged batches were left out by this task")
        for each in words:
            warnings.warn(f"kafka-log: {each}", CorruptDataWarning, stacklevel=2)

    def _parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in parts that can be decoded at once; none of an empty one."""
        if self.values is not None:
            yield from self.values.values.parts(batch)
        elif batch.num_rows:
            yield batch

    def _applied(self, batch: pa.RecordBatch, read: SegmentRead) -> tuple[pa.RecordBatch, int]:
        """Return a batch decoded and masked, and how many values could not be decoded."""
        if self.values is None:
            return batch, 0
        applied = self.values.apply(batch, read.partition.topic, read.segment.path)
        return applied.batch, applied.lost_count

    def _followed(
        self, planned: SegmentRead, options: ReadOptions
    ) -> Iterator[tuple[SegmentRead, SegmentBatch]]:
        """Yield the batches of a piece's offsets, each with the read that it comes from.

        Raises:
            LogDirectoryError: offsets are lost, with failOnDataLoss; or the files change all the
                time.
        """
        waiting, listings, is_read = [planned], 0, False
        while waiting:
            read = waiting.pop(0)
            is_read = False
            try:
                for batch in self._piece(read, options):
                    is_read = True
                    yield read, batch
            except FileNotFoundError:
                if is_read:
                    self._note_loss(read, "was deleted while it was read, which was not finished")
                    continue
                listings += 1
                if listings > _MOST_LISTINGS:
                    problem = f"its partition was changed {listings} times while a task read it"
                    raise LogDirectoryError(read.segment.path, problem) from None
                waiting[:0] = found_again(read, self.paths, self.tier, self._note_loss)

    def _piece(self, read: SegmentRead, options: ReadOptions) -> Iterator[SegmentBatch]:
        """Yield the batches of a piece, if its segment is still the file that was listed.

        Raises:
            FileNotFoundError: it is not.
        """
        require_as_planned(read.segment)
        if is_of_another_topic(read):
            raise FileNotFoundError(read.segment.path)
        wanted = self._located(read)
        batches = iter(()) if wanted is None else read_segment(wanted, options, thread_pool())
        first = next(batches, None)
        if read.segment.files["log"].is_here:  # what has been opened by now stays open
            require_as_planned(read.segment)
        if first is not None:
            yield first
            yield from batches

    def _located(self, planned: SegmentRead) -> SegmentRead | None:
        """Return the batches of a piece; None if there are none.

        Raises:
            FileNotFoundError: the segment, or one whose headers are needed, is gone.
        """
        read = located(planned)
        if read is not None and self.read_committed:
            read = with_markers(read, self._remote_segments(read))
        return read

    def _remote_segments(self, read: SegmentRead) -> list[Segment]:
        """Return the remote segments from that of a read on; of a local one, none."""
        if self.tier is None or not read.is_remote:
            return []
        return segments_from(read, self.paths, self.tier)

    def _note_loss(self, read: SegmentRead, what: str) -> None:
        """Raise, or warn, that offsets of a segment are lost."""
        error = LogDirectoryError(read.segment.path, f"{what} since the job was planned")
        if self.fail_on_data_loss:
            raise error
        warnings.warn(str(error), DataLossWarning, stacklevel=2)

    def _slices(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows = self.batch_rows or batch.num_rows
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
