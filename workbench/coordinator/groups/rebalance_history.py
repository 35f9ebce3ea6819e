"""List the changes of generations, epochs and assignments of groups, from the steps of their load.

One heartbeat in a group of KIP-848 writes several records. Those of one group with one timestamp,
in the order in which a coordinator writes them, are one event.

Kafka: GroupMetadataManager.consumerGroupHeartbeat, completeClassicGroupJoin (4.2)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from workbench.coordinator.groups.classic.group import GROUP_METADATA, ClassicGroup
from workbench.coordinator.groups.group_records import apply_modern
from workbench.coordinator.groups.groups import Fields, Group, ModernGroup
from workbench.coordinator.groups.members import members_of, modern_member
from workbench.coordinator.groups.reconciliation import progress_of
from workbench.runtime.steps import Step
from workbench.runtime.words import first_few
from workbench.tables.groups import MemberChange, MemberRow, RebalanceRow

CREATED: Final = "created"
REBALANCED: Final = "rebalanced"
ASSIGNED: Final = "assigned"
RECONCILED: Final = "reconciled"
CHANGED: Final = "changed"
EMPTIED: Final = "emptied"
UPGRADED: Final = "upgraded"
DOWNGRADED: Final = "downgraded"
REMOVED: Final = "removed"

EVENTS: Final = {
    CREATED: "the first member asks to join, and the group has no generation yet",
    REBALANCED: "the group gets a new generation, or a new epoch",
    ASSIGNED: "the coordinator computes the target assignment of an epoch",
    RECONCILED: "a member changes its current assignment, its epoch or its state within an epoch",
    CHANGED: "a member changes within a generation",
    EMPTIED: "the last member leaves or times out",
    UPGRADED: "a classic group becomes a group of KIP-848",
    DOWNGRADED: "a group of KIP-848 becomes a classic group",
    REMOVED: "a tombstone removes the group",
}
"""Every kind of event and its meaning."""

# The order in which a coordinator writes the records of one event. A record that is out of this
# order, or a second one of its type and member, begins the next event.
_TOMBSTONE, _MEMBER, _TOPICS, _EPOCH, _TARGET, _TARGET_EPOCH, _CURRENT, _CLASSIC = range(8)
_RANKS: Final = {
    5: _MEMBER, 10: _MEMBER, 19: _MEMBER, 16: _MEMBER, 23: _MEMBER,
    4: _TOPICS, 9: _TOPICS, 18: _TOPICS,
    3: _EPOCH, 11: _EPOCH, 17: _EPOCH,
    7: _TARGET, 13: _TARGET, 21: _TARGET,
    6: _TARGET_EPOCH, 12: _TARGET_EPOCH, 20: _TARGET_EPOCH,
    8: _CURRENT, 14: _CURRENT, 22: _CURRENT, 15: _CURRENT,
    GROUP_METADATA: _CLASSIC,
}  # fmt: skip

_FIRST_GENERATION: Final = 1
_LONGEST_LIST: Final = 3  # members that a reason names

_Key = tuple[str, str]  # partition of the coordinator's topic, and group
_Record = tuple[int | None, str | None]  # type, and member; a group's tombstone has neither


class _Before(NamedTuple):
    """A group before an event.

    Attributes:
        group: the group itself if it is classic, because its next record replaces it as a whole.
        metadata: fields of the record with the epoch of another group; None: it is not in the log.
        member_count: how many members it had.
    """

    kind: str
    generation: int | None
    assignment_epoch: int | None
    protocol: str | None
    group: ClassicGroup | None
    metadata: Fields | None
    member_count: int


@dataclass(slots=True)
class _Event:
    """Records of one group that belong together.

    Attributes:
        before: the group before; None: it did not exist, or no earlier record is in the log.
        is_known: whether the log shows all of the group before the event.
        rank: that of the last record.
        records: the records' types and members.
        touched: the members that records name → as they were before; None: there was none.
        has_topics: whether a record changed the metadata of the topics.
    """

    log: str
    group: str
    first: int
    last: int
    timestamp: int | None
    before: _Before | None
    is_known: bool
    rank: int
    records: set[_Record] = field(default_factory=set)
    touched: dict[str, MemberRow | None] = field(default_factory=dict)
    has_topics: bool = False

    def is_over(self, time: int | None, rank: int, record: _Record) -> bool:
        """Return whether the next record belongs to another event."""
        if time is None or time != self.timestamp or rank < self.rank:
            return True
        if rank == _CLASSIC and (self.before is None or self.before.group is not None):
            return True  # with a tombstone, it is part of a downgrade alone
        return record in self.records


class RebalanceHistory:
    """An observer of loads that keeps the rebalances.

    Args:
        topic_names: topic id → name; a topic without one is named by its id.
        group: only of this group; None: of all.
    """

    def __init__(self, topic_names: Mapping[str, str], group: str | None = None) -> None:
        self._names = topic_names
        self._group = group
        self._found: list[RebalanceRow] = []
        self._groups: dict[str, dict[str, Group]] = {}  # by partition of the coordinator's topic
        self._known: set[_Key] = set()  # groups that the log shows in full
        self._events: dict[_Key, _Event] = {}
        self._next: dict[str, int] = {}  # the offset up to which a log has lost no record

    def finish(self) -> list[RebalanceRow]:
        """Return the events, by partition of the coordinator's topic and offset, after the load."""
        for key in list(self._events):
            self._end(key, is_last=True)
        return sorted(self._found, key=lambda each: (len(each.log), each.log, each.log_offset))

    def __call__(self, step: Step) -> None:
        """Process a step of a load."""
        numbers: dict[str, Any] = step.numbers
        if numbers.get("at") == self._next.get(step.where, 0):
            count = numbers.get("count", 1)  # of a run of commits
            if numbers.get("last", numbers["at"]) - numbers["at"] == count - 1:
                self._next[step.where] = numbers["at"] + count
        if self._group is not None and numbers.get("group") != self._group:
            return
        if step.kind == "group changed":
            rank = _TOMBSTONE if numbers["value"] is None else _RANKS[numbers["type"]]
            event = self._event(step, rank, (numbers["type"], numbers["key"].get("memberId")))
            event.has_topics |= rank == _TOPICS
            self._change(event, numbers)
        elif step.kind == "group loaded":
            event = self._event(step, _CLASSIC, (GROUP_METADATA, None))
            group: ClassicGroup = numbers["value"]
            self._groups[step.where][event.group] = group
            for name in group.members:
                event.touched.setdefault(name, None)
        elif step.kind == "group removed":
            event = self._event(step, _TOMBSTONE, (None, None))
            self._groups[step.where].pop(event.group, None)

    def _event(self, step: Step, rank: int, record: _Record) -> _Event:
        """Return the event that a record belongs to; end the one before."""
        numbers: dict[str, Any] = step.numbers
        key, at, time = (step.where, numbers["group"]), numbers["at"], numbers["time"]
        event = self._events.get(key)
        if event is None or event.is_over(time, rank, record):
            self._end(key)
            group = self._groups.setdefault(step.where, {}).get(key[1])
            is_known = key in self._known or at < self._next.get(step.where, 0)
            event = _Event(*key, at, at, time, _before(group), is_known, rank)
            if isinstance(group, ClassicGroup):
                event.touched |= {each.member_id: each for each in members_of(group, self._names)}
            self._events[key] = event
        event.last, event.rank = at, rank
        event.records.add(record)
        return event

    def _change(self, event: _Event, numbers: Mapping[str, Any]) -> None:
        """Apply a record of a group that is not classic."""
        groups = self._groups[event.log]
        group, member = groups.get(event.group), numbers["key"].get("memberId")
        if member is not None and member not in event.touched:
            event.touched[member] = (
                modern_member(group, member, self._names)
                if isinstance(group, ModernGroup) and member in group.members
                else None
            )
        place = (event.last, event.timestamp)
        apply_modern(groups, numbers["type"], numbers["key"], numbers["value"], place)

    def _end(self, key: _Key, *, is_last: bool = False) -> None:
        """Make the row of an event, unless it changes nothing but metadata."""
        event = self._events.pop(key, None)
        if event is None:
            return
        group = self._groups[event.log].get(event.group)
        event.is_known |= event.before is None and _is_first(group)
        if event.is_known or not isinstance(group, ModernGroup):
            self._known.add(key)
        now = _members(event, group, self._names)
        is_whole = is_last or event.is_known or not isinstance(group, ModernGroup)
        kind = _kind(event, group, now, is_whole=is_whole)
        if kind is None:
            return
        joined, left, returned = _moves(event, now)
        before = event.before
        self._found.append(
            RebalanceRow(
                event.log,
                event.first,
                event.last,
                event.timestamp,
                event.group,
                ("simple" if before is None else before.kind) if group is None else group.kind,
                kind,
                _state(group) if is_whole else None,
                _generation(group),
                None if before is None else before.generation,
                None if group is None else group.assignment_epoch,
                None if group is None else group.protocol,
                None if group is None else group.leader,
                len(group.members if group is not None else ()) if is_whole else None,
                joined,
                left,
                [
                    _change_of(each)
                    for name, each in now.items()
                    if _differs(event.touched[name], each)
                ],
                _reason(event, group, now, (joined, left, returned), self._names),
            )
        )


