"""List the commits of a log one by one with the fate of each, from the steps of its load."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.runtime.log_records import NO_PRODUCER
from workbench.files.names import TopicPartition
from workbench.runtime.steps import Step

IN_FORCE: Final = "in force"
SUPERSEDED: Final = "superseded"
REMOVED: Final = "removed"
PENDING: Final = "pending"
ABORTED: Final = "aborted"
OVERTAKEN: Final = "overtaken"
TOMBSTONE: Final = "tombstone"

FATES: Final = {
    IN_FORCE: "the commit is in force",
    SUPERSEDED: "a later commit replaced the commit",
    REMOVED: "a tombstone removed the commit",
    PENDING: "the commit's transaction is still open",
    ABORTED: "the commit's transaction aborted",
    OVERTAKEN: "the commit's transaction committed, but a later plain commit replaced the commit",
    TOMBSTONE: "the record is a tombstone that removes a commit",
}
"""Every fate of a commit and its meaning."""


@dataclass(slots=True)
class CommitRecord:
    """A record about a committed offset.

    Attributes:
        log: name of the partition of the coordinator's topic.
        log_offset, timestamp: the record's offset and timestamp in ms; None: no timestamp.
        group, where: the group and the partition of the commit.
        committed: the value; None: a tombstone.
        producer_id: the producer of its transaction; None: a plain commit.
        fate: one of `FATES`.
        ended_at: offset of the record or transaction marker that decided the fate; None: undecided.
    """

    log: str
    log_offset: int
    timestamp: int | None
    group: str
    where: TopicPartition
    committed: OffsetAndMetadata | None
    producer_id: int | None
    fate: str
    ended_at: int | None = None


class GroupEvent(NamedTuple):
    """A record about a classic group as a whole, or the tombstone of a group of any kind.

    Attributes:
        log: partition of the coordinator's topic, by name.
        log_offset, timestamp: the record's.
        group: the group that it describes, without its members; None: it removes the group.
    """

    log: str
    log_offset: int
    timestamp: int | None
    group: ClassicGroup | None


class CommitHistory:
    """An observer of loads that keeps the commits.

    Args:
        group: only of this group; None: of all.

    Attributes:
        commits: in log order.
        events: records of the one group; empty for all.
    """

    def __init__(self, group: str | None = None) -> None:
        self.commits: list[CommitRecord] = []
        self.events: list[GroupEvent] = []
        self._group = group
        self._places: dict[TopicPartition, TopicPartition] = {}  # one object for all commits
        self._current: dict[tuple[str, str, TopicPartition], CommitRecord] = {}
        self._pending: dict[tuple[str, int, str, TopicPartition], CommitRecord] = {}

    def __call__(self, step: Step) -> None:
        """Process a step of a load."""
        numbers: dict[str, Any] = step.numbers
        if self._group is not None and numbers.get("group") != self._group:
            return
        if "topic" in numbers:
            where = TopicPartition(numbers["topic"], numbers["partition"])
            self._take(step, self._places.setdefault(where, where))
        elif self._group is not None and step.kind in {"group loaded", "group removed"}:
            group: ClassicGroup | None = numbers.get("value")
            kept = None if group is None else self._without_members(group)
            self.events.append(GroupEvent(step.where, numbers["at"], numbers["time"], kept))

    def _without_members(self, group: ClassicGroup) -> ClassicGroup:
        """Return what is kept of a group: a log can hold many, each with thousands of members."""
        kept = group.without_members()
        last = self.events[-1].group if self.events else None
        if last is not None and last.subscribed_topics == kept.subscribed_topics:
            kept.subscribed_topics = last.subscribed_topics
        return kept

    def _take(self, step: Step, where: TopicPartition) -> None:
        numbers: dict[str, Any] = step.numbers
        at, group = numbers["at"], numbers["group"]
        producer: int = numbers.get("producer_id", NO_PRODUCER)
        key, pending_key = (step.where, group, where), (step.where, producer, group, where)
        if step.kind == "offset loaded":
            self._end(self._current.get(key), SUPERSEDED, at)
            self._current[key] = self._add(step, where, IN_FORCE)
        elif step.kind == "offset pending":
            self._end(self._pending.get(pending_key), SUPERSEDED, at)
            self._pending[pending_key] = self._add(step, where, PENDING, producer)
        elif step.kind == "pending offset loaded":
            commit = self._pending.pop(pending_key)
            self._end(self._current.get(key), SUPERSEDED, at)
            self._end(commit, IN_FORCE, at)
            self._current[key] = commit
        elif step.kind == "pending offset dropped":
            fate = ABORTED if numbers["replaced"] is None else OVERTAKEN
            self._end(self._pending.pop(pending_key), fate, at)
        else:  # a tombstone, of whatever it removes
            self._add_tombstone(step, where)
            if step.kind == "offset removed":
                self._end(self._current.pop(key), REMOVED, at)
            elif step.kind == "pending offset removed":
                self._end(self._pending.pop(pending_key), REMOVED, at)

    def _add(
        self, step: Step, where: TopicPartition, fate: str, producer: int | None = None
    ) -> CommitRecord:
        numbers: dict[str, Any] = step.numbers
        value = numbers.get("value")
        commit = CommitRecord(
            step.where,
            numbers["at"],
            numbers["time"],
            numbers["group"],
            where,
            value,
            producer,
            fate,
        )
        self.commits.append(commit)
        return commit

    def _add_tombstone(self, step: Step, where: TopicPartition) -> None:
        last = self.commits[-1] if self.commits else None
        at = (step.where, step.numbers["at"])
        if last is None or (last.log, last.log_offset) != at:  # one record may remove both kinds
            self._add(step, where, TOMBSTONE)

    def _end(self, commit: CommitRecord | None, fate: str, at: int) -> None:
        if commit is not None:
            commit.fate, commit.ended_at = fate, at
