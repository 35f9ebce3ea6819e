"""Groups: their members, committed offsets and descriptions, in memory alone.

Kafka: KafkaApis.handleJoinGroupRequest and its like, handleOffsetCommitRequest,
handleOffsetFetchRequest, handleFindCoordinatorRequest (4.0)
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from workbench.coordinator.groups.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberIdentity,
    Protocol,
    SyncGroupRequest,
    SyncGroupResponse,
)
from workbench.coordinator.offsets.offset_metadata_manager import FetchedOffset, OffsetCommit
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol import group_messages as messages
from workbench.server.protocol import write_messages
from workbench.server.serving import BlockingHandler, Call, InThread, Values, WaitingHandler

_OF_GROUPS, _OF_TRANSACTIONS = 0, 1  # key types of a coordinator
_NO_EPOCH: Final = -1
_REQUEST_GROUPS_SINCE: Final = 8  # version of OffsetFetch


def find_coordinator(call: Call) -> Values:
    """Return the server; one that is read-only coordinates no transactions."""
    host, port = call.address
    here: Values = {"nodeId": call.serving.catalog.node_id, "host": host, "port": port}
    kind = call.values.get("keyType", _OF_GROUPS)
    if kind not in {_OF_GROUPS, _OF_TRANSACTIONS}:
        return error_response(call.request, ErrorCode.INVALID_REQUEST)
    broker = call.serving.broker
    if broker is not None:
        (broker.make_offsets_topic if kind == _OF_GROUPS else broker.make_transactions_topic)()
    elif kind == _OF_TRANSACTIONS:
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return error_response(call.request, code)
    if call.version < 4:
        return here
    keys = call.values["coordinatorKeys"]
    return {"coordinators": [{"key": key, **here, "errorCode": ErrorCode.NONE} for key in keys]}


# members


async def join_group(call: Call, in_thread: InThread) -> Values:
    """Let a client join; the answer comes when all members have joined."""
    values = call.values
    session = values["sessionTimeoutMs"]
    rebalance = values.get("rebalanceTimeoutMs", -1)
    request = JoinGroupRequest(
        values["groupId"],
        session,
        session if rebalance < 0 else rebalance,
        values["memberId"],
        values.get("groupInstanceId"),
        values["protocolType"],
        tuple(Protocol(each["name"], each["metadata"]) for each in values["protocols"]),
        values.get("reason"),
    )
    future = await in_thread(call.serving.groups.join, call.client, request)
    answer: JoinGroupResponse = await call.times.remote(asyncio.wrap_future(future))
    name = answer.protocol_name
    return {
        "errorCode": answer.error,
        "generationId": answer.generation_id,
        "protocolType": answer.protocol_type,
        "protocolName": (name or "") if call.version < 7 else name,
        "leader": answer.leader or "",
        "skipAssignment": answer.skip_assignment,
        "memberId": answer.member_id,
        "members": [
            {
                "memberId": each.member_id,
                "groupInstanceId": each.group_instance_id,
                "metadata": each.metadata,
            }
            for each in answer.members
        ],
    }


async def sync_group(call: Call, in_thread: InThread) -> Values:
    """Give a member its assignment; the answer comes when the leader has sent it."""
    values = call.values
    request = SyncGroupRequest(
        values["groupId"],
        values["generationId"],
        values["memberId"],
        values.get("groupInstanceId"),
        values.get("protocolType"),
        values.get("protocolName"),
        tuple((each["memberId"], each["assignment"]) for each in values["assignments"]),
    )
    future = await in_thread(call.serving.groups.sync, request)
    answer: SyncGroupResponse = await call.times.remote(asyncio.wrap_future(future))
    return {
        "errorCode": answer.error,
        "protocolType": answer.protocol_type,
        "protocolName": answer.protocol_name,
        "assignment": answer.assignment,
    }


def heartbeat(call: Call) -> Values:
    """Extend the session of a member."""
    values = call.values
    request = HeartbeatRequest(
        values["groupId"],
        values["generationId"],
        values["memberId"],
        values.get("groupInstanceId"),
    )
    return {"errorCode": call.serving.groups.heartbeat(request)}


def leave_group(call: Call) -> Values:
    """Remove members that leave; before version 3 there is one."""
    values = call.values
    if call.version < 3:
        leaving = [MemberIdentity(values["memberId"])]
    else:
        leaving = [
            MemberIdentity(each["memberId"], each["groupInstanceId"], each.get("reason"))
            for each in values["members"]
        ]
    answer = call.serving.groups.leave(values["groupId"], leaving)
    code = answer.error
    if call.version < 3 and code is ErrorCode.NONE and answer.members:
        code = answer.members[0].error
    return {
        "errorCode": code,
        "members": [
            {
                "memberId": each.member_id,
                "groupInstanceId": each.group_instance_id,
                "errorCode": each.error,
            }
            for each in answer.members
        ],
    }


# offsets


def offset_commit(call: Call) -> Values:
    """Commit offsets for this session."""
    values = call.values
    commits = {
        TopicPartition(topic["name"], each["partitionIndex"]): OffsetCommit(
            each["committedOffset"],
            _epoch(each.get("committedLeaderEpoch", _NO_EPOCH)),
            each["committedMetadata"],
        )
        for topic in values["topics"]
        for each in topic["partitions"]
    }
    try:
        codes = call.serving.groups.commit(
            values["groupId"],
            commits,
            member_id=values["memberId"],
            generation=values["generationIdOrMemberEpoch"],
            group_instance_id=values.get("groupInstanceId"),
            api_version=call.version,
        )
    except CoordinatorError as error:
        return error_response(call.request, ErrorCode(error.code))
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partitionIndex": each["partitionIndex"],
                        "errorCode": codes[TopicPartition(topic["name"], each["partitionIndex"])],
                    }
                    for each in topic["partitions"]
                ],
            }
            for topic in values["topics"]
        ]
    }


def _epoch(number: int) -> int | None:
    return None if number < 0 else number


def offset_fetch(call: Call) -> Values:
    """Return committed offsets of this session, or those on the disk."""
    values = call.values
    is_stable = values.get("requireStable", False)
    if call.version < _REQUEST_GROUPS_SINCE:
        topics, code = _fetch_group(call, values["groupId"], values["topics"], is_stable)
        return {"topics": topics, "errorCode": code}
    groups = []
    for asked in values["groups"]:
        topics, code = _fetch_group(call, asked["groupId"], asked["topics"], is_stable)
        groups.append({"groupId": asked["groupId"], "topics": topics, "errorCode": code})
    return {"groups": groups}


def _fetch_group(
    call: Call,
    group_id: str,
    asked: list[Values] | None,
    require_stable: bool,  # noqa: FBT001 - private
) -> tuple[list[Values], ErrorCode]:
    wanted = None
    if asked is not None:
        wanted = [
            TopicPartition(topic["name"], number)
            for topic in asked
            for number in topic["partitionIndexes"]
        ]
    try:
        found = call.serving.groups.fetch(group_id, wanted, require_stable=require_stable)
    except CoordinatorError as error:
        return [], ErrorCode(error.code)
    topics: dict[str, list[Values]] = {}
    for where, each in found.items():
        topics.setdefault(where.topic, []).append(_offset(where.partition, each))
    return [{"name": name, "partitions": each} for name, each in topics.items()], ErrorCode.NONE


def _offset(number: int, fetched: FetchedOffset) -> Values:
    return {
        "partitionIndex": number,
        "committedOffset": fetched.offset,
        "committedLeaderEpoch": (
            _NO_EPOCH if fetched.leader_epoch is None else fetched.leader_epoch
        ),
        "metadata": fetched.metadata,
        "errorCode": fetched.error,
    }


# descriptions


def describe_groups(call: Call) -> Values:
    """Return groups with their members."""
    found = [call.serving.groups.describe(name, call.version) for name in call.values["groups"]]
    return {
        "groups": [
            {
                "errorCode": group.error,
                "groupId": group.group_id,
                "groupState": group.state,
                "protocolType": group.protocol_type,
                "protocolData": group.protocol,
                "members": [
                    {
                        "memberId": each.member_id,
                        "groupInstanceId": each.group_instance_id,
                        "clientId": each.client_id,
                        "clientHost": each.client_host,
                        "memberMetadata": each.metadata,
                        "memberAssignment": each.assignment,
                    }
                    for each in group.members
                ],
            }
            for group in found
        ]
    }


def list_groups(call: Call) -> Values:
    """Return the groups of this session, and those on the disk."""
    states = {state.lower() for state in call.values.get("statesFilter", ())}
    types = {kind.lower() for kind in call.values.get("typesFilter", ())}
    return {
        "errorCode": ErrorCode.NONE,
        "groups": [
            {
                "groupId": group.group_id,
                "protocolType": group.protocol_type,
                "groupState": group.state,
                "groupType": kind,
            }
            for group, kind in call.serving.groups.list()
            if (not states or group.state.lower() in states) and (not types or kind in types)
        ],
    }


# writes, of a server that may


def delete_groups(call: Call) -> Values:
    """Delete groups with their offsets."""
    codes = call.broker.groups.service.delete_groups(call.values["groupsNames"])
    return {"results": [{"groupId": name, "errorCode": code} for name, code in codes.items()]}


def offset_delete(call: Call) -> Values:
    """Delete offsets of a group."""
    topics = call.values["topics"]
    wanted = [
        TopicPartition(topic["name"], each["partitionIndex"])
        for topic in topics
        for each in topic["partitions"]
    ]
    try:
        codes = call.broker.groups.service.delete_offsets(call.values["groupId"], wanted)
    except CoordinatorError as refused:
        return error_response(call.request, ErrorCode(refused.code))
    return {
        "errorCode": ErrorCode.NONE,
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partitionIndex": each["partitionIndex"],
                        "errorCode": codes[TopicPartition(topic["name"], each["partitionIndex"])],
                    }
                    for each in topic["partitions"]
                ],
            }
            for topic in topics
        ],
    }


WRITES: Final[Mapping[int, BlockingHandler]] = {
    write_messages.DELETE_GROUPS.key: delete_groups,
    write_messages.OFFSET_DELETE.key: offset_delete,
}
HANDLERS: Final[Mapping[int, BlockingHandler]] = {
    messages.FIND_COORDINATOR.key: find_coordinator,
    messages.HEARTBEAT.key: heartbeat,
    messages.LEAVE_GROUP.key: leave_group,
    messages.OFFSET_COMMIT.key: offset_commit,
    messages.OFFSET_FETCH.key: offset_fetch,
    messages.DESCRIBE_GROUPS.key: describe_groups,
    messages.LIST_GROUPS.key: list_groups,
}
WAITING: Final[Mapping[int, WaitingHandler]] = {
    messages.JOIN_GROUP.key: join_group,
    messages.SYNC_GROUP.key: sync_group,
}
