"""The topic `__share_group_state`: which records of a partition a share group has delivered.

A snapshot holds the whole state of a share-partition, updates its later changes. Delivery states:
0 available, 2 acknowledged, 4 archived.

Kafka: ShareCoordinatorRecordSerde (4.3)
"""

from typing import Any, Final

from workbench.decoders import typed_records
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.typed_records import RecordType, record_type

TYPES: Final[dict[int, RecordType]] = {
    0: record_type("ShareSnapshot"),
    1: record_type("ShareUpdate"),
}


def decode_key(data: Bytes | None) -> Any:
    """Return type, type_id and data of a key; see `typed_records.decode_key`."""
    return typed_records.decode_key(TYPES, data)


def decode_value(key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, version and data of a value; see `typed_records.decode_value`."""
    return typed_records.decode_value(TYPES, key, data)


SHARE_GROUP_STATE: Final = Decoder("share_group_state", decode_key, decode_value)