def _change_of(member: MemberRow) -> MemberChange:
    return MemberChange(*(getattr(member, name) for name in MemberChange._fields))


def _before(group: Group | None) -> _Before | None:
    if group is None:
        return None
    generation, count = _generation(group), len(group.members)
    if isinstance(group, ClassicGroup):
        return _Before(group.kind, generation, None, group.protocol, group, None, count)
    epoch = group.assignment_epoch
    return _Before(group.kind, generation, epoch, None, None, group.metadata, count)


def _state(group: Group | None) -> str:
    return "Dead" if group is None else group.state


def _generation(group: Group | None) -> int | None:
    """Return the generation or epoch; None if no record has it."""
    if group is None or (isinstance(group, ModernGroup) and group.metadata is None):
        return None
    return group.generation


def _is_first(group: Group | None) -> bool:
    """Return whether nothing can have happened to a group before its first event in the log."""
    generation = _generation(group)
    return generation is not None and generation <= _FIRST_GENERATION


def _members(event: _Event, group: Group | None, names: Mapping[str, str]) -> dict[str, MemberRow]:
    """Return those of the touched members that are in the group after an event, by id."""
    if group is None:
        return {}
    if isinstance(group, ClassicGroup):
        return {each.member_id: each for each in members_of(group, names)}
    return {
        name: modern_member(group, name, names) for name in event.touched if name in group.members
    }


