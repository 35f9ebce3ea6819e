"""The explorer's selection, and its form in the browser.

In Python a selection is a dict of numbers: ``{"partition": "orders-0", "segment": 0, "position":
4096, "offset": 77}``: the partition's name, the base offset of the segment, where the batch starts
in the file, and the record's offset; None if not selected. JavaScript cannot hold every 64-bit
number, so offsets are sent as text.
"""

from typing import Any

import numpy as np

from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment

NOTHING: dict[str, Any] = {"partition": None, "segment": None, "position": None, "offset": None}

_TEXTS = ("segment", "offset")


def to_front(selection: dict[str, Any], _widget: object) -> dict[str, Any]:
    """Return the selection as the front end holds it."""
    sent = NOTHING | selection
    return sent | {name: None if sent[name] is None else str(sent[name]) for name in _TEXTS}


def from_front(selection: dict[str, Any], _widget: object) -> dict[str, Any]:
    """Return the selection as Python holds it."""
    got = NOTHING | selection
    return got | {name: None if got[name] is None else int(got[name]) for name in _TEXTS}


def complete(selection: dict[str, Any], partitions: dict[str, DiskPartition]) -> dict[str, Any]:
    """Complete a selection from its given fields; reject missing objects.

    A partition alone selects its first local segment that holds anything; an offset alone finds
    segment and batch; a position inside a batch becomes the batch's own.

    Raises:
        ValueError: an unknown name, no such partition or segment, or nothing at the position.
    """
    unknown = sorted(set(selection) - set(NOTHING))
    if unknown:
        known = ", ".join(NOTHING)
        raise ValueError(f"unknown selection field {', '.join(unknown)} (known: {known})")
    wanted = NOTHING | selection
    name = wanted["partition"]
    if name is None:
        return dict(NOTHING)
    if name not in partitions:
        raise ValueError(f"unknown partition {name!r}")
    segment = _segment_of(partitions[name], wanted["segment"], wanted["offset"])
    if segment is None:
        return NOTHING | {"partition": name}
    wanted["segment"] = segment.base_offset
    if wanted["position"] is None and wanted["offset"] is not None:
        row = segment.batches.find_offset(wanted["offset"])
        if row == len(segment.batches):
            raise ValueError(f"{name} has no record at or after offset {wanted['offset']}")
        wanted["position"] = int(segment.batches.rows["position"][row])
    elif wanted["position"] is not None:
        wanted["position"] = _batch_start(segment, int(wanted["position"]))
    return wanted


def segment_with_base(partition: DiskPartition, base_offset: int | None) -> Segment | None:
    """Return the segment with that base offset, local or remote; None if there is none."""
    local = (each for each in partition.segments if each.base_offset == base_offset)
    every = (each for each in partition.segments_of_log if each.base_offset == base_offset)
    return next(local, None) or next(every, None)


def _segment_of(partition: DiskPartition, base: int | None, offset: int | None) -> Segment | None:
    if base is not None:
        segment = segment_with_base(partition, base)
        if segment is None:
            raise ValueError(f"{partition.name} has no segment with base offset {base}")
        return segment
    if offset is not None:
        segment = partition.segment_of(offset)
        if segment is None:
            raise ValueError(f"{partition.name} has no segment that holds offset {offset}")
        return segment
    filled = [each for each in partition.segments if each.size]
    return next(iter(filled or partition.segments_of_log), None)


def _batch_start(segment: Segment, position: int) -> int:
    """Return the start of the batch that covers the position."""
    starts = segment.batches.rows["position"]
    row = int(np.searchsorted(starts, position, side="right")) - 1
    if row < 0 or position >= starts[row] + segment.batches.rows["size"][row]:
        raise ValueError(f"no batch covers byte {position} of {segment.path}")
    return int(starts[row])
