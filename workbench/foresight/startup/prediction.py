"""Hold the prediction of a broker's start: rows for log directories and partitions.

Kafka: what LogManager.startup (4.2) would do
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from workbench.files.names import parse_directory_name
from workbench.foresight.startup.consumer import ConsumerView
from workbench.foresight.startup.describe_steps import RECOVERED
from workbench.inspection.broker_version import MeantBroker
from workbench.log_manager.opening import LATER_FORMAT
from workbench.runtime.steps import Step
from workbench.runtime.words import plural, safe

Verdict = Literal[
    "loads",      # without changes to its records
    "recovers",   # segments are read again, and perhaps truncated
    "stray",      # the directory is renamed as stray and not served
    "deleted",    # the directory is marked for deletion
    "future",     # a copy that was moving in from another directory
    "offline",    # its log directory goes offline, because of this log or another file
    "refuses",    # the broker does not start
    "unread",     # it cannot be read here, or not by the version, so nothing is predicted
]  # fmt: skip
SERVED: Final = frozenset({"loads", "recovers", "future"})
"""The verdicts about partitions that the broker has after its start."""


BECOMES_LOG: Final = "the copy becomes the log"
"""Part of the reason of a copy that takes the place of the log."""

EMPTIED: Final = "no directory has its log: the broker makes an empty one, and truncates the copy"
"""Part of the reason of a copy that loses all its records."""


@dataclass(frozen=True, slots=True)
class DirectoryStart:
    """The prediction for one log directory.

    Attributes:
        path: the log directory.
        had_clean_shutdown: whether the clean shutdown file exists; without it logs are recovered.
        verdict: "online"; "offline": the broker continues without it, if there is another;
            "refuses": the broker does not start; "unread": one of its files cannot be read here,
            so nothing is predicted for its logs.
        exception: the exception that Kafka throws; empty if none.
        problem: the problem; empty if none. Of an "online" directory: what else the broker does
            with it, as `startup.node.NodeStart.new_directory` has it.
        kind: the kind of the problem if the broker refuses the directory, as `startup.node.Reason`
            has it, "partition" or "duplicate-partition"; otherwise empty.
    """

    path: str
    had_clean_shutdown: bool
    verdict: Literal["online", "offline", "refuses", "unread"]
    exception: str = ""
    problem: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """The prediction for one partition.

    Attributes:
        directory: the log directory.
        name: the partition directory's name.
        verdict: see `Verdict`.
        reason: why; empty if it loads without recovery.
        exception: the exception that Kafka throws; empty if none.
        recovered_from: first offset that recovery reads; None without recovery.
        bytes_cut: bytes truncated from segments, and of entire segments that are deleted.
        log_start_offset: log start offset once it is loaded; None if it is not.
        log_end_offset: log end offset once it is loaded; None if it is not.
        first_epoch: the first leader epoch that the log knows once it is loaded; None: it knows
            none.
        log_end_before: log end offset as the files have it now, after the last whole batch; None
            if it was not looked at.
        records_lost: records that can be read now, and that the start removes; None: not known.
            Those that an interrupted cleaning has replaced do not count.
        removed_from: the first offset of which the start may remove records; None: none.
        changes: the changes to its files in order, a sentence each.
        unserved: why no client reaches the log, although the broker loads it; empty if one does.
        unnoticed: damage that the broker does not detect, and its consequences.
        consumers: what consumers meet then, read_uncommitted first; read_committed only with
            transactions. Empty if it is not served, or consumers were not asked for.
        steps: the steps that the loading code reported.
    """

    directory: str
    name: str
    verdict: Verdict
    reason: str = ""
    exception: str = ""
    recovered_from: int | None = None
    bytes_cut: int = 0
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    first_epoch: int | None = None
    log_end_before: int | None = None
    records_lost: int | None = None
    removed_from: int | None = None
    changes: tuple[str, ...] = ()
    unserved: str = ""
    unnoticed: tuple[str, ...] = ()
    consumers: tuple[ConsumerView, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def recovery_bytes(self) -> int:
        """The bytes of the segments that recovery reads."""
        return sum(step.numbers["size"] for step in self.steps if step.kind == RECOVERED)

    @property
    def offsets_lost(self) -> int:
        """The offsets that the start removes at the end of the log, readable or not."""
        if self.log_end_offset is None or self.log_end_before is None:
            return 0
        return max(self.log_end_before - self.log_end_offset, 0)

    @property
    def loss(self) -> str:
        """What the start removes of the log, as a clause; empty if nothing."""
        if self.verdict == "deleted" and self.records_lost:
            return f"the log is removed, with {plural(self.records_lost, 'record')}"
        if not self.offsets_lost:
            is_less = self.bytes_cut or self.removed_from is not None
            if not is_less or not self.records_lost:
                return ""
            verb = "is" if self.records_lost == 1 else "are"
            return f"{plural(self.records_lost, 'record')} that can be read now {verb} removed"
        assert self.log_end_offset is not None
        assert self.log_end_before is not None
        last = self.log_end_before - 1
        which = f"offsets {self.log_end_offset} to {last} are"
        if last == self.log_end_offset:
            which = f"offset {last} is"
        text = f"{which} removed"
        if self.records_lost is None:
            return text
        return f"{text}; {plural(self.records_lost, 'record')} of them can be read now"

    @property
    def keeps_all(self) -> bool:
        """Whether the log is loaded, perhaps recovered, as it is, and all of it is served."""
        is_whole = not (self.bytes_cut or self.offsets_lost or self.unserved or self.unnoticed)
        if self.verdict == "recovers":  # that it is read again is the only change
            return is_whole and not self.records_lost and len(self.changes) <= 1
        return is_whole and self.verdict == "loads" and not (self.changes or self.records_lost)

    @property
    def becomes_log(self) -> bool:
        """Whether it is a copy that becomes the log; see `startup.node.promote_copies`."""
        return self.verdict == "future" and BECOMES_LOG in self.reason

    @property
    def was_stray(self) -> bool:
        """Whether the log became stray before this start."""
        name = parse_directory_name(self.name)
        return self.verdict == "stray" and name is not None and name.kind == "stray"

    @property
    def is_emptied(self) -> bool:
        """Whether it is a copy whose log is in no directory; see `startup.losses`."""
        return self.verdict == "future" and EMPTIED in self.reason

    @property
    def has_later_format(self) -> bool:
        """Whether the version does not read its batches."""
        return self.verdict == "unread" and LATER_FORMAT in self.reason

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values, for JSON; without the steps."""
        found = {name: getattr(self, name) for name in _SHOWN}
        found["changes"] = list(self.changes)
        found["unnoticed"] = list(self.unnoticed)
        found["consumers"] = [asdict(view) for view in self.consumers]
        return found


