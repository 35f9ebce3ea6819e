"""Which keys fill a partition, and what compaction would save of each."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.inspection.partition import DiskPartition
from workbench.loaders.scan import arrow
from workbench.loaders.schemas import schema_of
from workbench.loaders.tables.record_sizes import record_sizes
from workbench.loaders.tables.segment_tables import warn_left_out
from workbench.record.reading.reader import Chunk
from workbench.tables.cleaning import KeyRow

_MANY: Final = 1 << 20  # keys of chunks that are put together at a time

_MEASURES: Final = {
    "records": "sum",
    "bytes": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "last_bytes": "last",
    "is_tombstone": "last",
}
"""The totals of a key, and how they follow from the totals of the parts of a log, in order."""


def key_table(partition: DiskPartition, limit: int | None) -> pa.Table:
    """Return one row per key (`KeyRow`), first those that compaction would shrink most.

    Memory is needed for all keys, not for the records. Segments that cannot be read are left out
    with a warning.
    """
    parts: list[pa.Table] = []
    for chunk in _chunks(partition):
        parts.append(_by_key(_records(chunk, partition.log_start_offset)))
        if sum(map(len, parts)) > _MANY:
            parts = [_by_key(pa.concat_tables(parts))]
    if not parts:
        return schema_of(KeyRow).empty_table()
    table = _by_key(pa.concat_tables(parts))
    is_null = pc.is_null(table["key"])
    kept_records = pc.if_else(is_null, 0, 1)
    kept_bytes = pc.if_else(is_null, 0, table["last_bytes"])
    columns = [
        arrow.repeated(partition.topic, pa.string(), len(table)),
        arrow.repeated(partition.partition, pa.int32(), len(table)),
        *(table[name] for name in ("key", "records", "bytes", "first_offset", "last_offset")),
        table["is_tombstone"],
        pc.subtract(table["records"], kept_records),
        pc.subtract(table["bytes"], kept_bytes),
    ]
    found = pa.table(columns, schema=schema_of(KeyRow))
    order = [("superseded_bytes", "descending"), ("bytes", "descending"), ("key", "ascending")]
    found = found.sort_by(order)
    return found if limit is None else found.slice(0, limit)


def _chunks(partition: DiskPartition) -> Iterator[Chunk]:
    for segment in partition.segments:
        try:
            yield from segment.read(select=lambda rows: ~rows["is_control"])
        except OSError as error:
            warn_left_out(segment.path, error)


def _records(chunk: Chunk, start: int) -> pa.Table:
    """Return the records of a chunk as if each were the only record of its key."""
    columns: Any = chunk.columns
    sizes = arrow.integers(record_sizes(columns), pa.int64(), arrow.NO_ABSENT)
    offsets = arrow.integers(columns.offsets, pa.int64(), arrow.NO_ABSENT)
    table = pa.table(
        {
            "key": arrow.binary(columns.keys),
            "records": arrow.repeated(1, pa.int64(), len(columns)),
            "bytes": sizes,
            "first_offset": offsets,
            "last_offset": offsets,
            "last_bytes": sizes,
            "is_tombstone": arrow.booleans(columns.values.is_null()),
        }
    )
    is_there = columns.offsets >= start
    return table if is_there.all() else table.filter(arrow.booleans(np.asarray(is_there)))


def _by_key(table: pa.Table) -> pa.Table:
    grouped = table.group_by("key", use_threads=False).aggregate(list(_MEASURES.items()))
    return grouped.rename_columns(
        [name if name == "key" else name.rpartition("_")[0] for name in grouped.column_names]
    )
