"""A rehearsed cleaning for its player: each round's log, each step's target, and the decisions.

Everything here comes from the steps and decisions of the engine. Batches and records are numbered
across all segments of a round, as they were when it began; a step names them by these numbers.
"""

import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from widgets.view.key_names import KeyNames
from widgets.view.packing import pack
from widgets.view.players.steps import MOST_STEPS, kind_rows, kinds_of, numbers_of
from widgets.view.segments import first_rows
from workbench.cleaner.decisions import Reason
from workbench.foresight.rehearse.cleaning import CleaningRehearsal, Round
from workbench.runtime.steps import Step
from workbench.runtime.times import time_text

ROLES: Final = {
    "log chosen": "chosen",
    "log not due": "waits",
    "key mapped": "mapped",
    "batch not mapped": "unmapped",
    "map full": "full",
    "segment mapped": "read",
    "segments grouped": "grouped",
    "record kept": "kept",
    "record dropped": "dropped",
    "batch copied": "copied",
    "batch rebuilt": "rebuilt",
    "batch emptied": "emptied",
    "batch removed": "gone",
    "segment cleaned": "cleaned",
    "segment ready to swap": "ready",
    "segment marked deleted": "deleted",
    "segment swapped in": "swapped",
    "segment files removed": "removed",
    "log cleaned": "done",
    "checkpoint written": "noted",
}
"""Kinds of steps that change the picture, and how."""

_FILE = re.compile(r"(?:.*[/\\])?(\d{20})\.log(?:\.\w+)?$")

TRANSACTIONAL: Final = 1
CONTROL: Final = 2
HORIZON: Final = 4

Longs = npt.NDArray[np.int64]


class Layout(NamedTuple):
    """The segments, batches and records of a round, numbered across segments.

    Attributes:
        round: the round.
        bases: the segments' base offsets.
        first_batches: int64[s + 1], the number of each segment's first batch.
        first_records: int64[b + 1], the number of each batch's first record; all 0 if steps are
            not about records.
        columns: the fields of the batches' rows, joined.
        regions: for each segment "clean", "dirty", "waiting" (not cleaned yet) or "active".
    """

    round: Round
    bases: list[int]
    first_batches: Longs
    first_records: Longs
    columns: npt.NDArray[Any]
    regions: list[str]


class Touched(NamedTuple):
    """The target of a step; -1: none."""

    segment: int
    record: int
    batch: int


def layout_of(found: Round) -> Layout:
    """Number the batches and records of a round."""
    rows = [segment.rows for segment in found.segments]
    columns = np.concatenate(rows)
    first_batches = first_rows(np.array([len(each) for each in rows]))
    counts = np.zeros(len(columns), np.int64)
    if found.records is not None:
        at = first_batches[found.records.segments] + found.records.batches
        counts = np.bincount(at, minlength=len(columns)).astype(np.int64)
    bases = [segment.base_offset for segment in found.segments]
    return Layout(found, bases, first_batches, first_rows(counts), columns, _regions(found))


def _regions(found: Round) -> list[str]:
    first, end = found.to_clean.first_dirty_offset, found.to_clean.first_uncleanable_offset
    regions = []
    for segment in found.segments:
        if segment.is_active:
            regions.append("active")
        elif segment.base_offset >= end:
            regions.append("waiting")
        else:
            regions.append("clean" if segment.base_offset < first else "dirty")
    return regions


def touched_by(step: Step, layout: Layout) -> Touched:
    """Say which segment, record and batch of a round a step is about."""
    file = _FILE.match(step.where)
    base = int(file[1]) if file else -1
    if base not in layout.bases:
        return Touched(-1, -1, -1)
    segment = layout.bases.index(base)
    first, end = layout.first_batches[segment], layout.first_batches[segment + 1]
    rows = layout.columns[first:end]
    if step.kind.startswith("batch"):
        at = int(np.searchsorted(rows["position"], step.numbers["position"]))
        return Touched(segment, -1, int(first) + at)
    records = layout.round.records
    if records is None or "offset" not in step.numbers:
        return Touched(segment, -1, -1)
    offset = step.numbers["offset"]
    record = int(np.searchsorted(records.offsets, offset))
    if record == len(records.offsets) or records.offsets[record] != offset:  # they do not ascend
        found = np.flatnonzero(records.offsets == offset)
        if not len(found):
            return Touched(segment, -1, -1)
        record = int(found[0])
    batch = int(np.searchsorted(layout.first_records, record, "right")) - 1
    return Touched(segment, record, batch)


