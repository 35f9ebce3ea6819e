"""What is kept of the batches of a segment whose bytes and offsets can be trusted."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.inspection.verify.segments.log_pass import first_offsets
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.rows import joined_rows

Rows = npt.NDArray[Any]
Starts = npt.NDArray[np.int64]

NO_TIME: Final = -1
EPOCH_ROW: Final = np.dtype(
    [(name, BATCH_ROW[name]) for name in ("position", "base_offset", "partition_leader_epoch")]
)
"""What is kept of a batch whose leader epoch is compared."""


class TrustedBatches:
    """Sums up batches, part by part.

    Args:
        base_offset: the segment's base offset.
        epoch_starts: int64[n], ascending: first offsets of the leader epochs that the file names.

    Attributes:
        count: how many batches there were.
        is_transactional: whether any belongs to a transaction or ends one.
        latest_time: ms, the largest timestamp of a data batch; -1 without any.
        largest_time: ms, the largest timestamp of any batch of magic 1 or 2; None without one.
        has_magic_2: whether any batch has magic 2.
    """

    def __init__(self, base_offset: int, epoch_starts: Starts) -> None:
        self.count = 0
        self.is_transactional = False
        self.latest_time = NO_TIME
        self.largest_time: int | None = None
        self.has_magic_2 = False
        self._epoch_starts = epoch_starts
        self._epochs: list[Rows] = []
        self._next_offset = base_offset
        self._has_gaps = False  # between batches
        self._has_short_batches = False
        self._is_told = True  # how many records there are, and the first one's offset

    def add(self, rows: Rows) -> None:
        """Take more batches, BATCH_ROW[m], in file order but for single ones at the end."""
        self.count += len(rows)
        self.is_transactional |= bool(np.count_nonzero(rows["is_transactional"]))
        magic, times = rows["magic"], rows["max_timestamp"]
        data = times[~rows["is_control"]]
        if len(data):
            self.latest_time = max(self.latest_time, int(np.maximum.reduce(data)))
        timed = times[magic > 0]
        if len(timed):
            largest = int(np.maximum.reduce(timed))
            known = self.largest_time
            self.largest_time = largest if known is None else max(known, largest)
        self.has_magic_2 |= bool(np.count_nonzero(magic >= 2))
        self._look_for_holes(rows)
        self._add_epochs(rows)

    def _look_for_holes(self, rows: Rows) -> None:
        first, last, counts = first_offsets(rows), rows["last_offset"], rows["record_count"]
        told = (counts >= 0) & (rows["base_offset"] >= 0)
        self._has_short_batches |= bool(np.count_nonzero(told & (counts <= last - first)))
        self._is_told &= np.count_nonzero(told) == len(told)
        gaps = first[0] > self._next_offset or np.count_nonzero(first[1:] > last[:-1] + 1)
        self._has_gaps |= bool(gaps)
        self._next_offset = int(last[-1]) + 1

    def _add_epochs(self, rows: Rows) -> None:
        has_one = (rows["magic"] == 2) & (rows["partition_leader_epoch"] != -1)
        if np.count_nonzero(has_one) < len(rows):
            rows = rows[has_one]
        if len(rows):
            kept = np.empty(len(rows), EPOCH_ROW)
            for name in EPOCH_ROW.names or ():
                kept[name] = rows[name]
            self._epochs.append(_telling(kept, self._epoch_starts))

    def has_holes(self, *, is_all: bool) -> bool:
        """Return whether offsets are missing between or within the batches.

        Args:
            is_all: whether these are all batches of the segment, and nothing else is in it.
        """
        return self._has_short_batches or (is_all and self._is_told and self._has_gaps)

    def epochs(self) -> Rows:
        """Return EPOCH_ROW[n]: the first and last batch, and where the epoch changes or should."""
        if len(self._epochs) == 1:
            return self._epochs[0]
        rows = joined_rows(self._epochs, EPOCH_ROW)
        self._epochs = [rows]  # there may be millions: not twice
        positions = rows["position"]
        if np.count_nonzero(positions[1:] < positions[:-1]):
            rows = rows[np.argsort(positions, kind="stable")]
        self._epochs = [_telling(rows, self._epoch_starts)]
        return self._epochs[0]


def _telling(rows: Rows, starts: Starts) -> Rows:
    """Return the first and last of EPOCH_ROW[n], and where the epoch changes or should."""
    if not len(rows):
        return rows
    epochs = rows["partition_leader_epoch"]
    wanted = np.zeros(len(rows), np.bool_)
    np.not_equal(epochs[1:], epochs[:-1], out=wanted[1:])
    wanted[0] = wanted[-1] = True
    at = rows["base_offset"].searchsorted(starts)
    wanted[at[at < len(rows)]] = True
    return rows if np.count_nonzero(wanted) == len(rows) else rows[wanted]
