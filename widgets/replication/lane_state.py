"""A compared partition as it is sent to the page: places on the axis are parts of 1.

Offsets have up to 63 bits, more than the numbers of a page, so they are sent as text.
"""

from typing import Any, Final

from workbench.comparison.replica import Replica
from workbench.comparison.results import PartitionComparison
from workbench.runtime.words import plural

_MOST_EPOCHS: Final = 200  # of a lane; older ones are one run
_MOST_FINDINGS: Final = 50
_TICKS: Final = 10
_STOPS: Final = {
    "clean": "clean shutdown",
    "unclean": "unclean shutdown",
    "running": "running",
    "unknown": "shutdown not known",
}
_OFFSET_CELLS: Final = 60  # with at most so many offsets, each has a cell


def default_leader(compared: PartitionComparison) -> str:
    """Return the broker that leads by the cluster's metadata, otherwise the one that is ahead."""
    known = compared.registration
    name = "" if known is None else str(known.leader)
    return name if name in compared.leaderships else compared.ahead


def lanes_of(compared: PartitionComparison, leader: str) -> dict[str, Any]:
    """Return a partition as it is sent, with one broker taken as the leader."""
    replicas = compared.replicas
    first = min(each.log_start_offset for each in replicas)
    last = max(first + 1, *(max(r.log_end_offset, r.high_watermark or 0) for r in replicas))

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
        "lanes": [_lane(compared, each, leader, at, span) for each in replicas],
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
    """Return the offsets [start, end) in words."""
    return f"offset {start:,}" if end - start == 1 else f"offsets {start:,} to {end - 1:,}"


def outcome(compared: PartitionComparison, leader: str) -> str:
    """Return what happens if a broker leads: who truncates, and what is lost."""
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
