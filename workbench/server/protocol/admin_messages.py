"""What administrators ask beside topics: quorum, elections, reassignments, features, access.

Kafka: the request and response messages of the same names (4.2)
"""

from typing import Final

from workbench.server.protocol.api import api

DESCRIBE_QUORUM: Final = api(
    "DescribeQuorum",
    55,
    versions=(0, 2),
    flexible=0,
    request="""
    topics: [
        topicName: string
        partitions: [
            partitionIndex: int32
        ]
    ]
    """,
    response="""
    errorCode: int16
    errorMessage: ?string versions 2+
    topics: [
        topicName: string
        partitions: [
            partitionIndex: int32
            errorCode: int16
            errorMessage: ?string versions 2+
            leaderId: int32
            leaderEpoch: int32
            highWatermark: int64
            currentVoters: [
                replicaId: int32
                replicaDirectoryId: uuid versions 2+
                logEndOffset: int64
                lastFetchTimestamp: int64 = -1 versions 1+
                lastCaughtUpTimestamp: int64 = -1 versions 1+
            ]
            observers: [
                replicaId: int32
                replicaDirectoryId: uuid versions 2+
                logEndOffset: int64
                lastFetchTimestamp: int64 = -1 versions 1+
                lastCaughtUpTimestamp: int64 = -1 versions 1+
            ]
        ]
    ]
    nodes: [
        nodeId: int32 versions 2+
        listeners: [
            name: string versions 2+
            host: string versions 2+
            port: uint16 versions 2+
        ] versions 2+
    ] versions 2+
    """,
)

LIST_CONFIG_RESOURCES: Final = api(
    "ListConfigResources",
    74,
    versions=(0, 1),
    flexible=0,
    request="""
    resourceTypes: [int8] versions 1+
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    configResources: [
        resourceName: string
        resourceType: int8 = 16 versions 1+
    ]
    """,
)

ELECT_LEADERS: Final = api(
    "ElectLeaders",
    43,
    versions=(0, 2),
    flexible=2,
    request="""
    electionType: int8 versions 1+
    topicPartitions: ?[
        topic: string
        partitions: [int32]
    ]
    timeoutMs: int32 = 60000
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16 versions 1+
    replicaElectionResults: [
        topic: string
        partitionResult: [
            partitionId: int32
            errorCode: int16
            errorMessage: ?string
        ]
    ]
    """,
)

ALTER_PARTITION_REASSIGNMENTS: Final = api(
    "AlterPartitionReassignments",
    45,
    versions=(0, 1),
    flexible=0,
    request="""
    timeoutMs: int32 = 60000
    allowReplicationFactorChange: bool = true versions 1+
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            replicas: ?[int32] = null
        ]
    ]
    """,
    response="""
    throttleTimeMs: int32
    allowReplicationFactorChange: bool = true versions 1+
    errorCode: int16
    errorMessage: ?string
    responses: [
        name: string
        partitions: [
            partitionIndex: int32
            errorCode: int16
            errorMessage: ?string
        ]
    ]
    """,
)

LIST_PARTITION_REASSIGNMENTS: Final = api(
    "ListPartitionReassignments",
    46,
    versions=(0, 0),
    flexible=0,
    request="""
    timeoutMs: int32 = 60000
    topics: ?[
        name: string
        partitionIndexes: [int32]
    ] = null
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            replicas: [int32]
            addingReplicas: [int32]
            removingReplicas: [int32]
        ]
    ]
    """,
)

DESCRIBE_ACLS: Final = api(
    "DescribeAcls",
    29,
    versions=(1, 3),
    flexible=2,
    request="""
    resourceTypeFilter: int8
    resourceNameFilter: ?string
    patternTypeFilter: int8 = 3 versions 1+
    principalFilter: ?string
    hostFilter: ?string
    operation: int8
    permissionType: int8
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    resources: [
        resourceType: int8
        resourceName: string
        patternType: int8 = 3 versions 1+
        acls: [
            principal: string
            host: string
            operation: int8
            permissionType: int8
        ]
    ]
    """,
)

CREATE_ACLS: Final = api(
    "CreateAcls",
    30,
    versions=(1, 3),
    flexible=2,
    request="""
    creations: [
        resourceType: int8
        resourceName: string
        resourcePatternType: int8 = 3 versions 1+
        principal: string
        host: string
        operation: int8
        permissionType: int8
    ]
    """,
    response="""
    throttleTimeMs: int32
    results: [
        errorCode: int16
        errorMessage: ?string
    ]
    """,
)

