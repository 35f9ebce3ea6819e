"""How a broker would find a log directory: shut down cleanly or not, and what it then reads.

After a clean shutdown, a broker trusts the files on disk. After an unclean one, it recovers: it
reads every batch of the segments from the recovery point, truncates the log at the first damaged
batch, drops all later segments and rebuilds the indexes. What a finding means follows from this.

Kafka: LogManager.loadLogs, LogLoader.recoverLog (4.2)
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from workbench.config.broker_rules import (
    MODELED_RULES,
    BrokerRules,
    FailedDirectoryRule,
    IndexCheck,
)
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.files import names
from workbench.files.names import FileKind, TopicPartition
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Root
from workbench.inspection.unreadable import if_readable

Stop = Literal["clean", "unclean", "running", "unknown"]

WAITS: Final = (0.02, 0.1, 0.4)
"""Seconds before each further look at what a running broker may be changing."""

_LOCKS: Final = "/proc/locks"


@dataclass(frozen=True)
class ShutdownState:
    """What a log directory's own files say about how its broker stopped.

    Attributes:
        stop: "clean", "unclean" (killed: recovery follows), "running" (a process holds the lock),
            or "unknown" (the directory has none of a broker's own files).
        recovery_points: partition → offset where recovery begins; 0 for partitions that it lacks.
        rules: how brokers of the version that is assumed behave.
    """

    stop: Stop = "unknown"
    recovery_points: Mapping[TopicPartition, int] = field(default_factory=dict)
    rules: BrokerRules = MODELED_RULES

    def of(self, partition: TopicPartition) -> "PartitionShutdownState":
        """Return how a broker would find one partition; it always recovers the metadata log."""
        if partition.topic == METADATA_TOPIC and self.stop != "running":
            return PartitionShutdownState(
                "unclean", 0, "Every start recovers this log: it", self.rules
            )
        point = self.recovery_points.get(partition, 0)
        return PartitionShutdownState(self.stop, point, rules=self.rules)


@dataclass(frozen=True)
class PartitionShutdownState:
    """The `ShutdownState` of one partition.

    Attributes:
        stop: as in `ShutdownState`.
        recovery_point: first offset that recovery reads.
        recovers: the beginning of a sentence about what recovery does.
    """

    stop: Stop
    recovery_point: int
    recovers: str = "After the unclean shutdown, recovery"
    rules: BrokerRules = MODELED_RULES


@dataclass(frozen=True)
class SegmentContext:
    """A segment's position in its log, and what a broker would do to the segment when it starts.

    Attributes:
        log: the `.log` file.
        base_offset: the segment's base offset.
        next_base: base offset of the next segment; None for the last one.
        later: how many segments come after it.
        situation: the partition's situation.
        swaps: kinds of the segment's files that exist as `.swap` and that a broker will rename.
        unread: kinds of the segment's files that exist but that inspection does not read.
        is_implausible: whether its offset or time index fails the check of a version that has one.
    """

    log: FileEntry
    base_offset: int
    next_base: int | None
    later: int
    situation: PartitionShutdownState
    swaps: frozenset[FileKind] = frozenset()
    unread: frozenset[FileKind] = frozenset()
    is_implausible: bool = False

    @property
    def path(self) -> str:
        """Path of the `.log` file."""
        return self.log.path

    @property
    def rules(self) -> BrokerRules:
        """How brokers of the version that is assumed behave."""
        return self.situation.rules

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
        """Whether the next start rebuilds the segment's indexes."""
        checks = self.rules.index_check is IndexCheck.REBUILDS
        return self.is_recovered or (checks and self.is_implausible)

    def cut(self, what: str, offset: int | None) -> str:
        """Return what a broker does about a batch that breaks the format.

        Args:
            what: the effect on readers, for example "consumers fail at this batch".
            offset: where the log would end if it were truncated here; None when unknown.
        """
        at = "" if offset is None else f", at offset {offset}"
        drops = f" and drops the {_count(self.later, 'later segment')}" if self.later else ""
        if self.is_recovered:
            return f"{self.situation.recovers} truncates the log here{at}{drops}."
        if self.stop == "clean":
            return f"After the clean shutdown, a broker starts without checking: {what}."
        if self.stop == "unclean":
            point = self.situation.recovery_point
            return (
                "After the unclean shutdown, recovery begins after this segment, "
                f"at offset {point}: {what}."
            )
        return (
            f"After a clean shutdown, a broker starts without checking: {what}. After an unclean "
            f"one, recovery truncates the log here{at}{drops}, unless the whole segment is below "
            "the recovery point."
        )

    def split(self) -> str:
        """Return what a broker does about offsets that the segment's indexes cannot hold."""
        loads = "a broker loads the segment as it is, and its indexes lack these offsets"
        splits = "splits the segment (since 2.0), and no record is lost"
        if self.is_recovered:
            return f"{self.situation.recovers} {splits}."
        if self.stop in {"clean", "unclean"}:
            when = "clean shutdown" if self.stop == "clean" else "unclean shutdown above it"
            return f"After the {when}, {loads}."
        return f"After a clean shutdown, {loads}. After an unclean one, recovery {splits}."

    def stays(self, what: str) -> str:
        """Return what follows from damage that recovery does not look for."""
        return f"Neither a broker nor recovery detects it; {what}."

    def index(self, what: str) -> str:
        """Return what a broker does about a wrong index entry.

        Args:
            what: the effect of its use, for example "lookups may skip records".
        """
        if self.is_recovered:
            return f"{self.situation.recovers} rebuilds this index."
        if self.is_implausible:
            seen = "A broker finds an index of this segment implausible when it starts"
            if self.is_rebuilt:
                return f"{seen}: it reads the whole segment and rebuilds its indexes."
            return f"{seen}, and does not start (IllegalArgumentException)."
        looks = "a broker does not check this index"
        if self.rules.index_check is not IndexCheck.SKIPPED:
            looks = "a broker checks only the last entry of this index"
        if self.stop == "unclean":
            point = self.situation.recovery_point
            return f"Recovery begins after this segment, at offset {point}: {looks}; {what}."
        if self.stop == "clean":
            return f"After the clean shutdown, {looks}; {what}."
        after = "After an unclean one, recovery rebuilds it."
        return f"After a clean shutdown, {looks}; {what}. {after}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def has_own_files(root: Root) -> bool:
    """Return whether a log directory has any of a broker's own files; otherwise it is a part."""
    return any(file.name in names.ROOT_FILES for file in (*root.files, *root.beside))


def goes_offline(rules: BrokerRules) -> str:
    """Return what follows, by version, where a log cannot be loaded."""
    if rules.failed_directory is FailedDirectoryRule.ENDS_IN_A_LOG:
        return "A broker does not start."
    offline = "The log directory goes offline when a broker loads the partition"
    if rules.failed_directory is FailedDirectoryRule.MAKES_LOGS_AGAIN:
        return (
            f"{offline}, and a broker with others makes its logs again there, empty; one with only "
            "this directory exits."
        )
    return f"{offline}; a broker with only this directory, or its metadata log in it, exits."


def shutdown_state_of(root: Root, rules: BrokerRules = MODELED_RULES) -> ShutdownState:
    """Return how a broker of a version would find a log directory."""
    if not has_own_files(root):
        return ShutdownState(rules=rules)
    points = if_readable(lambda: root.checkpoint(names.RECOVERY_POINTS))
    offsets = {} if points is None or points.problems else points.offsets
    if root.has_name(names.CLEAN_SHUTDOWN):
        return ShutdownState("clean", offsets, rules)
    return ShutdownState("running" if is_running(root) else "unclean", offsets, rules)


def is_running(root: Root) -> bool:
    """Return whether a broker of this machine runs on a log directory; False where unknown."""
    lock = root.file(names.LOCK)
    return lock is not None and _is_locked(lock.path)


def _is_locked(path: str) -> bool:
    """Return whether a process of this machine holds a lock on a file; False where unknown.

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
