"""The newest record of each key: what `connect-offsets` and changelogs mean, and compaction keeps.

Keys are compared by their 128-bit SipHash-2-4, under a secret of the call. If there are more keys
than fit into memory, the log is read again for each part of them.

Kafka: Cleaner.buildOffsetMap (4.2)
"""

from collections.abc import Sequence
from contextlib import closing
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.segment_chunks import RecordChoice, keep_mask, read_prepared
from workbench.record.buffers import BufferPool
from workbench.record.columns import RecordColumns
from workbench.record.compaction.key_table import key_sums, new_secret
from workbench.record.reading.reader import KEYS

Longs = npt.NDArray[np.int64]

MOST_KEYS: Final = 1 << 23
"""Keys of a partition that are in memory at a time, with 24 bytes each; twice while they sort."""
_MANY: Final = 1 << 20  # records that are put together at a time


def newest_offsets(
    reads: Sequence[SegmentRead], pool: BufferPool, *, most: int = MOST_KEYS
) -> Longs:
    """Return int64[k], ascending: the offset of the newest record of each key that is not null.

    Args:
        reads: what is read of one partition, in order.
        pool: the pool of output memory.
        most: keys in memory at a time.
    """
    secret, passes = new_secret(), 1
    while True:
        found: list[Longs] = []
        for number in range(passes):
            newest = _Newest(secret, passes, number)
            choice = RecordChoice(options=KEYS)
            with closing(
                read_prepared(reads, choice, keep_mask, pool, skips_removed=True)
            ) as parts:
                for part in parts:
                    newest.add(part.chunk.columns, part.value)
                    if len(newest) > most:
                        break
            if len(newest) > most:
                break
            found.append(newest.offsets())
        else:
            return np.sort(np.concatenate(found))
        passes *= 2


def are_in(offsets: Longs, chosen: Longs) -> npt.NDArray[np.bool_]:
    """Return bool[n]: which offsets are among some, which ascend."""
    if not len(chosen):
        return np.zeros(len(offsets), np.bool_)
    slots = np.searchsorted(chosen, offsets).clip(max=len(chosen) - 1)
    return np.asarray(chosen[slots] == offsets, np.bool_)


class _Newest:
    """The newest offset of each key of one part of all keys."""

    def __init__(self, secret: tuple[int, int], passes: int, number: int) -> None:
        self._secret = secret
        self._passes = passes
        self._number = number
        self._known = np.zeros((3, 0), np.int64)  # sums, and offsets
        self._waiting: list[Longs] = []
        self._count = 0

    def __len__(self) -> int:
        return self._known.shape[1]

    def add(self, columns: RecordColumns, keep: npt.NDArray[np.bool_]) -> None:
        """Take records that come after those before."""
        keys = columns.keys
        assert keys is not None
        low, high = key_sums(keys, self._secret)
        wanted = keep & ~keys.is_null()
        if self._passes > 1:
            wanted &= low % self._passes == self._number
        self._waiting.append(np.stack([low[wanted], high[wanted], columns.offsets[wanted]]))
        self._count += self._waiting[-1].shape[1]
        if self._count > max(_MANY, len(self)):
            self._join()

    def offsets(self) -> Longs:
        """Return the offsets of all keys."""
        self._join()
        found: Longs = self._known[2]
        return found

    def _join(self) -> None:
        every = np.concatenate([self._known, *self._waiting], axis=1)
        order = np.lexsort((every[2], every[1], every[0]))
        every = every[:, order]
        is_last = np.ones(every.shape[1], np.bool_)
        is_last[:-1] = (every[:2, 1:] != every[:2, :-1]).any(axis=0)
        self._known, self._waiting, self._count = every[:, is_last], [], 0
