"""Rescue to Parquet: every record that can still be read, with a receipt for each partition.

A partition is written next to the result, counted, and only then moved into it: a directory that
exists is complete. So a stopped job continues with the partitions that are missing.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.errors import LogDirectoryError, OutputError
from workbench.file_system.outputs import new_file, refuse_inputs, require_local
from workbench.inspection.partition import DiskPartition
from workbench.loaders.exports.parquet_file import write_parquet
from workbench.loaders.scan.plan import input_paths
from workbench.pipelines.lake.parquet_table import UNFINISHED
from workbench.pipelines.source_options import LOG, load, source_options
from workbench.spark_source.columns import ALL_COLUMNS, DAMAGE_COLUMN, arrow_schema
from workbench.spark_source.mapping import Batches, mapped
from workbench.spark_source.option_values import Path, Paths, plain_path
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import Plan

RECEIPT: Final = "_rescued.json"
"""In the directory of each partition; Spark skips names that begin so."""

"""Where partitions are written, in the result; Spark skips it too."""

_JOB_BYTES: Final = 1 << 30
"""Small partitions are rescued together: a job costs a second, however little it reads."""

_JOB_PARTITIONS: Final = 1000

_SCHEMA: Final = arrow_schema([name for name in ALL_COLUMNS if name not in {*LOG, "isControl"}])
"""The columns of the files."""

_OF_TASKS: Final = (
    "topic string, partition int, file string, segment bigint, counts binary, "
    "damage struct<kind: string, path: string, position: bigint, found: string, expected: string>"
)
_COUNTS: Final = pa.schema(
    [("segment", pa.int64()), ("position", pa.int64()), ("count", pa.int64())]
)

Log = tuple[str, int]


@dataclass(frozen=True)
class Rescued:
    """The outcome of rescuing one partition.

    Attributes:
        topic, partition: the topic's name and the partition's number.
        records: the number of records written.
        missing: records that headers of batches promise and that could not be read.
        damage: one dict for each damaged place, as column ``damage`` has it.
        was_done: an earlier run wrote it.
    """

    topic: str
    partition: int
    records: int
    missing: int
    damage: tuple[dict[str, Any], ...]
    was_done: bool = False


def rescue_to_parquet(
    spark: SparkSession, paths: Paths, out: Path, topics: Sequence[str] = ()
) -> Iterator[Rescued]:
    """Write the records of each partition to ``out/topic=T/partition=N``; yield it when it is done.

    The columns are those of format "kafka-log" with headers and metadata, in the order of offsets
    within a file. Damage is left out and reported. The records of every batch are counted in the
    files and compared with its header: where nothing was damaged they are as many. What is done is
    not done again. Each task writes its own files. Small partitions share a job.

    Args:
        spark: a session that knows the formats.
        paths: log directories of one broker, or partition directories.
        out: a directory that driver and executors share; created if it is missing.
        topics: names; none: all.

    Raises:
        LogDirectoryError: a path does not exist; or a batch returned more records, or without
            damage fewer, than its header counts: then the partition is not written.
        LookupError: a topic does not exist.
        OutputError: ``out`` is in one of the paths, leads there by a link, or is a URI.
    """
    base = os.path.realpath(require_local(plain_path(os.fspath(out))))
    plan = Plan(parse_options(source_options(paths, topics)))
    partitions = plan.partitions
    refuse_inputs(base, input_paths(plan.replicas))
    staging = os.path.join(base, UNFINISHED)
    _refuse_links(base, staging)
    shutil.rmtree(staging, ignore_errors=True)
    for job in _jobs(partitions):
        # A random name: a task of a run that was killed, but still runs itself, writes elsewhere.
        work = os.path.join(staging, secrets.token_hex(8))
        for partition in job:
            _refuse_links(base, os.path.join(base, _folder(partition)))
        missing = [p for p in job if not os.path.exists(os.path.join(base, _folder(p)))]
        found = _rescue(spark, paths, missing, work) if missing else {}
        for partition in job:
            final = os.path.join(base, _folder(partition))
            yours = found.get((partition.topic, partition.partition))
            if yours is None:
                yield _done_before(final)
                continue
            done = yours.checked(partition)
            unfinished = os.path.join(work, _folder(partition))
            yours.complete(unfinished, done)
            os.makedirs(os.path.dirname(final), exist_ok=True)
            os.rename(unfinished, final)
            yield done
    shutil.rmtree(staging, ignore_errors=True)


def _folder(partition: DiskPartition) -> str:
    return folder_of((partition.topic, partition.partition))


def folder_of(log: Log) -> str:
    """Return the directory of a partition in the result."""
    return os.path.join(f"topic={log[0]}", f"partition={log[1]}")


def _jobs(partitions: Sequence[DiskPartition]) -> Iterator[list[DiskPartition]]:
    """Yield partitions to be rescued together."""
    job: list[DiskPartition] = []
    size = 0
    for partition in partitions:
        if job and (size + partition.size > _JOB_BYTES or len(job) >= _JOB_PARTITIONS):
            yield job
            job, size = [], 0
        job.append(partition)
        size += partition.size
    if job:
        yield job


def _refuse_links(base: str, path: str) -> None:
    """Refuse links on the way from the result's directory: their targets must not be replaced.

    Raises:
        OutputError: one of the directories is a link.
    """
    while path != base:
        if os.path.islink(path):
            raise OutputError(path, "is a link")
        path = os.path.dirname(path)


def _done_before(final: str) -> Rescued:
    with open(os.path.join(final, RECEIPT), encoding="utf-8") as file:
        told = json.load(file)
    return replace(Rescued(**{**told, "damage": tuple(told["damage"])}), was_done=True)


@dataclass
class _Found:
    """What tasks wrote of one partition.

    Attributes:
        files: names of the files.
        counts: records by segment and position of the batch, one array for each file and segment.
        damage: one dict for each damaged place.
        promised: the headers of the batches, see `count_against_batches`.
    """

    promised: pa.Table
    files: set[str] = field(default_factory=set)
    counts: list[pa.RecordBatch] = field(default_factory=list)
    damage: list[dict[str, Any]] = field(default_factory=list)

    def checked(self, partition: DiskPartition) -> Rescued:
        """Return the outcome.

        Raises:
            LogDirectoryError: records are missing without damage, or there are too many.
        """
        records, missing, surplus = count_against_batches(
            pa.Table.from_batches(self.counts, _COUNTS), self.promised, partition.log_start_offset
        )
        if surplus or (missing and not self.damage):
            what = f"{surplus} records too many" if surplus else f"{missing} records too few"
            raise LogDirectoryError(partition.path, f"{what} were read, by the batch headers")
        damage = sorted(self.damage, key=lambda one: (one["path"] or "", one["position"] or 0))
        return Rescued(partition.topic, partition.partition, records, missing, tuple(damage))

    def complete(self, folder: str, done: Rescued) -> None:
        """Leave in a directory what was counted, and add the receipt."""
        os.makedirs(folder, exist_ok=True)
        for name in set(os.listdir(folder)) - self.files:  # of attempts that did not end
            os.unlink(os.path.join(folder, name))
        if not self.files:  # readers want at least one
            _write([], os.path.join(folder, "part-00000-0.parquet"))
        with new_file(os.path.join(folder, RECEIPT)) as file:
            file.write(json.dumps(asdict(done), indent=2).encode())


def _rescue(
    spark: SparkSession, paths: Paths, partitions: Sequence[DiskPartition], folder: str
) -> dict[Log, _Found]:
    """Write partitions below a directory, and return what was written of each."""
    assigned: dict[str, list[int]] = {}
    for each in partitions:
        assigned.setdefault(each.topic, []).append(each.partition)
    only = {"assign": json.dumps(assigned)}
    names = ["segment", "position", "record_count", "base_offset"]
    headers = load(spark, paths, table="batches", **only)
    headers = headers.where(F.col("problem").isNull() & ~F.col("is_control"))
    promised = headers.select(*LOG, *names).toArrow()
    found = {}
    for each in partitions:
        is_of_it = pc.and_(
            pc.equal(promised.column("topic"), each.topic),
            pc.equal(promised.column("partition"), each.partition),
        )
        found[each.topic, each.partition] = _Found(promised.filter(is_of_it).select(names))
        os.makedirs(os.path.join(folder, _folder(each)))
    options = {
        **source_options(paths, ()), **only,
        "onCorrupt": "rows", "includeHeaders": "true", "includeMetadata": "true",
    }  # fmt: skip
    for row in mapped(spark, Rescuing(folder), _OF_TASKS, options).collect():
        mine = found[row["topic"], row["partition"]]
        if row["damage"] is not None:
            mine.damage.append(row["damage"].asDict())
            continue
        mine.files.add(row["file"])
        counts = np.frombuffer(row["counts"], np.int64).reshape(2, -1)
        segment = np.full(counts.shape[1], row["segment"], np.int64)
        mine.counts.append(pa.RecordBatch.from_arrays([segment, *counts], schema=_COUNTS))
    return found


@dataclass(frozen=True)
class Rescuing:
    """The function that writes what a task reads, and yields what it wrote.

    A task that runs again, or twice at a time, writes the same files: each gets its name when it is
    complete.

    Attributes:
        folder: where the directories of partitions are.
    """

    folder: str

    def __call__(self, batches: Batches) -> Batches:
        """Yield a row per file and segment, with records by batch; and a row per damaged place."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        logs = groupby(batches, lambda one: tuple(one.column(name)[0].as_py() for name in LOG))
        for number, (log, group) in enumerate(logs):
            damage: list[dict[str, Any]] = []
            sound = _sound(group, damage)
            first = next(sound, None)
            if first is not None:
                name = f"part-{task:05d}-{number}.parquet"
                path = os.path.join(self.folder, folder_of(log), name)
                _write(chain([first], sound), path)
                yield from _counted(log, path)
            yield from _told(log, damage)


