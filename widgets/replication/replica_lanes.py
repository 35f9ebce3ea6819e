"""ReplicaLanes: what the disks of several brokers say of a partition, broker by broker."""

from typing import Any

import traitlets

from widgets._link import link, style
from widgets._widget import KafkaWidget
from widgets.replication.lane_state import default_leader, lanes_of
from workbench.comparison.results import VERDICTS, PartitionComparison
from workbench.loaders.tables.replica_comparison import ReplicaComparison
from workbench.runtime.words import plural

MOST_PARTITIONS = 1000
"""More are not in the chooser; those with the worst verdicts come first."""


class UnknownNameError(traitlets.TraitError, LookupError):
    """A partition or broker that is not in the comparison; traitlets then keep the value before."""


class ReplicaLanes(KafkaWidget):
    """Show the replicas of a partition as lanes over offsets: epochs, high watermarks, differences.

    A lane is a broker's log. Offsets that a follower would truncate if the chosen broker led are
    hatched; committed offsets that would be lost are marked. Values are never read.

    Attributes:
        partition: the name of the partition shown, such as ``"orders-0"``; set it to show another.
        leader: name of the broker that is taken as the leader; set it to choose another. By
            default the leader of the cluster's metadata, otherwise the replica that is ahead.
        comparison: what is shown.

    Args:
        comparison: the result of `workbench.compare_replicas`.

    Raises:
        UnknownNameError: the partition or leader is not in the comparison; a `LookupError`.
    """

    _esm = link("replication/replica_lanes.js")
    _css = style(
        "compaction/cleaner.css", "coordinators/coordinators.css", "replication/replica_lanes.css"
    )

    partition = traitlets.Unicode().tag(sync=True)
    leader = traitlets.Unicode().tag(sync=True)
    _partitions: Any = traitlets.List().tag(sync=True)
    _shown: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        comparison: ReplicaComparison,
        *,
        partition: str = "",
        leader: str = "",
        **options: Any,
    ) -> None:
        """Show the partition with the worst verdict, or the one that is named."""
        self.comparison = comparison
        worst = sorted(comparison, key=lambda each: -VERDICTS.index(each.verdict))
        self._by_name: dict[str, PartitionComparison] = {each.name: each for each in worst}
        shown = [[each.name, each.verdict] for each in worst[:MOST_PARTITIONS]]
        first = partition or next(iter(self._by_name), "")
        super().__init__(_partitions=shown, **options)
        self.partition = first
        if leader:
            self.leader = leader

    @traitlets.validate("partition")
    def _known_partition(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name and name not in self._by_name:
            raise UnknownNameError(f"no broker has partition {name!r}")
        return name

    @traitlets.validate("leader")
    def _known_leader(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name not in self._by_name[self.partition].leaderships:
            known = ", ".join(self._by_name[self.partition].leaderships)
            raise UnknownNameError(
                f"broker {name!r} has no log of {self.partition} (brokers: {known})"
            )
        return name

    @traitlets.observe("partition")
    def _show_partition(self, _change: Any) -> None:
        compared = self._by_name[self.partition]
        with self.hold_sync():
            if self.leader not in compared.leaderships:
                self.leader = default_leader(compared)
            self._show_leader(_change)

    @traitlets.observe("leader")
    def _show_leader(self, _change: Any) -> None:
        self._picture = None
        self._shown = lanes_of(self._by_name[self.partition], self.leader)

    def describe(self) -> str:
        """Return the partition, the verdict, and what would happen under the leader."""
        if not self.partition:
            return "ReplicaLanes: no partition"
        compared = self._by_name[self.partition]
        others = plural(len(self.comparison), "partition")
        return f"ReplicaLanes ({others}): {compared}\n{self._shown['outcome']}"

    def to_png(self) -> bytes:
        """Draw the lanes and the findings. Imports matplotlib."""
        if self._picture is None:
            from widgets.replication.lanes_picture import lanes_picture

            self._picture = lanes_picture(self._shown)
        return self._picture
