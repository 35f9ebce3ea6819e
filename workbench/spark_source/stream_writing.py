"""``df.writeStream.format("kafka-log")``: micro-batches appended to logs, each exactly once.

Tasks write logs of their own, as in a batch; then the driver appends their batches with the engine.
A file beside the partitions, one for each query, says which epoch is being appended, from which
offset of each log, and whether all of it is there. Spark repeats an epoch until it knows that it
was committed: one that is there is left alone, and what there is of another is truncated first.

Spark: StreamingWrite.commit, KafkaStreamingWrite (4.2)
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from workbench.errors import LogDirectoryError
from workbench.file_system.local import LOCAL
from workbench.files.file_records import FileRecords
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.spark_source.writing import (
    WriteOptions,
    WrittenLogs,
    logs_of,
    remove_staging,
    staging_folder,
    written_by_task,
)

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # Spark 4.0, which `KafkaLogStreamWriter` refuses
    DataSourceStreamArrowWriter = object  # type: ignore[assignment,misc]

_OFFSET_SIZE: Final = 8  # of the base offset, which begins a batch: 0 in those of a producer
_QUERY: Final = "sql.streaming.queryId"  # Spark: StreamExecution.QUERY_ID_KEY
_EPOCH: Final = "streaming.sql.batchId"  # Spark: MicroBatchExecution.BATCH_ID_KEY


@dataclass
class StreamWritten(WrittenLogs):
    """What one task of a micro-batch wrote.

    Attributes:
        query: the id of the query, which it keeps with its checkpoint.
        staging: the folder that the tasks of the micro-batch write to.
    """

    query: str
    staging: str


@dataclass(frozen=True)
class Epoch:
    """The last epoch of a query that was appended to a log directory, or begun.

    Attributes:
        number: Spark's number of the micro-batch.
        starts: partition → log end offset before it.
        ends: partition → log end offset after it.
        is_complete: whether all of it is there.
    """

    number: int
    starts: dict[str, int]
    ends: dict[str, int]
    is_complete: bool

    @classmethod
    def read(cls, path: str) -> Self | None:
        """Return what a file says; None if there is none.

        Raises:
            LogDirectoryError: it is not of a query.
        """
        if not LOCAL.exists(path):
            return None
        try:
            return cls(**json.loads(LOCAL.read(path)))
        except (TypeError, ValueError) as error:
            raise LogDirectoryError(path, f"this is not what a query writes: {error}") from None

    def write(self, path: str) -> None:
        """Replace the file."""
        LOCAL.write_atomically(path, json.dumps(asdict(self)).encode())


class KafkaLogStreamWriter(DataSourceStreamArrowWriter):
    """Write the micro-batches of a query; on the driver, Spark makes one for each call.

    Args:
        options: the options of the query.
        overwrite: whether a micro-batch is to replace what is there: output mode "complete".

    Raises:
        ValueError: this Spark gives no Arrow batches, or an option or the output mode has no
            meaning.
    """

    def __init__(self, options: WriteOptions, *, overwrite: bool) -> None:
        if DataSourceStreamArrowWriter is object:
            raise ValueError("kafka-log is written to by streams from Spark 4.1 on")
        if overwrite:
            raise ValueError('a log only grows: use outputMode "append" or "update"')
        if options.keeps_offsets:
            raise ValueError("keepOffsets is for a batch: a stream appends where a log ends")
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StreamWritten:
        """Write the rows of one task.

        Raises:
            ValueError: a row cannot be a record: no topic, or a partition or time below 0.
            StorageError, OSError: writing failed.
        """
        context = TaskContext.get()
        assert context is not None
        query = context.getLocalProperty(_QUERY)
        epoch = context.getLocalProperty(_EPOCH)
        assert query is not None
        staging = staging_folder(self._options.path, f"{query}-{epoch}")
        os.makedirs(staging, exist_ok=True)
        written = written_by_task(context, staging, self._options, iterator)
        return StreamWritten(**vars(written), query=query, staging=staging)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Append what all tasks wrote, unless it is there already.

        Raises:
            LogDirectoryError: a broker uses the directory, or has written to it since a commit
                failed.
            StorageError, OSError: writing failed.
        """
        done = [each for each in messages if isinstance(each, StreamWritten)]
        if not done:  # of a micro-batch without tasks
            return
        query = done[0].query
        try:
            append_epoch(self._options, query, batchId, done)
        finally:
            prefix = os.path.basename(staging_folder(self._options.path, query)).split("-delete")[0]
            for entry in LOCAL.list(self._options.path):
                if entry.name.startswith(prefix):  # also what tasks left that were killed
                    remove_staging(os.path.join(self._options.path, entry.name))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's name
        """Remove what was written."""
        for staging in {each.staging for each in messages if isinstance(each, StreamWritten)}:
            remove_staging(staging)


def append_epoch(
    options: WriteOptions, query: str, number: int, done: Sequence[WrittenLogs]
) -> None:
    """Append what the tasks of an epoch wrote, unless it is there already.

    Raises:
        LogDirectoryError, StorageError, OSError: see `KafkaLogStreamWriter.commit`.
    """
    path = os.path.join(options.path, f"spark-{query}.epoch")
    last = Epoch.read(path)
    if last is not None and (last.number, last.is_complete) >= (number, True):
        return
    logs = logs_of(done)
    config = options.style.topic_config
    manager = LogManager(
        [options.path], topic_configs=dict.fromkeys({n.topic for n in logs}, config)
    )
    manager.startup(with_tasks=False)
    try:
        if last is not None and not last.is_complete:
            _undo(manager, last)
        counts = sum((Counter(each.counts) for each in done), Counter[TopicPartition]())
        ends = {name: manager.get_or_create_log(name).log_end_offset for name in logs}
        starts = {str(name): end for name, end in ends.items()}
        after = {str(name): end + counts[name] for name, end in ends.items()}
        Epoch(number, starts, after, is_complete=False).write(path)
        for name, folders in logs.items():
            log = manager.get_or_create_log(name)
            for folder in folders:
                _append(log, folder)
            log.flush(force_active_segment=True)
    finally:
        manager.shutdown()
    Epoch(number, starts, after, is_complete=True).write(path)


def _undo(manager: LogManager, last: Epoch) -> None:
    """Truncate what there is of an epoch.

    Raises:
        LogDirectoryError: somebody else has appended since.
    """
    for name in last.starts:
        log = manager.get_log(name)
        if log is not None and log.log_end_offset > last.ends[name]:
            raise LogDirectoryError(
                log.directory,
                f"the log ends at offset {log.log_end_offset}: a commit that failed would have "
                f"ended at {last.ends[name]}, and somebody else has written since",
            )
    for name, start in last.starts.items():
        manager.truncate_to({name: start})


def _append(log: Log, folder: str) -> None:
    """Append the batches of the log in a folder, as a producer would send them."""
    epoch = log.leader_epochs.latest_epoch or 0
    for name in sorted(each.name for each in LOCAL.list(folder) if each.name.endswith(".log")):
        records = FileRecords.open(LOCAL, os.path.join(folder, name))
        try:
            for position, size in records.batches().rows[["position", "size"]].tolist():
                data = bytearray(records.file.read_bytes(position, size))
                data[:_OFFSET_SIZE] = bytes(_OFFSET_SIZE)  # the CRC does not cover it
                log.append_as_leader(MemoryRecords(np.frombuffer(data, np.uint8)), epoch)
        finally:
            records.close()
