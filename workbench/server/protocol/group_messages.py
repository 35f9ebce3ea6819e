"""About groups: members, committed offsets, descriptions.

Kafka: the request and response messages of the same names (4.3)
"""

from typing import Final

from workbench.server.protocol.api import api

FIND_COORDINATOR: Final = api(
    "FindCoordinator",
    10,
    versions=(0, 6),
    flexible=3,
    request="""
    key: string versions 0-3
    keyType: int8 versions 1+
    coordinatorKeys: [string] versions 4+
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    errorCode: int16 versions 0-3
    errorMessage: ?string versions 1-3
    nodeId: int32 versions 0-3
    host: string versions 0-3
    port: int32 versions 0-3
    coordinators: [
        key: string
        nodeId: int32
        host: string
        port: int32
        errorCode: int16
        errorMessage: ?string
    ] versions 4+
    """,
)

JOIN_GROUP: Final = api(
    "JoinGroup",
    11,
    versions=(0, 9),
    flexible=6,
    request="""
    groupId: string
    sessionTimeoutMs: int32
    rebalanceTimeoutMs: int32 = -1 versions 1+
    memberId: string
    groupInstanceId: ?string versions 5+
    protocolType: string
    protocols: [
        name: string
        metadata: bytes
    ]
    reason: ?string versions 8+
    """,
    response="""
    throttleTimeMs: int32 versions 2+
    errorCode: int16
    generationId: int32 = -1
    protocolType: ?string versions 7+
    protocolName: ?string
    leader: string
    skipAssignment: bool versions 9+
    memberId: string
    members: [
        memberId: string
        groupInstanceId: ?string versions 5+
        metadata: bytes
    ]
    """,
)

SYNC_GROUP: Final = api(
    "SyncGroup",
    14,
    versions=(0, 5),
    flexible=4,
    request="""
    groupId: string
    generationId: int32
    memberId: string
    groupInstanceId: ?string versions 3+
    protocolType: ?string versions 5+
    protocolName: ?string versions 5+
    assignments: [
        memberId: string
        assignment: bytes
    ]
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    errorCode: int16
    protocolType: ?string versions 5+
    protocolName: ?string versions 5+
    assignment: bytes
    """,
)

HEARTBEAT: Final = api(
    "Heartbeat",
    12,
    versions=(0, 4),
    flexible=4,
    request="""
    groupId: string
    generationId: int32
    memberId: string
    groupInstanceId: ?string versions 3+
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    errorCode: int16
    """,
)

LEAVE_GROUP: Final = api(
    "LeaveGroup",
    13,
    versions=(0, 5),
    flexible=4,
    request="""
    groupId: string
    memberId: string versions 0-2
    members: [
        memberId: string
        groupInstanceId: ?string
        reason: ?string versions 5+
    ] versions 3+
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    errorCode: int16
    members: [
        memberId: string
        groupInstanceId: ?string
        errorCode: int16
    ] versions 3+
    """,
)

OFFSET_COMMIT: Final = api(
    "OffsetCommit",
    8,
    versions=(2, 10),
    flexible=8,
    request="""
    groupId: string
    generationIdOrMemberEpoch: int32 = -1 versions 1+
    memberId: string versions 1+
    groupInstanceId: ?string versions 7+
    retentionTimeMs: int64 = -1 versions 2-4
    topics: [
        name: string versions 0-9
        topicId: uuid versions 10+
        partitions: [
            partitionIndex: int32
            committedOffset: int64
            committedLeaderEpoch: int32 = -1 versions 6+
            commitTimestamp: int64 = -1 versions 1-1
            committedMetadata: ?string
        ]
    ]
    """,
    response="""
    throttleTimeMs: int32 versions 3+
    topics: [
        name: string versions 0-9
        topicId: uuid versions 10+
        partitions: [
            partitionIndex: int32
            errorCode: int16
        ]
    ]
    """,
)