DELETE_ACLS: Final = api(
    "DeleteAcls",
    31,
    versions=(1, 3),
    flexible=2,
    request="""
    filters: [
        resourceTypeFilter: int8
        resourceNameFilter: ?string
        patternTypeFilter: int8 = 3 versions 1+
        principalFilter: ?string
        hostFilter: ?string
        operation: int8
        permissionType: int8
    ]
    """,
    response="""
    throttleTimeMs: int32
    filterResults: [
        errorCode: int16
        errorMessage: ?string
        matchingAcls: [
            errorCode: int16
            errorMessage: ?string
            resourceType: int8
            resourceName: string
            patternType: int8 = 3 versions 1+
            principal: string
            host: string
            operation: int8
            permissionType: int8
        ]
    ]
    """,
)

UPDATE_FEATURES: Final = api(
    "UpdateFeatures",
    57,
    versions=(0, 2),
    flexible=0,
    request="""
    timeoutMs: int32 = 60000
    featureUpdates: [
        feature: string
        maxVersionLevel: int16
        allowDowngrade: bool versions 0-0
        upgradeType: int8 = 1 versions 1+
    ]
    validateOnly: bool versions 1+
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    results: [
        feature: string
        errorCode: int16
        errorMessage: ?string
    ] versions 0-1
    """,
)

DESCRIBE_CLIENT_QUOTAS: Final = api(
    "DescribeClientQuotas",
    48,
    versions=(0, 1),
    flexible=1,
    request="""
    components: [
        entityType: string
        matchType: int8
        match: ?string
    ]
    strict: bool
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    entries: ?[
        entity: [
            entityType: string
            entityName: ?string
        ]
        values: [
            key: string
            value: float64
        ]
    ]
    """,
)

DESCRIBE_USER_SCRAM_CREDENTIALS: Final = api(
    "DescribeUserScramCredentials",
    50,
    versions=(0, 0),
    flexible=0,
    request="""
    users: ?[
        name: string
    ]
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    results: [
        user: string
        errorCode: int16
        errorMessage: ?string
        credentialInfos: [
            mechanism: int8
            iterations: int32
        ]
    ]
    """,
)

UNREGISTER_BROKER: Final = api(
    "UnregisterBroker",
    64,
    versions=(0, 0),
    flexible=0,
    request="""
    brokerId: int32
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    """,
)

DESCRIBE_DELEGATION_TOKEN: Final = api(
    "DescribeDelegationToken",
    41,
    versions=(1, 3),
    flexible=2,
    request="""
    owners: ?[
        principalType: string
        principalName: string
    ]
    """,
    response="""
    errorCode: int16
    tokens: [
        principalType: string
        principalName: string
        tokenRequesterPrincipalType: string versions 3+
        tokenRequesterPrincipalName: string versions 3+
        issueTimestamp: int64
        expiryTimestamp: int64
        maxTimestamp: int64
        tokenId: string
        hmac: bytes
        renewers: [
            principalType: string
            principalName: string
        ]
    ]
    throttleTimeMs: int32
    """,
)

CREATE_DELEGATION_TOKEN: Final = api(
    "CreateDelegationToken",
    38,
    versions=(1, 3),
    flexible=2,
    request="""
    ownerPrincipalType: ?string versions 3+
    ownerPrincipalName: ?string versions 3+
    renewers: [
        principalType: string
        principalName: string
    ]
    maxLifetimeMs: int64
    """,
    response="""
    errorCode: int16
    principalType: string
    principalName: string
    tokenRequesterPrincipalType: string versions 3+
    tokenRequesterPrincipalName: string versions 3+
    issueTimestampMs: int64
    expiryTimestampMs: int64
    maxTimestampMs: int64
    tokenId: string
    hmac: bytes
    throttleTimeMs: int32
    """,
)

RENEW_DELEGATION_TOKEN: Final = api(
    "RenewDelegationToken",
    39,
    versions=(1, 2),
    flexible=2,
    request="""
    hmac: bytes
    renewPeriodMs: int64
    """,
    response="""
    errorCode: int16
    expiryTimestampMs: int64
    throttleTimeMs: int32
    """,
)

EXPIRE_DELEGATION_TOKEN: Final = api(
    "ExpireDelegationToken",
    40,
    versions=(1, 2),
    flexible=2,
    request="""
    hmac: bytes
    expiryTimePeriodMs: int64
    """,
    response="""
    errorCode: int16
    expiryTimestampMs: int64
    throttleTimeMs: int32
    """,
)

ADD_RAFT_VOTER: Final = api(
    "AddRaftVoter",
    80,
    versions=(0, 1),
    flexible=0,
    request="""
    clusterId: ?string
    timeoutMs: int32
    voterId: int32
    voterDirectoryId: uuid
    listeners: [
        name: string
        host: string
        port: uint16
    ]
    ackWhenCommitted: bool = true versions 1+
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    """,
)

REMOVE_RAFT_VOTER: Final = api(
    "RemoveRaftVoter",
    81,
    versions=(0, 0),
    flexible=0,
    request="""
    clusterId: ?string
    voterId: int32
    voterDirectoryId: uuid
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    """,
)