def _kind(
    event: _Event, group: Group | None, now: Mapping[str, MemberRow], *, is_whole: bool
) -> str | None:
    """Return the kind of event; None: it changes nothing but metadata.

    Args:
        event, group, now: the event, and the group and its touched members afterwards.
        is_whole: whether all members of the group are known.
    """
    before = event.before
    if group is None:
        return REMOVED
    was_classic = before is not None and before.group is not None
    if isinstance(group, ClassicGroup):
        if before is not None and not was_classic:
            return DOWNGRADED
        if group.kind == "simple":
            return CREATED
        if not group.members:
            return EMPTIED
        same = before is not None and before.generation == group.generation
        return CHANGED if same else REBALANCED
    if was_classic:
        return UPGRADED
    generation = _generation(group)
    if generation is not None and (before is None or generation != before.generation):
        return EMPTIED if is_whole and not group.members else REBALANCED
    if before is not None and group.assignment_epoch != before.assignment_epoch:
        return ASSIGNED
    changed = len(now) < len(event.touched) or any(
        _differs(event.touched[name], each) for name, each in now.items()
    )
    return RECONCILED if changed else None


def _differs(was: MemberRow | None, now: MemberRow) -> bool:
    """Return whether a member's assignment or its progress changed."""
    return was is None or any(
        getattr(was, name) != getattr(now, name)
        for name in ("assignment", "target", "revoking", "epoch", "state")
    )


_Moves = tuple[list[str] | None, list[str] | None, list[str]]


def _moves(event: _Event, now: Mapping[str, MemberRow]) -> _Moves:
    """Return who joined, who left, and the ids of static members that came back with a new id."""
    if not event.is_known:
        return None, None, []
    joined = [name for name in now if event.touched[name] is None]
    left = {name: was for name, was in event.touched.items() if was and name not in now}
    instances = {was.group_instance_id: name for name, was in left.items() if was.group_instance_id}
    returned: list[str] = []
    for name in list(joined):
        instance = now[name].group_instance_id
        if instance in instances:
            joined.remove(name)
            del left[instances[instance]]
            returned.append(instance)
    return joined, list(left), returned


def _reason(
    event: _Event,
    group: Group | None,
    now: Mapping[str, MemberRow],
    moves: _Moves,
    names: Mapping[str, str],
) -> str | None:
    """Return why, as far as the records show; None: they do not."""
    joined, left, returned = moves
    found: list[str] = []
    if joined:
        found.append(f"joined: {first_few(joined, _LONGEST_LIST)}")
    if left:
        found.append(f"left or timed out: {first_few(left, _LONGEST_LIST)}")
    if returned:
        found.append(
            f"static members came back with a new member id: {first_few(returned, _LONGEST_LIST)}"
        )
    if group is not None:
        found += _changes(event, group, now)
    if isinstance(group, ModernGroup):
        found += [
            f"{name}: {progress_of(group, name, names)}"
            for name, each in now.items()
            if _has_moved(event.touched[name], each)
        ]
    return "; ".join(found) or None


def _changes(event: _Event, group: Group, now: Mapping[str, MemberRow]) -> list[str]:
    """Return what else than its members changed in a group."""
    found: list[str] = []
    before = event.before
    subscribed = [
        name
        for name, each in now.items()
        if (was := event.touched[name]) is not None and was.subscription != each.subscription
    ]
    if subscribed:
        found.append(f"changed their subscription: {first_few(subscribed, _LONGEST_LIST)}")
    if before is None:
        return found
    if isinstance(group, ClassicGroup):
        assignor, generation = before.protocol, before.generation
        if assignor and group.protocol and assignor != group.protocol:
            found.append(f"the assignor was {assignor}, and is {group.protocol}")
        skipped = 0 if generation is None else group.generation - generation - 1
        if before.group is not None and skipped > 0:
            found.append(f"{skipped} generations between are not in the log")
        return found
    was_hash = (before.metadata or {}).get("metadataHash")
    now_hash = (group.metadata or {}).get("metadataHash")
    is_other = None not in (was_hash, now_hash) and was_hash != now_hash
    was_empty = before.group is None and not before.member_count  # then it had no topics
    if group.members and not was_empty and (event.has_topics or is_other):
        found.append("the metadata of the topics changed")
    return found


def _has_moved(was: MemberRow | None, now: MemberRow) -> bool:
    """Return whether a member got a new current assignment, or has not reached the target."""
    return was is None or any(
        getattr(was, name) != getattr(now, name)
        for name in ("assignment", "revoking", "epoch", "state")
    )
