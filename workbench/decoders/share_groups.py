"""Records of share groups (KIP-932) in `__consumer_offsets`: types 9 to 15.

As Kafka 4.1 and 4.2 write them; the early access of 4.0 wrote other fields under the same version.

Kafka: ShareGroupMetadataValue and its neighbors (4.3)
"""

from typing import Final

from workbench.decoders.typed_records import RecordType, record_type

SHARE_GROUP_TYPES: Final[dict[int, RecordType]] = {
    9: record_type("ShareGroupPartitionMetadata"),
    10: record_type("ShareGroupMemberMetadata"),
    11: record_type("ShareGroupMetadata"),
    12: record_type("ShareGroupTargetAssignmentMetadata"),
    13: record_type("ShareGroupTargetAssignmentMember"),
    14: record_type("ShareGroupCurrentMemberAssignment"),
    15: record_type("ShareGroupStatePartitionMetadata"),
}
