"""Records of consumer groups (KIP-848) in `__consumer_offsets`: types 3 to 8 and 16.

Kafka: ConsumerGroupMetadataValue and its neighbors (4.3)
"""

from typing import Final

from workbench.decoders.typed_records import RecordType, record_type

CONSUMER_GROUP_TYPES: Final[dict[int, RecordType]] = {
    3: record_type("ConsumerGroupMetadata"),
    4: record_type("ConsumerGroupPartitionMetadata"),
    5: record_type("ConsumerGroupMemberMetadata"),
    6: record_type("ConsumerGroupTargetAssignmentMetadata"),
    7: record_type("ConsumerGroupTargetAssignmentMember"),
    8: record_type("ConsumerGroupCurrentMemberAssignment"),
    16: record_type("ConsumerGroupRegularExpression"),
}
