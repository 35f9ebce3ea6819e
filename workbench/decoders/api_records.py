"""Topics whose values name their type: three unsigned varints, then the message.

    value  ::=  frame version: 1  type  version  message

Kafka: AbstractApiMessageSerde, BytesApiMessageSerde (4.2)
"""

from typing import Any, Final

from workbench.decoders.decoder import Bytes, failure, printable, problem_of
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record import varint
from workbench.record.message_schema import Message

FRAME_VERSION: Final = 1  # the preview in Kafka 2.8 had 0


def decode_value(messages: dict[int, Message], data: Bytes) -> Any:
    """Return ``{"type": name, "type_id": number, "version": number, "data": fields}``.

    Args:
        messages: by type number.
        data: a whole value that ends with the message.

    Returns:
        The same with ``bytes`` instead of data for an unknown type; a failure when the bytes do
        not fit.
    """
    try:
        frame, at = varint.decode_unsigned(data, 0)
        if frame != FRAME_VERSION:
            return failure(f"the frame has version {frame}, expected {FRAME_VERSION}", data)
        type_id, at = varint.decode_unsigned(data, at)
        version, at = varint.decode_unsigned(data, at)
        message = messages.get(type_id)
        if message is None:
            return {
                "type": f"unknown ({type_id})",
                "type_id": type_id,
                "version": version,
                "bytes": bytes(data[at:]).hex(),
            }
        values, end = message.decode(data, version, at)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return failure(problem_of(error), data)
    if end != len(data):
        return failure(f"byte {end}: {len(data) - end} bytes after a {message.name}", data)
    return {
        "type": message.name,
        "type_id": type_id,
        "version": version,
        "data": printable(values),
    }
