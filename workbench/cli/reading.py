"""The records that the options choose, chunk by chunk, with what could not be read."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import click
import numpy as np
import numpy.typing as npt
from click.core import ParameterSource

from workbench.cli.command import Selection
from workbench.cli.output import note
from workbench.cli.progress import progress
from workbench.errors import LogDirectoryError
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.unreadable import findings_about_records
from workbench.loaders.queries.ranges import LOWEST
from workbench.loaders.scan.newest import are_in, newest_offsets
from workbench.loaders.scan.not_searched import NotSearched, summary, unread_by
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.reading import count_uncommitted, losses, uncommitted
from workbench.loaders.scan.segment_chunks import Mask, RecordChoice, keep_mask, read_prepared
from workbench.loaders.scan.splits import size_of
from workbench.record.buffers import BufferPool
from workbench.record.columns import RecordColumns
from workbench.record.reading.reader import ALL_COLUMNS, Chunk
from workbench.runtime.words import plural
from workbench.runtime.workers import useful

_LOOK: Final = 1 << 20  # bytes to check for a preallocated segment


class SelectedBatches(NamedTuple):
    """Some batches of a segment and the wanted ones of their records.

    Attributes:
        partition: the partition of the segment.
        read: the segment, and its wanted offsets.
        rows: BATCH_ROW[m], the batches that hold wanted offsets, decoded or not.
        columns: the records of the decoded ones.
        batch_rows: BATCH_ROW[k] that ``columns.batch`` numbers.
        keep: bool[n], which of the records are wanted.
    """

    partition: DiskPartition
    read: SegmentRead
    rows: npt.NDArray[Any]
    columns: RecordColumns
    batch_rows: npt.NDArray[Any]
    keep: npt.NDArray[np.bool_]


@dataclass
class Reading:
    """One pass over a selection; iterate over it once.

    Attributes:
        selection: what to read.
        options: which of KEYS, VALUES, HEADERS to decode.
        include_control: whether control records are wanted.
        all_batches: whether batches below the log start offset are included, without their records.
        quiet: whether to show no progress.
        workers: threads that decode side by side.
        findings: what could not be read, complete at the end of the pass.
        batch_count: batches read so far, wanted or not.
        unread: keys and values that paths of a query could not look into; the caller counts them.
        query: the query.
        latest: whether only the newest record of each key is wanted.
        limit: how many records the caller takes; None: all.
        aborted, open: how many of these are of such transactions.
        wanted_count: wanted records read so far.
        hide_progress: removes the bar before something is printed.
    """

    selection: Selection
    options: int = ALL_COLUMNS
    include_control: bool = False
    all_batches: bool = False
    quiet: bool = False
    workers: int = 1
    findings: list[Finding] = field(default_factory=list)
    batch_count: int = 0
    unread: int = 0
    query: str = ""
    latest: bool = False
    limit: int | None = None
    aborted: int = 0
    open: int = 0
    wanted_count: int = 0
    hide_progress: Callable[[], None] = field(default=lambda: None, init=False)

    def __iter__(self) -> Iterator[SelectedBatches]:
        """Yield parts in log order: partitions sorted, offsets ascending.

        The memory of a part is reused: copy what is needed before taking the next part.
        """
        pool = BufferPool()
        total = sum(partition.size for partition in self.selection.partitions)
        with progress("reading", total, quiet=self.quiet) as meter:
            self.hide_progress = meter.hide
            for partition in self.selection.partitions:
                self.findings += findings_about_records(partition)
                done, of = 0, None
                with closing(self._parts(partition, pool)) as parts:
                    for part in parts:
                        yield part
                        if len(part.batch_rows):
                            last = part.batch_rows[-1]
                            end = int(last["position"] + last["size"])
                            meter.advance(end - done if part.read is of else end)
                            done, of = end, part.read

    def _parts(
        self, partition: DiskPartition, pool: BufferPool
    ) -> Generator[SelectedBatches, None, None]:
        """Read one partition; a segment that has disappeared becomes a finding."""
        hides = self.all_batches and not self.selection.everything
        start = partition.log_start_offset if hides else LOWEST
        reads = self.selection.plan(partition, below_start=self.all_batches)
        times, rescue = self.selection.times, self.selection.rescue
        choice = RecordChoice(self.options, times, self.include_control, rescue)
        newest = newest_offsets(reads, pool) if self.latest else None
        workers = useful(self.workers, sum(map(size_of, reads)))
        found = read_prepared(reads, choice, keep_mask, pool, workers=workers, skips_removed=True)
        with closing(found):
            for read, chunk, keep, findings in found:
                self.findings.extend(findings)
                rows = chunk.rows
                self.batch_count += len(rows)
                inside = (rows["last_offset"] >= read.low) & (rows["base_offset"] < read.high)
                wanted = keep & (chunk.columns.offsets >= start)
                if newest is not None:
                    wanted &= are_in(chunk.columns.offsets, newest)
                self._count(read, chunk, wanted)
                yield SelectedBatches(
                    read.partition, read, rows[inside], chunk.columns, rows, wanted
                )

    def _count(self, read: SegmentRead, chunk: Chunk, wanted: Mask) -> None:
        """Count the records of transactions that are not committed."""
        given = np.flatnonzero(wanted)
        if self.limit is not None:
            given = given[: max(0, self.limit - self.wanted_count)]
        self.wanted_count += len(given)
        aborted, undecided = count_uncommitted(
            read, rows=chunk.rows, batch=chunk.columns.batch[given]
        )
        self.aborted += aborted
        self.open += undecided

    def tell_uncommitted(self) -> None:
        """Report on stderr how many of the records are of aborted and open transactions."""
        tell_uncommitted(uncommitted(self.aborted, self.open))

    def require_batches(self) -> None:
        """Check, after a complete pass, that the files are a log: a file without a batch is not.

        A file of zeros is, because a broker preallocates segments.

        Raises:
            LogDirectoryError: there were other bytes, and no batch among them.
        """
        if self.batch_count or self.selection.offsets != (None, None):
            return
        segments = [s for partition in self.selection.partitions for s in partition.segments]
        logs = [segment for segment in segments if not _begins_with_zeros(segment)]
        if logs:
            size = sum(segment.size for segment in logs)
            more = f" and {plural(len(logs) - 1, 'more file')}" if len(logs) > 1 else ""
            problem = f"not a log: there is no batch among {plural(size, 'byte')}"
            raise LogDirectoryError(f"{logs[0].path}{more}", problem)

    def tell_findings(self) -> bool:
        """Report on stderr what was left out; return whether anything was."""
        if text := losses(self.findings, 0):
            note(text)
        return bool(self.findings)

    @property
    def not_searched(self) -> list[NotSearched]:
        """What was not looked at, complete at the end of the pass."""
        return [*self.selection.left_out, *unread_by(self.findings, self.unread, self.query)]

    def tell_not_searched(self) -> None:
        """Report on stderr what was not looked at, besides what `tell_findings` reports."""
        found = self.selection.left_out + unread_by((), self.unread, self.query)
        if text := summary(found, "--everything"):
            note(text)


def _begins_with_zeros(segment: Segment) -> bool:
    """Return whether a segment is empty, or preallocated and not written yet."""
    with segment.open() as source:
        return source.is_zero(0, min(_LOOK, source.size))


def tell_uncommitted(text: str) -> None:
    """Report on stderr which records are not committed, unless the level was asked for.

    Args:
        text: what `ScanReading.uncommitted` says; empty: all are.
    """
    source = click.get_current_context().get_parameter_source("isolation_level")
    if text and source is ParameterSource.DEFAULT:
        note(f"{text}; --isolation-level read_committed leaves them out")
