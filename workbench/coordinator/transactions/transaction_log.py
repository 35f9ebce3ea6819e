"""The records of `__transaction_state`: written as a broker of 4.2 does, and read.

Kafka: TransactionLog (4.2)
"""

import struct
from collections.abc import Iterable
from typing import Final

from workbench.coordinator.runtime.partitioning import java_hash
from workbench.coordinator.runtime.records import encode_record
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_metadata import TxnTransitMetadata
from workbench.decoders.records import (
    TransactionLogValue,
    TransactionLogValuePartitionsSchema,
)
from workbench.decoders.transaction_state import TYPES
from workbench.errors import InvalidTransitionError, UnsupportedFormatError

# A broker writes the partitions of a transaction in the order of Scala 2.13's hash collections. It
# means nothing to a reader; with it our records have the same bytes as the broker's.
_BITS = 5  # of the hash, for each level of an immutable map
_WORD = 0xFFFFFFFF


def order_of_map(names: Iterable[str]) -> list[str]:
    """Return keys in the order of an immutable map that holds them.

    Scala: immutable.HashMap, Hashing.improve (2.13)
    """
    return _level([(_improved(java_hash(name)), name) for name in names], 0)


def _level(keys: list[tuple[int, str]], shift: int) -> list[str]:
    """Return the keys below one node: first those that are alone in their slot."""
    slots: dict[int, list[tuple[int, str]]] = {}
    for key in keys:
        slots.setdefault(key[0] >> shift & (1 << _BITS) - 1, []).append(key)
    ordered = [slots[slot] for slot in sorted(slots)]
    found = [slot[0][1] for slot in ordered if len(slot) == 1]
    for slot in ordered:
        if len(slot) > 1:
            is_deep = shift + _BITS >= 32  # the hashes are equal
            found += sorted(key[1] for key in slot) if is_deep else _level(slot, shift + _BITS)
    return found


def _improved(code: int) -> int:
    word = code & _WORD
    word = (word + (~(word << 9) & _WORD)) & _WORD
    word ^= word >> 14
    word = (word + (word << 4)) & _WORD
    return word ^ (word >> 10)


def order_of_set(numbers: Iterable[int]) -> list[int]:
    """Return int32 numbers, 0 or more, in the order of a mutable set made with room for them.

    Scala: mutable.HashSet.from (2.13)
    """
    chosen = set(numbers)
    room = max(int((len(chosen) + 1) / 0.75) - 1, 4)
    buckets = 1 << room.bit_length()
    return sorted(chosen, key=lambda each: ((each ^ each >> 16) & (buckets - 1), each ^ each >> 16))


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
    partitions: list[TransactionLogValuePartitionsSchema] | None = None
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
