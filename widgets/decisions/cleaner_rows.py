"""A partition as the cleaner sees it: what is clean, what is dirty, what must wait, and why."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from workbench.cleaner.schedule.log_to_clean import LogToClean
from workbench.inspection.partition import DiskPartition, of_now
from workbench.inspection.segment import Segment
from workbench.loaders.explanations.cleaning_plan import CleaningPlan
from workbench.loaders.explanations.explanation import Explanation
from workbench.runtime.times import duration_text, time_text
from workbench.runtime.words import size_text

MOST_READ: Final = 64 << 20
"""Bytes: in a larger partition single tombstones are not counted; horizons in headers are."""


class SegmentState(NamedTuple):
    """A segment as the cleaner sees it.

    Attributes:
        base_offset, size: the segment's base offset, and its size in bytes.
        region: "clean", "dirty", "waiting" (not cleaned yet) or "active".
        latest: the latest record's timestamp in ms; None without one.
        tombstones: the number of tombstones; None if they were not counted.
        without_horizon: the number of tombstones whose delete horizon is not set yet.
        horizons: the delete horizons in ms of the batches that have one.
    """

    base_offset: int
    size: int
    region: str
    latest: int | None
    tombstones: int | None
    without_horizon: int | None
    horizons: tuple[int, ...]


def segment_states(partition: DiskPartition, found: LogToClean) -> list[SegmentState]:
    """Read the headers of a partition's batches, and its records unless there are too many."""
    counts = partition.size <= MOST_READ
    return of_now(
        partition, lambda now: [_state(each, found, counts=counts) for each in now.segments]
    )


def _state(segment: Segment, found: LogToClean, *, counts: bool) -> SegmentState:
    rows = segment.batches.rows
    horizons = rows["delete_horizon"][rows["delete_horizon"] >= 0]
    tombstones, without = _tombstones(segment) if counts else (None, None)
    latest = int(rows["max_timestamp"].max()) if len(rows) else None
    return SegmentState(
        segment.base_offset,
        segment.size,
        _region(segment, found),
        latest,
        tombstones,
        without,
        tuple(horizons.tolist()),
    )


def _region(segment: Segment, found: LogToClean) -> str:
    if segment.is_active:
        return "active"
    if segment.base_offset >= found.first_uncleanable_offset:
        return "waiting"
    return "clean" if segment.base_offset < found.first_dirty_offset else "dirty"


def _tombstones(segment: Segment) -> tuple[int, int]:
    """Count the tombstones, and those in batches without a delete horizon."""
    rows = segment.batches.rows
    found, without = 0, 0
    for chunk in segment.read():
        columns = chunk.columns
        assert columns.keys is not None
        assert columns.values is not None
        is_tombstone = columns.values.is_null() & ~columns.keys.is_null()
        batch = np.searchsorted(rows["last_offset"], columns.offsets[is_tombstone])
        batch = batch[batch < len(rows)]
        batch = batch[~rows["is_control"][batch].astype(bool)]
        found += len(batch)
        without += int((rows["delete_horizon"][batch] < 0).sum())
    return found, without


def segment_rows(states: Sequence[SegmentState], now: int) -> list[dict[str, Any]]:
    """Return the segments as they are sent, with the facts shown about each."""
    return [
        {
            "base_offset": str(state.base_offset),
            "size": state.size,
            "region": state.region,
            "tombstones": state.tombstones,
            "passed": sum(horizon <= now for horizon in state.horizons),
            "ahead": sum(horizon > now for horizon in state.horizons),
            "facts": _facts(state, now),
        }
        for state in states
    ]


def _facts(state: SegmentState, now: int) -> list[list[str]]:
    facts = [["bytes", f"{state.size:,} ({size_text(state.size)})"]]
    if state.latest is not None:
        facts.append(["latest record", time_text(state.latest)])
        facts.append(["age of latest record", duration_text(now - state.latest)])
    if state.tombstones is not None:
        facts.append(["tombstones", f"{state.tombstones:,}"])
        facts.append(["tombstones without a horizon", f"{state.without_horizon:,}"])
    if state.horizons:
        passed = sum(horizon <= now for horizon in state.horizons)
        facts.append(["batches with a horizon", f"{len(state.horizons):,}, {passed:,} passed"])
        ahead = [horizon for horizon in state.horizons if horizon > now]
        if ahead:
            facts.append(["next horizon", time_text(min(ahead))])
    return facts


def rule_rows(explanation: Explanation) -> list[list[str | None]]:
    """Return a row for each rule: name, verdict, value, threshold, reason, Kafka's method, segment.

    The segment is its base offset as text; None: the rule is about the whole log.
    """
    return [
        [
            row.rule,
            row.verdict,
            _against(row.rule, row.value, row.threshold),
            _value(row.rule, row.threshold),
            row.reason + (f"; due at {time_text(row.due)}" if row.due is not None else ""),
            row.kafka,
            None if row.segment is None else str(row.segment),
        ]
        for row in explanation
    ]


def reason_rows(plan: CleaningPlan) -> list[list[Any]]:
    """Return a row for each reason: whether records are kept, the reason, records, bytes."""
    return [
        [row["is_kept"], row["reason"], row["records"], row["bytes"]]
        for row in plan.reasons().to_pylist()
    ]


def _value(rule: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, int) and rule.endswith(".ms"):
        return duration_text(value) if value < 1 << 53 else "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _against(rule: str, value: Any, threshold: Any) -> str:
    """Return a value so that it differs from a threshold that it only just misses."""
    text = _value(rule, value)
    if value == threshold or text != _value(rule, threshold):
        return text
    by = duration_text(abs(value - threshold))
    return f"{text} and {by}" if value > threshold else f"{by} less"


def marker_rows(found: LogToClean, last_clean_offset: int | None) -> list[list[str]]:
    """Return the offsets that bound the regions: each with its name."""
    markers = [] if last_clean_offset is None else [["checkpoint", str(last_clean_offset)]]
    return markers + [[bound.name, str(bound.offset)] for bound in found.offsets.bounds]
