"""``df.write.format("kafka-log")``: rows to segments that a broker opens.

Each task writes logs of its own into a hidden directory; when all are done, the driver combines
them into partitions. A failed task or job leaves no files.

Spark: KafkaWriter, KafkaSourceProvider.createRelation (4.2)
"""

import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from workbench.file_system.local import LOCAL
from workbench.file_system.outputs import require_local
from workbench.files.names import TopicPartition, topic_name_problem
from workbench.layout.attributes import CODEC_NAMES
from workbench.loaders.writing.from_arrow import binary_column, record_columns, timestamps_ms
from workbench.loaders.writing.log_assembly import Assembly
from workbench.loaders.writing.log_writing import BatchStyle, append_columns, create_log
from workbench.log.log import Log
from workbench.record.partitioner import partitions_for_keys
from workbench.spark_source.option_values import flag, paths, positive, size, small_names
from workbench.spark_source.worker import spare_collections

_TEXTS: Final = ("binary", "string")
_TYPES: Final = {
    "key": _TEXTS,
    "value": _TEXTS,
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "offset": ("bigint",),
}
"""The columns that are written, and their types; others are ignored, as by Spark's sink."""

_OPTIONS: Final = {
    name.lower(): name
    for name in (
        "path", "topic", "numPartitions", "kafka.compression.type", "kafka.batch.size",
        "segmentBytes", "keepOffsets", "checkpointLocation",
    )
}  # fmt: skip


@dataclass(frozen=True)
class WriteOptions:
    """The options of one ``save``, checked.

    Attributes:
        path: the log directory.
        topic: the topic of all records; None: the column ``topic`` names it.
        partitions: the partitions of each topic, for records that name none.
        style: the style of batches and segments.
        keeps_offsets: whether records have the offsets of the column ``offset``.
    """

    path: str
    topic: str | None
    partitions: int
    style: BatchStyle
    keeps_offsets: bool


def parse_write_options(options: Mapping[str, str], schema: StructType) -> WriteOptions:
    """Return the options of a ``save``; names in any case.

    Raises:
        OutputError: the path is a URI: tasks write to a folder that driver and executors share.
        ValueError: an option is unknown or invalid, or a column is missing or has another type.
    """
    given = small_names(options)
    for name in given:
        if name not in _OPTIONS and not name.startswith("kafka."):
            known = ", ".join(_OPTIONS.values())
            raise ValueError(f"unknown option {name!r} to write kafka-log; options: {known}")
    topic = given.get("topic")
    keeps_offsets = flag(given, "keepOffsets", default=False)
    needed = ["value", *["topic"] * (topic is None), *["offset"] * keeps_offsets]
    types = {field.name: field.dataType.simpleString() for field in schema}
    for name in needed:
        if name not in types:
            raise ValueError(f"no column {name} to write; columns: {', '.join(types)}")
    for name, kinds in _TYPES.items():
        if name in types and types[name] not in kinds:
            raise ValueError(f"column {name} is {types[name]}, not {' or '.join(kinds)}")
    if topic is not None and (problem := topic_name_problem(topic)):
        raise ValueError(f"topic {topic!r}: {problem}")
    codec = given.get("kafka.compression.type", "none").strip().lower()
    if codec not in CODEC_NAMES:
        raise ValueError(f"kafka.compression.type is {codec!r}, not {', '.join(CODEC_NAMES)}")
    path, *others = [require_local(each) for each in paths(given)]
    if others:
        raise ValueError(f"kafka-log writes to one path, not {len(others) + 1}")
    style = BatchStyle(codec)
    return WriteOptions(
        path=path,
        topic=topic,
        partitions=positive(given, "numPartitions") or 1,
        style=BatchStyle(
            codec,
            batch_size=positive(given, "kafka.batch.size") or style.batch_size,
            segment_size=positive(given, "segmentBytes", size) or style.segment_size,
        ),
        keeps_offsets=keeps_offsets,
    )


@dataclass
class WrittenLogs(WriterCommitMessage):
    """The logs that one task wrote.

    Attributes:
        task: the number of the task: the order of combining.
        logs: the directory of each log.
        counts: the number of records of each log.
    """

    task: int
    logs: dict[TopicPartition, str]
    counts: dict[TopicPartition, int]


