"""One segment of a scan to Arrow batches: the step that a scan repeats and a Spark task runs.

`ReadOptions` and `plan.SegmentRead` are all it needs, and both can be sent to another process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.inspection.findings import Finding, finding_of
from workbench.layout import problems
from workbench.loaders import arrow
from workbench.loaders.plan import HIGHEST, LOWEST, SegmentRead, batch_selector
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.record.buffers import BufferPool
from workbench.record.reader import HEADERS, KEYS, VALUES, Chunk, RecordReader
from workbench.record.source import FileSource

_DECODED: Final = {"key": KEYS, "value": VALUES, "headers": HEADERS}
ALL_TIMES: Final = (LOWEST, HIGHEST)


@dataclass(frozen=True)
class ReadOptions:
    """What to take of each segment.

    Attributes:
        columns: names out of `schemas.SCAN_FIELDS`; what is not named is not decoded.
        times: timestamps [first, end) in ms; `ALL_TIMES` also takes records without one.
        include_control: take control records too.
        check_crc: leave out batches whose CRC is wrong.
    """

    columns: tuple[str, ...]
    times: tuple[int, int] = ALL_TIMES
    include_control: bool = False
    check_crc: bool = True

    @property
    def schema(self) -> pa.Schema:
        """Names, types and nullability of the columns."""
        return pa.schema([SCAN_FIELDS[name] for name in self.columns])


class SegmentBatch(NamedTuple):
    """Some records of a segment, and what could not be read before them."""

    batch: pa.RecordBatch
    findings: list[Finding]


def read_segment(
    read: SegmentRead, options: ReadOptions, pool: BufferPool
) -> Iterator[SegmentBatch]:
    """Yield the wanted records of one segment, ascending by offset; batches may be empty.

    As for a consumer each offset comes once: what does not ascend, or belongs to another segment,
    is left out and told.

    Raises:
        OSError: the file cannot be read.
    """
    decoded = sum(_DECODED[name] for name in options.columns if name in _DECODED)
    select = batch_selector(read, options.times, include_control=options.include_control)
    path = read.segment.path
    schema = options.schema
    order = _OffsetOrder(read)
    with FileSource(path) as source:
        reader = RecordReader(
            source,
            read.start,
            options=decoded,
            check_crc=options.check_crc,
            select=select,
            pool=pool,
        )
        for chunk in reader:
            findings = [finding_of(problem, path) for problem in chunk.problems]
            in_order = order.check(chunk)
            findings += order.take_findings()
            yield SegmentBatch(_to_arrow(chunk, read, options, schema, in_order), findings)
            if len(chunk.rows) and chunk.rows["base_offset"][-1] >= read.high:
                return
        # The last batch of the segment that is written to may only not be finished yet.
        if reader.stop_code == problems.UNFINISHED and not read.segment.is_active:
            finding = _torn_tail(path, reader.stop_position, source.size)
            yield SegmentBatch(pa.RecordBatch.from_pylist([], schema=schema), [finding])


def _torn_tail(path: str, position: int, size: int) -> Finding:
    """Return the finding for bytes behind the last batch of a segment that others follow."""
    found = f"{size - position} bytes of a batch that is longer"
    return Finding(
        "torn-tail", "error", path, position, None, found, "the file to end with a batch", _TORN
    )


_TORN: Final = (
    "Not noticed after a clean stop: consumers go on in the next segment. After an unclean stop, "
    "recovery cuts the bytes off if they lie behind the recovery point, and drops later segments."
)


class _OffsetOrder:
    """Tells which records of a segment ascend and lie in the segment's own offsets.

    Kafka: Fetcher gives no record below its position; a fetch looks for the segment by its base
    offset (4.2)
    """

    def __init__(self, read: SegmentRead) -> None:
        self._read = read
        self._end = read.next_base
        self._next_offset: int | None = None  # the lowest that may come, once there was one
        self._findings: list[Finding] = []

    def check(self, chunk: Chunk) -> npt.NDArray[np.bool_] | None:
        """Return bool[n]: which records may be given; None for all."""
        offsets = chunk.columns.offsets
        if not len(offsets):
            return None
        lowest = self._next_offset
        if lowest is None:
            lowest = self._read.segment.base_offset
        if lowest <= offsets[0] and offsets[-1] < self._end and (offsets[1:] > offsets[:-1]).all():
            self._next_offset = int(offsets[-1]) + 1
            return None
        start = self._start
        lowest = start if self._next_offset is None else self._next_offset
        inside = (offsets < self._end) & (offsets >= start)
        highest = np.maximum.accumulate(np.where(inside, offsets, LOWEST))
        before = np.maximum(np.concatenate([[LOWEST], highest[:-1]]), lowest - 1)
        ascending = offsets > before
        self._tell(chunk, ~inside, "offset-range", f"[{start}, {self._end})")
        self._tell(chunk, inside & ~ascending, "offset-order", "an offset above those before it")
        self._next_offset = max(lowest, int(highest[-1]) + 1)
        kept: npt.NDArray[np.bool_] = inside & ascending
        return kept

    @cached_property
    def _start(self) -> int:
        """Return where the segment's own offsets start: behind those of the segment before it.

        That may be below the base offset in its name, when somebody renamed the file.
        """
        segments = self._read.partition.segments
        base = self._read.segment.base_offset
        before = [segment for segment in segments if segment.base_offset < base]
        return min(before[-1].next_offset, base) if before else LOWEST + 1

    def _tell(self, chunk: Chunk, wrong: npt.NDArray[np.bool_], kind: str, expected: str) -> None:
        """Note the records that are ``wrong``, in the batch of the first of them."""
        at = np.flatnonzero(wrong)
        if not len(at):
            return
        offset = int(chunk.columns.offsets[at[0]])
        position = int(chunk.rows[chunk.columns.batch[at[0]]]["position"])
        found = f"{len(at)} records, the first with offset {offset}"
        path = self._read.segment.path
        finding = Finding(kind, "error", path, position, offset, found, expected, _BROKER)
        self._findings.append(finding)

    def take_findings(self) -> list[Finding]:
        """Return what was noted since the last time."""
        taken, self._findings = self._findings, []
        return taken


_BROKER: Final = (
    "Nothing notices it. A consumer gives no offset twice and none below its position, and goes on "
    "behind the highest offset it met."
)


def _to_arrow(
    chunk: Chunk,
    read: SegmentRead,
    options: ReadOptions,
    schema: pa.Schema,
    in_order: npt.NDArray[np.bool_] | None,
) -> pa.RecordBatch:
    """Return a chunk's records, those outside the wanted ranges or out of order filtered out."""
    columns, rows = chunk.columns, chunk.rows
    where = (read.partition.topic, read.partition.partition, read.segment.base_offset)
    arrays = [arrow.column(name, columns, rows, where) for name in options.columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    keep = (columns.offsets >= read.low) & (columns.offsets < read.high)
    if in_order is not None:
        keep &= in_order
    if options.times != ALL_TIMES:
        stamps = columns.timestamps
        keep &= (stamps >= max(options.times[0], 0)) & (stamps < options.times[1])
    return batch if keep.all() else batch.filter(arrow.booleans(np.asarray(keep)))
