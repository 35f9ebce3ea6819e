"""Records of streams groups (KIP-1071) in `__consumer_offsets`: types 17 to 23.

As Kafka 4.2 writes them; the early access of 4.1 wrote other fields under the same version.

Kafka: StreamsGroupMetadataValue and its neighbors (4.3)
"""

from typing import Final

from workbench.decoders.consumer_groups import PARTITION_METADATA
from workbench.decoders.typed_records import GROUP_KEY, MEMBER_KEY, RecordType, record_type


def _tasks(*names: str, epochs: str = "") -> str:
    return "\n".join(
        f"{name}: [\nsubtopologyId: string\npartitions: [int32]\n{epochs}\n]" for name in names
    )


def _topics(name: str) -> str:
    return f"""
        {name}: [
            name: string
            partitions: int32
            replicationFactor: int16
            topicConfigs: [
                key: string
                value: string
            ]
        ]
    """


STREAMS_GROUP_TYPES: Final[dict[int, RecordType]] = {
    17: record_type(
        "StreamsGroupMetadata",
        GROUP_KEY,
        """
        epoch: int32
        metadataHash: int64
        validatedTopologyEpoch: int32 = -1 tag 0
        lastAssignmentConfigs: ?[
            key: string
            value: string
        ] = [] tag 1
        """,
    ),
    18: record_type("StreamsGroupPartitionMetadata", GROUP_KEY, PARTITION_METADATA),
    19: record_type(
        "StreamsGroupMemberMetadata",
        MEMBER_KEY,
        """
        instanceId: ?string
        rackId: ?string
        clientId: string
        clientHost: string
        rebalanceTimeoutMs: int32 = -1
        topologyEpoch: int32
        processId: string
        userEndpoint: ?{
            host: string
            port: uint16
        }
        clientTags: [
            key: string
            value: string
        ]
        """,
    ),
    20: record_type(
        "StreamsGroupTargetAssignmentMetadata",
        GROUP_KEY,
        """
        assignmentEpoch: int32
        assignmentTimestamp: int64 tag 0
        """,
    ),
    21: record_type(
        "StreamsGroupTargetAssignmentMember",
        MEMBER_KEY,
        _tasks("activeTasks", "standbyTasks", "warmupTasks"),
    ),
    22: record_type(
        "StreamsGroupCurrentMemberAssignment",
        MEMBER_KEY,
        "memberEpoch: int32\npreviousMemberEpoch: int32\nstate: int8\n"
        + _tasks(
            "activeTasks",
            "standbyTasks",
            "warmupTasks",
            "activeTasksPendingRevocation",
            "standbyTasksPendingRevocation",
            "warmupTasksPendingRevocation",
            epochs="assignmentEpochs: ?[int32] = null tag 0",
        ),
    ),
    23: record_type(
        "StreamsGroupTopology",
        GROUP_KEY,
        f"""
        epoch: int32
        subtopologies: [
            subtopologyId: string
            sourceTopics: [string]
            sourceTopicRegex: [string]
            {_topics("stateChangelogTopics")}
            repartitionSinkTopics: [string]
            {_topics("repartitionSourceTopics")}
            copartitionGroups: [
                sourceTopics: [int16]
                sourceTopicRegex: [int16]
                repartitionSourceTopics: [int16]
            ]
        ]
        """,
    ),
}
