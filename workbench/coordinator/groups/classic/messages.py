"""What clients ask of the coordinator of a group, and what they are answered.

Fields have the names and defaults of Kafka's messages.

Kafka: JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest,
DescribeGroupsResponse (4.2)
"""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from workbench.errors import CoordinatorError
from workbench.runtime.error_codes import ErrorCode

NO_GENERATION: Final = -1

UNKNOWN_MEMBER_ID: Final = ""
"""The member id of a client that has none yet."""

T = TypeVar("T")


class RequestContext(NamedTuple):
    """The client that sent a request.

    Attributes:
        client_id: as the client names itself.
        client_address: host and address as Java writes them, such as ``/127.0.0.1``.
        request_version: the version of the request; what a client of that version understands
            decides some answers.
    """

    client_id: str
    client_address: str
    request_version: int


class Committer(NamedTuple):
    """The sender of a commit.

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


class Protocol(NamedTuple):
    """A protocol that a member supports: for consumers, an assignor and the subscription.

    Kafka: JoinGroupRequestProtocol (4.2)
    """

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinGroupRequest:
    """A request to join a group.

    Attributes:
        group_id: the group.
        session_timeout_ms, rebalance_timeout_ms: ms without a heartbeat, and for a rejoin.
        member_id: the id that the coordinator gave; `UNKNOWN_MEMBER_ID`: none yet.
        group_instance_id: the id of a static member.
        protocol_type: "consumer", "connect", …
        protocols: in the member's order of preference.
        reason: why the member joins, for people.
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[Protocol, ...]
    reason: str | None = None


class JoinedMember(NamedTuple):
    """A member as the leader sees it; the metadata is that of the chosen protocol."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinGroupResponse:
    """The answer to a join.

    Attributes:
        members: all members, for the leader; nothing for others.
        skip_assignment: the leader must not assign, because the assignment does not change.
    """

    member_id: str = UNKNOWN_MEMBER_ID
    error: ErrorCode = ErrorCode.NONE
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str | None = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncGroupRequest:
    """A request for the assignment; the leader's brings it.

    Attributes:
        protocol_type, protocol_name: what the member believes; None before version 5.
        assignments: member id → assignment, from the leader.
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class SyncGroupResponse:
    """The answer to a sync."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """A sign of life of a member."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


class MemberIdentity(NamedTuple):
    """A member that leaves: by its id, or a static one by its instance id alone."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class MemberResponse(NamedTuple):
    """The outcome for one leaving member."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class LeaveGroupResponse:
    """The answer to a leave: one outcome per member, in the order of the request."""

    error: ErrorCode = ErrorCode.NONE
    members: tuple[MemberResponse, ...] = ()


class DescribedMember(NamedTuple):
    """A member in a description; without metadata while the group rebalances."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group as an admin client sees it; one that does not exist is "Dead".

    Attributes:
        message: why there is an error; None without one.
    """

    group_id: str
    state: str
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    message: str | None = None


class ListedGroup(NamedTuple):
    """A group in a listing; its kind is "classic", "consumer", "share" or "streams"."""

    group_id: str
    protocol_type: str
    state: str
    kind: str = "classic"


def group_not_found(group_id: str, why: str = "does not exist") -> CoordinatorError:
    """Return GROUP_ID_NOT_FOUND."""
    return ErrorCode.GROUP_ID_NOT_FOUND.error(f"group {group_id!r} {why}")


def complete(future: "Future[T]", answer: T) -> bool:
    """Answer a waiting request unless it has been answered; return whether this answer was it."""
    if future.done():
        return False
    future.set_result(answer)
    return True
