"""Requests that write: declared so that they can be refused as a broker refuses them.

Kafka: the request and response messages of the same names (4.3)
"""

from typing import Final

from workbench.server.protocol.api import api

PRODUCE: Final = api(
    "Produce",
    0,
    versions=(0, 13),
    flexible=9,
    request="""
    transactionalId: ?string versions 3+
    acks: int16
    timeoutMs: int32
    topicData: [
        name: string versions 0-12
        topicId: uuid versions 13+
        partitionData: [
            index: int32
            records: ?bytes
        ]
    ]
    """,
    response="""
    responses: [
        name: string versions 0-12
        topicId: uuid versions 13+
        partitionResponses: [
            index: int32
            errorCode: int16
            baseOffset: int64
            logAppendTimeMs: int64 = -1 versions 2+
            logStartOffset: int64 = -1 versions 5+
            recordErrors: [
                batchIndex: int32
                batchIndexErrorMessage: ?string
            ] versions 8+
            errorMessage: ?string versions 8+
            currentLeader: {
                leaderId: int32 = -1
                leaderEpoch: int32 = -1
            } tag 0 versions 10+
        ]
    ]
    throttleTimeMs: int32 versions 1+
    nodeEndpoints: [
        nodeId: int32
        host: string
        port: int32
        rack: ?string
    ] tag 0 versions 10+
    """,
)

CREATE_TOPICS: Final = api(
    "CreateTopics",
    19,
    versions=(0, 7),
    flexible=5,
    request="""
    topics: [
        name: string
        numPartitions: int32
        replicationFactor: int16
        assignments: [
            partitionIndex: int32
            brokerIds: [int32]
        ]
        configs: [
            name: string
            value: ?string
        ]
    ]
    timeoutMs: int32 = 60000
    validateOnly: bool versions 1+
    """,
    response="""
    throttleTimeMs: int32 versions 2+
    topics: [
        name: string
        topicId: uuid versions 7+
        errorCode: int16
        errorMessage: ?string versions 1+
        topicConfigErrorCode: int16 tag 0 versions 5+
        numPartitions: int32 = -1 versions 5+
        replicationFactor: int16 = -1 versions 5+
        configs: ?[
            name: string
            value: ?string
            readOnly: bool
            configSource: int8 = -1
            isSensitive: bool
        ] versions 5+
    ]
    """,
)

DELETE_TOPICS: Final = api(
    "DeleteTopics",
    20,
    versions=(0, 6),
    flexible=4,
    request="""
    topics: [
        name: ?string
        topicId: uuid
    ] versions 6+
    topicNames: [string] versions 0-5
    timeoutMs: int32
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    responses: [
        name: ?string
        topicId: uuid versions 6+
        errorCode: int16
        errorMessage: ?string versions 5+
    ]
    """,
)

DELETE_RECORDS: Final = api(
    "DeleteRecords",
    21,
    versions=(0, 2),
    flexible=2,
    request="""
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            offset: int64
        ]
    ]
    timeoutMs: int32
    """,
    response="""
    throttleTimeMs: int32
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            lowWatermark: int64
            errorCode: int16
        ]
    ]
    """,
)

ALTER_CONFIGS: Final = api(
    "AlterConfigs",
    33,
    versions=(0, 2),
    flexible=2,
    request="""
    resources: [
        resourceType: int8
        resourceName: string
        configs: [
            name: string
            value: ?string
        ]
    ]
    validateOnly: bool
    """,
    response="""
    throttleTimeMs: int32
    responses: [
        errorCode: int16
        errorMessage: ?string
        resourceType: int8
        resourceName: string
    ]
    """,
)

CREATE_PARTITIONS: Final = api(
    "CreatePartitions",
    37,
    versions=(0, 3),
    flexible=2,
    request="""
    topics: [
        name: string
        count: int32
        assignments: ?[
            brokerIds: [int32]
        ]
    ]
    timeoutMs: int32
    validateOnly: bool
    """,
    response="""
    throttleTimeMs: int32
    results: [
        name: string
        errorCode: int16
        errorMessage: ?string
    ]
    """,
)

DELETE_GROUPS: Final = api(
    "DeleteGroups",
    42,
    versions=(0, 2),
    flexible=2,
    request="""
    groupsNames: [string]
    """,
    response="""
    throttleTimeMs: int32
    results: [
        groupId: string
        errorCode: int16
    ]
    """,
)

INCREMENTAL_ALTER_CONFIGS: Final = api(
    "IncrementalAlterConfigs",
    44,
    versions=(0, 1),
    flexible=1,
    request="""
    resources: [
        resourceType: int8
        resourceName: string
        configs: [
            name: string
            configOperation: int8
            value: ?string
        ]
    ]
    validateOnly: bool
    """,
    response="""
    throttleTimeMs: int32
    responses: [
        errorCode: int16
        errorMessage: ?string
        resourceType: int8
        resourceName: string
    ]
    """,
)

OFFSET_DELETE: Final = api(
    "OffsetDelete",
    47,
    versions=(0, 0),
    flexible=None,
    request="""
    groupId: string
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
        ]
    ]
    """,
    response="""
    errorCode: int16
    throttleTimeMs: int32
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            errorCode: int16
        ]
    ]
    """,
)
