"""About the records of partitions.

Kafka: the request and response messages of the same names (4.3)
"""

from typing import Final

from workbench.server.protocol.api import api

FETCH: Final = api(
    "Fetch",
    1,
    versions=(4, 18),
    flexible=12,
    request="""
    clusterId: ?string tag 0 versions 12+
    replicaId: int32 = -1 versions 0-14
    replicaState: {
        replicaId: int32 = -1
        replicaEpoch: int64 = -1
    } tag 1 versions 15+
    maxWaitMs: int32
    minBytes: int32
    maxBytes: int32 = 2147483647 versions 3+
    isolationLevel: int8 versions 4+
    sessionId: int32 versions 7+
    sessionEpoch: int32 = -1 versions 7+
    topics: [
        topic: string versions 0-12
        topicId: uuid versions 13+
        partitions: [
            partition: int32
            currentLeaderEpoch: int32 = -1 versions 9+
            fetchOffset: int64
            lastFetchedEpoch: int32 = -1 versions 12+
            logStartOffset: int64 = -1 versions 5+
            partitionMaxBytes: int32
            replicaDirectoryId: uuid tag 0 versions 17+
            highWatermark: int64 = 9223372036854775807 tag 1 versions 18+
        ]
    ]
    forgottenTopicsData: [
        topic: string versions 7-12
        topicId: uuid versions 13+
        partitions: [int32]
    ] versions 7+
    rackId: string versions 11+
    """,
    response="""
    throttleTimeMs: int32 versions 1+
    errorCode: int16 versions 7+
    sessionId: int32 versions 7+
    responses: [
        topic: string versions 0-12
        topicId: uuid versions 13+
        partitions: [
            partitionIndex: int32
            errorCode: int16
            highWatermark: int64
            lastStableOffset: int64 = -1 versions 4+
            logStartOffset: int64 = -1 versions 5+
            divergingEpoch: {
                epoch: int32 = -1
                endOffset: int64 = -1
            } tag 0 versions 12+
            currentLeader: {
                leaderId: int32 = -1
                leaderEpoch: int32 = -1
            } tag 1 versions 12+
            snapshotId: {
                endOffset: int64 = -1
                epoch: int32 = -1
            } tag 2 versions 12+
            abortedTransactions: ?[
                producerId: int64
                firstOffset: int64
            ] versions 4+
            preferredReadReplica: int32 = -1 versions 11+
            records: ?bytes
        ]
    ]
    nodeEndpoints: [
        nodeId: int32
        host: string
        port: int32
        rack: ?string
    ] tag 0 versions 16+
    """,
)

LIST_OFFSETS: Final = api(
    "ListOffsets",
    2,
    versions=(1, 11),
    flexible=6,
    request="""
    replicaId: int32
    isolationLevel: int8 versions 2+
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            currentLeaderEpoch: int32 = -1 versions 4+
            timestamp: int64
            maxNumOffsets: int32 = 1 versions 0-0
        ]
    ]
    timeoutMs: int32 versions 10+
    """,
    response="""
    throttleTimeMs: int32 versions 2+
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            errorCode: int16
            oldStyleOffsets: [int64] versions 0-0
            timestamp: int64 = -1 versions 1+
            offset: int64 = -1 versions 1+
            leaderEpoch: int32 = -1 versions 4+
        ]
    ]
    """,
)

OFFSET_FOR_LEADER_EPOCH: Final = api(
    "OffsetForLeaderEpoch",
    23,
    versions=(0, 4),
    flexible=4,
    request="""
    replicaId: int32 = -2 versions 3+
    topics: [
        topic: string
        partitions: [
            partition: int32
            currentLeaderEpoch: int32 = -1 versions 2+
            leaderEpoch: int32
        ]
    ]
    """,
    response="""
    throttleTimeMs: int32 versions 2+
    topics: [
        topic: string
        partitions: [
            errorCode: int16
            partition: int32
            leaderEpoch: int32 = -1 versions 1+
            endOffset: int64 = -1
        ]
    ]
    """,
)
