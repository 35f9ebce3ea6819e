"""A compared partition as it is sent to the page: places on the axis are parts of 1.

Offsets have up to 63 bits, more than the numbers of a page, so they are sent as text.
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.comparison.advice import advice, replica_to_keep
from workbench.comparison.ranges import DifferentRanges
from workbench.comparison.replica import Replica
from workbench.comparison.results import PartitionComparison
from workbench.runtime.words import plural

_MOST_EPOCHS: Final = 200  # of a lane; older ones are one run
_MOST_FINDINGS: Final = 50
_TICKS: Final = 10
_MOST_LISTED: Final = 50  # ranges of a lane as text
_STOPS: Final = {
    "clean": "clean shutdown",
    "unclean": "unclean shutdown",
    "running": "running",
    "unknown": "shutdown not known",
}
_KINDS: Final = {
    "different": "other records than the leader's",
    "missing": "missing, on the leader",
    "extra": "not on the leader",
}
_OFFSET_CELLS: Final = 60  # with at most so many offsets, each has a cell


def default_leader(compared: PartitionComparison) -> str:
    """Return the broker that leads by the cluster's metadata, otherwise the one that is ahead."""
    known = compared.registration
    name = "" if known is None else str(known.leader)
    return name if name in compared.leaderships else compared.ahead


def axis_of(compared: PartitionComparison) -> tuple[int, int]:
    """Return the offsets [first, last) that the axis spans."""
    replicas = compared.replicas
    first = min(each.log_start_offset for each in replicas)
    return first, max(first + 1, *(max(r.log_end_offset, r.high_watermark or 0) for r in replicas))


def lanes_of(
    compared: PartitionComparison, leader: str, ranges: Mapping[str, DifferentRanges] | None = None
) -> dict[str, Any]:
    """Return a partition as it is sent, with one broker taken as the leader.

    Args:
        compared: the partition.
        leader: the broker's name.
        ranges: name of another broker → where its replica differs from the leader's; None: not
            known.
    """
    replicas = compared.replicas
    first, last = axis_of(compared)

    def at(offset: int) -> float:
        return max(0, min(last, offset) - first) / (last - first)

    def span(start: int, end: int) -> list[Any]:
        return [at(start), at(end), range_text(start, end)]

    lost = compared.leaderships[leader].lost
    divergence = compared.divergence_offset
    epochs = sorted({entry.epoch for each in replicas for entry in each.batch_epochs})
    return {
        "name": compared.name,
        "verdict": compared.verdict,
        "summary": compared.summary,
        "leader": leader,
        "brokers": [each.broker for each in replicas],
        "epochs": epochs[-_MOST_EPOCHS:],
        "cells": last - first if last - first <= _OFFSET_CELLS else 0,
        "ticks": [[at(tick), f"{tick:,}"] for tick in _ticks(first, last)],
        "divergence": None if divergence is None else [at(divergence), f"{divergence:,}"],
        "lost": None if lost is None else span(*lost),
        "lanes": [
            _lane(compared, each, leader, at, span)
            | {"differs": _differs((ranges or {}).get(each.broker), span)}
            for each in replicas
        ],
        "differs": _differs_in_words(ranges),
        "advice": advice(compared),
        "keep": replica_to_keep(compared).broker,
        "outcome": outcome(compared, leader),
        "findings": [
            [each.severity, each.kind, each.found, each.broker]
            for each in compared.findings[:_MOST_FINDINGS]
        ],
        "left_out": max(0, len(compared.findings) - _MOST_FINDINGS),
    }


def _lane(
    compared: PartitionComparison, replica: Replica, leader: str, at: Any, span: Any
) -> dict[str, Any]:
    start, end = replica.log_start_offset, replica.log_end_offset
    high = replica.high_watermark
    cut = None
    if replica.broker != leader:
        truncation = compared.truncation(replica.broker, leader)
        if truncation.removes:
            cut = span(truncation.before.log_end_offset - truncation.removes, end)
    elif replica.recovered_end_offset < end:
        cut = span(replica.recovered_end_offset, end)
    return {
        "broker": replica.broker,
        "stopped": _STOPS[replica.stop],
        "is_ahead": replica.broker == compared.ahead,
        "last_epoch": replica.last_epoch,
        "start": [at(start), f"{start:,}"],
        "end": [at(end), f"{end:,}"],
        "high": None if high is None else [at(high), f"{high:,}"],
        "epochs": _runs(replica, at),
        "cut": cut,
        "damage": replica.damage_count,
        "unreadable": [span(*each) for each in replica.lost],
    }


def _differs(ranges: DifferentRanges | None, span: Any) -> list[list[Any]]:
    """Return for each range: its kind, where it begins and ends, and its offsets."""
    if ranges is None:
        return []
    return [[each.kind, *span(each.start, each.end)] for each in ranges.ranges]


def _differs_in_words(ranges: Mapping[str, DifferentRanges] | None) -> list[list[str]] | None:
    """Return for each range: the broker, the kind, its first offset and a text; None: unknown.

    A last row of kind "more" says what is left out.
    """
    if ranges is None:
        return None
    rows: list[list[str]] = []
    for broker, found in ranges.items():
        for each in found.ranges[:_MOST_LISTED]:
            text = f"{_KINDS[each.kind]}: {range_text(each.start, each.end)}"
            rows.append([broker, each.kind, str(each.start), text])
        left = len(found.ranges) - _MOST_LISTED
        if found.compared_to is not None:
            text = f"more ranges; offset {found.compared_to:,} and later were not compared"
            rows.append([broker, "more", "", text])
        elif left > 0:
            rows.append([broker, "more", "", f"{plural(left, 'more range')}"])
    return rows


def _runs(replica: Replica, at: Any) -> list[list[Any]]:
    """Return for each run of one leader epoch: epoch, where it begins and ends, its offsets."""
    entries = replica.batch_epochs[-_MOST_EPOCHS:]
    ends = [*(entry.start_offset for entry in entries[1:]), replica.log_end_offset]
    runs = []
    for entry, end in zip(entries, ends, strict=True):
        start = max(entry.start_offset, replica.log_start_offset)
        if start < end:
            runs.append([entry.epoch, at(start), at(end), range_text(start, end)])
    return runs


def range_text(start: int, end: int) -> str:
    """Return the offsets [start, end) as text."""
    return f"offset {start:,}" if end - start == 1 else f"offsets {start:,} to {end - 1:,}"


def outcome(compared: PartitionComparison, leader: str) -> str:
    """Return what happens if a broker leads: which brokers truncate, and what is lost."""
    found = compared.leaderships[leader]
    parts = [
        f"broker {name} truncates to {each.offset:,} ({plural(each.removes, 'offset')} removed)"
        for name, each in found.truncations.items()
        if each.removes
    ]
    text = f"If broker {leader} leads: {'; '.join(parts) or 'no follower truncates its log'}."
    if found.lost is None:
        return f"{text} Nothing that is known to be committed is lost."
    return f"{text} Committed {range_text(*found.lost)} would be lost."


def _ticks(first: int, last: int) -> list[int]:
    """Return round offsets from first to last, at most about ten."""
    step = 1
    while (last - first) / step > _TICKS:
        digits = str(step)
        step = step * 5 // 2 if digits.startswith("2") else step * 2
    begin = -(-first // step) * step
    return list(range(begin, last + 1, step))
