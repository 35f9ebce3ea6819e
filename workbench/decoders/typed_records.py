"""Topics of Kafka's coordinators: the key says which type of record it is, the value its version.

    key    ::=  type: int16     message of the key, never flexible
    value  ::=  version: int16  message of the value; a null value deletes

Bytes behind either message are not looked at, as in Kafka.

Kafka: CoordinatorRecordSerde (4.2)
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.decoders.decoder import Bytes, failure, printable, problem_of
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record.message import Message, declare

_INT16: Final = struct.Struct(">h")

GROUP_KEY: Final = "groupId: string"
MEMBER_KEY: Final = "groupId: string\nmemberId: string"


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record.

    Attributes:
        name: as in Kafka's definition, without Key or Value.
        key, value: the messages.
        refine: changes a decoded value in place, to decode what is packed into its bytes.
    """

    name: str
    key: Message
    value: Message
    refine: Callable[[dict[str, Any]], None] | None = field(default=None)


def record_type(
    name: str,
    key: str,
    value: str,
    *,
    highest: int = 0,
    flexible: int | None = 0,
    refine: Callable[[dict[str, Any]], None] | None = None,
) -> RecordType:
    """Return the type with these messages, in the notation of `record.message`.

    Args:
        highest: version of the value.
        flexible: first flexible version of the value.
    """
    return RecordType(
        name,
        declare(f"{name}Key", key, flexible=None),
        declare(f"{name}Value", value, highest=highest, flexible=flexible),
        refine,
    )


def decode_key(types: dict[int, RecordType], data: Bytes | None) -> Any:
    """Return ``{"type": name, "type_id": number, "data": fields}``.

    A type that is not known has ``bytes``, the hex of what follows the number, instead of data.
    """
    if data is None:
        return None
    try:
        type_id = _leading_number(data, "a key begins with its type")
        known = types.get(type_id)
        if known is None:
            name = f"unknown ({type_id})"
            return {"type": name, "type_id": type_id, "bytes": bytes(data[_INT16.size :]).hex()}
        values, _ = known.key.decode(data, 0, _INT16.size)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return failure(problem_of(error), data)
    return {"type": known.name, "type_id": type_id, "data": printable(values)}


def decode_value(types: dict[int, RecordType], key: Bytes | None, data: Bytes | None) -> Any:
    """Return ``{"type": name, "version": number, "data": fields}``; None for a tombstone.

    A value whose type is not known has ``bytes`` instead of version and data.
    """
    if data is None:
        return None
    if key is None:
        return failure("the record has no key, which would tell its type", data)
    try:
        type_id = _leading_number(key, "a key begins with its type")
        known = types.get(type_id)
        if known is None:
            return {"type": f"unknown ({type_id})", "bytes": bytes(data).hex()}
        version = _leading_number(data, "a value begins with its version")
        values, _ = known.value.decode(data, version, _INT16.size)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return failure(problem_of(error), data)
    if known.refine is not None:
        known.refine(values)
    return {"type": known.name, "version": version, "data": printable(values)}


def _leading_number(data: Bytes, rule: str) -> int:
    if len(data) < _INT16.size:
        raise CorruptRecordError(None, None, f"{rule}, 2 bytes; there are {len(data)}")
    return int(_INT16.unpack_from(data)[0])
