"""About producers and their transactions.

Kafka: the request and response messages of the same names (4.2)
"""

from typing import Final

from workbench.server.protocol.api import api

INIT_PRODUCER_ID: Final = api(
    "InitProducerId",
    22,
    versions=(0, 5),
    flexible=2,
    request="""
    transactionalId: ?string
    transactionTimeoutMs: int32
    producerId: int64 = -1 versions 3+
    producerEpoch: int16 = -1 versions 3+
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    producerId: int64 = -1
    producerEpoch: int16
    """,
)

ADD_PARTITIONS_TO_TXN: Final = api(
    "AddPartitionsToTxn",
    24,
    versions=(0, 5),
    flexible=3,
    request="""
    transactions: [
        transactionalId: string
        producerId: int64
        producerEpoch: int16
        verifyOnly: bool
        topics: [
            name: string
            partitions: [int32]
        ]
    ] versions 4+
    v3AndBelowTransactionalId: string versions 0-3
    v3AndBelowProducerId: int64 versions 0-3
    v3AndBelowProducerEpoch: int16 versions 0-3
    v3AndBelowTopics: [
        name: string versions 0-3
        partitions: [int32] versions 0-3
    ] versions 0-3
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16 versions 4+
    resultsByTransaction: [
        transactionalId: string
        topicResults: [
            name: string
            resultsByPartition: [
                partitionIndex: int32
                partitionErrorCode: int16
            ]
        ]
    ] versions 4+
    resultsByTopicV3AndBelow: [
        name: string versions 0-3
        resultsByPartition: [
            partitionIndex: int32 versions 0-3
            partitionErrorCode: int16 versions 0-3
        ] versions 0-3
    ] versions 0-3
    """,
)

ADD_OFFSETS_TO_TXN: Final = api(
    "AddOffsetsToTxn",
    25,
    versions=(0, 4),
    flexible=3,
    request="""
    transactionalId: string
    producerId: int64
    producerEpoch: int16
    groupId: string
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    """,
)

END_TXN: Final = api(
    "EndTxn",
    26,
    versions=(0, 5),
    flexible=3,
    request="""
    transactionalId: string
    producerId: int64
    producerEpoch: int16
    committed: bool
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    producerId: int64 = -1 versions 5+
    producerEpoch: int16 = -1 versions 5+
    """,
)

TXN_OFFSET_COMMIT: Final = api(
    "TxnOffsetCommit",
    28,
    versions=(0, 5),
    flexible=3,
    request="""
    transactionalId: string
    groupId: string
    producerId: int64
    producerEpoch: int16
    generationId: int32 = -1 versions 3+
    memberId: string versions 3+
    groupInstanceId: ?string versions 3+
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            committedOffset: int64
            committedLeaderEpoch: int32 = -1 versions 2+
            committedMetadata: ?string
        ]
    ]
    """,
    response="""
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

WRITE_TXN_MARKERS: Final = api(
    "WriteTxnMarkers",
    27,
    versions=(1, 2),
    flexible=1,
    request="""
    markers: [
        producerId: int64
        producerEpoch: int16
        transactionResult: bool
        topics: [
            name: string
            partitionIndexes: [int32]
        ]
        coordinatorEpoch: int32
        transactionVersion: int8 versions 2+
    ]
    """,
    response="""
    markers: [
        producerId: int64
        topics: [
            name: string
            partitions: [
                partitionIndex: int32
                errorCode: int16
            ]
        ]
    ]
    """,
)

DESCRIBE_PRODUCERS: Final = api(
    "DescribeProducers",
    61,
    versions=(0, 0),
    flexible=0,
    request="""
    topics: [
        name: string
        partitionIndexes: [int32]
    ]
    """,
    response="""
    throttleTimeMs: int32
    topics: [
        name: string
        partitions: [
            partitionIndex: int32
            errorCode: int16
            errorMessage: ?string
            activeProducers: [
                producerId: int64
                producerEpoch: int32
                lastSequence: int32 = -1
                lastTimestamp: int64 = -1
                coordinatorEpoch: int32
                currentTxnStartOffset: int64 = -1
            ]
        ]
    ]
    """,
)

DESCRIBE_TRANSACTIONS: Final = api(
    "DescribeTransactions",
    65,
    versions=(0, 0),
    flexible=0,
    request="""
    transactionalIds: [string]
    """,
    response="""
    throttleTimeMs: int32
    transactionStates: [
        errorCode: int16
        transactionalId: string
        transactionState: string
        transactionTimeoutMs: int32
        transactionStartTimeMs: int64
        producerId: int64
        producerEpoch: int16
        topics: [
            topic: string
            partitions: [int32]
        ]
    ]
    """,
)

LIST_TRANSACTIONS: Final = api(
    "ListTransactions",
    66,
    versions=(0, 2),
    flexible=0,
    request="""
    stateFilters: [string]
    producerIdFilters: [int64]
    durationFilter: int64 = -1 versions 1+
    transactionalIdPattern: ?string versions 2+
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    unknownStateFilters: [string]
    transactionStates: [
        transactionalId: string
        producerId: int64
        transactionState: string
    ]
    """,
)
