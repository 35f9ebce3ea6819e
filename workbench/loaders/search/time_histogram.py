"""Count records over time while they come: the bins become wider when the range does."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

MOST_BINS: Final = 512

Times = npt.NDArray[np.int64]


class Bins(NamedTuple):
    """Counts over time.

    Attributes:
        start: ms, where the first bin begins.
        width: ms of a bin, a power of two.
        counts: int64[n].
    """

    start: int
    width: int
    counts: npt.NDArray[np.int64]


class TimeHistogram:
    """Counts of times in at most `MOST_BINS` bins of one width.

    A bin begins at a multiple of its width, which is a power of two: two neighbors become one bin
    of twice the width without a look at the times again.

    Attributes:
        without_time: how many records had no timestamp.
    """

    def __init__(self) -> None:
        self._shift = 0
        self._first = 0
        self._counts = np.zeros(0, np.int64)
        self.without_time = 0

    def add(self, times: Times) -> None:
        """Count times in ms; negative ones mean none."""
        known = times[times >= 0]
        self.without_time += len(times) - len(known)
        if not len(known):
            return
        low, high = int(known.min()), int(known.max())
        if len(self._counts):
            start, width, counts = self.bins()
            low, high = min(low, start), max(high, start + width * len(counts) - 1)
        self._cover(low, high)
        places = (known >> self._shift) - self._first
        self._counts += np.bincount(places, minlength=len(self._counts))

    def bins(self) -> Bins:
        """Return the counts so far."""
        return Bins(self._first << self._shift, 1 << self._shift, self._counts.copy())

    def _cover(self, low: int, high: int) -> None:
        """Make the bins reach from ``low`` to ``high``."""
        shift = self._shift
        while (high >> shift) - (low >> shift) >= MOST_BINS:
            shift += 1
        first, last = low >> shift, high >> shift
        wider = np.zeros(last - first + 1, np.int64)
        moved = ((self._first + np.arange(len(self._counts))) >> (shift - self._shift)) - first
        np.add.at(wider, moved, self._counts)
        self._shift, self._first, self._counts = shift, first, wider
