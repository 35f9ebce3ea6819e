"""The topic `__cluster_metadata` and its snapshots: the state of a KRaft cluster, change by change.

A data record has no key. Control records, which have keys, are about leaders, voters and snapshots.

Kafka: MetadataRecordSerde, AbstractApiMessageSerde (4.3)
"""

from typing import Any, Final

from workbench.decoders import api_records
from workbench.decoders.decoder import Bytes, Decoder, failure, printable, problem_of
from workbench.errors import CorruptRecordError
from workbench.record.control import (
    EndTransactionMarker,
    control_type_name,
    decode_control_record,
    decode_control_type,
)
from workbench.record.message_schema import Message, declare

_ENDPOINTS_AND_FEATURES: Final = """
    endPoints: [
        name: string
        host: string
        port: uint16
        securityProtocol: int16
    ]
    features: [
        name: string
        minSupportedVersion: int16
        maxSupportedVersion: int16
    ]
"""

MESSAGES: Final[dict[int, Message]] = {
    0: declare(
        "RegisterBrokerRecord",
        f"""
        brokerId: int32
        isMigratingZkBroker: bool versions 2+
        incarnationId: uuid
        brokerEpoch: int64
        {_ENDPOINTS_AND_FEATURES}
        rack: ?string
        fenced: bool = true
        inControlledShutdown: bool versions 1+
        logDirs: [uuid] tag 0 versions 3+
        cordonedLogDirs: ?[uuid] = null tag 1 versions 4+
        """,
        highest=4,
    ),
    1: declare("UnregisterBrokerRecord", "brokerId: int32\nbrokerEpoch: int64"),
    2: declare("TopicRecord", "name: string\ntopicId: uuid"),
    3: declare(
        "PartitionRecord",
        """
        partitionId: int32 = -1
        topicId: uuid
        replicas: [int32]
        isr: [int32]
        removingReplicas: [int32]
        addingReplicas: [int32]
        leader: int32 = -1
        leaderRecoveryState: int8 tag 0
        leaderEpoch: int32 = -1
        partitionEpoch: int32 = -1
        directories: [uuid] versions 1+
        eligibleLeaderReplicas: ?[int32] = null tag 1 versions 2+
        lastKnownElr: ?[int32] = null tag 2 versions 2+
        """,
        highest=2,
    ),
    4: declare(
        "ConfigRecord",
        """
        resourceType: int8
        resourceName: string
        name: string
        value: ?string
        """,
    ),
    5: declare(
        "PartitionChangeRecord",
        """
        partitionId: int32 = -1
        topicId: uuid
        isr: ?[int32] = null tag 0
        leader: int32 = -2 tag 1
        replicas: ?[int32] = null tag 2
        removingReplicas: ?[int32] = null tag 3
        addingReplicas: ?[int32] = null tag 4
        leaderRecoveryState: int8 = -1 tag 5
        directories: ?[uuid] = null tag 8 versions 1+
        eligibleLeaderReplicas: ?[int32] = null tag 6 versions 2+
        lastKnownElr: ?[int32] = null tag 7 versions 2+
        """,
        highest=2,
    ),
    7: declare("FenceBrokerRecord", "id: int32\nepoch: int64"),
    8: declare("UnfenceBrokerRecord", "id: int32\nepoch: int64"),
    9: declare("RemoveTopicRecord", "topicId: uuid"),
    10: declare(
        "DelegationTokenRecord",
        """
        owner: string
        requester: string
        renewers: [string]
        issueTimestamp: int64
        maxTimestamp: int64
        expirationTimestamp: int64
        tokenId: string
        """,
    ),
    11: declare(
        "UserScramCredentialRecord",
        """
        name: string
        mechanism: int8
        salt: bytes
        storedKey: bytes
        serverKey: bytes
        iterations: int32
        """,
    ),
    12: declare("FeatureLevelRecord", "name: string\nfeatureLevel: int16"),
    14: declare(
        "ClientQuotaRecord",
        """
        entity: [
            entityType: string
            entityName: ?string
        ]
        key: string
        value: float64
        remove: bool
        """,
    ),
    15: declare(
        "ProducerIdsRecord",
        """
        brokerId: int32
        brokerEpoch: int64 = -1
        nextProducerId: int64
        """,
    ),
    17: declare(
        "BrokerRegistrationChangeRecord",
        """
        brokerId: int32
        brokerEpoch: int64
        fenced: int8 tag 0
        inControlledShutdown: int8 tag 1 versions 1+
        logDirs: [uuid] tag 2 versions 2+
        cordonedLogDirs: ?[uuid] = null tag 3 versions 3+
        """,
        highest=3,
    ),
    18: declare(
        "AccessControlEntryRecord",
        """
        id: uuid
        resourceType: int8
        resourceName: string
        patternType: int8
        principal: string
        host: string
        operation: int8
        permissionType: int8
        """,
    ),
    19: declare("RemoveAccessControlEntryRecord", "id: uuid"),
    20: declare("NoOpRecord", ""),
    21: declare("ZkMigrationStateRecord", "zkMigrationState: int8"),
    22: declare("RemoveUserScramCredentialRecord", "name: string\nmechanism: int8"),
    23: declare("BeginTransactionRecord", "name: ?string = null tag 0"),
    24: declare("EndTransactionRecord", ""),
    25: declare("AbortTransactionRecord", "reason: ?string = null tag 0"),
    26: declare("RemoveDelegationTokenRecord", "tokenId: string"),
    27: declare(
        "RegisterControllerRecord",
        f"""
        controllerId: int32
        incarnationId: uuid
        zkMigrationReady: bool
        {_ENDPOINTS_AND_FEATURES}
        """,
    ),
    28: declare("ClearElrRecord", "topicName: string"),
}


def decode_key(data: Bytes | None) -> Any:
    """Return None for a data record, ``type`` and ``type_id`` for a control record."""
    if data is None:
        return None
    try:
        type_id = decode_control_type(data)
    except CorruptRecordError as error:
        return failure(problem_of(error), data)
    return {"type": control_type_name(type_id), "type_id": type_id}


def decode_value(key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, type_id, version and data; for a control record type, type_id and data.

    An unknown type has ``bytes`` instead of data.
    """
    if data is None:
        return None
    if key is not None:
        return _decode_control(key, data)
    return api_records.decode_value(MESSAGES, data)


def _decode_control(key: Bytes, data: Bytes) -> Any:
    try:
        record = decode_control_record(key, data)
    except CorruptRecordError as error:
        return failure(problem_of(error), data)
    result = {"type": record.name, "type_id": record.type}
    if isinstance(record.value, EndTransactionMarker):
        return {**result, "data": record.value._asdict()}
    if record.value is None:
        return {**result, "bytes": bytes(data).hex()}
    return {**result, "data": printable(record.value)}


CLUSTER_METADATA: Final = Decoder("cluster_metadata", decode_key, decode_value)
