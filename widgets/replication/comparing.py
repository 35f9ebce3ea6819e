"""Compare the replicas of all partitions in a thread: how far it is, what was found, a cancel."""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from widgets._background import Background
from workbench.comparison.compare import Comparer
from workbench.comparison.ranges import DifferentRanges, different_ranges
from workbench.comparison.results import VERDICTS, PartitionComparison, Verdict
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing

MOST_PARTITIONS: Final = 1000
"""Compared partitions that are kept and listed: the worst. Others are counted."""


class Comparing(Background):
    """One comparison of all partitions of several brokers, or of those that are named.

    Attributes:
        kept: name → comparison, of the `MOST_PARTITIONS` with the worst verdicts.
        counts: verdict → number of partitions.
        directory_findings: what is wrong with the directories as a whole.

    Args:
        brokers: name of each broker → its directories.
        tell: called in the thread when there is progress, and at the end.
        deep: whether to check the CRC of every batch.
        only: name of the only partition; None: all.
    """

    def __init__(
        self,
        brokers: Mapping[str, Listing],
        tell: Callable[["Comparing"], None],
        *,
        deep: bool,
        only: str | None = None,
    ) -> None:
        super().__init__("compare replicas", tell)
        self._brokers = brokers
        self._deep = deep
        self._only = only
        self._order: list[tuple[int, int, str]] = []
        self.kept: dict[str, PartitionComparison] = {}
        self.counts: Counter[Verdict] = Counter()
        self.directory_findings: tuple[Finding, ...] = ()

    def _work(self) -> None:
        comparer = Comparer(self._brokers)
        self.directory_findings = comparer.findings
        sizes = self._sizes()
        names = comparer.partitions(None, None if self._only is None else [self._only])
        self._total, self._size = len(names), sum(sizes[name] for name in names)
        for name in names:
            compared = comparer.compare(name, deep=self._deep, advance=self._advance)
            self._keep(compared)
            self._finish_one(sizes[name])

    def _sizes(self) -> Counter[tuple[str, int]]:
        """Return topic and number → bytes of all replicas."""
        sizes: Counter[tuple[str, int]] = Counter()
        for listing in self._brokers.values():
            for each in listing.partitions.values():
                if each.kind == "log":
                    sizes[each.topic, each.partition] += each.size
        return sizes

    def _keep(self, compared: PartitionComparison) -> None:
        rank = VERDICTS.index(compared.verdict)
        self.counts[compared.verdict] += 1
        kept = self.kept | {compared.name: compared}  # another thread may be reading the old ones
        heapq.heappush(self._order, (rank, -self.counts.total(), compared.name))
        if len(kept) > MOST_PARTITIONS:
            del kept[heapq.heappop(self._order)[-1]]
        self.kept = kept


class Differing(Background):
    """Where the replicas of a partition differ from one of them.

    Attributes:
        found: name of a broker → the ranges of its replica, as far as they are known.

    Args:
        compared: the partition.
        leader: the broker that the others are compared with.
        tell: called in the thread at the end.
    """

    def __init__(
        self, compared: PartitionComparison, leader: str, tell: Callable[["Differing"], None]
    ) -> None:
        super().__init__("compare records", tell)
        self.compared, self.leader = compared, leader
        self.found: dict[str, DifferentRanges] = {}

    def _work(self) -> None:
        other = self.compared.replica(self.leader)
        for replica in self.compared.replicas:
            if replica is not other:
                self.found[replica.broker] = different_ranges(replica, other, advance=self._advance)
