"""Topics of Kafka's coordinators: a key begins with the record's type, a value with its version.

    key    ::=  type: int16     message of the key, never flexible
    value  ::=  version: int16  message of the value; a null value deletes

Bytes after either message are ignored, as in Kafka.

Kafka: CoordinatorRecordSerde (4.2)
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from workbench.decoders.decoder import Bytes, failure, printable, problem_of
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record.message_schema import Message, message

_INT16: Final = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record.

    Attributes:
        name: as in Kafka's definition, without Key or Value.
        key, value: the messages.
        refine: changes a decoded value in place, to decode fields of bytes.
    """

    name: str
    key: Message
    value: Message
    refine: Callable[[dict[str, Any]], None] | None = field(default=None)


def record_type(name: str, refine: Callable[[dict[str, Any]], None] | None = None) -> RecordType:
    """Return the type whose messages are ``<name>Key`` and ``<name>Value``."""
    return RecordType(name, message(f"{name}Key"), message(f"{name}Value"), refine)


class Key(NamedTuple):
    """A key that was read.

    Attributes:
        type_id: the number at its start.
        type: the record type; None if unknown.
        fields: the message's fields; empty if the type is unknown.
    """

    type_id: int
    type: RecordType | None
    fields: dict[str, Any]


class Value(NamedTuple):
    """A value that was read.

    Attributes:
        version: the number at its start.
        fields: the message's fields: a class of `decoders.records`; bytes remain bytes.
    """

    version: int
    fields: Any


def read_key(types: dict[int, RecordType], data: Bytes) -> Key:
    """Read a key.

    Raises:
        CorruptRecordError: the bytes do not fit.
    """
    type_id = _leading_number(data, "a key begins with its type")
    known = types.get(type_id)
    if known is None:
        return Key(type_id, None, {})
    return Key(type_id, known, known.key.decode(data, known.key.lowest, _INT16.size)[0])


def read_value(known: RecordType, data: Bytes, *, refines: bool = True) -> Value:
    """Read a value of a known type.

    Args:
        known: the type.
        data: the value.
        refines: whether fields of bytes are decoded, too (`RecordType.refine`).

    Raises:
        CorruptRecordError: the bytes do not fit.
        UnsupportedFormatError: the version is unknown.
    """
    version = _leading_number(data, "a value begins with its version")
    fields, _ = known.value.decode(data, version, _INT16.size)
    if refines and known.refine is not None:
        known.refine(fields)
    return Value(version, fields)


def decode_key(types: dict[int, RecordType], data: Bytes | None) -> Any:
    """Return ``{"type": name, "type_id": number, "data": fields}``.

    An unknown type has ``bytes``, the hex of what follows the number, instead of data.
    """
    if data is None:
        return None
    try:
        type_id, known, fields = read_key(types, data)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return failure(problem_of(error), data)
    if known is None:
        name = f"unknown ({type_id})"
        return {"type": name, "type_id": type_id, "bytes": bytes(data[_INT16.size :]).hex()}
    return {"type": known.name, "type_id": type_id, "data": printable(fields)}


def decode_value(types: dict[int, RecordType], key: Bytes | None, data: Bytes | None) -> Any:
    """Return ``{"type": name, "version": number, "data": fields}``; None for a tombstone.

    A value of an unknown type has ``bytes`` instead of version and data.
    """
    if data is None:
        return None
    if key is None:
        return failure("the record has no key, so its type is unknown", data)
    try:
        type_id = _leading_number(key, "a key begins with its type")
        known = types.get(type_id)
        if known is None:
            return {"type": f"unknown ({type_id})", "bytes": bytes(data).hex()}
        version, fields = read_value(known, data)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return failure(problem_of(error), data)
    return {"type": known.name, "version": version, "data": printable(fields)}


def _leading_number(data: Bytes, rule: str) -> int:
    if len(data) < _INT16.size:
        raise CorruptRecordError(None, None, f"{rule} (found {len(data)} bytes, expected 2)")
    return int(_INT16.unpack_from(data)[0])
