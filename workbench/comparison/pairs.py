"""Two replicas of one partition: their common beginning, and the first offset where they differ.

The bytes decide, not the epochs: replicas of one log hold the same batches until one of them is
compacted or truncated at its start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from workbench.comparison.records import Effort, differences
from workbench.comparison.replica import Replica
from workbench.files.leader_epochs import LeaderEpochs


@dataclass(frozen=True, slots=True)
class PairComparison:
    """What two replicas share.

    Attributes:
        left, right: names of the brokers.
        start, end: the offsets [start, end) that both logs cover; empty if ``end`` is not above
            ``start``.
        divergence_offset: the first offset of them where the replicas hold different records, or
            where only one holds a record and compaction does not explain it; None if none.
        is_gap: whether only one holds a record there.
        epoch_divergence: the first offset of them to which the leader epoch files give different
            epochs, as a follower that asks its leader would find; None if none.
        only_left, only_right: how many records only one has, up to the divergence: those that
            compaction dropped on the other side.
        equal_batches: batches that were equal byte for byte, and were not decoded.
        decoded_batches: batches of both sides that were decoded.
    """

    left: str
    right: str
    start: int
    end: int
    divergence_offset: int | None = None
    is_gap: bool = False
    epoch_divergence: int | None = None
    only_left: int = 0
    only_right: int = 0
    equal_batches: int = 0
    decoded_batches: int = 0

    @property
    def common_end(self) -> int:
        """The end (exclusive) of what both hold alike."""
        return self.end if self.divergence_offset is None else self.divergence_offset

    @property
    def is_identical(self) -> bool:
        """Whether both hold the same records at all offsets that both cover."""
        return self.divergence_offset is None and not self.only_left and not self.only_right


class Pairs:
    """The comparisons of all replicas of a partition with each other."""

    def __init__(self, pairs: Sequence[PairComparison]) -> None:
        self._by_names = {frozenset((pair.left, pair.right)): pair for pair in pairs}
        self.all = tuple(pairs)

    def of(self, one: Replica, other: Replica) -> PairComparison:
        """Return the comparison of two replicas, whichever is left."""
        if one is other:
            name = one.broker
            return PairComparison(name, name, one.log_start_offset, one.log_end_offset)
        return self._by_names[frozenset((one.broker, other.broker))]


def compare_all(replicas: Sequence[Replica], *, is_compacted: bool) -> Pairs:
    """Compare all replicas of a partition with each other.

    Two that are both identical to the one that is ahead are not read again.

    Args:
        replicas: of one partition.
        is_compacted: whether records may be missing because of compaction.
    """
    ahead = max(replicas, key=lambda replica: replica.rank)
    found: dict[frozenset[str], PairComparison] = {}
    for replica in replicas:
        if replica is not ahead:
            pair = compare_pair(replica, ahead, is_compacted=is_compacted)
            found[frozenset((replica.broker, ahead.broker))] = pair
    pairs = []
    for left, right in combinations(replicas, 2):
        names = frozenset((left.broker, right.broker))
        if names not in found:
            through = [found[frozenset((each.broker, ahead.broker))] for each in (left, right)]
            start, end = _range(left, right)
            follows = (
                all(pair.is_identical for pair in through)
                and ahead.log_start_offset <= start
                and end <= ahead.log_end_offset
                and not any(each.lost for each in (left, right, ahead))
            )
            found[names] = (
                PairComparison(
                    left.broker, right.broker, start, end, epoch_divergence=_by_epochs(left, right)
                )
                if follows
                else compare_pair(left, right, is_compacted=is_compacted)
            )
        pairs.append(found[names])
    return Pairs(pairs)


def compare_pair(left: Replica, right: Replica, *, is_compacted: bool) -> PairComparison:
    """Compare two replicas of a partition, up to the first offset where they differ.

    Offsets that cannot be read on one side are no difference: `Replica.damage` has them.
    """
    start, end = _range(left, right)
    effort, only_left, only_right = Effort(), 0, 0
    divergence: int | None = None
    is_gap = False
    try:
        for found in differences(left.partition, right.partition, start, end, effort=effort):
            ours = found.only_left[~right.has_lost(found.only_left)]
            theirs = found.only_right[~left.has_lost(found.only_right)]
            first = [int(offsets[0]) for offsets in (found.different,) if len(offsets)]
            gaps = [int(offsets[0]) for offsets in (ours, theirs) if len(offsets)]
            if not is_compacted:
                first += gaps
            if first:
                divergence = min(first)
                is_gap = divergence in gaps
                ours, theirs = ours[ours < divergence], theirs[theirs < divergence]
            only_left += len(ours)
            only_right += len(theirs)
            if divergence is not None:
                break
    except OSError:  # `Replica.damage` says which file cannot be read
        pass
    return PairComparison(
        left.broker,
        right.broker,
        start,
        end,
        divergence,
        is_gap,
        _by_epochs(left, right),
        only_left,
        only_right,
        effort.equal_batches,
        effort.decoded_batches,
    )


def _range(left: Replica, right: Replica) -> tuple[int, int]:
    start = max(left.log_start_offset, right.log_start_offset)
    return start, min(left.log_end_offset, right.log_end_offset)


def _by_epochs(left: Replica, right: Replica) -> int | None:
    """Return the first offset of both logs whose epochs differ by the leader epoch caches."""
    start, end = _range(left, right)
    ours, theirs = LeaderEpochs(left.epochs), LeaderEpochs(right.epochs)
    if not ours.entries or not theirs.entries:
        return None
    starts = {entry.start_offset for entry in (*ours.entries, *theirs.entries)}
    for offset in sorted({start, *(each for each in starts if start < each)}):
        if offset >= end:
            break
        if ours.epoch_for_offset(offset) != theirs.epoch_for_offset(offset):
            return offset
    return None
