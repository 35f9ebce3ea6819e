"""The records of `__transaction_state`: written as a broker of 4.2 does, and read.

Kafka: TransactionLog (4.2)
"""

import struct
from typing import Final

from workbench.coordinator.runtime.records import encode_record
from workbench.coordinator.transactions.serving.scala_order import order_of_map, order_of_set
from workbench.coordinator.transactions.serving.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.serving.transaction_metadata import TxnTransitMetadata
from workbench.decoders.records.transaction_log_value import (
    PartitionsSchema,
    TransactionLogValue,
)
from workbench.decoders.transaction_state import TYPES
from workbench.errors import InvalidTransitionError, UnsupportedFormatError

_TYPE_ID: Final = 0
_TYPE: Final = TYPES[_TYPE_ID]
_PREFIX: Final = struct.Struct(">h")


def key_to_bytes(transactional_id: str) -> bytes:
    """Return a record's key.

    Kafka: TransactionLog.keyToBytes (4.2)
    """
    return encode_record(_TYPE, _TYPE_ID, {"transactionalId": transactional_id}).key


def value_to_bytes(transit: TxnTransitMetadata, version: TransactionVersion) -> bytes:
    """Return a record's value.

    The producer ids before and after a change are not in it: 4.2 does not write them.

    Args:
        transit: the next state.
        version: the cluster's; it decides about the version of the value.

    Raises:
        InvalidTransitionError: the state is Empty and there are partitions.
        UnsupportedFormatError: the client uses a transaction version that the cluster does not.

    Kafka: TransactionLog.valueToBytes (4.2)
    """
    partitions: list[PartitionsSchema] | None = None
    if transit.state is not TransactionState.EMPTY:
        numbers: dict[str, list[int]] = {}
        for topic, number in transit.partitions:
            numbers.setdefault(topic, []).append(number)
        partitions = [
            {"topic": topic, "partitionIds": order_of_set(numbers[topic])}
            for topic in order_of_map(numbers)
        ]
    elif transit.partitions:
        raise InvalidTransitionError(f"a transaction in state Empty has partitions: {transit}")
    number = version.value_version
    if number == 0 and transit.client_transaction_version:
        raise UnsupportedFormatError(
            None, None, f"values of version 0 do not hold a client's transaction version: {transit}"
        )
    fields: TransactionLogValue = {
        "producerId": transit.producer_id,
        "producerEpoch": transit.producer_epoch,
        "transactionTimeoutMs": transit.timeout_ms,
        "transactionStatus": transit.state.number,
        "transactionPartitions": partitions,
        "transactionLastUpdateTimestampMs": transit.last_update_timestamp,
        "transactionStartTimestampMs": transit.start_timestamp,
        "clientTransactionVersion": transit.client_transaction_version,
    }
    return _PREFIX.pack(number) + _TYPE.value.encode(fields, number)
