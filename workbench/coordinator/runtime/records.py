"""What a coordinator's operation returns: the records to write, and the answer.

Kafka: CoordinatorRecord, CoordinatorResult (4.2)
"""

import struct
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from workbench.decoders.typed_records import RecordType
from workbench.runtime.error_codes import ErrorCode

_NUMBER: Final = struct.Struct(">h")

T = TypeVar("T")


class CoordinatorRecord(NamedTuple):
    """Key and value as a coordinator writes them; value None: a tombstone."""

    key: bytes
    value: bytes | None


class CoordinatorResult(NamedTuple, Generic[T]):
    """The result of an operation.

    Attributes:
        records: the records that the operation writes, in their order; none: nothing is written.
        response: the answer once the records are written.
        is_atomic: whether all records must be in one batch.
        on_append: called once the records are written, or with the error of the append: for an
            operation that has changed the state by itself, so that its records are not replayed.
    """

    records: list[CoordinatorRecord]
    response: T
    is_atomic: bool = True
    on_append: Callable[[ErrorCode], None] | None = None


def nothing_to_write() -> CoordinatorResult[None]:
    """Return the result of an operation without records and answer.

    Kafka: GroupMetadataManager.EMPTY_RESULT (4.2)
    """
    return CoordinatorResult([], None)


def encode_record(
    known: RecordType,
    type_id: int,
    key: dict[str, Any],
    value: dict[str, Any] | None = None,
    version: int = 0,
) -> CoordinatorRecord:
    """Return the bytes of a record.

    Args:
        known: the type of the record; ``type_id`` is its number.
        key, value: the fields by Kafka's names; value None: a tombstone.
        version: the value's version.

    Raises:
        UnsupportedFormatError: the version is not known.

    Kafka: CoordinatorRecordSerde.serializeKey, serializeValue (4.2)
    """
    key_bytes = _NUMBER.pack(type_id) + known.key.encode(key, known.key.lowest)
    if value is None:
        return CoordinatorRecord(key_bytes, None)
    return CoordinatorRecord(key_bytes, _NUMBER.pack(version) + known.value.encode(value, version))
