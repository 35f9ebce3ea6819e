"""The records that the options choose, a chunk at a time, with what could not be read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cli.command import Selection
from workbench.cli.output import note, plural
from workbench.cli.progress import progress
from workbench.inspection.findings import Finding
from workbench.inspection.partition import Partition
from workbench.loaders.plan import LOWEST, SegmentRead
from workbench.loaders.segment_chunks import read_wanted
from workbench.record.buffers import BufferPool
from workbench.record.columns import RecordColumns
from workbench.record.reader import ALL_COLUMNS


class Part(NamedTuple):
    """Some batches of a segment and the wanted ones of their records.

    Attributes:
        partition: where they are.
        read: the segment, and the offsets wanted of it.
        rows: BATCH_ROW[m], the batches that hold wanted offsets, decoded or not.
        columns: the records of the decoded ones.
        batch_rows: BATCH_ROW[k] that ``columns.batch`` numbers.
        keep: bool[n], which of the records are wanted.
    """

    partition: Partition
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
        include_control: whether control records are wanted, too.
        all_batches: give the batches below the log start offset, too, without their records.
        quiet: never show progress.
        findings: what could not be read, complete when the pass is.
    """

    selection: Selection
    options: int = ALL_COLUMNS
    include_control: bool = False
    all_batches: bool = False
    quiet: bool = False
    findings: list[Finding] = field(default_factory=list)

    def __iter__(self) -> Iterator[Part]:
        """Yield parts in log order: partitions sorted, offsets ascending.

        The memory of a part is used again: take what is needed before asking for the next.
        """
        pool = BufferPool()
        total = sum(partition.size for partition in self.selection.partitions)
        with progress("reading", total, quiet=self.quiet) as meter:
            for partition in self.selection.partitions:
                for read in self.selection.plan(partition, below_start=self.all_batches):
                    done = 0
                    for part in self._parts(read, pool):
                        yield part
                        if len(part.batch_rows):
                            last = part.batch_rows[-1]
                            end = int(last["position"] + last["size"])
                            meter.advance(end - done)
                            done = end

    def _parts(self, read: SegmentRead, pool: BufferPool) -> Iterator[Part]:
        start = read.partition.log_start_offset if self.all_batches else LOWEST
        for chunk, keep, findings in read_wanted(
            read,
            pool,
            options=self.options,
            times=self.selection.times,
            include_control=self.include_control,
            check_crc=self.selection.check_crc,
        ):
            self.findings.extend(findings)
            rows = chunk.rows
            inside = (rows["last_offset"] >= read.low) & (rows["base_offset"] < read.high)
            wanted = keep & (chunk.columns.offsets >= start)
            yield Part(read.partition, read, rows[inside], chunk.columns, rows, wanted)

    def tell_findings(self) -> bool:
        """Say on stderr what was left out; return whether anything was."""
        if self.findings:
            count = plural(len(self.findings), "damaged place")
            note(f"{count} left out; the first: {self.findings[0]}")
        return bool(self.findings)
