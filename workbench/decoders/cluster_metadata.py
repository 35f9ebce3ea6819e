"""The topic `__cluster_metadata` and its snapshots: the state of a KRaft cluster, change by change.

A data record has no key. Control records, which have keys, are about leaders, voters and snapshots.

Kafka: MetadataRecordSerde, AbstractApiMessageSerde (4.4)
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
from workbench.record.message_schema import Message, message

MESSAGES: Final[dict[int, Message]] = {
    0: message("RegisterBrokerRecord"),
    1: message("UnregisterBrokerRecord"),
    2: message("TopicRecord"),
    3: message("PartitionRecord"),
    4: message("ConfigRecord"),
    5: message("PartitionChangeRecord"),
    7: message("FenceBrokerRecord"),
    8: message("UnfenceBrokerRecord"),
    9: message("RemoveTopicRecord"),
    10: message("DelegationTokenRecord"),
    11: message("UserScramCredentialRecord"),
    12: message("FeatureLevelRecord"),
    14: message("ClientQuotaRecord"),
    15: message("ProducerIdsRecord"),
    17: message("BrokerRegistrationChangeRecord"),
    18: message("AccessControlEntryRecord"),
    19: message("RemoveAccessControlEntryRecord"),
    20: message("NoOpRecord"),
    21: message("ZkMigrationStateRecord"),
    22: message("RemoveUserScramCredentialRecord"),
    23: message("BeginTransactionRecord"),
    24: message("EndTransactionRecord"),
    25: message("AbortTransactionRecord"),
    26: message("RemoveDelegationTokenRecord"),
    27: message("RegisterControllerRecord"),
    28: message("ClearElrRecord"),
    29: message("UnregisterControllerRecord"),
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
