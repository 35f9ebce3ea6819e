"""Two replicas of one partition: their common beginning, and the first offset where they differ.

The bytes decide, not the epochs: replicas of one log hold the same batches until one of them is
compacted or truncated at its start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from workbench.comparison.records import Advance, Effort, differences
from workbench.comparison.replica import Replica
from workbench.files.leader_epochs import LeaderEpochs


@dataclass(frozen=True, slots=True)
class PairComparison:
    """What two replicas share.

    Attributes:
        left, right: names of the brokers.
        start, end: the offsets [start, end) that both logs cover; empty if ``end`` is not above
            ``start``.
        different_offset: the first offset of them where the replicas hold different records; None
            if none do.
        gap_offset: the first offset of them where only one holds a record and compaction does not
            explain it; None if none.
        epoch_divergence: the first offset of them to which the leader epoch files give different
            epochs, as a follower that asks its leader would find; None if none.
        only_left, only_right: how many records only one has, up to the first that differs: those
            that compaction dropped on the other side, and gaps.
        equal_batches: batches that were equal byte for byte, and were not decoded.
        decoded_batches: batches of both sides that were decoded.
    """

    left: str
    right: str
    start: int
    end: int
    different_offset: int | None = None
    gap_offset: int | None = None
    epoch_divergence: int | None = None
    only_left: int = 0
    only_right: int = 0
    equal_batches: int = 0
    decoded_batches: int = 0

    @property
    def divergence_offset(self) -> int | None:
        """The first offset at which the replicas differ in any way; None if they do not."""
        found = (self.different_offset, self.gap_offset)
        return min((offset for offset in found if offset is not None), default=None)

    @property
    def common_end(self) -> int:
        """The end (exclusive) of the history that both share, gaps aside."""
        return self.end if self.different_offset is None else self.different_offset

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


def compare_all(
    replicas: Sequence[Replica], *, is_compacted: bool, advance: Advance = lambda _size: None
) -> Pairs:
    """Compare all replicas of a partition with each other.

    Two that are both identical to the one that is ahead are not read again.

    Args:
        replicas: of one partition.
        is_compacted: whether records may be missing because of compaction.
        advance: called with the bytes that were walked; raises to stop.
    """
    ahead = max(replicas, key=lambda replica: replica.rank)
    found: dict[frozenset[str], PairComparison] = {}
    every = list(combinations(replicas, 2))
    for left, right in sorted(every, key=lambda pair: ahead not in pair):
        through = [found.get(frozenset((each.broker, ahead.broker))) for each in (left, right)]
        found[frozenset((left.broker, right.broker))] = (
            _derived(left, right)
            if _follows(left, right, ahead, through)
            else compare_pair(left, right, is_compacted=is_compacted, advance=advance)
        )
    return Pairs([found[frozenset((left.broker, right.broker))] for left, right in every])


def _follows(
    left: Replica, right: Replica, ahead: Replica, through: Sequence[PairComparison | None]
) -> bool:
    """Return whether two replicas must be alike, because both are as the one ahead."""
    start, end = _range(left, right)
    return (
        all(pair is not None and pair.is_identical for pair in through)
        and ahead.log_start_offset <= start
        and end <= ahead.log_end_offset
        and not any(each.lost for each in (left, right, ahead))
    )


def _derived(left: Replica, right: Replica) -> PairComparison:
    start, end = _range(left, right)
    by_epochs = _by_epochs(left, right)
    return PairComparison(left.broker, right.broker, start, end, epoch_divergence=by_epochs)


def compare_pair(
    left: Replica,
    right: Replica,
    *,
    is_compacted: bool,
    advance: Advance = lambda _size: None,
) -> PairComparison:
    """Compare two replicas of a partition, up to the first offset where they differ.

    Offsets that cannot be read on one side are not a difference: `Replica.damage` has them.
    """
    start, end = _range(left, right)
    effort, only_left, only_right = Effort(), 0, 0
    different: int | None = None
    gap: int | None = None
    try:
        for found in differences(
            left.partition, right.partition, start, end, effort=effort, advance=advance
        ):
            ours = found.only_left[~right.has_lost(found.only_left)]
            theirs = found.only_right[~left.has_lost(found.only_right)]
            if len(found.different):
                different = int(found.different[0])
                ours, theirs = ours[ours < different], theirs[theirs < different]
            gaps = [int(offsets[0]) for offsets in (ours, theirs) if len(offsets)]
            if gaps and gap is None and not is_compacted:
                gap = min(gaps)
            only_left += len(ours)
            only_right += len(theirs)
            if different is not None:
                break
    except OSError:  # `Replica.damage` says which file cannot be read
        pass
    return PairComparison(
        left=left.broker,
        right=right.broker,
        start=start,
        end=end,
        different_offset=different,
        gap_offset=gap,
        epoch_divergence=_by_epochs(left, right),
        only_left=only_left,
        only_right=only_right,
        equal_batches=effort.equal_batches,
        decoded_batches=effort.decoded_batches,
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
