"""A partition and one of its segments, as arrays for the strip and the segment map.

Callers pass the batch table and the index entries that the workbench decoded; of a partition that
is not too large, batch headers are read for the number of records. Positions are bytes in the
``.log`` file, offsets are record numbers.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from widgets.view.packing import pack
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.loaders.offsets.record_counts import count_records
from workbench.runtime.times import time_text
from workbench.runtime.words import plural, size_text

Int64Array = npt.NDArray[np.int64]

_COLUMNS = {
    "position": "position",
    "size": "size",
    "base_offset": "base_offset",
    "last_offset": "last_offset",
    "max_timestamp": "max_timestamp",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "leader_epoch": "partition_leader_epoch",
    "record_count": "record_count",
    "attributes": "attributes",
    "magic": "magic",
    "problem": "problem",
}
"""Name in the front end → field of a row of the batch table."""

_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_MOST_COUNTED: Final = 64 << 20  # bytes of a partition whose batch headers are read at once


def batch_columns(rows: npt.NDArray[Any], damaged: dict[int, int] | None = None) -> dict[str, Any]:
    """Pack the columns of a batch table that the segment map and its list need.

    Args:
        rows: the structured array of a batch table, ascending by position.
        damaged: position of a batch → problem code, for damage that a header scan cannot see
            (an invalid CRC).

    Returns:
        One packed column for each name. Attributes keep their low byte, with the codec and the
        transactional and control bits as the table gives them, whatever the format.
    """
    columns = {name: rows[field] for name, field in _COLUMNS.items()}
    columns["attributes"] = shown_attributes(rows)
    if damaged:
        columns["problem"] = with_damage(rows, damaged)
    return {name: pack(column) for name, column in columns.items()}


def shown_attributes(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Codec in bits 0-2, LogAppendTime in bit 3, transactional in bit 4, control in bit 5."""
    attributes = rows["codec"].astype(np.uint8) & 0x07
    attributes |= (rows["timestamp_type"] == 1).astype(np.uint8) << 3
    attributes |= rows["is_transactional"].astype(np.uint8) * np.uint8(_TRANSACTIONAL)
    attributes |= rows["is_control"].astype(np.uint8) * np.uint8(_CONTROL)
    return attributes.astype(np.uint8)


def with_damage(rows: npt.NDArray[Any], damaged: dict[int, int]) -> npt.NDArray[np.uint8]:
    """Return the problem column, with the codes of ``damaged`` where the scan found nothing."""
    problem = rows["problem"].astype(np.uint8)
    for position, code in damaged.items():
        row = int(np.searchsorted(rows["position"], position))
        if row < len(rows) and rows["position"][row] == position and not problem[row]:
            problem[row] = code
    return problem


def index_columns(
    offsets: npt.ArrayLike, positions: npt.ArrayLike, file_size: int
) -> tuple[dict[str, Any], int]:
    """Pack the entries of an offset index that point into the file.

    Returns:
        Columns ``offset`` and ``position`` ascending by position, and how many entries were left
        out because they point past the end of the file or do not ascend.
    """
    offset, position = np.asarray(offsets, np.int64), np.asarray(positions, np.int64)
    good = (position >= 0) & (position < max(1, file_size))
    if len(position):
        highest = np.maximum.accumulate(np.where(good, position, -1))
        good &= position == highest
    columns = {"offset": pack(offset[good]), "position": pack(position[good])}
    return columns, int(len(position) - good.sum())


def time_index_columns(
    timestamps: npt.ArrayLike, offsets: npt.ArrayLike, rows: npt.NDArray[Any]
) -> dict[str, Any]:
    """Pack time index entries, each with the position of the batch that holds its offset."""
    timestamp, offset = np.asarray(timestamps, np.int64), np.asarray(offsets, np.int64)
    position = positions_of(offset, rows)
    return {"timestamp": pack(timestamp), "offset": pack(offset), "position": pack(position)}


def positions_of(offsets: Int64Array, rows: npt.NDArray[Any]) -> Int64Array:
    """Return the start of the first batch that reaches each offset, or the end: int64[n]."""
    if not len(rows):
        return np.zeros(len(offsets), np.int64)
    reached = np.maximum.accumulate(rows["last_offset"].astype(np.int64))
    row = np.searchsorted(reached, offsets, "left")
    ends = np.append(rows["position"], rows["position"][-1] + rows["size"][-1]).astype(np.int64)
    return ends[row]


def first_rows(counts: npt.NDArray[Any]) -> Int64Array:
    """Return the number of records before each batch, and the total: int64[n + 1]."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def strip_columns(key: str, partition: DiskPartition, findings: dict[str, int]) -> dict[str, Any]:
    """A partition's segments for the strip, one list for each column.

    Args:
        key: the partition's name in the explorer.
        partition: the partition; its last segment is walked for the log end offset.
        findings: base offset of a segment, as text → number of findings.

    Returns:
        Columns, offsets as decimal text, and ``name``, ``about``, ``log_start_offset``. Of a
        segment in the remote tier, ``remote`` is the name of its object; of a local one null.
    """
    segments, names = partition.segments_of_log, remote_names(partition)
    ends = [each.base_offset for each in segments[1:]] + [partition.log_end_offset]
    return {
        "partition": key,
        "name": partition.name,
        "about": _about(partition),
        "base_offset": [str(each.base_offset) for each in segments],
        "next_offset": [
            str(max(each.base_offset, end)) for each, end in zip(segments, ends, strict=False)
        ],
        "size": [each.size for each in segments],
        "is_active": [each.is_active for each in segments],
        "remote": [names.get(each.path) for each in segments],
        "modified": [time_text(each.modified_ms) if each.modified_ms else "" for each in segments],
        "findings": [findings.get(str(each.base_offset), 0) for each in segments],
        "log_start_offset": str(partition.log_start_offset),
        "log_end_offset": str(partition.log_end_offset),
    }


def remote_names(partition: DiskPartition) -> dict[str, str]:
    """Return path of the `.log` file → name of the object, of the remote segments that are read."""
    return {each.path: each.files["log"].name for each in partition.remote_segments}


def _records(partition: DiskPartition) -> Iterator[str]:
    """Yield how many records consumers get of a partition that is not too large to count."""
    if partition.size > _MOST_COUNTED:
        return
    counts = if_readable(lambda: count_records(partition))
    if counts is None:
        return
    text = plural(counts.records, "record")
    if counts.committed != counts.records:
        text += f", {counts.committed:,} of them for read_committed"
    yield text


def _about(partition: DiskPartition) -> str:
    """Summarize a partition in one line."""
    remote = len(remote_names(partition))
    parts = [
        plural(len(partition.segments), "segment") + (f" and {remote} remote" if remote else ""),
        size_text(partition.size),
        f"offsets {partition.log_start_offset:,} to {partition.log_end_offset:,}",
        *_records(partition),
    ]
    odd = {"leftover file": partition.leftovers, "orphan index": partition.orphans}
    odd["unknown file"] = partition.unknown
    parts += [plural(len(files), what, f"{what}s") for what, files in odd.items() if files]
    return " · ".join(parts)