def _sound(batches: Batches, damage: list[dict[str, Any]]) -> Batches:
    """Yield the records of batches, and put what is damaged into a list."""
    for batch in batches:
        places = batch.column(DAMAGE_COLUMN)
        rows = batch
        if places.null_count < len(places):
            damage += places.drop_null().to_pylist()
            rows = batch.filter(places.is_null())
        if rows.num_rows:
            yield rows.select(_SCHEMA.names)


def _write(batches: Any, path: str) -> None:
    with new_file(path, overwrite=True) as file:
        write_parquet(batches, _SCHEMA, file, "snappy")


def _counted(log: Log, path: str) -> Batches:
    """Yield, for each segment, the records by batch that a file has."""
    stored = pq.read_table(path, columns=["segment", "batchPosition"], partitioning=None)
    segments, positions = (np.asarray(column) for column in stored.columns)
    for segment in np.unique(segments).tolist():
        counts = np.unique(positions[segments == segment], return_counts=True)
        yield _row(log, os.path.basename(path), segment, np.stack(counts).tobytes(), None)


def _told(log: Log, damage: list[dict[str, Any]]) -> Batches:
    for each in damage:
        yield _row(log, None, None, None, each)


def _row(log: Log, *values: object) -> pa.RecordBatch:
    names = ("file", "segment", "counts", "damage")
    row = dict(zip(names, values, strict=True))
    return pa.RecordBatch.from_pylist([{"topic": log[0], "partition": log[1], **row}], _ROW)