class KafkaLogWriter(DataSourceArrowWriter):
    """Write one ``save``: `write` in each task, `commit` or `abort` on the driver.

    Args:
        options: the options of the ``save``.
        overwrite: whether the topics that are written are replaced.

    Raises:
        OSError: the directory cannot be written to.
    """

    def __init__(self, options: WriteOptions, *, overwrite: bool) -> None:
        self._options = options
        self._overwrite = overwrite
        self._staging = staging_folder(options.path, uuid4().hex)
        os.makedirs(self._staging)  # here, so that no task creates it again after the job has ended

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenLogs:
        """Write the rows of one task.

        Raises:
            ValueError: a row cannot be a record: no topic, or a partition or time below 0.
            StorageError, OSError: writing failed, or the job has ended already.
        """
        context = TaskContext.get()
        assert context is not None
        return written_by_task(context, self._staging, self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Combine what all tasks wrote into partitions.

        Raises:
            LogDirectoryError: a broker uses the directory, or kept offsets overlap.
        """
        found = logs_of([message for message in messages if isinstance(message, WrittenLogs)])
        try:
            if found:
                assembly = Assembly(LOCAL, self._options.path, self._staging)
                assembly.publish(
                    found, overwrite=self._overwrite, keeps_offsets=self._options.keeps_offsets
                )
        finally:
            remove_staging(self._staging)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        """Remove what was written."""
        remove_staging(self._staging)


def staging_folder(path: str, unique_id: str) -> str:
    """Return the folder for what tasks write; a broker deletes one that is left over."""
    return os.path.join(path, f"kafka-log-0.{unique_id}-delete")


def remove_staging(folder: str) -> None:
    """Remove what tasks wrote; a task that still runs can create no more files there."""
    gone = f"{folder.removesuffix('-delete')}-gone-delete"
    with suppress(FileNotFoundError):  # an abort after a commit that failed
        os.rename(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def logs_of(done: Iterable[WrittenLogs]) -> dict[TopicPartition, list[str]]:
    """Return the logs of each partition, in the order of tasks."""
    found: defaultdict[TopicPartition, list[str]] = defaultdict(list)
    for each in sorted(done, key=lambda one: one.task):
        for name, folder in each.logs.items():
            found[name].append(folder)
    return dict(found)


def written_by_task(
    context: TaskContext, staging: str, options: WriteOptions, batches: Iterator[pa.RecordBatch]
) -> WrittenLogs:
    """Write the rows of one task into a folder of its own, which is removed if that fails.

    Raises:
        ValueError: a row cannot be a record.
        StorageError, OSError: writing failed, or there is no staging folder.
    """
    folder = Path(staging) / f"task-{context.taskAttemptId()}"
    folder.mkdir()
    try:
        with TaskLogs(folder, options, context.partitionId()) as logs:
            for batch in batches:
                logs.append(batch)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    spare_collections()
    return WrittenLogs(context.partitionId(), logs.folders, dict(logs.counts))


class TaskLogs:
    """The logs that one task writes, one for each partition that it has rows of.

    Args:
        folder: the directory for the logs.
        options: the options of the ``save``.
        task: its number; spreads records without a key.

    Attributes:
        folders: the directories of the logs.
        counts: the number of records written to each.
    """

    def __init__(self, folder: Path, options: WriteOptions, task: int) -> None:
        self.folders: dict[TopicPartition, str] = {}
        self.counts = Counter[TopicPartition]()
        self._folder = folder
        self._options = options
        self._turn = task
        self._logs: dict[TopicPartition, Log] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        with ExitStack() as stack:
            for log in self._logs.values():
                stack.callback(log.close_handlers if failure else log.close)
                if not failure:
                    log.flush(force_active_segment=True)

    def append(self, batch: pa.RecordBatch) -> None:
        """Write rows.

        Raises:
            ValueError: a row cannot be a record.
            StorageError: writing failed.
        """
        columns = {name: batch.column(name) for name in batch.schema.names if name in _TYPES}
        topics = self._topics(columns, batch.num_rows)
        partitions = self._partitions(columns, batch.num_rows)
        codes = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        places = codes << 32 | partitions
        for place in np.unique(places).tolist():
            picks = pa.array(np.flatnonzero(places == place))
            chosen = {name: column.take(picks) for name, column in columns.items()}
            topic = topics.dictionary[place >> 32].as_py()
            self._append(TopicPartition(topic, place & 0xFFFFFFFF), chosen, len(picks))

    def _append(self, name: TopicPartition, columns: dict[str, Any], count: int) -> None:
        log = self._logs.get(name)
        if log is None:
            folder = self._folder / str(name)
            log = self._logs[name] = create_log(str(folder), self._options.style)
            self.folders[name] = str(folder)
            if self._options.keeps_offsets:
                log.truncate_fully_and_start_at(int(columns["offset"][0].as_py()))
        if self._options.keeps_offsets:
            offsets = np.asarray(columns["offset"], np.int64)
        else:
            offsets = np.arange(log.log_end_offset, log.log_end_offset + count)
        if "timestamp" in columns:
            timestamps = timestamps_ms(columns["timestamp"])
        else:
            timestamps = np.full(count, log.context.clock.now(), np.int64)
        records = record_columns(
            offsets, timestamps, columns.get("key"), columns["value"], columns.get("headers")
        )
        append_columns(log, records, self._options.style)
        self.counts[name] += count

    def _topics(self, columns: dict[str, Any], count: int) -> pa.DictionaryArray:
        """Return the topic of each row."""
        if self._options.topic is not None:
            zeros = np.zeros(count, np.int32)
            return pa.DictionaryArray.from_arrays(zeros, [self._options.topic])
        topics = columns["topic"]
        if topics.null_count:
            raise ValueError("a row has no topic; give one with option('topic', …)")
        encoded = topics.dictionary_encode()
        for topic in encoded.dictionary.to_pylist():
            if problem := topic_name_problem(topic):
                raise ValueError(f"topic {topic!r}: {problem}")
        return encoded

    def _partitions(self, columns: dict[str, Any], count: int) -> np.ndarray[Any, Any]:
        """Return the partition of each row: that of its column, of its key, or the next in turn."""
        chosen = np.full(count, -1, np.int64)
        if "partition" in columns:
            column = columns["partition"]
            chosen[:] = np.asarray(pc.fill_null(column, -1))
            if (chosen[np.asarray(column.is_valid())] < 0).any():
                raise ValueError(f"{chosen.min()} is not a partition")
        if "key" in columns and (chosen < 0).any():
            by_key = partitions_for_keys(binary_column(columns["key"]), self._options.partitions)
            chosen = np.where(chosen < 0, by_key, chosen)
        chosen[chosen < 0] = self._turn % self._options.partitions
        self._turn += 1
        return chosen
