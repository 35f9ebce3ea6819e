"""Records of consumer groups (KIP-848) in `__consumer_offsets`: types 3 to 8 and 16.

Kafka: ConsumerGroupMetadataValue and its neighbors (4.3)
"""

from typing import Final

from workbench.decoders.typed_records import GROUP_KEY, MEMBER_KEY, RecordType, record_type

PARTITION_METADATA: Final = """
    topics: [
        topicId: uuid
        topicName: string
        numPartitions: int32
        partitionMetadata: [
            partition: int32
            racks: [string]
        ]
    ]
"""
TOPIC_PARTITIONS: Final = """
    topicPartitions: [
        topicId: uuid
        partitions: [int32]
    ]
"""

CONSUMER_GROUP_TYPES: Final[dict[int, RecordType]] = {
    3: record_type(
        "ConsumerGroupMetadata",
        GROUP_KEY,
        """
        epoch: int32
        metadataHash: int64 tag 0
        creationTimeMs: int64 = -1 tag 1
        """,
    ),
    4: record_type("ConsumerGroupPartitionMetadata", GROUP_KEY, PARTITION_METADATA),
    5: record_type(
        "ConsumerGroupMemberMetadata",
        MEMBER_KEY,
        """
        instanceId: ?string
        rackId: ?string
        clientId: string
        clientHost: string
        subscribedTopicNames: [string]
        subscribedTopicRegex: ?string
        rebalanceTimeoutMs: int32 = -1
        serverAssignor: ?string
        classicMemberMetadata: ?{
            sessionTimeoutMs: int32
            supportedProtocols: [
                name: string
                metadata: bytes
            ]
        } = {} tag 0
        """,
    ),
    6: record_type(
        "ConsumerGroupTargetAssignmentMetadata",
        GROUP_KEY,
        """
        assignmentEpoch: int32
        assignmentTimestamp: int64 tag 0
        """,
    ),
    7: record_type("ConsumerGroupTargetAssignmentMember", MEMBER_KEY, TOPIC_PARTITIONS),
    8: record_type(
        "ConsumerGroupCurrentMemberAssignment",
        MEMBER_KEY,
        """
        memberEpoch: int32
        previousMemberEpoch: int32
        state: int8
        assignedPartitions: [
            topicId: uuid
            partitions: [int32]
            assignmentEpochs: ?[int32] = null tag 0
        ]
        partitionsPendingRevocation: [
            topicId: uuid
            partitions: [int32]
            assignmentEpochs: ?[int32] = null tag 0
        ]
        """,
    ),
    16: record_type(
        "ConsumerGroupRegularExpression",
        """
        groupId: string
        regularExpression: string
        """,
        """
        topics: [string]
        version: int64
        timestamp: int64
        """,
    ),
}
