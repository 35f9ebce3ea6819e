"""Tables of segments: themselves, their batches, the entries of their indexes.

Each is made of pairs of a partition and one of its segments, in their order.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.loaders.scan import arrow
from workbench.loaders.scan.scan import CorruptDataWarning
from workbench.loaders.schemas import schema_of
from workbench.loaders.tables.rows import table_of
from workbench.runtime.workers import in_order, useful
from workbench.tables.segments import (
    AbortedTransactionRow,
    BatchRow,
    OffsetIndexRow,
    SegmentRow,
    TimeIndexRow,
)

Found = Iterable[tuple[Partition, Segment]]


T = TypeVar("T")


def warn_left_out(path: str, why: object) -> None:
    """Warn of a file that a table leaves out because it cannot be read."""
    warnings.warn(f"{path} is left out: {why}", CorruptDataWarning, stacklevel=3)


def _read(
    found: Found, read: Callable[[Partition, Segment], T | None], workers: int = 1
) -> Iterator[tuple[Partition, Segment, T]]:
    """Yield segments with what is read of each; unreadable ones are left out with a warning.

    Args:
        found: the segments.
        read: what to read of each.
        workers: threads that do it side by side.
    """

    def attempt(
        each: tuple[Partition, Segment],
    ) -> Iterator[tuple[Partition, Segment, T | OSError | None]]:
        try:
            yield *each, read(*each)
        except OSError as error:
            yield *each, error

    with closing(in_order(list(found), attempt, workers)) as results:
        for partition, segment, value in results:
            if isinstance(value, OSError):
                warn_left_out(segment.path, value)
            elif value is not None:
                yield partition, segment, value


def _join(schema: pa.Schema, parts: Iterable[list[pa.Array]]) -> pa.Table:
    """Return batches of columns as a table."""
    batches = [pa.RecordBatch.from_arrays(arrays, schema=schema) for arrays in parts]
    return pa.Table.from_batches(batches, schema=schema)


def batch_columns(rows: Any, topic: str, partition: int, segment: int) -> list[pa.Array]:
    """Return BATCH_ROW[n] as the columns of `BatchRow`."""
    count = len(rows)
    arrays: list[pa.Array] = []
    constants: dict[str, str | int] = {"topic": topic, "partition": partition, "segment": segment}
    for field in schema_of(BatchRow):
        name, kind = field.name, field.type
        if name in constants:
            arrays.append(arrow.repeated(constants[name], kind, count))
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

    def parts(p: Partition, s: Segment) -> list[list[pa.Array]]:
        return [
            batch_columns(table.rows, p.topic, p.partition, s.base_offset)
            for table in s.batch_parts()
            if len(table)
        ]

    return _join(
        schema_of(BatchRow),
        (part for _, _, found_parts in _read(segments, parts, threads) for part in found_parts),
    )


def _entries(schema: pa.Schema, found: Iterable[tuple[Partition, Segment, list[Any]]]) -> pa.Table:
    """Join index entries, given as int64 columns of each segment."""

    def columns(p: Partition, s: Segment, values: list[Any]) -> list[pa.Array]:
        count = len(values[0])
        where = zip((p.topic, p.partition, s.base_offset), list(schema)[:3], strict=True)
        return [
            *(arrow.repeated(value, field.type, count) for value, field in where),  # type: ignore[arg-type]
            arrow.integers(np.arange(count, dtype=np.int32), pa.int32(), arrow.NO_ABSENT),
            *(
                arrow.integers(numbers, field.type, arrow.NO_ABSENT)
                for numbers, field in zip(values, list(schema)[4:], strict=True)
            ),
        ]

    return _join(schema, (columns(*each) for each in found))


def offset_index(found: Found) -> pa.Table:
    """Return one row per entry of the `.index` files (`OffsetIndexRow`)."""
    return _entries(
        schema_of(OffsetIndexRow),
        (
            (p, s, [index.offsets, index.offsets - s.base_offset, index.positions])
            for p, s, index in _read(found, lambda _, segment: segment.offset_index)
        ),
    )


def time_index(found: Found) -> pa.Table:
    """Return one row per entry of the `.timeindex` files (`TimeIndexRow`)."""
    return _entries(
        schema_of(TimeIndexRow),
        (
            (p, s, [index.timestamps, index.offsets, index.offsets - s.base_offset])
            for p, s, index in _read(found, lambda _, segment: segment.time_index)
        ),
    )


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
