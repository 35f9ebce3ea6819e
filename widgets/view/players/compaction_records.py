"""Single records of a cleaning that is played batch by batch: read on request.

Keys are read from the partition on disk: a record keeps its offset in every round.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widgets.view.players.compaction import Layout
from widgets.view.records import Lens
from workbench.cleaner.decisions import Decisions, Reason
from workbench.inspection.partition import DiskPartition


def record_count(decisions: Decisions, batch: int) -> int:
    """Return the number of a batch's records that have a decision."""
    first, end = np.searchsorted(decisions.batch, [batch, batch + 1]).tolist()
    return int(end - first)


def record_rows(
    decisions: Decisions, batch: int, start: int, stop: int, partition: DiskPartition, lens: Lens
) -> list[list[Any]]:
    """Return rows [start, stop) of a batch's records: offset, key cell, whether kept, and why."""
    first, end = np.searchsorted(decisions.batch, [batch, batch + 1]).tolist()
    picked = slice(first + start, min(first + stop, end))
    offsets = decisions.offsets[picked].tolist()
    keys = _keys(partition, offsets[0], offsets[-1]) if offsets else {}
    rows = []
    codes, newer = decisions.reasons[picked].tolist(), decisions.newer_offsets[picked].tolist()
    for offset, code, newest in zip(offsets, codes, newer, strict=True):
        reason = Reason(code)
        text = reason.text
        if reason == Reason.SUPERSEDED:
            text = f"superseded by offset {newest:,}"
        cell = lens.cell("key", keys[offset]) if offset in keys else ["?", "quiet"]
        rows.append([str(offset), cell, reason.is_kept, text])
    return rows


def _keys(partition: DiskPartition, first: int, last: int) -> dict[int, bytes | None]:
    """Return offset → key of the records from the first offset to the last."""
    found: dict[int, bytes | None] = {}
    for segment in partition.segments:
        rows = segment.batches.rows
        inside = rows[(rows["last_offset"] >= first) & (rows["base_offset"] <= last)]
        for row in inside:
            begin = int(row["position"])
            for chunk in segment.read(begin, begin + int(row["size"])):
                keys = chunk.columns.keys
                assert keys is not None
                for number, offset in enumerate(chunk.columns.offsets.tolist()):
                    found[offset] = keys.item(number)
    return found


def offsets_of(partition: DiskPartition, key: bytes) -> list[int]:
    """Return the offsets of all records of a key, ascending; reads the whole partition."""
    found: list[int] = []
    for segment in partition.segments:
        for chunk in segment.read():
            keys = chunk.columns.keys
            assert keys is not None
            alike = np.flatnonzero((keys.sizes() == len(key)) & ~keys.is_null())
            offsets = chunk.columns.offsets
            found += [int(offsets[at]) for at in alike.tolist() if keys.item(at) == key]
    return found


def batches_of(layout: Layout, offsets: Sequence[int]) -> list[int]:
    """Return the batches of a round that decide on these offsets, ascending."""
    cleaning = layout.round.cleaning
    if cleaning is None or not offsets:
        return []
    decisions = cleaning.decisions
    at = np.searchsorted(decisions.offsets, offsets)
    at = at[at < len(decisions)]
    at = at[np.isin(decisions.offsets[at], offsets)]
    return sorted(set(decisions.batch[at].tolist()))
