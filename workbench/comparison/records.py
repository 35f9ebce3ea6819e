"""Which records two copies of a log do not share: the core of every comparison.

Batches that are equal byte for byte are never decoded: their headers, with the CRCs, are enough.
The others are decoded and compared record by record, so that batches may be split and compressed
differently: by compaction, a leader that converts, or a mirror.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.comparison.batches import ComparedBatches, Rows, equal_batches, parts_of
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.integers import INT64_MAX
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import Chunk

Offsets = npt.NDArray[np.int64]
Advance = Callable[[int], None]

_LINEAGE: Final = (
    "partition_leader_epoch", "producer_id", "producer_epoch", "is_transactional",
)  # fmt: skip


class Differences(NamedTuple):
    """Offsets that two logs do not share, ascending; those of the next one are higher.

    Attributes:
        different: int64[n], records that both have, with other contents.
        only_left: int64[m], records that only the left log has.
        only_right: int64[k], records that only the right log has.
    """

    different: Offsets
    only_left: Offsets
    only_right: Offsets

    def __bool__(self) -> bool:
        return bool(len(self.different) or len(self.only_left) or len(self.only_right))


@dataclass(slots=True)
class Effort:
    """What a comparison did.

    Attributes:
        equal_batches: pairs of batches that were equal by their headers and CRCs.
        decoded_batches: batches of both sides that had to be decoded.
    """

    equal_batches: int = 0
    decoded_batches: int = 0


def differences(
    left: DiskPartition | None,
    right: DiskPartition | None,
    low: int = 0,
    high: int = INT64_MAX,
    *,
    lineage: bool = True,
    check_crc: bool = False,
    effort: Effort | None = None,
    advance: Advance = lambda _size: None,
) -> Iterator[Differences]:
    """Yield the offsets of [low, high) that two logs do not share, ascending.

    A batch that cannot be read counts as not being there.

    Args:
        left, right: the logs; None has no records.
        low, high: offsets; a log has none below its log start offset.
        lineage: whether records also differ by leader epoch, producer id and producer epoch, as
            replicas of one log must not; otherwise what a consumer gets is compared.
        check_crc: whether to read equal batches, too, to see whether their CRCs are valid. Others
            are always read.
        effort: is counted up.
        advance: called with the bytes of both logs that were walked; raises to stop.

    Raises:
        OSError: a file cannot be read.
    """
    effort = Effort() if effort is None else effort
    sides = [_Side(each, low, high, check_crc=check_crc) for each in (left, right)]
    while True:
        waiting = [side.fill() for side in sides]
        if not any(waiting):
            return
        limit = min(side.last_offset for side in sides if side.rows is not None)
        taken = [side.upto(limit) for side in sides]
        advance(sum(int(rows["size"].sum()) for _, rows in taken))
        at = [np.zeros(0, np.intp)] * 2
        if all(waiting):
            at = list(equal_batches(*(rows for _, rows in taken)))
            sound = sides[0].sound[at[0]] & sides[1].sound[at[1]]
            at = [places[sound] for places in at]
        others = []
        for (segment, rows), places in zip(taken, at, strict=True):
            is_other = np.ones(len(rows), np.bool_)
            is_other[places] = False
            others.append((segment, rows[is_other]))
        effort.equal_batches += len(at[0])
        effort.decoded_batches += sum(len(rows) for _, rows in others)
        if any(len(rows) for _, rows in others):
            end = min(high, limit + 1)
            decoded = (
                _records(segment, rows, (max(low, side.start), end), lineage=lineage)
                for (segment, rows), side in zip(others, sides, strict=True)
            )
            yield from filter(None, _merged(*decoded))
        low = max(low, limit + 1)
        for side in sides:
            side.drop(limit)


class _Side:
    """The batches of one log that are next, as far as they are in one segment."""

    def __init__(
        self, partition: DiskPartition | None, low: int, high: int, *, check_crc: bool
    ) -> None:
        self._parts: Iterator[ComparedBatches] = iter(())
        self.start = 0
        if partition is not None:
            self.start = partition.log_start_offset
            self._parts = parts_of(partition, max(low, self.start), high, check_crc=check_crc)
        self._segment = _NO_SEGMENT
        self.rows: Rows | None = None
        self.sound = np.zeros(0, np.bool_)

    def fill(self) -> bool:
        """Make ready the next batches if none are; return whether there are any."""
        while self.rows is None or not len(self.rows):
            part = next(self._parts, None)
            if part is None:
                self.rows = None
                return False
            self._segment, self.rows, self.sound = part.segment, part.rows, part.sound
        return True

    @property
    def last_offset(self) -> int:
        """The last offset of the batches that are ready."""
        assert self.rows is not None
        return int(self.rows["last_offset"][-1])

    def upto(self, limit: int) -> tuple[Segment, Rows]:
        """Return the batches that begin at or before an offset."""
        if self.rows is None:
            return self._segment, np.zeros(0, BATCH_ROW)
        count = int(np.searchsorted(self.rows["base_offset"], limit, "right"))
        return self._segment, self.rows[:count]

    def drop(self, limit: int) -> None:
        """Forget the batches that end at or before an offset."""
        if self.rows is not None:
            count = int(np.searchsorted(self.rows["last_offset"], limit, "right"))
            self.rows, self.sound = self.rows[count:], self.sound[count:]


_NO_SEGMENT: Final = Segment(0, {}, is_active=False)


class _Records(NamedTuple):
    """Some records of one log: offsets, int64[n], ascending, and their contents."""

    offsets: Offsets
    contents: list[Any]

    def cut(self, first: int, end: int | None = None) -> "_Records":
        return _Records(self.offsets[first:end], self.contents[first:end])


_NOTHING: Final = _Records(np.zeros(0, np.int64), [])


def _records(
    segment: Segment, rows: Rows, offsets: tuple[int, int], *, lineage: bool
) -> Iterator[_Records]:
    """Yield the records of batches, BATCH_ROW[m], whose offsets are in a range."""
    if not len(rows):
        return
    wanted = rows["position"]
    low, high = offsets
    last = low - 1
    chunks = segment.read(
        int(rows["position"][0]),
        int(rows["position"][-1] + rows["size"][-1]),
        select=lambda there: np.isin(there["position"], wanted),
        pool=BufferPool(),
    )
    for chunk in chunks:
        found = chunk.columns.offsets
        # As for a consumer, each offset comes once: what does not ascend is left out.
        keep = (found > last) & (found < high)
        if len(found):
            keep[1:] &= found[1:] > np.maximum.accumulate(found)[:-1]
        if not keep.any():
            continue
        contents = _contents(chunk, lineage=lineage)
        if not keep.all():
            contents = [contents[at] for at in np.flatnonzero(keep).tolist()]
        given = np.array(found[keep], np.int64)
        last = int(given[-1])
        yield _Records(given, contents)


def _contents(chunk: Chunk, *, lineage: bool) -> list[Any]:
    """Return the contents of every record of a chunk, as values that can be compared."""
    columns, rows = chunk.columns, chunk.rows
    assert columns.keys is not None
    assert columns.values is not None
    assert columns.headers is not None
    count = len(columns)
    headers: list[Any] = [None] * count
    for at in np.flatnonzero(np.diff(columns.headers.offsets)).tolist():
        headers[at] = columns.headers.item(at)
    names = ("is_control", *(_LINEAGE if lineage else ()))
    of_batch = list(zip(*(rows[name].tolist() for name in names), strict=True))
    return list(
        zip(
            columns.timestamps.tolist(),
            columns.timestamp_types(rows).tolist(),
            (of_batch[at] for at in columns.batch.tolist()),
            columns.keys.items(),
            columns.values.items(),
            headers,
            strict=True,
        )
    )


def _merged(left: Iterable[_Records], right: Iterable[_Records]) -> Iterator[Differences]:
    """Yield what two ascending runs of records do not share; only a piece of each is held."""
    runs = iter(left), iter(right)
    held = [next(run, None) for run in runs]
    while True:
        for side, run in enumerate(runs):
            while held[side] is not None and not len(held[side].offsets):  # type: ignore[union-attr]
                held[side] = next(run, None)
        ends = [int(each.offsets[-1]) for each in held if each is not None]
        if not ends:
            return
        taken = []
        for side, each in enumerate(held):
            if each is None:
                taken.append(_NOTHING)
                continue
            count = int(np.searchsorted(each.offsets, min(ends), "right"))
            taken.append(each.cut(0, count))
            held[side] = each.cut(count)
        yield _compared(*taken)


def _compared(left: _Records, right: _Records) -> Differences:
    if np.array_equal(left.offsets, right.offsets):
        if left.contents == right.contents:
            return _ALIKE
        at_left = at_right = np.arange(len(left.offsets))
    else:
        _, at_left, at_right = np.intersect1d(
            left.offsets, right.offsets, assume_unique=True, return_indices=True
        )
    differs = [
        one
        for one, other in zip(at_left.tolist(), at_right.tolist(), strict=True)
        if left.contents[one] != right.contents[other]
    ]
    return Differences(
        left.offsets[differs],
        np.delete(left.offsets, at_left),
        np.delete(right.offsets, at_right),
    )


_ALIKE: Final = Differences(*[np.zeros(0, np.int64)] * 3)