def round_of(rounds: Sequence[Round], at: int) -> int:
    """Return the round that a step belongs to."""
    return max(0, sum(each.first_step <= at for each in rounds) - 1)


def sent(
    found: CleaningRehearsal, layouts: Sequence[Layout], touches: Sequence[Touched], names: KeyNames
) -> dict[str, Any]:
    """Return everything that the front end plays."""
    steps = found.steps[:MOST_STEPS]
    return {
        "detail": found.detail,
        "left_out": len(found.steps) - len(steps),
        "kinds": kind_rows(steps),
        "steps": _step_rows(steps, layouts, touches, names, found.rounds),
        "rounds": [_round(each) for each in layouts],
        "keys": names.rows(),
        "reasons": {str(int(reason)): [reason.is_kept, reason.text] for reason in Reason},
    }


def _step_rows(
    steps: Sequence[Step],
    layouts: Sequence[Layout],
    touches: Sequence[Touched],
    names: KeyNames,
    rounds: Sequence[Round],
) -> list[list[Any]]:
    kinds = {kind: number for number, kind in enumerate(kinds_of(steps))}
    rows = []
    for at, (step, touch) in enumerate(zip(steps, touches, strict=True)):
        numbers = numbers_of(step)
        records = layouts[round_of(rounds, at)].round.records
        if touch.record >= 0 and records is not None:
            numbers.insert(0, ["key", names.full(int(records.keys[touch.record]))])
        file = os.path.basename(step.where)
        role = ROLES.get(step.kind, "")
        rows.append([kinds[step.kind], *touch, role, file, step.reason, numbers])
    return rows


def _round(layout: Layout) -> dict[str, Any]:
    found, columns = layout.round, layout.columns
    to_clean = found.to_clean
    flags = (
        columns["is_transactional"] * TRANSACTIONAL
        + columns["is_control"] * CONTROL
        + (columns["delete_horizon"] >= 0) * HORIZON
    )
    verdicts, new_sizes, kept = _decided(layout)
    return {
        "first_step": found.first_step,
        "now": time_text(found.now),
        "ratio": to_clean.cleanable_ratio,
        "threshold": to_clean.log.config.min_cleanable_dirty_ratio,
        "first_dirty_offset": str(to_clean.first_dirty_offset),
        "first_uncleanable_offset": str(to_clean.first_uncleanable_offset),
        "segments": [
            [str(segment.base_offset), segment.size, region]
            for segment, region in zip(found.segments, layout.regions, strict=True)
        ],
        "first_batches": pack(layout.first_batches),
        "first_records": pack(layout.first_records),
        "batches": {
            "base_offset": pack(np.maximum(columns["base_offset"], 0)),
            "last_offset": pack(columns["last_offset"]),
            "size": pack(columns["size"]),
            "count": pack(np.maximum(columns["record_count"], 0)),
            "flags": pack(flags),
            "verdict": pack(verdicts),
            "new_size": pack(new_sizes),
            "kept": pack(kept),
        },
        "records": None if found.records is None else _records(layout),
    }


def _decided(layout: Layout) -> tuple[Longs, Longs, Longs]:
    """Return each batch's verdict, new size in bytes and kept records; 0 if not decided."""
    columns = [np.zeros(len(layout.columns), np.int64) for _ in range(3)]
    cleaning = layout.round.cleaning
    if cleaning is not None:
        decisions = cleaning.decisions
        n = len(decisions.batches)
        columns[0][:n] = decisions.batches["verdict"]
        columns[1][:n] = decisions.batches["new_size"]
        columns[2][:n] = np.bincount(decisions.batch, decisions.is_kept, n)
    return columns[0], columns[1], columns[2]


def _records(layout: Layout) -> dict[str, Any]:
    """Return the records of a round with the decision on each; 0 if not decided."""
    records = layout.round.records
    assert records is not None
    reasons = np.zeros(len(records.offsets), np.int64)
    newer = np.full(len(records.offsets), -1, np.int64)
    cleaning = layout.round.cleaning
    if cleaning is not None:
        n = len(cleaning.decisions)
        reasons[:n] = cleaning.decisions.reasons
        newer[:n] = cleaning.decisions.newer_offsets
    return {
        "offset": pack(records.offsets),
        "key": pack(records.keys),
        "tombstone": pack(records.is_tombstone),
        "control": pack(records.controls),
        "reason": pack(reasons),
        "newer": pack(newer),
    }
