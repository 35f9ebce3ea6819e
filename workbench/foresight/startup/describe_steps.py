"""Describe the steps of loading a log in sentences, with their most important numbers."""

import os
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from workbench.log.loading.load_segments import offset_of
from workbench.runtime.steps import Step

RECOVERED: Final = "segment recovered"
_SWAPPED: Final = "swap completed"
_REMOVED: Final = frozenset({"segment marked deleted", "replaced file removed", _SWAPPED})
EMPTIED: Final = "segment emptied"
SPLIT: Final = "segment split"

# Steps of loading a healthy log, and steps that a later step covers in more detail.
_NOT_A_CHANGE: Final = frozenset(
    {
        "checkpoint read",
        "flushed",
        "invalid batch found",
        "leader epoch assigned",
        "log loaded",
        "producer snapshot forgotten",
        "producer snapshot kept",
        "producer snapshot loaded",
        "producer snapshot removed",
        "producer snapshot written",
        "producer state read",
        "swap found",
        "transaction completed",
    }
)


def changes_in(steps: Iterable[Step], folder: str) -> tuple[str, ...]:
    """Return the changes to the files of a partition, a sentence for each changing step.

    Args:
        steps: the steps of loading it.
        folder: the partition directory, left out of the shown paths.
    """
    told = list(steps)
    end = next((s.numbers["next_offset"] for s in told if s.kind == "log loaded"), None)
    return tuple(
        sentence(step, folder)
        for step in told
        if step.kind not in _NOT_A_CHANGE and not _forgets_idle_leader(step, end)
    )


def _forgets_idle_leader(step: Step, log_end_offset: int | None) -> bool:
    """Return whether a step removes only leader epochs in which nothing was appended.

    That happens at every start: such an epoch begins at the log end offset.
    """
    if step.kind != "leader epochs truncated":
        return False
    return all(entry.start_offset == log_end_offset for entry in step.numbers["removed"])


def sentence(step: Step, folder: str = "") -> str:
    """Return a step as a sentence: where, what, the bytes truncated, and the reason."""
    where = step.where
    if folder and os.path.dirname(where) == folder:
        where = os.path.basename(where)
    text = f"{where}: {step.kind}" if where and where != os.path.basename(folder) else step.kind
    cut = step.numbers.get("cut")
    if cut:
        text += f", {cut} bytes truncated"
    return f"{text} ({step.reason})" if step.reason else text


def recovered_from(steps: Iterable[Step]) -> int | None:
    """Return the first offset that recovery read; None if no segment was recovered."""
    offsets = [step.numbers["base_offset"] for step in steps if step.kind == RECOVERED]
    return min(offsets, default=None)


def bytes_cut(steps: Sequence[Step]) -> int:
    """Return the bytes that recovery truncated: ends of segments, and entire segments.

    A segment that was split is marked deleted, too, but its bytes are in the parts; so are those
    that a completed swap replaces, whose records the replacement has.
    """
    cut = sum(step.numbers["cut"] for step in steps if step.kind in {RECOVERED, EMPTIED})
    split = {step.where for step in steps if step.kind == SPLIT}
    deleted = 0  # by the steps directly before this one
    for step in steps:
        if step.kind == "segment marked deleted":
            deleted += step.numbers["size"] if step.where not in split else 0
        else:
            cut += deleted if step.kind != _SWAPPED else 0
            deleted = 0
    return int(cut + deleted)


def first_removed(steps: Sequence[Step], *, is_compacted: bool) -> int | None:
    """Return the lowest base offset of the segments that were removed or replaced; None: none.

    Args:
        steps: the steps of loading a log.
        is_compacted: whether the log is compacted: what replaces its segments has every record that
            a cleaning keeps.
    """
    kinds = {*map(attrgetter("kind"), steps)}
    if kinds.isdisjoint(_REMOVED) or (is_compacted and _SWAPPED in kinds):
        return None
    names = (os.path.basename(step.where) for step in steps if step.kind in _REMOVED)
    return min((offset_of(name) for name in names if ".log" in name), default=None)
