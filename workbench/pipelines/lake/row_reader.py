"""The records of ranges of offsets as rows of a table, counted; in this process or in a task."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from workbench.errors import LogDirectoryError
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.loaders.scan.decoding import ValueColumns
from workbench.loaders.scan.scan import Scan
from workbench.pipelines.lake.shape import shaped
from workbench.pipelines.lake.source import NewOffsets
from workbench.pipelines.lake.table import DELETES, Log, log_of


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
        undecoded: what could not be decoded.
    """

    fates: dict[Log, Counter[str]]
    read: Counter[Log] = field(default_factory=Counter)
    deletes: Counter[Log] = field(default_factory=Counter)
    undecoded: list[Finding] = field(default_factory=list)

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
        self.undecoded += other.undecoded

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
            found["record"] -= missing + self.deletes[each.log]


@dataclass(frozen=True)
class RowReader:
    """Reads ranges of offsets as rows of a table. Can be pickled.

    Attributes:
        options: of a scan that neither decodes nor masks.
        values: decodes and masks.
        of_scan: the columns that it gives.
        schema: the columns of the table.
        upsert: whether only the newest record of each key is wanted, and what it deletes.
    """

    options: Mapping[str, Any]
    values: ValueColumns
    of_scan: pa.Schema
    schema: pa.Schema
    upsert: bool

    def batches(self, part: Sequence[NewOffsets], counts: Counts) -> Iterator[pa.RecordBatch]:
        """Yield the rows, and count them; a batch is of one partition."""
        logs = {each.log: each.partition for each in part}
        value = ("value",) if self.upsert else ()
        columns = tuple(dict.fromkeys((*self.values.read, *value)))
        scan = _scan(part, self.options, columns=columns, latest=self.upsert)
        for batch in scan.batches():
            for rows in self.values.parts(batch):
                log = log_of(rows)
                partition = logs[log]
                decoded, undecoded = self.values.apply(rows, self.of_scan, log[0], partition.path)
                counts.undecoded += undecoded
                counts.read[log] += rows.num_rows
                found = shaped(rows, decoded, partition.topic_id, self.schema, upsert=self.upsert)
                if self.upsert:
                    counts.deletes[log] += found[DELETES].true_count
                yield found
