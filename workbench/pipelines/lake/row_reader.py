"""The records of ranges of offsets as rows of a table, counted; in this process or in a task."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import LogDirectoryError, SchemaError
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.loaders.scan.decoding import Applied, ValueColumns
from workbench.loaders.scan.scan import Scan
from workbench.pipelines.lake.shape import DAY, RESCUED, TOPIC_ID, shaped, untimed
from workbench.pipelines.lake.source import NewOffsets
from workbench.pipelines.lake.table import DELETES, Log, log_of
from workbench.values.column import Int64s

REASON: Final = "reason"
"""The column of refused records that says why the value cannot be decoded; null: it is private."""

_NONE: Final = np.zeros(0, np.int64)
_IDENTITY: Final = ("topic", "partition", "offset")


def values_of(
    part: Sequence[NewOffsets], options: Mapping[str, Any], name: str
) -> Iterator[pa.Array]:
    """Yield the bytes of a column of ranges of offsets, some at a time."""
    for batch in _scan(part, options, columns=(name,)).batches():
        yield batch.column(0)


def _scan(part: Sequence[NewOffsets], options: Mapping[str, Any], **more: Any) -> Scan:
    """Return a scan of ranges of offsets, neither decoded nor masked."""
    listing = Listing((), {each.partition.name: each.partition for each in part})
    offsets = {each.partition.name: (each.low, each.high) for each in part}
    scan = Scan(listing, offsets=offsets, **{**options, **more})
    scan.partitions = [each.partition for each in part]
    return scan


@dataclass
class Counts:
    """What is counted of ranges of offsets.

    Attributes:
        fates: log → how many offsets have which fate, by the batches of the log.
        read: records that were read.
        deletes: of them, those that delete the row of their key.
        untimed: those whose timestamp no table holds.
        undecoded: what could not be decoded.
    """

    fates: dict[Log, Counter[str]]
    read: Counter[Log] = field(default_factory=Counter)
    deletes: Counter[Log] = field(default_factory=Counter)
    left: Counter[Log] = field(default_factory=Counter)
    rescued: Counter[Log] = field(default_factory=Counter)
    untimed: Counter[Log] = field(default_factory=Counter)
    undecoded: list[Finding] = field(default_factory=list)
    lost: int = 0

    @classmethod
    def of(cls, part: Sequence[NewOffsets]) -> "Counts":
        """Return the counts of ranges of which nothing was read yet."""
        return cls({each.log: each.fates() for each in part})

    def add(self, other: "Counts") -> None:
        """Add what is counted of other ranges."""
        for log, found in other.fates.items():
            self.fates.setdefault(log, Counter()).update(found)
        self.read.update(other.read)
        self.deletes.update(other.deletes)
        self.left.update(other.left)
        self.rescued.update(other.rescued)
        self.untimed.update(other.untimed)
        self.undecoded += other.undecoded
        self.lost += other.lost

    def check(self, commit: Sequence[NewOffsets], *, upsert: bool) -> None:
        """Compare what was read with the fates, now that all was; add what an upsert does.

        Raises:
            LogDirectoryError: there are more records than the log's batches count, or fewer.
        """
        for each in commit:
            found = self.fates[each.log]
            missing = found["record"] - self.read[each.log]
            if missing < 0 or (missing and not upsert):
                raise LogDirectoryError(
                    each.partition.path,
                    f"{self.read[each.log]:,} records from offset {each.low} to {each.high} were "
                    f"read (expected {found['record']:,}, by its batches); nothing was loaded: if "
                    "the log is being written, run it again",
                )
            found["superseded"], found["tombstones"] = missing, self.deletes[each.log]
            found["undecoded"], found["rescued"] = self.left[each.log], self.rescued[each.log]
            found["record"] -= missing + self.deletes[each.log] + self.left[each.log]


@dataclass(frozen=True)
class RowReader:
    """Reads ranges of offsets as rows of a table. Can be pickled.

    Attributes:
        options: of a scan that neither decodes nor masks.
        values: decodes and masks.
        of_scan: the columns that it gives.
        schema: the columns of the table.
        partition_by: see `Table`.
        upsert: whether only the newest record of each key is wanted, and what it deletes.
    """

    options: Mapping[str, Any]
    values: ValueColumns
    of_scan: pa.Schema
    schema: pa.Schema
    partition_by: tuple[str, ...]
    upsert: bool

    def batches(self, part: Sequence[NewOffsets], counts: Counts) -> Iterator[pa.RecordBatch]:
        """Yield the rows, and count them; a batch is of one partition.

        Of an upsert: where the newest value of a key cannot be decoded, the newest that can.
        """
        refused: dict[Log, list[pa.Array]] = {}
        for read in self._read(part, latest=self.upsert):
            counts.undecoded += read.applied.findings
            counts.lost += read.applied.lost_count
            counts.read[read.log] += read.raw.num_rows
            counts.untimed[read.log] += untimed(read.raw["timestamp"])
            if len(read.bad):
                refused.setdefault(read.log, []).append(read.raw["key"].take(pa.array(read.bad)))
                counts.left[read.log] += len(read.bad)
            if len(read.good):
                yield self._counted(read.log, self._shaped(read, read.good), counts)
        for log, keys in refused.items():
            mine = [each for each in part if each.log == log]
            if (older := self._newest_decoded(mine, pa.concat_arrays(keys))) is not None:
                counts.read[log] += older.num_rows
                yield self._counted(log, older, counts)

    def refused(self, part: Sequence[NewOffsets]) -> Iterator[pa.RecordBatch]:
        """Yield the newest records of their keys whose values cannot be decoded, as they are."""
        for read in self._read(part, latest=True):
            if len(read.bad):
                yield self._as_refused(read)

    @property
    def schema_of_refused(self) -> pa.Schema:
        """The columns of `refused`."""
        own = [self.schema.field(name) for name in (*_IDENTITY, "timestamp", "key")]
        more = [pa.field("value", pa.binary()), pa.field(REASON, pa.string())]
        return pa.schema([*own, *more, *(self.schema.field(name) for name in (DAY, TOPIC_ID))])

    def _as_refused(self, read: "_Read") -> pa.RecordBatch:
        rows = self._shaped(read, read.bad)
        is_private = self.values.masks.for_topic(read.log[0]).touches("value")
        value = read.raw["value"].take(pa.array(read.bad)).cast(pa.binary())
        why = next(each.found.problems for each in read.applied.lost if each.column == "value")
        found = next((problem.found for problem in why if problem.is_whole), "")
        made = {
            "value": pa.nulls(len(rows), pa.binary()) if is_private else value,
            REASON: pa.repeat(pa.scalar(None if is_private else found, pa.string()), len(rows)),
        }
        schema = self.schema_of_refused
        arrays = [made[name] if name in made else rows[name] for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _newest_decoded(self, part: Sequence[NewOffsets], keys: pa.Array) -> pa.RecordBatch | None:
        """Return the newest row of each of some keys of a partition whose value can be decoded."""
        newest: dict[bytes, pa.RecordBatch] = {}
        for read in self._read(part, latest=False, keys=keys):  # one after the other
            if len(read.good):
                rows = self._shaped(read, read.good)
                by_key = {
                    key: at for at, key in enumerate(read.raw["key"].take(read.good).to_pylist())
                }
                newest |= {key: rows.take(pa.array([at])) for key, at in by_key.items()}
        return pa.concat_batches(list(newest.values())) if newest else None

    def _read(
        self, part: Sequence[NewOffsets], *, latest: bool, keys: pa.Array | None = None
    ) -> Iterator["_Read"]:
        """Yield the records as they are read and as they are decoded.

        Args:
            part: the ranges.
            latest: whether of each key the newest alone.
            keys: the keys, as bytes; None: all.
        """
        partitions = {each.log: each.partition for each in part}
        value = ("value",) if self.upsert else ()
        columns = tuple(dict.fromkeys((*self.values.read, *value)))
        for batch in _scan(part, self.options, columns=columns, latest=latest).batches():
            some = batch if keys is None else batch.filter(pc.is_in(batch["key"], keys))
            for rows in self.values.parts(some) if some.num_rows else ():
                log = log_of(rows)
                partition = partitions[log]
                applied = self.values.apply(rows, self.of_scan, log[0], partition.path)
                bad = _NONE
                if self.upsert:
                    _require_keys(applied, rows, partition)
                    bad = next((e.null_rows for e in applied.lost if e.column == "value"), bad)
                good = np.setdiff1d(np.arange(rows.num_rows), bad, assume_unique=True)
                yield _Read(log, partition, rows, applied, bad, good)

    def _shaped(self, read: "_Read", rows: Int64s) -> pa.RecordBatch:
        """Return some rows with the columns of the table."""
        masks = self.values.masks.for_topic(read.log[0])
        found = shaped(
            read.raw,
            read.applied,
            read.partition.topic_id,
            self.schema,
            masks,
            partition_by=self.partition_by,
            upsert=self.upsert,
        )
        return found if len(rows) == found.num_rows else found.take(pa.array(rows))

    def _counted(self, log: Log, rows: pa.RecordBatch, counts: Counts) -> pa.RecordBatch:
        if self.upsert:
            counts.deletes[log] += rows[DELETES].true_count
        if RESCUED in rows.schema.names:
            counts.rescued[log] += rows.num_rows - rows[RESCUED].null_count
        return rows


class _Read(NamedTuple):
    """Records of a partition.

    Attributes:
        log, partition: of which they are.
        raw: the batch as it was read.
        applied: decoded and masked.
        bad: of an upsert: the rows whose values cannot be decoded at all.
        good: the other rows.
    """

    log: Log
    partition: DiskPartition
    raw: pa.RecordBatch
    applied: Applied
    bad: Int64s
    good: Int64s


def _require_keys(applied: Applied, rows: pa.RecordBatch, partition: DiskPartition) -> None:
    """Check that the keys of an upsert are decoded.

    Raises:
        SchemaError: one is not: it would be equal to all others that cannot be.
    """
    for lost in applied.lost:
        bad = lost.null_rows
        if lost.column == "key" and len(bad):
            raise SchemaError(
                f"{partition.path}: the key at offset {rows['offset'][int(bad[0])]} cannot be "
                f"decoded: {lost.found.problems[0].found} (an upsert replaces rows by their key); "
                "load keys as bytes: leave out the decoding of key"
            )