_ROW: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("file", pa.string()),
        ("segment", pa.int64()),
        ("counts", pa.binary()),
        ("damage", arrow_schema([DAMAGE_COLUMN]).field(DAMAGE_COLUMN).type),
    ]
)


def count_against_batches(
    written: pa.Table, promised: pa.Table, start: int
) -> tuple[int, int, int]:
    """Return the records that were written, are missing, and are too many by the batch headers.

    Batches without a count are not compared: wrappers of magic 0 and 1, and a batch that begins
    below the log start offset.

    Args:
        written: columns segment, position, count: the records of one partition by their batches.
        promised: columns segment, position, record_count and base_offset: the headers of sound
            batches that are not control batches.
        start: log start offset.
    """
    counts = written.group_by(["segment", "position"]).aggregate([("count", "sum")])
    tells = promised.filter(pc.greater_equal(promised.column("base_offset"), start))
    both = tells.select(["segment", "position", "record_count"]).join(
        counts, ["segment", "position"], join_type="full outer"
    )
    there = both.column("count_sum").fill_null(0)
    expected = both.column("record_count").cast(pa.int64())
    lost = np.asarray(pc.subtract(expected, there).fill_null(0))
    return int(np.asarray(there).sum()), int(lost[lost > 0].sum()), -int(lost[lost < 0].sum())
