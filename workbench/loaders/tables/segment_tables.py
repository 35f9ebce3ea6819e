"""Tables of segments: themselves, their batches, the entries of their indexes.

Each is made of pairs of a partition and one of its segments, in their order.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from workbench.errors import CorruptDataWarning
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout.attributes import UNKNOWN
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.rows import joined_rows
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.scan import arrow
from workbench.loaders.schemas import schema_of
from workbench.loaders.tables.rows import joined_table, table_of
from workbench.record.reading.batch_table import ROWS_AT_ONCE
from workbench.runtime.workers import in_order, useful
from workbench.tables.segments import (
    AbortedTransactionRow,
    BatchRow,
    OffsetIndexRow,
    SegmentRow,
    TimeIndexRow,
)

Found = Iterable[tuple[DiskPartition, Segment]]


T = TypeVar("T")

_GROUP_BYTES: Final = 8 << 20  # of small segments that one worker reads together
_MOST_OF_GROUP: Final = 256  # segments
_ABSENT: Final = np.iinfo(np.int64).min


def warn_left_out(path: str, why: object) -> None:
    """Warn of a file that a table leaves out because it cannot be read."""
    warn_caller(f"{path} is left out: {why}", CorruptDataWarning)


def _read(
    found: Found, read: Callable[[DiskPartition, Segment], T | None]
) -> Iterator[tuple[DiskPartition, Segment, T]]:
    """Yield segments with what is read of each; unreadable ones are left out with a warning."""
    for partition, segment in found:
        try:
            value = read(partition, segment)
        except OSError as error:
            warn_left_out(segment.path, error)
        else:
            if value is not None:
                yield partition, segment, value


class _Part(NamedTuple):
    """Some batches of a segment, BATCH_ROW[n]."""

    partition: DiskPartition
    segment: Segment
    rows: Any


def _batch_columns(parts: Sequence[_Part]) -> list[pa.Array]:
    """Return batches as the columns of `BatchRow`, in one go: a segment may have only a few."""
    rows = joined_rows((part.rows for part in parts), BATCH_ROW)
    counts = [len(part.rows) for part in parts]
    numbers = {
        "partition": np.array([part.partition.partition for part in parts], np.int64),
        "segment": np.array([part.segment.base_offset for part in parts], np.int64),
    }
    arrays: list[pa.Array] = []
    for field in schema_of(BatchRow):
        name, kind = field.name, field.type
        if name == "topic":
            slots = arrow.integers(np.arange(len(parts), dtype=np.int32).repeat(counts), pa.int32())
            topics = arrow.strings([part.partition.topic for part in parts])
            arrays.append(pa.DictionaryArray.from_arrays(slots, topics).dictionary_decode())
        elif name in numbers:
            values = numbers[name].astype(kind.to_pandas_dtype()).repeat(counts)
            arrays.append(arrow.integers(values, kind, arrow.NO_ABSENT))
        elif name == "codec":
            arrays.append(arrow.codecs(rows["codec"]))
        elif name == "timestamp_type":
            arrays.append(arrow.timestamp_types(rows["timestamp_type"]))
        elif name == "problem":
            arrays.append(arrow.problem_words(rows["problem"]))
        elif kind == pa.bool_():
            arrays.append(arrow.booleans(rows[name]))
        elif name == "base_timestamp":
            shown = np.where(rows["delete_horizon"] == -1, rows[name], -1)
            arrays.append(arrow.integers(shown, kind))
        else:
            absent = -1 if field.nullable else arrow.NO_ABSENT
            arrays.append(arrow.integers(rows[name], kind, absent))
    return arrays


def segments(found: Found) -> pa.Table:
    """Return one row per segment in use (`SegmentRow`), from names and sizes alone."""

    def size(segment: Segment, kind: Any) -> int | None:
        return segment.files[kind].size if kind in segment.files else None

    return table_of(
        SegmentRow,
        (
            SegmentRow(
                p.topic,
                p.partition,
                p.name,
                s.base_offset,
                s.size,
                size(s, "index"),
                size(s, "timeindex"),
                size(s, "txnindex"),
                s.modified_ms,
                s.is_active,
                s.path,
            )
            for p, s in found
        ),
    )


def batches(found: Found, workers: int = 1) -> pa.Table:
    """Return one row per batch (`BatchRow`), from the headers alone.

    Args:
        found: the segments.
        workers: threads that read segments side by side.
    """
    segments = list(found)
    threads = useful(workers, sum(segment.size for _, segment in segments))

    def columns() -> Iterator[list[pa.Array]]:
        with closing(in_order(_groups(segments), _columns_of, threads)) as results:
            for result in results:
                if isinstance(result, _Unread):
                    warn_left_out(*result)
                else:
                    yield result

    return joined_table(schema_of(BatchRow), columns())


class _Unread(NamedTuple):
    """A segment that cannot be read, and why."""

    path: str
    why: OSError


def _groups(found: Found) -> Iterator[list[tuple[DiskPartition, Segment]]]:
    """Yield segments that follow each other and are small together, or a large one alone."""
    group: list[tuple[DiskPartition, Segment]] = []
    size = 0
    for each in found:
        size += each[1].size
        if group and (size > _GROUP_BYTES or len(group) == _MOST_OF_GROUP):
            yield group
            group, size = [], each[1].size
        group.append(each)
    if group:
        yield group


def _columns_of(
    group: Sequence[tuple[DiskPartition, Segment]],
) -> Iterator[list[pa.Array] | _Unread]:
    """Yield the columns of the batches of some segments, of some thousand rows at a time."""
    small: deque[_Part] = deque()
    for partition, segment in group:
        parts = (_Part(partition, segment, t.rows) for t in segment.batch_parts() if len(t))
        found: list[list[pa.Array]] = []
        try:
            if len(group) > 1:
                small += [*parts]
            else:  # perhaps a large one: its rows are not held beside their columns
                found = [_batch_columns([part]) for part in parts]
        except OSError as error:
            yield _Unread(segment.path, error)
        yield from found
    while small:
        taken = [small.popleft()]
        count = len(taken[0].rows)
        while small and count + len(small[0].rows) <= ROWS_AT_ONCE:
            taken.append(small.popleft())
            count += len(taken[-1].rows)
        yield _batch_columns(taken)


def _entries(
    schema: pa.Schema, found: Iterable[tuple[DiskPartition, Segment, list[Any]]]
) -> pa.Table:
    """Join index entries, given as int64 columns of each segment."""

    def columns(p: DiskPartition, s: Segment, values: list[Any]) -> list[pa.Array]:
        count = len(values[0])
        where = zip((p.topic, p.partition, s.base_offset), list(schema)[:3], strict=True)
        return [
            *(arrow.repeated(value, field.type, count) for value, field in where),  # type: ignore[arg-type]
            arrow.integers(np.arange(count, dtype=np.int32), pa.int32(), arrow.NO_ABSENT),
            *(
                arrow.integers(numbers, field.type, _ABSENT if field.nullable else arrow.NO_ABSENT)
                for numbers, field in zip(values, list(schema)[4:], strict=True)
            ),
        ]

    return joined_table(schema, (columns(*each) for each in found))


def offset_index(found: Found) -> pa.Table:
    """Return one row per entry of the `.index` files (`OffsetIndexRow`), with its batch."""
    return _entries(
        schema_of(OffsetIndexRow),
        (
            (p, s, _offset_columns(s, index))
            for p, s, index in _read(found, lambda _, segment: segment.offset_index)
        ),
    )


def _offset_columns(segment: Segment, index: OffsetIndex) -> list[Any]:
    """Return the numbers of entries, and of the batches before each."""
    rows = _batch_rows(segment)
    positions = index.positions.astype(np.int64)
    before = np.concatenate(([0], positions[:-1]))
    at, is_there = _places(rows["position"], positions)
    first, was_there = _places(rows["position"], before)
    known = is_there & was_there & (at >= first)
    unknown = np.concatenate(([0], np.cumsum(rows["record_count"] < 0)))
    records = np.concatenate(([0], np.cumsum(rows["record_count"], dtype=np.int64)))
    is_counted = known & (unknown[at] == unknown[first])
    return [
        index.offsets,
        index.offsets - segment.base_offset,
        positions,
        _base_offsets(rows, at, is_there),
        positions - before,
        np.where(known, at - first, _ABSENT),
        np.where(is_counted, records[at] - records[first], _ABSENT),
    ]


def time_index(found: Found) -> pa.Table:
    """Return one row per entry of the `.timeindex` files (`TimeIndexRow`), with its batch."""
    return _entries(
        schema_of(TimeIndexRow),
        (
            (p, s, _time_columns(s, index))
            for p, s, index in _read(found, lambda _, segment: segment.time_index)
        ),
    )


def _time_columns(segment: Segment, index: TimeIndex) -> list[Any]:
    """Return the numbers of entries, and of the batch with the offset of each."""
    rows = _batch_rows(segment)
    at = np.searchsorted(rows["last_offset"], index.offsets)
    is_there = at < len(rows)
    positions = np.append(rows["position"].astype(np.int64), _ABSENT)[at]
    return [
        index.timestamps,
        index.offsets,
        index.offsets - segment.base_offset,
        np.where(is_there, positions, _ABSENT),
        _base_offsets(rows, at, is_there),
    ]


def _batch_rows(segment: Segment) -> Any:
    """Return the batches of a segment, BATCH_ROW[n]; none if its file cannot be read."""
    try:
        return segment.batches.rows
    except OSError as error:
        warn_left_out(segment.path, error)
        return np.zeros(0, BATCH_ROW)


def _places(starts: Any, positions: Any) -> tuple[Any, Any]:
    """Return the number of the batch that begins at each position, and whether one does."""
    at = np.searchsorted(starts, positions)
    return at, np.append(starts.astype(np.int64), _ABSENT)[at] == positions


def _base_offsets(rows: Any, at: Any, is_there: Any) -> Any:
    """Return the base offset of batches by number; `_ABSENT` where there is none."""
    known = np.where(rows["base_offset"] == UNKNOWN, _ABSENT, rows["base_offset"])
    return np.where(is_there, np.append(known, _ABSENT)[at], _ABSENT)


def aborted_transactions(found: Found) -> pa.Table:
    """Return one row per entry of the `.txnindex` files (`AbortedTransactionRow`)."""
    return table_of(
        AbortedTransactionRow,
        (
            AbortedTransactionRow(
                p.topic,
                p.partition,
                s.base_offset,
                entry.producer_id,
                entry.first_offset,
                entry.last_offset,
                entry.last_stable_offset,
            )
            for p, s, index in _read(found, lambda _, segment: segment.transaction_index)
            for entry in index
        ),
    )
