"""Groups: their members and descriptions; with stored data in memory alone.

Kafka: KafkaApis.handleJoinGroupRequest and its like, handleDescribeGroupsRequest,
handleConsumerGroupDescribe, handleFindCoordinatorRequest (4.2)
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from workbench.config.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from workbench.coordinator.groups.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberIdentity,
    Protocol,
    SyncGroupRequest,
    SyncGroupResponse,
)
from workbench.coordinator.groups.consumer.member import assignment_of, fields_of
from workbench.coordinator.groups.consumer.messages import ConsumerGroupHeartbeatRequest
from workbench.coordinator.groups.groups import ModernGroup, ModernMember
from workbench.errors import CoordinatorError
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.authorized_operations import GROUP, UNKNOWN_OPERATIONS, operations
from workbench.server.handlers.config_requests import MALFORMED
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.protocol.responses import (
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseDescribedGroup,
    ConsumerGroupDescribeResponseMember,
)
from workbench.server.serving import Call, InThread, Served

_OF_GROUPS, _OF_TRANSACTIONS = 0, 1  # key types of a coordinator
_CLASSIC, _CONSUMER = 0, 1  # types of a member: the protocol that it speaks
_NO_FIELDS: Final[Mapping[str, Any]] = {}
_SEVERAL_SINCE: Final = 4  # version of FindCoordinator that asks for several keys


def find_coordinator(
    call: Call, request: requests.FindCoordinatorRequestData
) -> responses.FindCoordinatorResponseData:
    """Return the server, which coordinates everything."""
    host, port = call.address
    kind = request.get("keyType", _OF_GROUPS)
    if kind not in {_OF_GROUPS, _OF_TRANSACTIONS}:
        return _coordinators(request, _nobody(ErrorCode.INVALID_REQUEST, MALFORMED))
    broker = call.serving.broker
    topic = OFFSETS_TOPIC if kind == _OF_GROUPS else TRANSACTIONS_TOPIC
    if broker is not None and not broker.has_internal_topic(topic):
        call.budget.charge(len(request.get("coordinatorKeys", ())))
        problem = (
            "The coordinator is not available." if call.request.version < _SEVERAL_SINCE else ""
        )
        return _coordinators(request, _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE, problem))
    here: responses.FindCoordinatorResponseCoordinator = {
        "nodeId": call.serving.catalog.node_id,
        "host": host,
        "port": port,
        "errorCode": ErrorCode.NONE,
        "errorMessage": "NONE" if call.request.version < _SEVERAL_SINCE else "",
    }
    call.budget.charge(len(request.get("coordinatorKeys", ())))
    return _coordinators(request, here)


def _nobody(code: ErrorCode, problem: str = "") -> responses.FindCoordinatorResponseCoordinator:
    """Return an error in the place of a coordinator."""
    return {"nodeId": -1, "host": "", "port": -1, "errorCode": code, "errorMessage": problem}


def _coordinators(
    request: requests.FindCoordinatorRequestData,
    here: responses.FindCoordinatorResponseCoordinator,
) -> responses.FindCoordinatorResponseData:
    """Return the coordinator of each key; before version 4 there is one."""
    if "coordinatorKeys" in request:
        return {"coordinators": [{**here, "key": key} for key in request["coordinatorKeys"]]}
    return {
        "nodeId": here["nodeId"],
        "host": here["host"],
        "port": here["port"],
        "errorCode": here["errorCode"],
        "errorMessage": here["errorMessage"],
    }


# members


def _joining(call: Call, request: JoinGroupRequest) -> Future[JoinGroupResponse]:
    return call.serving.groups.join_group(call.client, request)


async def join_group(
    call: Call, request: requests.JoinGroupRequestData, in_thread: InThread
) -> responses.JoinGroupResponseData:
    """Let a client join; the answer comes when all members have joined."""
    values = request
    session = values["sessionTimeoutMs"]
    rebalance = values.get("rebalanceTimeoutMs", -1)
    joining = JoinGroupRequest(
        values["groupId"],
        session,
        session if rebalance < 0 else rebalance,
        values["memberId"],
        values.get("groupInstanceId"),
        values["protocolType"],
        tuple(Protocol(each["name"], each["metadata"]) for each in values["protocols"]),
        values.get("reason"),
    )
    future = await in_thread(_joining, call, joining)
    del joining
    answer: JoinGroupResponse = await call.wait(future, "protocols")
    name = answer.protocol_name
    call.budget.charge(len(answer.members), sum(len(each.metadata) for each in answer.members))
    return {
        "errorCode": answer.error,
        "generationId": answer.generation_id,
        "protocolType": answer.protocol_type,
        "protocolName": (name or "") if call.request.version < 7 else name,
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


async def sync_group(
    call: Call, request: requests.SyncGroupRequestData, in_thread: InThread
) -> responses.SyncGroupResponseData:
    """Give a member its assignment; the answer comes when the leader has sent it."""
    values = request
    syncing = SyncGroupRequest(
        values["groupId"],
        values["generationId"],
        values["memberId"],
        values.get("groupInstanceId"),
        values.get("protocolType"),
        values.get("protocolName"),
        tuple((each["memberId"], each["assignment"]) for each in values["assignments"]),
    )
    future = await in_thread(call.serving.groups.sync_group, syncing)
    del syncing
    answer: SyncGroupResponse = await call.wait(future, "assignments")
    return {
        "errorCode": answer.error,
        "protocolType": answer.protocol_type,
        "protocolName": answer.protocol_name,
        "assignment": answer.assignment,
    }


def heartbeat(
    call: Call, request: requests.HeartbeatRequestData
) -> responses.HeartbeatResponseData:
    """Extend the session of a member."""
    values = request
    beat = HeartbeatRequest(
        values["groupId"],
        values["generationId"],
        values["memberId"],
        values.get("groupInstanceId"),
    )
    return {"errorCode": call.serving.groups.heartbeat(beat)}


def leave_group(
    call: Call, request: requests.LeaveGroupRequestData
) -> responses.LeaveGroupResponseData:
    """Remove members that leave; before version 3 there is one."""
    values = request
    if call.request.version < 3:
        leaving = [MemberIdentity(values["memberId"])]
    else:
        leaving = [
            MemberIdentity(each["memberId"], each["groupInstanceId"], each.get("reason"))
            for each in values["members"]
        ]
    answer = call.serving.groups.leave_group(values["groupId"], leaving)
    code = answer.error
    if call.request.version < 3 and code is ErrorCode.NONE and answer.members:
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


def consumer_group_heartbeat(
    call: Call, request: requests.ConsumerGroupHeartbeatRequestData
) -> responses.ConsumerGroupHeartbeatResponseData:
    """Let a member of a consumer group of KIP-848 join, remain, or leave.

    Kafka: KafkaApis.handleConsumerGroupHeartbeat (4.2)
    """
    values = request
    features = call.serving.catalog.features
    if call.serving.broker is not None and features and not features.get("group.version"):
        return {"errorCode": ErrorCode.UNSUPPORTED_VERSION}
    topics, owned = values["subscribedTopicNames"], values["topicPartitions"]
    beat = ConsumerGroupHeartbeatRequest(
        values["groupId"],
        values["memberId"],
        values["memberEpoch"],
        values["instanceId"],
        values["rackId"],
        values["rebalanceTimeoutMs"],
        None if topics is None else tuple(topics),
        values.get("subscribedTopicRegex"),
        values["serverAssignor"],
        None if owned is None else assignment_of(owned),
    )
    try:
        answer = call.serving.groups.consumer_group_heartbeat(call.client, beat)
    except CoordinatorError as error:
        return {"errorCode": error.code, "errorMessage": error.problem}
    assigned = answer.assignment
    if assigned is not None:
        call.budget.charge(sum(1 + len(numbers) for numbers in assigned.values()))
    return {
        "memberId": answer.member_id,
        "memberEpoch": answer.member_epoch,
        "heartbeatIntervalMs": answer.interval_ms,
        "assignment": None
        if assigned is None
        else {
            "topicPartitions": [
                {"topicId": each["topicId"], "partitions": each["partitions"]}
                for each in fields_of(assigned)
            ]
        },
    }


# descriptions


def describe_groups(
    call: Call, request: requests.DescribeGroupsRequestData
) -> responses.DescribeGroupsResponseData:
    """Return groups with their members."""
    found = []
    for name in dict.fromkeys(request["groups"]):
        (group,) = call.serving.groups.describe_groups([name], call.request.version)
        texts = (len(each.metadata) + len(each.assignment) for each in group.members)
        call.budget.charge(1 + len(group.members), sum(texts))
        found.append(group)
    is_asked = request.get("includeAuthorizedOperations", False)
    rights = operations(call, GROUP) if is_asked else UNKNOWN_OPERATIONS
    return {
        "groups": [
            {
                "errorCode": group.error,
                "errorMessage": group.message,
                "authorizedOperations": (
                    rights if group.error is ErrorCode.NONE else UNKNOWN_OPERATIONS
                ),
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


def consumer_group_describe(
    call: Call, request: requests.ConsumerGroupDescribeRequestData
) -> responses.ConsumerGroupDescribeResponseData:
    """Return consumer groups of KIP-848 with their members and assignments."""
    groups: list[responses.ConsumerGroupDescribeResponseDescribedGroup] = []
    for group_id in dict.fromkeys(request["groupIds"]):
        try:
            found = call.serving.groups.consumer_group(group_id)
            call.budget.charge(1 + sum(map(_items_of, found.members.values())))
        except CoordinatorError as error:
            groups.append(
                {"groupId": group_id, "errorCode": error.code, "errorMessage": error.problem}
            )
        else:
            result = _described(found, call.serving.catalog.names_by_id)
            if request["includeAuthorizedOperations"]:
                result["authorizedOperations"] = operations(call, GROUP)
            groups.append(result)
    return {"groups": groups}


def _items_of(member: ModernMember) -> int:
    """Return how many elements a member has in an answer: topics, those assigned and the target."""
    assigned = (member.current or {}).get("assignedPartitions", ())
    topics = (member.metadata or {}).get("subscribedTopicNames", ())
    return 1 + len(topics) + 2 * sum(1 + len(each["partitions"]) for each in assigned)


def list_groups(
    call: Call, request: requests.ListGroupsRequestData
) -> responses.ListGroupsResponseData:
    """Return the groups of this session, and those on the disk."""
    listed = call.serving.groups.list_groups()
    call.budget.charge(len(listed))
    states = {state.lower() for state in request.get("statesFilter", ())}
    types = {kind.lower() for kind in request.get("typesFilter", ())}
    return {
        "errorCode": ErrorCode.NONE,
        "groups": [
            {
                "groupId": group.group_id,
                "protocolType": group.protocol_type,
                "groupState": group.state,
                "groupType": group.kind,
            }
            for group in listed
            if (not states or group.state.lower() in states) and (not types or group.kind in types)
        ],
    }


# writes, of a server that may


def delete_groups(
    call: Call, request: requests.DeleteGroupsRequestData
) -> responses.DeleteGroupsResponseData:
    """Delete groups with their offsets."""
    codes = call.broker.groups.delete_groups(request["groupsNames"])
    return {"results": [{"groupId": name, "errorCode": code} for name, code in codes.items()]}


def _described(
    group: ModernGroup, names_by_id: Mapping[str, str]
) -> ConsumerGroupDescribeResponseDescribedGroup:
    """Return what a response says of a group of KIP-848.

    Args:
        group: the group.
        names_by_id: topic id → topic; partitions of others are left out.

    Kafka: ConsumerGroup.asDescribedGroup, ConsumerGroupMember.asConsumerGroupDescribeMember (4.2)
    """
    return {
        "errorCode": ErrorCode.NONE,
        "groupId": group.group_id,
        "groupState": group.state,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.assignment_epoch,
        "assignorName": group.protocol or "",
        "members": [
            _member(member, group.targets.get(member.member_id, _NO_FIELDS), names_by_id)
            for member in group.members.values()
        ],
    }


def _member(
    member: ModernMember, target: Mapping[str, Any], names_by_id: Mapping[str, str]
) -> ConsumerGroupDescribeResponseMember:
    metadata, current = member.metadata or _NO_FIELDS, member.current or _NO_FIELDS
    is_classic = metadata.get("classicMemberMetadata") is not None
    return {
        "memberId": member.member_id,
        "instanceId": metadata.get("instanceId"),
        "rackId": metadata.get("rackId"),
        "memberEpoch": member.epoch,
        "clientId": metadata.get("clientId", ""),
        "clientHost": metadata.get("clientHost", ""),
        "subscribedTopicNames": metadata.get("subscribedTopicNames", []),
        "subscribedTopicRegex": metadata.get("subscribedTopicRegex"),
        "assignment": _assignment(current.get("assignedPartitions", ()), names_by_id),
        "targetAssignment": _assignment(target.get("topicPartitions", ()), names_by_id),
        "memberType": _CLASSIC if is_classic else _CONSUMER,
    }


def _assignment(
    topics: Iterable[Mapping[str, Any]], names_by_id: Mapping[str, str]
) -> ConsumerGroupDescribeResponseAssignment:
    return {
        "topicPartitions": [
            {
                "topicId": topic["topicId"],
                "topicName": names_by_id[topic["topicId"]],
                "partitions": topic["partitions"],
            }
            for topic in topics
            if topic["topicId"] in names_by_id
        ]
    }


HANDLERS: Final[Mapping[int, Served]] = {
    apis.FIND_COORDINATOR.key: Served(find_coordinator),
    apis.HEARTBEAT.key: Served(heartbeat),
    apis.CONSUMER_GROUP_HEARTBEAT.key: Served(consumer_group_heartbeat),
    apis.LEAVE_GROUP.key: Served(leave_group),
    apis.DESCRIBE_GROUPS.key: Served(describe_groups),
    apis.LIST_GROUPS.key: Served(list_groups),
    apis.CONSUMER_GROUP_DESCRIBE.key: Served(consumer_group_describe),
    apis.DELETE_GROUPS.key: Served(delete_groups, refusal=ErrorCode.GROUP_AUTHORIZATION_FAILED),
    apis.JOIN_GROUP.key: Served(waits=join_group),
    apis.SYNC_GROUP.key: Served(waits=sync_group),
}
