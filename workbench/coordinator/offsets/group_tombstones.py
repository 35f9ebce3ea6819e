"""The tombstones that remove a group, in Kafka's order.

Kafka: Group.createGroupTombstoneRecords (4.2)
"""

from collections.abc import Iterator
from typing import Any, Final

from workbench.coordinator.groups.group_records import GROUP_METADATA
from workbench.coordinator.groups.groups import ClassicGroup, Group, ModernGroup, ModernKind
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES

_ORDER: Final[dict[ModernKind, tuple[int, ...]]] = {
    "consumer": (8, 7, 6, 5, 16, 4, 3),
    "share": (14, 13, 12, 10, 15, 11),
    "streams": (22, 21, 20, 19, 17, 23),
}
"""Types of records; those of members come once for each member."""

_OF_MEMBERS: Final = frozenset({5, 7, 8, 10, 13, 14, 19, 21, 22})
_OF_REGEX: Final = 16


def group_tombstones(group: Group) -> Iterator[CoordinatorRecord]:
    """Yield the tombstones that remove a group."""
    if isinstance(group, ClassicGroup):
        yield _tombstone(GROUP_METADATA, {"group": group.group_id})
        return
    for type_id in _ORDER[group.kind]:
        for fields in _keys(group, type_id):
            yield _tombstone(type_id, fields)


def _keys(group: ModernGroup, type_id: int) -> Iterator[dict[str, Any]]:
    name = {"groupId": group.group_id}
    if type_id in _OF_MEMBERS:
        yield from ({**name, "memberId": member} for member in group.members)
    elif type_id == _OF_REGEX:
        yield from ({**name, "regularExpression": pattern} for pattern in group.regexes)
    else:
        yield name


def _tombstone(type_id: int, key: dict[str, Any]) -> CoordinatorRecord:
    return encode_record(TYPES[type_id], type_id, key)
