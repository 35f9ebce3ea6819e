"""What damage has taken of a log, for a reader to act on: lost offsets, and where to continue."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.loaders.offsets.explanation import goes_on
from workbench.loaders.offsets.rescued import rescued_offsets
from workbench.loaders.offsets.runs import IN_BATCHES, OffsetRun, offset_runs
from workbench.runtime.words import plural
from workbench.tables.offsets import DamagedRangeRow

Place = tuple[str | None, int | None]
"""A path, and a position in bytes."""


class Losses(NamedTuple):
    """What damage has taken of a log.

    Attributes:
        ranges: the lost offsets, ascending.
        readable: how many records can be read, those of open and aborted transactions included.
    """

    ranges: tuple[DamagedRangeRow, ...]
    readable: int


def losses_of(partition: DiskPartition) -> Losses:
    """Read a log, and return what damage has taken of it.

    Raises:
        OSError: the log end offset cannot be read.
    """
    waiting: list[OffsetRun] = []
    found: list[DamagedRangeRow] = []
    readable = 0
    for run in offset_runs(partition):
        if run.fate in IN_BATCHES:
            found += _rows(partition, waiting, run.first)
            waiting = []
            readable += run.offsets * (run.fate != "control")
        elif run.fate in {"damaged", "unread"}:
            waiting.append(run)
    found += _rows(partition, waiting, max(partition.log_end_offset, partition.log_start_offset))
    return Losses(tuple(found), readable)


def losses_of_damaged(
    partitions: Iterable[DiskPartition], findings: Iterable[Finding]
) -> list[Losses]:
    """Return what damage has taken of the logs with errors in their segments; others are not read.

    Args:
        partitions: the logs.
        findings: what is wrong in them.
    """
    damaged = {
        os.path.dirname(each.path)
        for each in findings
        if each.severity == "error" and each.path.endswith(".log")
    }
    read = (if_readable(partial(losses_of, each)) for each in partitions if each.path in damaged)
    return [each for each in read if each is not None]


def losses_by_place(losses: Iterable[Losses]) -> Mapping[Place, DamagedRangeRow]:
    """Return the lost offsets by where their damage begins, as a finding has it."""
    return {(row.path, row.byte): row for each in losses for row in each.ranges}


def damaged_ranges(partition: DiskPartition) -> tuple[DamagedRangeRow, ...]:
    """Return the ranges of offsets that damage has taken.

    Raises:
        OSError: the log end offset cannot be read.
    """
    return losses_of(partition).ranges


def _rows(
    partition: DiskPartition, runs: Iterable[OffsetRun], following: int
) -> Iterator[DamagedRangeRow]:
    """Yield the ranges before the next sound batch."""
    known = list(runs)
    on = max((goes_on(partition, run, following) for run in known), default=following)
    for run in known:
        yield DamagedRangeRow(
            partition.topic,
            partition.partition,
            run.first,
            run.last,
            run.offsets,
            run.records,
            on,
            run.stops,
            len(rescued_offsets(partition, run)),
            run.why,
            run.path,
            run.position,
        )


def loss_text(row: DamagedRangeRow) -> str:
    """Return what is lost, and where a consumer continues, in one sentence."""
    offsets = f"offset {row.first_offset}"
    if row.offsets > 1:
        offsets = f"offsets {row.first_offset} to {row.last_offset}"
    count = f"at most {plural(row.offsets, 'record')}"
    if row.records is not None:
        count = plural(row.records, "record")
    on = "A consumer fails there until it seeks to" if row.stops else "Consumers pass to"
    left = f" --rescue still reads {plural(row.rescuable, 'record')}." if row.rescuable else ""
    return f"Lost: {offsets}, {count}. {on} {row.next_offset}.{left}"


def summary(losses: Iterable[Losses]) -> str:
    """Return how many records of damaged logs are readable; empty without a loss."""
    given = [each for each in losses if each.ranges]
    if not given:
        return ""
    rows = [row for each in given for row in each.ranges]
    readable = sum(each.readable for each in given)
    lost = sum(row.offsets if row.records is None else row.records for row in rows)
    of = "at most " if any(row.records is None for row in rows) else ""
    logs = "this log" if len(given) == 1 else f"these {len(given)} logs"
    return f"{readable:,} of {of}{readable + lost:,} records of {logs} are readable"
