"""Explain how far a member of a consumer, share or streams group is with its target assignment.

Kafka: CurrentAssignmentBuilder (4.2)
"""

from collections.abc import Mapping
from typing import Final

from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.groups.members import modern_member
from workbench.runtime.words import first_few, plural
from workbench.tables.groups import MemberRow

AWAY_EPOCH: Final = -2
"""The epoch of a static member that left for a while."""


def progress_of(group: ModernGroup, name: str, topic_names: Mapping[str, str]) -> str:
    """Return a sentence that says where a member is on its way to the target assignment.

    Args:
        group: the group.
        name: the id of one of its members.
        topic_names: topic id → name.

    Raises:
        KeyError: the group has no such member.
    """
    member = modern_member(group, name, topic_names)
    epoch, target_epoch = member.epoch, group.assignment_epoch
    if group.members[name].current is None:
        return "no record has its current assignment yet"
    if epoch == AWAY_EPOCH:
        kept = f"keeps {_count(member.assignment)} until its session times out"
        return f"the static member left for a while (epoch {AWAY_EPOCH}) and {kept}"
    if member.state in {"UnrevokedPartitions", "UnrevokedTasks"}:
        return (
            f"at epoch {epoch}, it must give up {first_few(member.revoking or [], _SHOWN)} "
            f"before it can reach epoch {target_epoch}"
        )
    if member.state in {"UnreleasedPartitions", "UnreleasedTasks"}:
        return f"at epoch {epoch}, it waits for {_waits_for(group, member, topic_names)}"
    if member.state == "Unknown":
        return f"at epoch {epoch}, its record has a state that Kafka 4.2 does not know"
    if epoch is not None and epoch > target_epoch:
        return f"at epoch {epoch}, it waits for its first target assignment"
    if epoch != target_epoch:
        return (
            f"at epoch {epoch}, it has not yet asked for the target assignment of epoch "
            f"{target_epoch}"
        )
    return f"at epoch {epoch}, it has its target assignment: {_count(member.assignment)}"


def _waits_for(group: ModernGroup, member: MemberRow, topic_names: Mapping[str, str]) -> str:
    """Return what of its target a member lacks, and which members still have it."""
    lacking = sorted(set(member.target or ()) - set(member.assignment or ()))
    if not lacking:
        return "partitions that are not in its target any more"
    holders: dict[str, list[str]] = {}
    for name in group.members:
        if name != member.member_id:
            other = modern_member(group, name, topic_names)
            held = {*(other.assignment or ()), *(other.revoking or ())}
            for each in lacking:
                if each in held:
                    holders.setdefault(name, []).append(each)
    if not holders:
        return (
            f"{first_few(lacking, _SHOWN)}, which no other member has: its next heartbeat gets it"
        )
    return "; ".join(
        f"{first_few(held, _SHOWN)}, which {name} still has" for name, held in holders.items()
    )


def _count(names: list[str] | None) -> str:
    count = len(names or ())
    return "nothing" if not count else plural(count, "partition")


_SHOWN: Final = 5
