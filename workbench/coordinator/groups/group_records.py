"""Apply the many small records of the groups of KIP-848.

Kafka: GroupMetadataManager.replay (4.2)
"""

from collections.abc import Callable
from typing import Any, Final

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.groups import Fields, Group, ModernGroup, ModernKind
from workbench.coordinator.groups.groups import ModernMember as Member
from workbench.errors import CorruptRecordError

_Apply = Callable[[ModernGroup, dict[str, Any], Fields | None], None]


def _group(group: ModernGroup, _key: Fields, value: Fields | None) -> None:
    group.metadata = value
    group.epoch = 0 if value is None else value["epoch"]


def _target_epoch(group: ModernGroup, _key: Fields, value: Fields | None) -> None:
    group.assignment_epoch = -1 if value is None else value["assignmentEpoch"]


def _member(group: ModernGroup, key: Fields, value: Fields | None) -> None:
    name = key["memberId"]
    if value is None:
        group.members.pop(name, None)
    else:
        group.members.setdefault(name, Member(name, group.kind)).metadata = value
        group.most_members = max(group.most_members, len(group.members))


def _target(group: ModernGroup, key: Fields, value: Fields | None) -> None:
    if value is None:
        group.targets.pop(key["memberId"], None)
    else:
        group.targets[key["memberId"]] = value


def _current(group: ModernGroup, key: Fields, value: Fields | None) -> None:
    name = key["memberId"]
    if value is not None:
        group.members.setdefault(name, Member(name, group.kind)).current = value
        group.most_members = max(group.most_members, len(group.members))
    elif name in group.members:
        group.members[name].current = None


def _regex(group: ModernGroup, key: Fields, value: Fields | None) -> None:
    if value is None:
        group.regexes.pop(key["regularExpression"], None)
    else:
        group.regexes[key["regularExpression"]] = value


def _topology(group: ModernGroup, _key: Fields, value: Fields | None) -> None:
    group.topology = value


def _topics(group: ModernGroup, _key: Fields, value: Fields | None) -> None:
    if value is None:
        group.topics.clear()
    else:
        listed = [*value.get("topics", ()), *value.get("initializedTopics", ())]
        group.topics = {topic["topicId"]: topic for topic in listed}


MODERN_RECORDS: Final[dict[int, tuple[ModernKind, _Apply]]] = {
    3: ("consumer", _group),
    4: ("consumer", _topics),
    5: ("consumer", _member),
    6: ("consumer", _target_epoch),
    7: ("consumer", _target),
    8: ("consumer", _current),
    9: ("share", _topics),
    10: ("share", _member),
    11: ("share", _group),
    12: ("share", _target_epoch),
    13: ("share", _target),
    14: ("share", _current),
    15: ("share", _topics),
    16: ("consumer", _regex),
    17: ("streams", _group),
    18: ("streams", _topics),
    19: ("streams", _member),
    20: ("streams", _target_epoch),
    21: ("streams", _target),
    22: ("streams", _current),
    23: ("streams", _topology),
}
"""Type of a record → the kind of its group, and what the record changes."""

_GROUP_TYPES: Final = frozenset({3, 11, 17})  # a tombstone of these removes the group


def apply_modern(
    groups: dict[str, Group],
    type_id: int,
    key: dict[str, Any],
    value: Fields | None,
    place: tuple[int, int | None],
) -> str:
    """Apply a record of a modern group to its group; return the kind of change.

    A tombstone of a missing object changes nothing: compaction may have dropped what it removes.

    Args:
        groups: the groups by id, which are changed.
        type_id: one of `MODERN_RECORDS`.
        key, value: the fields; value None: a tombstone.
        place: the record's offset and timestamp.

    Raises:
        CorruptRecordError: a group of another kind has the name; a broker's load fails there.
    """
    kind, change = MODERN_RECORDS[type_id]
    name = key["groupId"]
    group = groups.get(name)
    if kind == "consumer" and isinstance(group, ClassicGroup) and group.kind == "simple":
        group = None  # replaced; with a record of any other kind a broker's load fails
    if group is not None and not (isinstance(group, ModernGroup) and group.kind == kind):
        if value is None:
            return f"the group is a {group.kind} group"
        raise CorruptRecordError(
            None, None, f"group {name!r} is a {group.kind} group, the record is of a {kind} group"
        )
    if group is None:
        if value is None:
            return "there is no such group"
        group = groups[name] = ModernGroup(name, kind)
    if value is None and type_id in _GROUP_TYPES:
        del groups[name]
        return "the group is removed"
    change(group, key, value)
    group.record_offset, group.record_timestamp = place
    return ""
