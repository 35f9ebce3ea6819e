"""Check who may commit and fetch a group's offsets, in the order of Kafka's checks.

Kafka: ClassicGroup, ConsumerGroup, StreamsGroup, ShareGroup: validateOffsetCommit,
validateOffsetFetch, validateOffsetDelete, validateDeleteGroup (4.2)
"""

from typing import Final, NamedTuple

from workbench.coordinator.groups.groups import ClassicGroup, Group, ModernGroup, ModernMember
from workbench.runtime.error_codes import ErrorCode

NO_GENERATION: Final = -1
_FIRST_OF_KIP_848: Final = 9  # version of OffsetCommit that knows member epochs
_REBALANCING: Final = "CompletingRebalance"


class Committer(NamedTuple):
    """Who commits.

    Attributes:
        member_id: the member's id; empty outside a group.
        generation: the generation or member epoch; `NO_GENERATION` outside a group.
        group_instance_id: the id of a static member.
        is_transactional: whether the commit is part of a transaction.
        api_version: version of the request.
    """

    member_id: str = ""
    generation: int = NO_GENERATION
    group_instance_id: str | None = None
    is_transactional: bool = False
    api_version: int = 10


def check_commit(group: Group, committer: Committer) -> None:
    """Check whether a group takes a commit.

    Raises:
        CoordinatorError: it does not.

    Kafka: Group.validateOffsetCommit (4.2), GroupCoordinator.validateOffsetCommit (2.8)
    """
    if isinstance(group, ClassicGroup):
        _check_classic(group, committer)
    else:
        _check_modern(group, committer)


def _check_classic(group: ClassicGroup, committer: Committer) -> None:
    if group.state == "Dead":
        raise ErrorCode.COORDINATOR_NOT_AVAILABLE.error(f"group {group.group_id!r} is dead")
    is_outside = committer.generation < 0
    if is_outside and group.state == "Empty":
        return
    instance = committer.group_instance_id
    if not is_outside or committer.member_id or instance is not None:
        _check_member(group, committer)
        if committer.generation != group.generation:
            raise ErrorCode.ILLEGAL_GENERATION.error(
                f"generation {committer.generation}, expected {group.generation}"
            )
    elif not committer.is_transactional:
        raise ErrorCode.UNKNOWN_MEMBER_ID.error(
            f"group {group.group_id!r} is {group.state}: only its members commit"
        )
    if not committer.is_transactional and group.state == _REBALANCING:
        raise ErrorCode.REBALANCE_IN_PROGRESS.error(f"group {group.group_id!r} is rebalancing")


def _check_member(group: ClassicGroup, committer: Committer) -> None:
    """Kafka: ClassicGroup.validateMember (4.2)."""
    name, instance = committer.member_id, committer.group_instance_id
    if instance is not None:
        owner = next(
            (each.member_id for each in group.members if each.group_instance_id == instance), None
        )
        if owner is None:
            raise ErrorCode.UNKNOWN_MEMBER_ID.error(f"no member has instance id {instance!r}")
        if owner != name:
            raise ErrorCode.FENCED_INSTANCE_ID.error(f"{owner!r} has instance id {instance!r}")
    if all(each.member_id != name for each in group.members):
        raise ErrorCode.UNKNOWN_MEMBER_ID.error(f"group {group.group_id!r} has no member {name!r}")


def _check_modern(group: ModernGroup, committer: Committer) -> None:
    if group.kind == "share":
        raise not_found(group.group_id, "is a share group, which commits no offsets")
    if committer.generation < 0 and not group.members:
        return
    is_anonymous = (
        committer.generation == NO_GENERATION
        and not committer.member_id
        and committer.group_instance_id is None
    )
    if committer.is_transactional and is_anonymous:
        return
    member = _member(group, committer.member_id)
    is_modern_request = committer.is_transactional or committer.api_version >= _FIRST_OF_KIP_848
    if not is_modern_request and not _uses_classic_protocol(member):
        raise ErrorCode.UNSUPPORTED_VERSION.error(
            f"version {committer.api_version} of OffsetCommit knows no member epochs"
        )
    _check_epoch(member, committer.generation, is_transactional=committer.is_transactional)


def _member(group: ModernGroup, name: str) -> ModernMember:
    member = group.members.get(name)
    if member is None:
        raise ErrorCode.UNKNOWN_MEMBER_ID.error(f"group {group.group_id!r} has no member {name!r}")
    return member


def _uses_classic_protocol(member: ModernMember) -> bool:
    return (member.metadata or {}).get("classicMemberMetadata") is not None


def _check_epoch(member: ModernMember, epoch: int, *, is_transactional: bool = False) -> None:
    """Check a member's epoch.

    Of a streams group, Kafka also takes an older epoch for partitions that the member had then.

    Kafka: ConsumerGroup.validateMemberEpoch (4.2)
    """
    if epoch == member.epoch:
        return
    is_old = is_transactional or _uses_classic_protocol(member)
    code = ErrorCode.ILLEGAL_GENERATION if is_old else ErrorCode.STALE_MEMBER_EPOCH
    raise code.error(f"member epoch {epoch}, expected {member.epoch}")


def check_fetch(group: Group, member_id: str | None, member_epoch: int) -> None:
    """Check whether a member may fetch; without member id and epoch anybody may.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND means that the group has no offsets; otherwise the
            fetch is refused.

    Kafka: Group.validateOffsetFetch (4.2)
    """
    if isinstance(group, ClassicGroup):
        if group.state == "Dead":
            raise not_found(group.group_id, "is dead")
        return
    if group.kind == "share":
        raise not_found(group.group_id, "is a share group, which commits no offsets")
    if member_id is None and member_epoch < 0:
        return
    _check_epoch(_member(group, member_id or ""), member_epoch)


def check_offset_delete(group: Group) -> None:
    """Check whether offsets of a group may be deleted.

    Raises:
        CoordinatorError: they must not.

    Kafka: Group.validateOffsetDelete (4.2)
    """
    if isinstance(group, ModernGroup):
        if group.kind == "share":
            raise not_found(group.group_id, "is a share group, which commits no offsets")
        return
    if group.state == "Dead":
        raise not_found(group.group_id, "is dead")
    if group.state != "Empty" and group.protocol_type != "consumer":
        raise ErrorCode.NON_EMPTY_GROUP.error(f"group {group.group_id!r} is {group.state}")


def check_group_delete(group: Group) -> None:
    """Check whether a group may be deleted.

    Raises:
        CoordinatorError: it must not.

    Kafka: Group.validateDeleteGroup (4.2)
    """
    if group.state == "Dead":
        raise not_found(group.group_id, "is dead")
    if group.state != "Empty":
        raise ErrorCode.NON_EMPTY_GROUP.error(f"group {group.group_id!r} is {group.state}")


def is_subscribed(group: Group, topic: str) -> bool:
    """Return whether a member subscribes to a topic; True where a consumer's cannot be read.

    Kafka: Group.isSubscribedToTopic (4.2)
    """
    topics = group.subscribed_topics
    return group.protocol_type == "consumer" if topics is None else topic in topics


def not_found(group_id: str, why: str = "does not exist") -> Exception:
    """Return GROUP_ID_NOT_FOUND."""
    return ErrorCode.GROUP_ID_NOT_FOUND.error(f"group {group_id!r} {why}")
