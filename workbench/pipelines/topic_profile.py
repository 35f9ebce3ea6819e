"""Topic profile: a topic hour by hour: rates, sizes, keys, gaps and late records.

Tasks count by hour where they read; Spark adds a few rows per task and hour. A key becomes 8 bytes
of a binary cell, not a row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.layout.integers import INT64_MIN
from workbench.pipelines.key_buckets import (
    ROOM,
    bucket_bits,
    bucket_slices,
    cells,
    distinct,
    sums_of,
)
from workbench.pipelines.sizes import header_sizes, sizes_of
from workbench.pipelines.source_options import LOG, source_options
from workbench.record.compaction.key_table import Secret, new_secret
from workbench.runtime.times import HOUR, MINUTE
from workbench.spark_source.mapping import Batches, mapped
from workbench.spark_source.option_values import Paths
from workbench.spark_source.options import DEFAULT_PARTITION_BYTES, parse_options
from workbench.spark_source.plan.planning import Plan

_NARROW: Final = "topic,partition,offset,timestamp,segment,isControl"
_NO_TIME: Final = INT64_MIN
_NO_HOUR: Final = -(2**62)  # of records without a timestamp

_SUMS: Final = (
    "records", "bytes", "key_bytes", "value_bytes", "null_keys", "tombstones", "gaps",
    "missing_offsets", "late",
)  # fmt: skip
_MAXIMA: Final = ("largest_key", "largest_value", "latest_by_ms")  # below 0: null
_RESULT: Final = (
    "records", "bytes", "key_bytes", "largest_key", "value_bytes", "largest_value", "keys",
    "null_keys", "tombstones", "gaps", "missing_offsets", "late", "latest_by_ms",
)  # fmt: skip
_NUMBERS: Final = ", ".join(f"{name} bigint" for name in (*_SUMS, *_MAXIMA))
_OF_TASKS: Final = (
    f"topic string, partition int, bucket int, hour bigint, {_NUMBERS}, key_sums binary"
)
_OF_BUCKETS: Final = f"topic string, partition int, hour bigint, {_NUMBERS}, keys bigint"

Before = dict[tuple[str, int, int], tuple[int | None, int]]
"""The last offset and the largest time before a segment, by topic, partition and base offset."""

Longs = npt.NDArray[np.int64]


def topic_profile(
    spark: SparkSession, paths: Paths, topics: Sequence[str] = (), *, late_ms: int = MINUTE
) -> DataFrame:
    """Return one row per partition and hour (UTC) of the records' timestamps.

    Columns: topic, partition, hour (null: records without a timestamp), records, bytes (keys,
    values and headers before compression), key_bytes, largest_key, value_bytes, largest_value,
    keys (distinct ones, by a hash of 64 bits), null_keys, tombstones, gaps (places
    where offsets are missing before a record of this hour), missing_offsets (how many), late
    (records more than ``late_ms`` earlier than the largest timestamp before them), latest_by_ms
    (the most that a record is late; null: none is).

    Damage is left out (`cluster_verify` reports it) and leaves a gap.
    A task reads entire segments. What precedes a segment is known from a narrow scan, which runs
    when this function is called. Transaction markers are neither records nor gaps.

    Args:
        spark: a session that knows the formats.
        paths: log directories of one broker, or partition directories.
        topics: names; none: all.
        late_ms: the lateness that is still in time, ms.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic does not exist.
    """
    options = source_options(paths, topics, includeControl="true", onCorrupt="skip")
    partitions = Plan(parse_options(options)).partitions
    largest = max((each.size for log in partitions for each in log.segments), default=0)
    profiling = Profiling(
        _before_segments(spark, options), late_ms, bucket_bits(partitions), new_secret()
    )
    told = mapped(
        spark,
        profiling,
        _OF_TASKS,
        options
        | {
            "columns": f"{_NARROW},key,value,headers",
            "maxPartitionBytes": max(DEFAULT_PARTITION_BYTES, largest),
        },
    )
    by_bucket = told.groupBy(*LOG, "bucket").applyInArrow(_count_keys, _OF_BUCKETS)
    sums = [F.sum(name).alias(name) for name in (*_SUMS, "keys")]
    maxima = [F.max(name).alias(name) for name in _MAXIMA]
    hours = by_bucket.groupBy(*LOG, "hour").agg(*sums, *maxima)
    known = {
        name: F.when(F.col(name) > (0 if name == "latest_by_ms" else -1), F.col(name))
        for name in _MAXIMA
    }
    hour = F.timestamp_millis(F.when(F.col("hour") != _NO_HOUR, F.col("hour") * HOUR))
    columns = [known.get(name, F.col(name)).alias(name) for name in _RESULT]
    return hours.select(*LOG, hour.alias("hour"), *columns).orderBy(*LOG, "hour")


def _before_segments(spark: SparkSession, options: dict[str, str]) -> Before:
    """Return the last offset and the largest time before each segment."""
    told = mapped(
        spark,
        _ends_of_segments,
        "topic string, partition int, segment bigint, last bigint, newest bigint",
        options | {"columns": _NARROW},
    )
    ends = told.groupBy(*LOG, "segment").agg(F.max("last"), F.max("newest"))
    found: Before = {}
    log, last, newest = None, None, _NO_TIME
    for row in sorted(map(tuple, ends.collect())):
        if row[:2] != log:
            log, last, newest = row[:2], None, _NO_TIME
        found[row[:3]] = (last, newest)
        last = row[3] if last is None else max(last, row[3])
        newest = max(newest, row[4])
    return found


def _ends_of_segments(batches: Batches) -> Batches:
    """Yield the last offset and the largest time of each batch."""
    for batch in batches:
        times = _times(batch, np.asarray(batch.column("isControl")))
        yield pa.RecordBatch.from_pydict(
            {
                **{name: batch.column(name)[:1] for name in (*LOG, "segment")},
                "last": batch.column("offset")[-1:],
                "newest": pa.array([int(times.max())]),
            }
        )


def _times(batch: pa.RecordBatch, is_control: npt.NDArray[np.bool_]) -> Longs:
    """Return int64[n]: timestamps of records, ms; `_NO_TIME` for markers and records without."""
    stored = batch.column("timestamp")
    micros = np.asarray(stored.cast(pa.int64()).fill_null(0))
    has_none = is_control | np.asarray(stored.is_null())
    return np.where(has_none, _NO_TIME, micros // 1000)


@dataclass(frozen=True)
class Profiling:
    """The function that profiles what a task reads.

    Attributes:
        before: what precedes each segment; others are left out, because they are newer.
        late_ms: the lateness that is still in time, ms.
        bits: the logarithm of the number of buckets of keys.
        secret: the secret of all sums of keys.
    """

    before: Before
    late_ms: int
    bits: int
    secret: Secret

    def __call__(self, batches: Batches) -> Batches:
        """Yield the counts of a task: a row per hour and bucket of keys."""
        segment, log = None, None
        counts = _Counts(self.bits)
        last, newest = None, _NO_TIME
        for batch in batches:
            where = tuple(batch.column(name)[0].as_py() for name in (*LOG, "segment"))
            if where != segment:
                if where not in self.before:
                    continue
                segment, (last, newest) = where, self.before[where]
                if log != where[:2]:
                    yield from counts.taken(log)
                    log = where[:2]
            last, newest = self._count(batch, counts, last, newest)
            if counts.is_full:
                yield from counts.taken(log)
        yield from counts.taken(log)

    def _count(
        self, batch: pa.RecordBatch, counts: "_Counts", last: int | None, newest: int
    ) -> tuple[int, int]:
        """Count a batch; return its last offset, and the largest time so far.

        Args:
            last: the offset before it; None: it is the first.
            newest: the largest time before it.
        """
        offsets = np.asarray(batch.column("offset"))
        is_control = np.asarray(batch.column("isControl"))
        times = _times(batch, is_control)
        skipped = np.diff(offsets, prepend=offsets[0] - 1 if last is None else last) - 1
        highest = np.maximum.accumulate(np.append(newest, times))
        is_behind = (times != _NO_TIME) & (highest[:-1] > times)
        behind = np.where(is_behind, highest[:-1] - np.where(is_behind, times, 0), 0)
        hours = np.where(times == _NO_TIME, _NO_HOUR, times // HOUR)
        keys, values = sizes_of(batch.column("key")), sizes_of(batch.column("value"))
        key_bytes, value_bytes = np.maximum(keys, 0), np.maximum(values, 0)
        size = key_bytes + value_bytes + header_sizes(batch.column("headers"))
        sums: tuple[npt.NDArray[Any], ...] = (
            np.ones(len(offsets), np.int64), size, key_bytes, value_bytes, keys < 0, values < 0,
            skipped > 0, skipped, behind > self.late_ms,
        )  # fmt: skip
        hashes = sums_of(batch.column("key"), self.secret)[0]
        picks = np.flatnonzero(~is_control)
        if len(picks) < len(offsets):
            hours, keys, values, behind = (each[picks] for each in (hours, keys, values, behind))
            sums, hashes = tuple(each[picks] for each in sums), hashes[picks]
        if len(hours):
            counts.add(hours, sums, (keys, values, behind), hashes, keys >= 0)
        return int(offsets[-1]), int(highest[-1])


@dataclass
class _Counts:
    """Counts of one log by hour.

    Attributes:
        bits: the logarithm of the number of buckets of keys.
        sums, maxima: the numbers of each hour, in the order of `_SUMS` and `_MAXIMA`.
        hashes: of each hour, int64 arrays of hashes of keys.
        held: how many hashes are held.
    """

    bits: int
    sums: dict[int, Longs] = field(default_factory=dict)
    maxima: dict[int, Longs] = field(default_factory=dict)
    hashes: dict[int, list[Longs]] = field(default_factory=dict)
    held: int = 0

    @property
    def is_full(self) -> bool:
        """Whether so much is held that it must be handed on."""
        return self.held >= ROOM or len(self.sums) >= ROOM // 64

    def add(
        self,
        hours: Longs,
        sums: Sequence[npt.NDArray[Any]],
        maxima: Sequence[Longs],
        hashes: Longs,
        has_key: npt.NDArray[np.bool_],
    ) -> None:
        """Add records: int64[n] hours, and arrays of n numbers."""
        starts = np.zeros(1, np.intp)
        if (hours != hours[0]).any():
            order = np.argsort(hours, kind="stable")
            hours, hashes, has_key = hours[order], hashes[order], has_key[order]
            sums, maxima = [each[order] for each in sums], [each[order] for each in maxima]
            starts = np.flatnonzero(np.diff(hours, prepend=hours[0] - 1))
        added = np.stack([np.add.reduceat(each.astype(np.int64), starts) for each in sums], 1)
        largest = np.stack([np.maximum.reduceat(each, starts) for each in maxima], 1)
        ends = [*starts[1:].tolist(), len(hours)]
        for at, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
            hour = int(hours[start])
            known = hashes[start:end][has_key[start:end]]
            if hour in self.sums:
                self.sums[hour] += added[at]
                np.maximum(self.maxima[hour], largest[at], out=self.maxima[hour])
            else:
                self.sums[hour], self.maxima[hour] = added[at].copy(), largest[at].copy()
            self.hashes.setdefault(hour, []).append(known)
            self.held += len(known)

    def taken(self, log: tuple[Any, ...] | None) -> Iterator[pa.RecordBatch]:
        """Yield what was counted of a log, and start over."""
        if log is None or not self.sums:
            return
        numbers: list[Longs] = []
        buckets: list[int] = []
        parts: list[bytes] = []
        hours: list[int] = []
        for hour, sums in self.sums.items():
            row = np.concatenate([sums, self.maxima[hour]])
            found = distinct(np.concatenate(self.hashes[hour]))
            sliced = list(bucket_slices(found, self.bits)) or [(0, slice(0, 0))]
            for number, (bucket, places) in enumerate(sliced):
                numbers.append(_NOTHING if number else row)
                buckets.append(bucket)
                hours.append(hour)
                parts.append(found[places].tobytes())
        names = (*_SUMS, *_MAXIMA)
        table = np.stack(numbers, 1)
        yield pa.RecordBatch.from_pydict(
            {
                "topic": pa.repeat(pa.scalar(log[0]), len(hours)),
                "partition": pa.repeat(pa.scalar(log[1], pa.int32()), len(hours)),
                "bucket": pa.array(buckets, pa.int32()),
                "hour": pa.array(hours, pa.int64()),
                **{name: pa.array(column) for name, column in zip(names, table, strict=True)},
                "key_sums": cells(parts),
            }
        )
        self.sums, self.maxima, self.hashes, self.held = {}, {}, {}, 0


_NOTHING: Final = np.array([0] * len(_SUMS) + [-1] * len(_MAXIMA), np.int64)


def _count_keys(rows: pa.Table) -> pa.Table:
    """Return the rows of a bucket added up by hour, with the number of distinct keys."""
    rows = rows.combine_chunks().sort_by("hour")
    hours = np.asarray(rows.column("hour"))
    starts = np.flatnonzero(np.diff(hours, prepend=hours[0] - 1))
    columns: dict[str, Any] = {
        name: rows.column(name).take(pa.array(starts)) for name in (*LOG, "hour")
    }
    for names, add in ((_SUMS, np.add), (_MAXIMA, np.maximum)):
        for name in names:
            columns[name] = pa.array(add.reduceat(np.asarray(rows.column(name)), starts))
    sums = rows.column("key_sums").combine_chunks()
    ends = [*starts[1:].tolist(), len(hours)]
    columns["keys"] = pa.array(
        [_distinct(sums[start:end]) for start, end in zip(starts.tolist(), ends, strict=True)],
        pa.int64(),
    )
    return pa.table(columns)


def _distinct(cells_of_hour: Any) -> int:
    """Return how many sums are in cells, each of which holds them once."""
    if len(cells_of_hour) == 1:
        return len(cells_of_hour[0].as_buffer()) // 8
    whole = b"".join(cell.as_buffer() for cell in cells_of_hour)
    return len(distinct(np.frombuffer(whole, np.int64)))
