"""How a broker would find a log directory: stopped cleanly or not, and what it then reads.

After a clean stop a broker believes what lies on disk. After any other it recovers: it reads every
batch of the segments from the recovery point on, cuts the log at the first that is damaged, drops
all later segments and builds the indexes anew. What a finding means follows from this.

Kafka: LogManager.loadLogs, LogLoader.recoverLog (4.2)
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from workbench.files import names
from workbench.files.names import FileKind, TopicPartition
from workbench.inspection.listing import Root

Stop = Literal["clean", "unclean", "running", "unknown"]

METADATA_TOPIC: Final = "__cluster_metadata"
_LOCKS: Final = "/proc/locks"


@dataclass(frozen=True)
class Situation:
    """What a log directory's own files say about how its broker stopped.

    Attributes:
        stop: "clean", "unclean" (killed: recovery follows), "running" (a process holds the lock),
            or "unknown" (a partition or a file was opened by itself).
        recovery_points: where recovery begins; 0 for partitions that are not in it.
    """

    stop: Stop = "unknown"
    recovery_points: Mapping[TopicPartition, int] = field(default_factory=dict)

    def of(self, partition: TopicPartition) -> "PartitionSituation":
        """Return how one partition would be found: the metadata log is always recovered whole."""
        if partition.topic == METADATA_TOPIC and self.stop == "clean":
            return PartitionSituation("unclean", 0)
        return PartitionSituation(self.stop, self.recovery_points.get(partition, 0))


@dataclass(frozen=True)
class PartitionSituation:
    """`Situation` of one partition."""

    stop: Stop
    recovery_point: int


@dataclass(frozen=True)
class Place:
    """Where a segment stands in its log, and what a broker would do to it when it starts.

    Attributes:
        path: of the `.log` file.
        base_offset: of the segment.
        next_base: base offset of the segment behind it; None for the last one.
        later: how many segments come behind it.
        situation: of the partition.
        swaps: kinds of files of the segment that lie as `.swap` and will be put in place.
    """

    path: str
    base_offset: int
    next_base: int | None
    later: int
    situation: PartitionSituation
    swaps: frozenset[FileKind] = frozenset()

    @property
    def is_last(self) -> bool:
        """Whether a broker would append to this segment."""
        return self.next_base is None

    @property
    def stop(self) -> Stop:
        """How the broker stopped."""
        return self.situation.stop

    @property
    def is_recovered(self) -> bool:
        """Whether the next start reads every batch of the segment."""
        behind = self.next_base is None or self.next_base > self.situation.recovery_point
        return self.stop == "unclean" and behind

    @property
    def is_rebuilt(self) -> bool:
        """Whether the next start builds the segment's indexes anew: the same as `is_recovered`."""
        return self.is_recovered

    def cut(self, what: str, offset: int | None) -> str:
        """Return what becomes of a batch that breaks the format.

        Args:
            what: how readers take it, as "consumers fail at this batch".
            offset: where the log would end if it were cut here; None when unknown.
        """
        at = "" if offset is None else f", at offset {offset}"
        drops = f" and drops the {_count(self.later, 'later segment')}" if self.later else ""
        if self.is_recovered:
            return f"Not stopped cleanly: recovery cuts the log off here{at}{drops}."
        if self.stop == "clean":
            return f"Stopped cleanly: a broker starts without looking; {what}."
        if self.stop == "unclean":
            point = self.situation.recovery_point
            return (
                f"Not stopped cleanly, but recovery begins behind this segment, at {point}: {what}."
            )
        return (
            f"After a clean stop a broker starts without looking: {what}. After any other, "
            f"recovery cuts the log off here{at}{drops}, unless the segment lies before the "
            "recovery point."
        )

    def stays(self, what: str) -> str:
        """Return what becomes of damage that recovery does not look for."""
        return f"A broker does not notice it, recovery neither; {what}."

    def index(self, what: str) -> str:
        """Return what becomes of a wrong index entry.

        Args:
            what: how it is used wrongly, as "look-ups may go past records".
        """
        if self.is_recovered:
            return "Not stopped cleanly: recovery builds this index anew."
        looks = "a broker does not look at it (before 2.3 only at its last entry)"
        if self.stop == "unclean":
            point = self.situation.recovery_point
            return f"Recovery begins behind this segment, at {point}: {looks}; {what}."
        if self.stop == "clean":
            return f"Stopped cleanly: {looks}; {what}."
        return f"After a clean stop {looks}; {what}. Recovery after any other builds it anew."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def has_own_files(root: Root) -> bool:
    """Return whether a log directory has any of a broker's own files: else it is part of one."""
    return any(file.name in names.ROOT_FILES for file in root.files)


def situation_of(root: Root) -> Situation:
    """Return how a broker would find a log directory."""
    if not root.is_log_directory or not has_own_files(root):
        return Situation()
    points = root.checkpoint(names.RECOVERY_POINTS)
    offsets = {} if points is None or points.problems else points.offsets
    if root.file(names.CLEAN_SHUTDOWN) is not None:
        return Situation("clean", offsets)
    lock = root.file(names.LOCK)
    running = lock is not None and _is_locked(lock.path)
    return Situation("running" if running else "unclean", offsets)


def _is_locked(path: str) -> bool:
    """Return whether a process of this machine holds a lock on a file; False where nobody tells.

    The file is not opened: closing it would drop a lock that this very process may hold.
    """
    try:
        inode = os.stat(path).st_ino
        with open(_LOCKS, encoding="ascii", errors="replace") as locks:
            return any(
                line.split()[5].endswith(f":{inode}") for line in locks if len(line.split()) > 5
            )
    except OSError:
        return False