OFFSET_FETCH: Final = api(
    "OffsetFetch",
    9,
    versions=(1, 10),
    flexible=6,
    request="""
    groupId: string versions 0-7
    topics: ?[
        name: string versions 0-7
        partitionIndexes: [int32] versions 0-7
    ] versions 0-7
    groups: [
        groupId: string
        memberId: ?string versions 9+
        memberEpoch: int32 = -1 versions 9+
        topics: ?[
            name: string versions 8-9
            topicId: uuid versions 10+
            partitionIndexes: [int32]
        ]
    ] versions 8+
    requireStable: bool versions 7+
    """,
    response="""
    throttleTimeMs: int32 versions 3+
    topics: [
        name: string versions 0-7
        partitions: [
            partitionIndex: int32 versions 0-7
            committedOffset: int64 versions 0-7
            committedLeaderEpoch: int32 = -1 versions 5-7
            metadata: ?string versions 0-7
            errorCode: int16 versions 0-7
        ] versions 0-7
    ] versions 0-7
    errorCode: int16 versions 2-7
    groups: [
        groupId: string
        topics: [
            name: string versions 8-9
            topicId: uuid versions 10+
            partitions: [
                partitionIndex: int32
                committedOffset: int64
                committedLeaderEpoch: int32 = -1
                metadata: ?string
                errorCode: int16
            ]
        ]
        errorCode: int16
    ] versions 8+
    """,
)

DESCRIBE_GROUPS: Final = api(
    "DescribeGroups",
    15,
    versions=(0, 6),
    flexible=5,
    request="""
    groups: [string]
    includeAuthorizedOperations: bool versions 3+
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    groups: [
        errorCode: int16
        errorMessage: ?string versions 6+
        groupId: string
        groupState: string
        protocolType: string
        protocolData: string
        members: [
            memberId: string
            groupInstanceId: ?string versions 4+
            clientId: string
            clientHost: string
            memberMetadata: bytes
            memberAssignment: bytes
        ]
        authorizedOperations: int32 = -2147483648 versions 3+
    ]
    """,
)

LIST_GROUPS: Final = api(
    "ListGroups",
    16,
    versions=(0, 5),
    flexible=3,
    request="""
    statesFilter: [string] versions 4+
    typesFilter: [string] versions 5+
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    errorCode: int16
    groups: [
        groupId: string
        protocolType: string
        groupState: string versions 4+
        groupType: string versions 5+
    ]
    """,
)

CONSUMER_GROUP_DESCRIBE: Final = api(
    "ConsumerGroupDescribe",
    69,
    versions=(0, 1),
    flexible=0,
    request="""
    groupIds: [string]
    includeAuthorizedOperations: bool
    """,
    response="""
    throttleTimeMs: int32
    groups: [
        errorCode: int16
        errorMessage: ?string
        groupId: string
        groupState: string
        groupEpoch: int32
        assignmentEpoch: int32
        assignorName: string
        members: [
            memberId: string
            instanceId: ?string
            rackId: ?string
            memberEpoch: int32
            clientId: string
            clientHost: string
            subscribedTopicNames: [string]
            subscribedTopicRegex: ?string
            assignment: {
                topicPartitions: [
                    topicId: uuid
                    topicName: string
                    partitions: [int32]
                ]
            }
            targetAssignment: {
                topicPartitions: [
                    topicId: uuid
                    topicName: string
                    partitions: [int32]
                ]
            }
            memberType: int8 = -1 versions 1+
        ]
        authorizedOperations: int32 = -2147483648
    ]
    """,
)

CONSUMER_GROUP_HEARTBEAT: Final = api(
    "ConsumerGroupHeartbeat",
    68,
    versions=(0, 1),
    flexible=0,
    request="""
    groupId: string
    memberId: string
    memberEpoch: int32
    instanceId: ?string
    rackId: ?string
    rebalanceTimeoutMs: int32 = -1
    subscribedTopicNames: ?[string] = null
    subscribedTopicRegex: ?string versions 1+
    serverAssignor: ?string
    topicPartitions: ?[
        topicId: uuid
        partitions: [int32]
    ] = null
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    memberId: ?string
    memberEpoch: int32
    heartbeatIntervalMs: int32
    assignment: ?{
        topicPartitions: [
            topicId: uuid
            partitions: [int32]
        ]
    } = null
    """,
)