@dataclass(frozen=True, slots=True)
class MetadataStart:
    """What a KRaft node does with its metadata log before it loads the other logs.

    Attributes:
        log: the recovery of `__cluster_metadata-0`; None if it is not there.
        snapshot: name of the `.checkpoint` that is read; empty if there is none.
        known_until: the first offset that is not known afterwards.
        topics: how many topics are known then.
        vanished: topics with a log here that are not known then: their logs become stray.
        created: names of partitions assigned to the node without a log that it takes: it makes an
            empty one.
        leaderless: those of `created` that may remain without a leader, because the controller has
            them in a log directory that is none of these.
        later: what the node may learn before it serves its logs, and until when this copy of the
            metadata log reaches; empty for the only controller.
        note: what this copy of the disk does not say; empty if nothing.
    """

    log: PartitionStart | None = None
    snapshot: str = ""
    known_until: int = 0
    topics: int = 0
    vanished: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    leaderless: tuple[str, ...] = ()
    later: str = ""
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values, for JSON; of the log without the steps."""
        return {
            "log": None if self.log is None else self.log.as_dict(),
            "snapshot": self.snapshot,
            "known_until": self.known_until,
            "topics": self.topics,
            "vanished": list(self.vanished),
            "created": list(self.created),
            "leaderless": list(self.leaderless),
            "later": self.later,
            "note": self.note,
        }


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


_SHOWN: Final = (
    "directory",
    "name",
    "verdict",
    "reason",
    "exception",
    "recovered_from",
    "bytes_cut",
    "log_start_offset",
    "log_end_offset",
    "log_end_before",
    "offsets_lost",
    "records_lost",
    "unserved",
)


@dataclass(frozen=True, slots=True)
class StartupPrediction:
    """The prediction of a broker's start; iterating gives the partitions.

    Attributes:
        starts: whether the broker starts at all.
        problem: why it does not; empty if it does.
        exception: the exception that Kafka throws then; empty if it halts without one.
        directories: the log directories in the given order.
        partitions: the partitions by directory and name.
        broker: the broker that is assumed, and why that one.
        metadata: what it does with its metadata log; None for a broker with ZooKeeper, for a node
            that does not get so far, and for partitions alone.
        seconds: the time that loading the logs took here, recovery included; not in `as_dict`.
    """

    starts: bool
    problem: str
    exception: str
    directories: tuple[DirectoryStart, ...]
    partitions: tuple[PartitionStart, ...]
    broker: MeantBroker
    metadata: MetadataStart | None = None
    seconds: float = field(default=0.0, compare=False, repr=False)

    @property
    def summary(self) -> str:
        """The answer in one sentence."""
        if not self.starts:
            thrown = f" ({self.exception})" if self.exception else ""
            return f"the broker does not start: {self.problem}{thrown}"
        counts: dict[str, int] = {}
        for row in self.partitions:
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
        words = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items()) or "no logs"
        unread = [row.verdict == "unread" and not row.has_later_format for row in self.partitions]
        unread += [each.verdict == "unread" for each in self.directories]
        if any(unread):
            return f"as far as the directories can be read here: {words}"
        return "; ".join(filter(None, [f"the broker starts: {words}", *self._losses()]))

    def _losses(self) -> Iterator[str]:
        """Yield what is lost, or not there, as clauses."""
        damaged = sum(bool(row.unnoticed) for row in self.partitions)
        if damaged:
            yield f"damage in {plural(damaged, 'log')} is not detected"
        later = sum(row.has_later_format for row in self.partitions)
        if later:
            yield f"the version does not read the format of {plural(later, 'log')}"
        unserved = sum(bool(row.unserved) for row in self.partitions)
        if unserved:
            yield f"{plural(unserved, 'log')} of these {_are(unserved)} not served"
        lost = [row for row in self.partitions if row.records_lost]
        if lost:
            count = sum(row.records_lost or 0 for row in lost)
            yield f"{plural(count, 'record')} that can be read now {_are(count)} removed"
        created = 0 if self.metadata is None else len(self.metadata.created)
        if created:
            yield f"{plural(created, 'partition')} {_are(created)} made empty"
        new = sum(each.verdict == "online" and bool(each.problem) for each in self.directories)
        if new:
            yield f"{new} log director{'y is' if new == 1 else 'ies are'} taken as new"
        if self.metadata is not None and self.metadata.later:
            yield "as far as this copy of the metadata says"

    def __repr__(self) -> str:
        return safe(f"<StartupPrediction {self.summary}>")

    def __iter__(self) -> Iterator[PartitionStart]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, name: str) -> PartitionStart:
        """Return the prediction for a partition directory's name.

        Raises:
            KeyError: no partition directory has the name.
        """
        for partition in self.partitions:
            if partition.name == name:
                return partition
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "broker": self.broker._asdict(),
            "starts": self.starts,
            "problem": self.problem,
            "exception": self.exception,
            "metadata": None if self.metadata is None else self.metadata.as_dict(),
            "directories": [asdict(directory) for directory in self.directories],
            "partitions": [partition.as_dict() for partition in self.partitions],
        }
