"""Records of share groups (KIP-932) in `__consumer_offsets`: types 9 to 15.

As Kafka 4.1 and 4.2 write them; the early access of 4.0 wrote other fields under the same version.

Kafka: ShareGroupMetadataValue and its neighbors (4.3)
"""

from typing import Final

from workbench.decoders.consumer_groups import PARTITION_METADATA, TOPIC_PARTITIONS
from workbench.decoders.typed_records import GROUP_KEY, MEMBER_KEY, RecordType, record_type

SHARE_GROUP_TYPES: Final[dict[int, RecordType]] = {
    9: record_type("ShareGroupPartitionMetadata", GROUP_KEY, PARTITION_METADATA),
    10: record_type(
        "ShareGroupMemberMetadata",
        MEMBER_KEY,
        """
        rackId: ?string
        clientId: string
        clientHost: string
        subscribedTopicNames: [string]
        """,
    ),
    11: record_type(
        "ShareGroupMetadata",
        GROUP_KEY,
        """
        epoch: int32
        metadataHash: int64
        """,
    ),
    12: record_type(
        "ShareGroupTargetAssignmentMetadata",
        GROUP_KEY,
        """
        assignmentEpoch: int32
        assignmentTimestamp: int64 tag 0
        """,
    ),
    13: record_type("ShareGroupTargetAssignmentMember", MEMBER_KEY, TOPIC_PARTITIONS),
    14: record_type(
        "ShareGroupCurrentMemberAssignment",
        MEMBER_KEY,
        """
        memberEpoch: int32
        previousMemberEpoch: int32
        state: int8
        assignedPartitions: [
            topicId: uuid
            partitions: [int32]
        ]
        """,
    ),
    15: record_type(
        "ShareGroupStatePartitionMetadata",
        GROUP_KEY,
        """
        initializingTopics: [
            topicId: uuid
            topicName: string
            partitions: [int32]
        ]
        initializedTopics: [
            topicId: uuid
            topicName: string
            partitions: [int32]
        ]
        deletingTopics: [
            topicId: uuid
            topicName: string
        ]
        """,
    ),
}
