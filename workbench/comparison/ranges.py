"""The ranges of offsets in which a replica differs from another one, up to a bound."""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import numpy as np

from workbench.comparison.records import Advance, Differences, Offsets, differences
from workbench.comparison.replica import Replica

RangeKind = Literal["different", "missing", "extra"]

MOST_RANGES: Final = 200
"""A replica that was compacted apart may differ in as many ranges as it has records."""


class DifferentRange(NamedTuple):
    """Offsets [start, end) of a replica.

    Attributes:
        kind: "different": both replicas have the records, with other contents; "missing": only the
            other has them; "extra": only this one has them.
        start, end: the offsets.
    """

    kind: RangeKind
    start: int
    end: int


class DifferentRanges(NamedTuple):
    """Where a replica differs from another one.

    Attributes:
        ranges: ascending.
        compared_to: the offset at which the comparison stopped because there were `MOST_RANGES`;
            None: it is complete.
    """

    ranges: tuple[DifferentRange, ...]
    compared_to: int | None


def different_ranges(
    replica: Replica, other: Replica, *, advance: Advance = lambda _size: None
) -> DifferentRanges:
    """Compare a replica with another one, record by record where batches are not equal.

    What cannot be read is not a difference: `Replica.lost` has it. Offsets below the log start
    offset of either were deleted, and are not compared.

    Args:
        replica, other: of one partition.
        advance: called with the bytes that were walked; raises to stop.

    Raises:
        OSError: a file cannot be read.
    """
    start = max(replica.log_start_offset, other.log_start_offset)
    end = min(replica.log_end_offset, other.log_end_offset)
    found: list[DifferentRange] = []
    if start < end:
        walk = differences(replica.partition, other.partition, start, end, advance=advance)
        for some in walk:
            for each in _ranges(some, replica, other):
                if not _extends(found, each):
                    found.append(each)
            if len(found) > MOST_RANGES:
                return DifferentRanges(tuple(found[:MOST_RANGES]), found[MOST_RANGES].start)
    end = max(start, end)
    tails = (
        DifferentRange("missing", end, other.log_end_offset),
        DifferentRange("extra", end, replica.log_end_offset),
    )
    found += [tail for tail in tails if tail.start < tail.end and not _extends(found, tail)]
    return DifferentRanges(tuple(found), None)


def _extends(found: list[DifferentRange], following: DifferentRange) -> bool:
    """Join a range to the last one if it continues it; return whether it does."""
    if not found or found[-1].kind != following.kind or found[-1].end != following.start:
        return False
    found[-1] = found[-1]._replace(end=following.end)
    return True


def _ranges(some: Differences, replica: Replica, other: Replica) -> list[DifferentRange]:
    kinds: dict[RangeKind, Offsets] = {
        "different": some.different,
        "missing": some.only_right[~replica.has_lost(some.only_right)],
        "extra": some.only_left[~other.has_lost(some.only_left)],
    }
    found = [
        DifferentRange(kind, start, end)
        for kind, offsets in kinds.items()
        for start, end in _runs(offsets)
    ]
    return sorted(found, key=lambda each: each.start)


def _runs(offsets: Offsets) -> Iterator[tuple[int, int]]:
    """Yield the runs [start, end) of ascending offsets."""
    if not len(offsets):
        return
    breaks = np.flatnonzero(np.diff(offsets) != 1) + 1
    firsts = offsets[np.concatenate([[0], breaks])].tolist()
    lasts = offsets[np.concatenate([breaks - 1, [len(offsets) - 1]])].tolist()
    yield from ((first, last + 1) for first, last in zip(firsts, lasts, strict=True))
