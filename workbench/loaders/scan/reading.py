"""A reading of a scan: its batches, once, and what was found on the way."""

import dataclasses
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.errors import CorruptRecordError
from workbench.inspection.findings import Finding
from workbench.inspection.transaction_markers import Rows, is_transaction_data
from workbench.inspection.transactions import ABORTED, OPEN
from workbench.inspection.unreadable import findings_about_records
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.newest import Longs, are_in, newest_offsets
from workbench.loaders.scan.not_searched import RESCUED
from workbench.loaders.scan.plan import Mask, SegmentRead
from workbench.loaders.scan.segment_batches import OfTransactions, read_segments
from workbench.loaders.scan.splits import size_of
from workbench.record.buffers import BufferPool, lent_pool
from workbench.runtime.words import plural
from workbench.runtime.workers import useful

if TYPE_CHECKING:
    from workbench.loaders.scan.scan import Scan

_MANY: Final = 100_000  # records; a limit below is reached before workers would help


class Watch(Protocol):
    """Receives how far a reading is, perhaps from several threads."""

    def expect(self, amount: int) -> None:
        """Add the most records that will be read."""

    def advance(self, amount: int) -> None:
        """Add records that are read."""


class ScanReading:
    """One reading of a scan. The scan itself does not change.

    Attributes:
        findings: what was damaged or could not be decoded.
        unread: how many keys and values a path of the query could not look into: they are not JSON.
        undecoded: how many keys and values are null or incomplete, because they cannot be decoded.
        aborted: how many records of aborted transactions there were.
        open: how many records of transactions that have not ended.

    Args:
        scan: what is read.
    """

    def __init__(self, scan: "Scan") -> None:
        self._scan = scan
        self.findings: list[Finding] = []
        self.unread = 0
        self.undecoded = 0
        self.aborted = 0
        self.open = 0

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield the records as Arrow batches of some MiB, by partition and offset; once.

        Raises:
            CorruptRecordError: with ``on_corrupt="raise"``, at the first damage or bad value.
        """
        scan = self._scan
        schema, is_plain = scan.schema, scan.is_plain
        asked = tuple(scan.options.columns if is_plain else scan.values.read)
        hidden = ("offset",) if scan.latest and "offset" not in asked else ()
        options = dataclasses.replace(scan.options, columns=(*asked, *hidden))
        left = HIGHEST if scan.most is None else scan.most
        for partition in scan.partitions if left else ():
            self._note(findings_about_records(partition))
        reads = scan.plan() if left else []
        self._report_begin()
        newest = _NewestRecords(reads) if scan.latest else None
        with ExitStack() as closed:
            # Not a thread's: a caller may take the batches in several, one after the other.
            pool = closed.enter_context(lent_pool())
            found = closed.enter_context(
                closing(read_segments(reads, options, pool, _useful_workers(scan, reads)))
            )
            for part in found:
                self._note(part.findings)
                self.unread += part.value.unread
                batch, of_transactions = part.value.value, part.value.of_transactions
                if newest is not None:
                    keep = newest.mask(batch, part.read)
                    batch = batch.filter(pa.array(keep)).select(asked)
                    of_transactions = of_transactions and of_transactions.filtered(keep)
                self._report(batch.num_rows)
                taken = batch.slice(0, left)
                left -= taken.num_rows
                if of_transactions is not None:
                    self._count(of_transactions, taken.num_rows, part.read)
                if is_plain and taken.num_rows:
                    yield taken
                elif taken.num_rows:
                    for some in scan.values.parts(taken):
                        yield self._applied(some, schema, part.read)
                if not left:
                    break

    def _report_begin(self) -> None:
        """Report how many records there are, at most."""
        if self._scan.watch is not None:
            self._scan.watch.expect(_records_of(self._scan))

    def _report(self, records: int) -> None:
        """Report how many more records were read."""
        if self._scan.watch is not None:
            self._scan.watch.advance(records)

    def _count(self, records: OfTransactions, taken: int, read: SegmentRead) -> None:
        """Count the records of transactions that are not committed."""
        aborted, undecided = count_uncommitted(read, records.rows, records.batch[:taken])
        self.aborted += aborted
        self.open += undecided

    def _applied(
        self, batch: pa.RecordBatch, schema: pa.Schema, read: SegmentRead
    ) -> pa.RecordBatch:
        """Return a batch decoded and masked; bad values are null and noted."""
        topic, path = read.partition.topic, read.segment.path
        applied = self._scan.values.apply(batch, schema, topic, path)
        self._note(applied.findings)
        self.undecoded += applied.lost_count
        return applied.batch

    def _note(self, findings: list[Finding]) -> None:
        """Keep the findings, or raise the first of them."""
        if findings and self._scan.on_corrupt == "raise":
            first = findings[0]
            raise CorruptRecordError(first.path, first.position, first.found)
        self.findings.extend(findings)

    def losses(self) -> str:
        """Return what is missing, as one line; empty if nothing is."""
        return losses(self.findings, self.undecoded)

    def uncommitted(self) -> str:
        """Return how many records of transactions are not committed; empty if all are."""
        return uncommitted(self.aborted, self.open)


def uncommitted(aborted: int, undecided: int) -> str:
    """Return how many records were read that are not committed, as one line; empty for none."""
    counts = {"aborted": aborted, "open": undecided}
    parts = [f"{plural(n, 'record')} of {what} transactions" for what, n in counts.items() if n]
    return f"included: {' and '.join(parts)}" if parts else ""


def count_uncommitted(
    read: SegmentRead, rows: Rows, batch: npt.NDArray[np.integer[Any]]
) -> tuple[int, int]:
    """Return how many records are of aborted and of open transactions.

    Args:
        read: what they were read of.
        rows: BATCH_ROW[m], the batches.
        batch: int[n], which of them each record is of.
    """
    if read.fates is None or not is_transaction_data(rows).any():
        return 0, 0
    counts = np.bincount(batch, minlength=len(rows))
    fates = read.fates.fates(rows)
    return int(counts[fates == ABORTED].sum()), int(counts[fates == OPEN].sum())


def losses(findings: Sequence[Finding], undecoded: int) -> str:
    """Return what a reading left out or made null, as one line; empty for nothing.

    Args:
        findings: of the reading.
        undecoded: how many keys and values are null or incomplete.
    """
    if not findings:
        return ""
    damaged = [each for each in findings if each.kind != "undecoded"]
    parts = []
    rescued = sum(each.severity == "warning" and each.kind in RESCUED for each in damaged)
    if rescued:
        parts.append(f"{plural(rescued, 'damaged place')} rescued")
    if len(damaged) > rescued:
        parts.append(f"{plural(len(damaged) - rescued, 'damaged place')} left out")
    if undecoded or len(damaged) < len(findings):
        values = plural(undecoded, "key or value", "keys and values")
        parts.append(f"{values} null or incomplete")
    return f"{', '.join(parts)}; the first: {findings[0]}"


class _NewestRecords:
    """Which records are the newest of their keys, by partition.

    Args:
        reads: all that is read.
    """

    def __init__(self, reads: Iterable[SegmentRead]) -> None:
        self._reads = list(reads)
        self._known: dict[str, Longs] = {}

    def mask(self, batch: pa.RecordBatch, read: SegmentRead) -> Mask:
        """Return bool[n] for the records of a batch, which has offsets."""
        path = read.partition.path
        if path not in self._known:
            mine = [each for each in self._reads if each.partition is read.partition]
            self._known[path] = newest_offsets(mine, BufferPool())
        return are_in(batch.column("offset").to_numpy(), self._known[path])


def _records_of(scan: "Scan") -> int:
    """Return how many records a scan reads at most, by the ends of its logs and its limit."""
    count = sum(max(0, p.log_end_offset - p.log_start_offset) for p in scan.partitions)
    return count if scan.most is None else min(count, scan.most)


def _useful_workers(scan: "Scan", reads: Sequence[SegmentRead]) -> int:
    """Return how many workers have something to do for these parts of segments."""
    if scan.most is not None and scan.most < _MANY and not scan.where.conditions:
        return 1
    return useful(scan.workers, sum(map(size_of, reads)))
