"""Records of streams groups (KIP-1071) in `__consumer_offsets`: types 17 to 23.

As Kafka 4.2 writes them; the early access of 4.1 wrote other fields under the same version.

Kafka: StreamsGroupMetadataValue and its neighbors (4.3)
"""

from typing import Final

from workbench.decoders.typed_records import RecordType, record_type

STREAMS_GROUP_TYPES: Final[dict[int, RecordType]] = {
    17: record_type("StreamsGroupMetadata"),
    18: record_type("StreamsGroupPartitionMetadata"),
    19: record_type("StreamsGroupMemberMetadata"),
    20: record_type("StreamsGroupTargetAssignmentMetadata"),
    21: record_type("StreamsGroupTargetAssignmentMember"),
    22: record_type("StreamsGroupCurrentMemberAssignment"),
    23: record_type("StreamsGroupTopology"),
}
