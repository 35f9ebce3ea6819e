"""ReplicaLanes: what the disks of several brokers say of each partition, broker by broker."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._background import are_quickly_read
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.live.directory_changes import DirectoryChanges
from widgets.replication.comparing import MOST_PARTITIONS, Comparing, Differing
from widgets.replication.lane_state import axis_of, default_leader, lanes_of
from widgets.selection import NOTHING, from_front, to_front
from workbench.comparison.advice import advice
from workbench.comparison.results import VERDICTS, PartitionComparison
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.listing import Listing
from workbench.loaders.tables.replica_comparison import ReplicaComparison
from workbench.runtime.words import plural

PATIENCE: Final = 0.25
"""Seconds that a comparison may take before the widget shows that it runs."""


class UnknownNameError(traitlets.TraitError, LookupError):
    """A partition or broker that is not there; traitlets then keep the value before."""


class ReplicaLanes(KafkaWidget):
    """Show the replicas of partitions as lanes over offsets: epochs, high watermarks, differences.

    A lane is a broker's log. Offsets that a follower would truncate if the chosen broker led are
    hatched; committed offsets that would be lost are marked. Ranges that differ from the leader's
    log are marked in the lane and listed. A sentence says which replica to keep. Values are never
    shown.

    Attributes:
        partition: the name of the partition shown, such as ``"orders-0"``; set it to show another.
        leader: name of the broker that is taken as the leader; set it to choose another. By
            default the leader of the cluster's metadata, otherwise the replica that is ahead.
        selected: the replica and the offset that were clicked, as `LogExplorer.selected` of the
            same directories, to which it can be linked.
        comparison: what is shown: at most `MOST_PARTITIONS`, those with the worst verdicts.
        logs: the log directories; None if a finished comparison was given.
        running: the comparison of all partitions that runs, or ran last; None without one.

    Args:
        comparison: the result of `workbench.compare_replicas`; or the log directories of several
            brokers, as paths or as the result of `workbench.open_log_directory`. These are then
            compared in the background, by headers and stored CRCs. More than 1000 partitions, or
            4 GiB of logs, are compared when `compare` is called, or by the button.
        show: called with a selection and a path, to show where a replica is.

    Raises:
        LogDirectoryError: a path is not a log directory.
        UnknownNameError: the partition or leader is not in the comparison, or the directories are
            those of one broker; a `LookupError`.
    """

    _esm = script("replication/replica_lanes.js")
    _css = style(
        "decisions/log_rules.css", "coordinators/coordinators.css", "replication/replica_lanes.css"
    )

    logs: workbench.LogDirectory | None = None
    running: Comparing | None = None
    _alone: Comparing | None = None
    _differing: Differing | None = None
    _given: ReplicaComparison | None = None
    _compared: PartitionComparison | None = None
    _has_changed = False

    partition = traitlets.Unicode().tag(sync=True)
    leader = traitlets.Unicode().tag(sync=True)
    selected = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    _partitions: Any = traitlets.List().tag(sync=True)
    _shown: Any = traitlets.Dict().tag(sync=True)
    _about: Any = traitlets.Dict().tag(sync=True)
    _progress: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        comparison: ReplicaComparison | workbench.LogDirectory | Iterable[str | os.PathLike[str]],
        *,
        partition: str = "",
        leader: str = "",
        show: Callable[[Mapping[str, Any], str], None] | None = None,
        **options: Any,
    ) -> None:
        """Show the partition with the worst verdict, or the one that is named."""
        self._brokers: dict[str, Listing] = {}
        self._kept: dict[str, PartitionComparison] = {}
        self._show_place = show
        if isinstance(comparison, ReplicaComparison):
            worst = sorted(comparison, key=lambda each: -VERDICTS.index(each.verdict))
            self._kept = {each.name: each for each in worst}
            self._names, self._given = set(self._kept), comparison
        else:
            self._take(comparison)
        super().__init__(**options)
        self._list()
        if self.logs is not None and self._is_quick():
            self.compare().wait(PATIENCE)
        self.partition = partition or self.partition or next(iter(self._kept), "")
        if leader:
            self.leader = leader

    # What is compared.

    def _take(self, given: Any) -> None:
        logs = given
        if not isinstance(given, workbench.LogDirectory):
            logs = workbench.open_log_directory(given)
        brokers = listings_by_broker(logs.listing)
        if len(brokers) < 2:
            raise UnknownNameError(
                "these directories are of one broker (expected those of several, each with its "
                "own node.id in meta.properties)"
            )
        self.logs = logs
        self._brokers = {str(node_id): listing for node_id, listing in brokers.items()}
        listed = logs.listing.partitions
        self._keys = {each.path: key for key, each in listed.items()}
        self._names = {
            f"{each.topic}-{each.partition}" for each in listed.values() if each.kind == "log"
        }

    def _is_quick(self) -> bool:
        assert self.logs is not None
        return are_quickly_read(self.logs.listing.partitions.values())

    @property
    def comparison(self) -> ReplicaComparison:
        """What was compared so far."""
        if self._given is not None:
            return self._given
        ordered = sorted(self._kept.values(), key=lambda each: (each.topic, each.partition))
        directories = () if self.running is None else self.running.directory_findings
        return ReplicaComparison(tuple(self._brokers), tuple(ordered), directories)

    def compare(self, *, deep: bool = False) -> Comparing:
        """Compare every partition, in a thread; what was compared before is forgotten.

        Args:
            deep: whether to check the CRC of every batch; otherwise headers and stored CRCs are
                compared.

        Returns:
            The comparison, to `wait` for or to `cancel`.

        Raises:
            ValueError: the widget shows a finished comparison.
        """
        if self.logs is None:
            raise ValueError("a finished comparison is shown, there is nothing to read")
        self.cancel()
        self._has_changed = False
        self.running = check = Comparing(self._brokers, self._tell, deep=deep)
        self._kept = {}
        check.start()
        return check

    def cancel(self) -> None:
        """End the comparison that runs; keep what was compared."""
        for each in (self.running, self._alone, self._differing):
            if each is not None:
                each.cancel()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until everything that runs is over, and show it."""
        for each in (self.running, self._alone, self._differing):
            if each is not None:
                each.wait(seconds)

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now; what was compared is marked as older.

        Brokers that write are always a little apart, so nothing is compared by itself.
        """
        if self.logs is None or not written.changed:
            return
        self._take(logs)
        self._has_changed = True
        self._list()

    def close(self) -> None:
        """Stop what runs, and take the widget off the page."""
        self.cancel()
        super().close()

    def _tell(self, check: Comparing) -> None:
        """Show how far a comparison is, and what it has found."""
        if check is not self.running:
            return
        if check.error is not None:
            self.show_error(check.error)
        with self.hold_sync():
            kept = check.kept
            ranks = {name: -VERDICTS.index(each.verdict) for name, each in kept.items()}
            self._kept = {name: kept[name] for name in sorted(kept, key=ranks.__getitem__)}
            self._list()
            self._progress = check.progress()
            if not self.partition and check.status != "running":
                self.partition = next(iter(self._kept), "")
            elif self._kept.get(self.partition, self._compared) is not self._compared:
                self._show_partition()

    def _list(self) -> None:
        """Send the partitions that were compared, the worst first."""
        shown = list(self._kept.values())[:MOST_PARTITIONS]
        counts = Counter(each.verdict for each in self._kept.values())
        if self.running is not None:
            counts = self.running.counts
        paths = [] if self.logs is None else [str(root.path) for root in self.logs.roots]
        directories = self.comparison.directory_findings
        self._partitions = [[each.name, each.verdict, advice(each)] for each in shown]
        self._about = {
            "path": "\n".join(paths),
            "brokers": list(self._brokers or self.comparison.brokers),
            "partitions": len(self._names),
            "counts": [[each, counts[each]] for each in reversed(VERDICTS) if counts[each]],
            "left_out": counts.total() - len(shown),
            "directories": [[each.severity, each.kind, each.found] for each in directories],
            "can_compare": self.logs is not None,
            "can_show": self._show_place is not None or self.logs is not None,
            "has_changed": self._has_changed,
        }

    # What is shown.

    @traitlets.validate("partition")
    def _known_partition(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name and name not in self._names:
            raise UnknownNameError(f"no broker has partition {name!r}")
        return name

    @traitlets.validate("leader")
    def _known_leader(self, proposal: Any) -> str:
        name = str(proposal["value"])
        known = {} if self._compared is None else self._compared.leaderships
        if name and name not in known:
            raise UnknownNameError(
                f"broker {name!r} has no log of {self.partition} (brokers: {', '.join(known)})"
            )
        return name

    @traitlets.observe("partition")
    def _show_partition(self, _change: Any = None) -> None:
        name = self.partition
        compared = self._kept.get(name)
        if compared is None and self._alone is not None:
            compared = self._alone.kept.get(name)
        with self.hold_sync():
            self._compared = compared
            if compared is None:
                self._picture = None
                self._shown = {"name": name}
                self._compare_alone()
                return
            if self.logs is not None and self._replica_of(self.selected["partition"]) is None:
                kept = compared.replica(compared.ahead)
                self.selected = NOTHING | {"partition": self._keys.get(kept.path)}
            if self.leader in compared.leaderships:
                self._show_leader()
            else:
                self.leader = default_leader(compared)

    def _compare_alone(self) -> None:
        """Compare the partition that is shown, unless the comparison of all is going to."""
        if self._alone is not None:
            self._alone.cancel()
        is_coming = self.running is not None and self.running.status == "running"
        if not self.partition or self.logs is None or (is_coming and self._is_quick()):
            return

        def tell(check: Comparing) -> None:
            if check is self._alone and check.status == "done":
                self._show_partition()
            elif check is self._alone and check.error is not None:
                self.show_error(check.error)

        check = Comparing(self._brokers, tell, deep=False, only=self.partition)
        self._alone = check
        check.start()
        check.wait(PATIENCE)

    @traitlets.observe("leader")
    def _show_leader(self, _change: Any = None) -> None:
        if self._compared is None or self.leader not in self._compared.leaderships:
            return
        if self._differing is not None:
            self._differing.cancel()
        self._differing = Differing(self._compared, self.leader, self._show_ranges)
        self._send_lanes(None)
        self._differing.start()
        self._differing.wait(PATIENCE)

    def _show_ranges(self, check: Differing) -> None:
        if check is self._differing and check.status in {"done", "failed"}:
            self._send_lanes(check)

    def _send_lanes(self, check: Differing | None) -> None:
        assert self._compared is not None
        self._picture = None
        self._shown = lanes_of(self._compared, self.leader, None if check is None else check.found)

    @traitlets.observe("selected")
    def _go(self, _change: Any) -> None:
        """Show the partition that another widget has selected."""
        name = self._name_of(self.selected.get("partition"))
        if name is not None:
            self.partition = name

    def _name_of(self, key: str | None) -> str | None:
        """Return the name of the partition that a key of the listing is a replica of."""
        if self.logs is None or key is None:
            return None
        found = self.logs.listing.partitions.get(key)
        if found is None or found.kind != "log":
            return None
        return f"{found.topic}-{found.partition}"

    def _replica_of(self, key: str | None) -> str | None:
        """Return the key if it is of a replica of the partition that is shown."""
        return key if self._name_of(key) == self.partition else None

    # Answers to the front end.

    def answer_compare(self, *, deep: bool) -> Answer:
        """Compare every partition again."""
        if self.logs is not None:
            self._take(self.logs.listed_again())
        self.compare(deep=deep).wait(PATIENCE)
        return {}, []

    def answer_cancel(self) -> Answer:
        """End the comparison."""
        self.cancel()
        return {}, []

    def answer_show(
        self, broker: str, offset: str | None = None, part: float | None = None
    ) -> Answer:
        """Select an offset of a broker's replica, and show it where that is possible.

        Args:
            broker: its name.
            offset: the offset as text; None: as `part` says.
            part: a part of the axis from 0 to 1; None: none, the replica as a whole.
        """
        if self._compared is None or self.logs is None:
            return {}, []
        replica = self._compared.replica(broker)
        at = None if offset is None else int(offset)
        if part is not None:
            first, last = axis_of(self._compared)
            at = first + int(min(max(part, 0.0), 1.0) * (last - first))
        place: dict[str, Any] = NOTHING | {"partition": self._keys.get(replica.path)}
        low, high = replica.log_start_offset, replica.log_end_offset
        if at is not None and low < high:
            place["offset"] = min(max(at, low), high - 1)
        self.selected = place
        if self._show_place is not None:
            self._show_place(place, replica.path)
        return {}, []

    # Without a browser.

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [] if self.logs is None else [str(root.path) for root in self.logs.roots]

    def describe(self) -> str:
        """Return the partition, the verdict, and what would happen under the leader."""
        if self._compared is None:
            what = f"{self.partition}: not compared" if self.partition else "no partition"
            return f"ReplicaLanes: {what}"
        others = plural(len(self._names), "partition")
        return (
            f"ReplicaLanes ({others}): {self._compared}\n"
            f"{self._shown['outcome']}\n{self._shown['advice']}"
        )

    def to_png(self) -> bytes:
        """Draw the lanes and the findings. Imports matplotlib."""
        if self._picture is None:
            from widgets.replication.lanes_picture import lanes_picture

            self._picture = lanes_picture(self._shown)
        return self._picture
