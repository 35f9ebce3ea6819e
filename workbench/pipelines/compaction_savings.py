"""Compaction savings: what one cleaning of entire logs drops, from the last offset of each key.

A task finds the newest record of each key that it reads. Of that, 40 bytes go through Spark, in
binary cells, to the tasks that combine them.

Kafka: Cleaner.shouldRetainRecord (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import Aborts, Transactions, read_transactions
from workbench.pipelines.key_buckets import (
    ROOM,
    bucket_bits,
    bucket_slices,
    joined_cells,
    sums_of,
)
from workbench.pipelines.sizes import record_sizes
from workbench.pipelines.source_options import LOG, load, source_options
from workbench.record.compaction.key_table import Secret, new_secret
from workbench.runtime.times import time_or_now
from workbench.spark_source.mapping import Batches, mapped
from workbench.spark_source.option_values import Paths
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import Plan

NEWEST: Final = "newest of its key"
TOMBSTONE: Final = "tombstone, delete horizon not passed"
SUPERSEDED: Final = "superseded"
NO_KEY: Final = "no key"
ABORTED: Final = "aborted"
EXPIRED: Final = "tombstone, delete horizon passed"

KEPT: Final = (NEWEST, TOMBSTONE)
"""The fates of records that are kept."""

_NEWEST_FATES: Final = (NEWEST, TOMBSTONE, EXPIRED)
"""The fates of the newest record of a key, by number."""

_COLUMNS: Final = (
    "topic,partition,offset,key,value,headers,producerId,isTransactional,segment,batchPosition"
)
_OF_TASKS: Final = (
    "topic string, partition int, bucket int, fate string, records bigint, bytes bigint, "
    "newest binary"
)
_OF_BUCKETS: Final = "topic string, partition int, fate string, records bigint, bytes bigint"

_FIRST, _SECOND, _OFFSET, _FATE, _BYTES = range(5)
"""The columns of what is known of a key: int64[n, 5], the newest record of each that was seen."""

Log = tuple[str, int]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def compaction_savings(
    spark: SparkSession, paths: Paths, topics: Sequence[str] = (), *, now: int | None = None
) -> DataFrame:
    """Return one row per partition and fate: what cleaning the log does to its records.

    Columns: topic, partition, fate (one of the texts above), is_kept, records, bytes (keys, values
    and headers before compression). The logs are cleaned once from their start, with an offset map
    that holds every key, as if every topic were compacted without `min.compaction.lag.ms`.
    Segments that would not be cleaned are left out: the active one, and those at or after the first
    open transaction. Control records and records below the log start offset are left out too.

    Args:
        spark: a session that knows the formats.
        paths: log directories of one broker, or partition directories.
        topics: names; none: all.
        now: ms, that delete horizons are measured by; None: this machine's time.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic does not exist.
    """
    moment = time_or_now(now)
    options = source_options(paths, topics)
    partitions = Plan(parse_options(options)).partitions
    logs = {}
    no_aborts = Aborts(_NONE, _NONE, _NONE)  # one for all: every task gets the facts of all logs
    for each in partitions:
        if each.segments:
            transactions = read_transactions(each)
            end = _end(each, transactions)
            if each.segments[0].base_offset < end:
                aborts = transactions.aborts if len(transactions.aborts.offsets) else no_aborts
                logs[each.topic, each.partition] = LogFacts(end, aborts)
    passed = _passed_batches(spark, paths, topics, moment)
    deciding = Deciding(logs, passed, bucket_bits(partitions), new_secret())
    told = mapped(spark, deciding, _OF_TASKS, options | {"columns": _COLUMNS})
    by_bucket = told.groupBy(*LOG, "bucket").applyInArrow(_combined, _OF_BUCKETS)
    sums = by_bucket.groupBy(*LOG, "fate").agg(
        F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
    )
    is_kept = F.col("fate").isin(*KEPT).alias("is_kept")
    found = sums.where(F.col("records") > 0)
    return found.select(*LOG, "fate", is_kept, "records", "bytes").orderBy(*LOG, "fate")


class LogFacts(NamedTuple):
    """What tasks must know of a log.

    Attributes:
        end: the base of the first segment that is not cleaned.
        aborts: the transaction markers that abort.
    """

    end: int
    aborts: Aborts


def _end(partition: DiskPartition, transactions: Transactions) -> int:
    """Return the base of the first segment not cleaned: active, or with an open transaction.

    Kafka: LogCleanerManager.cleanableOffsets, calculateCleanableBytes (4.2)
    """
    bases = [segment.base_offset for segment in partition.segments]
    return max([base for base in bases if base <= transactions.last_stable_offset] or bases[:1])


Passed = dict[tuple[str, int, int], Longs]
"""The positions of batches whose delete horizon has passed, by topic, partition and segment."""


def _passed_batches(
    spark: SparkSession, paths: Paths, topics: Sequence[str], moment: int
) -> Passed:
    batches = load(spark, paths, topics, "batches")
    rows = batches.where(F.unix_millis("delete_horizon") <= moment)
    found: dict[tuple[str, int, int], list[int]] = {}
    for topic, partition, segment, position in rows.select(*LOG, "segment", "position").collect():
        found.setdefault((topic, partition, segment), []).append(position)
    return {where: np.array(positions, np.int64) for where, positions in found.items()}


@dataclass(frozen=True)
class Deciding:
    """The function that decides about the records that a task reads.

    Attributes:
        logs: the facts of each log.
        passed: the batches whose delete horizon has passed.
        bits: the logarithm of the number of buckets of keys.
        secret: the secret of all sums of keys.
    """

    logs: dict[Log, LogFacts]
    passed: Passed
    bits: int
    secret: Secret

    def __call__(self, batches: Batches) -> Batches:
        """Yield what a task knows: sums by fate, and the newest record of each key."""
        log: Log | None = None
        seen = _Seen(self.bits)
        for batch in batches:
            topic, partition, segment = (
                batch.column(name)[0].as_py() for name in (*LOG, "segment")
            )
            if (topic, partition) != log:
                yield from seen.taken(log)
                log = (topic, partition)
            facts = self.logs.get(log)
            if facts is None or segment >= facts.end:
                continue
            self._decide(batch, facts, self.passed.get((*log, segment), _NONE), seen)
            if seen.held >= ROOM:
                yield from seen.taken(log)
        yield from seen.taken(log)

    def _decide(self, batch: pa.RecordBatch, facts: LogFacts, passed: Longs, seen: "_Seen") -> None:
        offsets, sizes = np.asarray(batch.column("offset")), record_sizes(batch)
        is_aborted = _aborted(batch, offsets, facts.aborts)
        has_key = np.asarray(batch.column("key").is_valid())
        seen.add(ABORTED, sizes[is_aborted])
        seen.add(NO_KEY, sizes[~is_aborted & ~has_key])
        is_keyed = ~is_aborted & has_key
        fates = np.zeros(len(offsets), np.int64)
        is_null = np.asarray(batch.column("value").is_null())
        if is_null.any():
            has_passed = np.isin(np.asarray(batch.column("batchPosition")), passed)
            fates[is_null] = np.where(has_passed[is_null], 2, 1)  # see `_NEWEST_FATES`
        sums = sums_of(batch.column("key"), self.secret)
        seen.put(np.stack([*sums, offsets, fates, sizes], 1)[is_keyed])


_NONE: Final = np.zeros(0, np.int64)


def _aborted(batch: pa.RecordBatch, offsets: Longs, aborts: Aborts) -> Mask:
    """Return which records a transaction marker aborts."""
    found = np.zeros(len(offsets), np.bool_)
    places = np.flatnonzero(np.asarray(batch.column("isTransactional")))
    if len(places) and len(aborts.offsets):
        producers = np.asarray(batch.column("producerId").fill_null(-1))[places]
        found[places] = aborts.ending(producers, offsets[places]) >= 0
    return found


@dataclass
class _Seen:
    """What a task has seen of one log.

    Attributes:
        bits: the logarithm of the number of buckets of keys.
        sums: records and bytes by fate, where the fate is known.
        newest: entries of keys, int64[n, 5] each.
        held: how many entries are held.
    """

    bits: int
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    newest: list[Longs] = field(default_factory=list)
    held: int = 0

    def add(self, fate: str, sizes: Longs) -> None:
        """Add records of a fate, by their sizes."""
        if len(sizes):
            records, size = self.sums.get(fate, (0, 0))
            self.sums[fate] = records + len(sizes), size + int(sizes.sum())

    def put(self, entries: Longs) -> None:
        """Put records with keys."""
        self.newest.append(entries)
        self.held += len(entries)

    def taken(self, log: Log | None) -> Iterator[pa.RecordBatch]:
        """Yield what was seen of a log, and start over."""
        if log is None:
            return
        kept = _NO_ENTRIES
        if self.newest:
            kept, others = newest_entries(np.concatenate(self.newest))
            self.add(SUPERSEDED, others)
        rows: list[tuple[int, str | None, int, int, bytes | None]] = [
            (0, fate, *sums, None) for fate, sums in self.sums.items()
        ]
        rows += [
            (bucket, None, 0, 0, kept[places].tobytes())
            for bucket, places in bucket_slices(kept[:, _FIRST], self.bits)
        ]
        self.sums, self.newest, self.held = {}, [], 0
        if rows:
            buckets, fates, records, sizes, entries = zip(*rows, strict=True)
            yield pa.RecordBatch.from_pydict(
                {
                    "topic": pa.repeat(pa.scalar(log[0]), len(rows)),
                    "partition": pa.repeat(pa.scalar(log[1], pa.int32()), len(rows)),
                    "bucket": pa.array(buckets, pa.int32()),
                    "fate": pa.array(fates, pa.string()),
                    "records": pa.array(records, pa.int64()),
                    "bytes": pa.array(sizes, pa.int64()),
                    "newest": pa.array(entries, pa.binary()),
                }
            )


_NO_ENTRIES: Final = np.zeros((0, _BYTES + 1), np.int64)


def newest_entries(entries: Longs) -> tuple[Longs, Longs]:
    """Return the newest entry of each key, by the first half of its sum, and the others' sizes."""
    order = np.argsort(entries[:, _FIRST])
    first, second = entries[order, _FIRST], entries[order, _SECOND]
    same = first[1:] == first[:-1]
    if (same & (second[1:] != second[:-1])).any():  # once in a million billion keys
        order = np.lexsort((entries[:, _SECOND], entries[:, _FIRST]))
        first, second = entries[order, _FIRST], entries[order, _SECOND]
        same = first[1:] == first[:-1]
    same &= second[1:] == second[:-1]
    starts = np.flatnonzero(np.append(True, ~same)[: len(order)])
    offsets = entries[order, _OFFSET]
    last = np.maximum.reduceat(offsets, starts) if len(starts) else offsets
    is_last = offsets == np.repeat(last, np.diff(starts, append=len(order)))
    return entries[order[is_last]], entries[order[~is_last], _BYTES]


def _combined(rows: pa.Table) -> pa.Table:
    """Return records and bytes by fate of a bucket: the newest of each key is looked for."""
    is_sum = rows.column("fate").is_valid()
    names = ["topic", "partition", "fate", "records", "bytes"]
    sums = rows.filter(is_sum).select(names)
    cells = rows.column("newest").drop_null()
    entries = joined_cells(cells, np.int64).reshape(-1, _BYTES + 1)
    kept, others = newest_entries(entries)
    records = np.bincount(kept[:, _FATE], minlength=3)
    sizes = [int(kept[kept[:, _FATE] == fate, _BYTES].sum()) for fate in range(3)]
    added: dict[str, Any] = {
        "topic": pa.repeat(rows.column("topic")[0], 4),
        "partition": pa.repeat(rows.column("partition")[0], 4),
        "fate": pa.array([*_NEWEST_FATES, SUPERSEDED]),
        "records": pa.array([*records.tolist(), len(others)], pa.int64()),
        "bytes": pa.array([*sizes, int(others.sum())], pa.int64()),
    }
    return pa.concat_tables([sums, pa.table(added, schema=sums.schema)])
