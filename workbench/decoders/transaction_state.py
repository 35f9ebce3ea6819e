"""The topic `__transaction_state`: the newest state of every transactional id.

Kafka: TransactionLog, TransactionLogValue (4.3)
"""

from typing import Any, Final

from workbench.decoders import typed_records
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.typed_records import RecordType, record_type

STATUS_NAMES: Final = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}

TYPES: Final[dict[int, RecordType]] = {0: record_type("TransactionLog")}


def decode_key(data: Bytes | None) -> Any:
    """Return type, type_id and data of a key; see `typed_records.decode_key`."""
    return typed_records.decode_key(TYPES, data)


def decode_value(key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, version, data and ``status``, the name of its number; None for a tombstone."""
    value = typed_records.decode_value(TYPES, key, data)
    if isinstance(value, dict) and "data" in value:
        number = value["data"]["transactionStatus"]
        value["status"] = STATUS_NAMES.get(number, f"unknown ({number})")
    return value


TRANSACTION_STATE: Final = Decoder("transaction_state", decode_key, decode_value)
