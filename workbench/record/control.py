"""Control records: the ends of transactions, and a KRaft quorum's leaders, voters and snapshots.

They take offsets like other records and are never given to consumers.

Kafka: ControlRecordType, EndTransactionMarker, ControlRecordUtils (4.2)
"""

import re
import struct
from typing import Any, Final, NamedTuple

from workbench.errors import CorruptRecordError
from workbench.layout.control_records import (
    ABORT,
    COMMIT,
    CONTROL_KEY,
    CONTROL_TYPE_NAMES,
    CONTROL_VERSION,
    END_TRANSACTION,
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
)
from workbench.layout.structure import as_struct
from workbench.record.message_schema import Message, message

_KEY: Final = as_struct(CONTROL_KEY)
_MARKER: Final = as_struct(END_TRANSACTION)
_VERSION: Final = struct.Struct(">h")

MESSAGES: Final[dict[int, Message]] = {
    LEADER_CHANGE: message("LeaderChangeMessage"),
    SNAPSHOT_HEADER: message("SnapshotHeaderRecord"),
    SNAPSHOT_FOOTER: message("SnapshotFooterRecord"),
    KRAFT_VERSION: message("KRaftVersionRecord"),
    KRAFT_VOTERS: message("VotersRecord"),
}


class EndTransactionMarker(NamedTuple):
    """The value of an abort or commit marker."""

    version: int
    coordinator_epoch: int


class ControlRecord(NamedTuple):
    """The content of a control record.

    Attributes:
        type: the type's number.
        name: the type's name, such as ``"commit"``; ``"unknown (337)"`` for a number without one.
        value: an `EndTransactionMarker`, or the fields of the message by Kafka's names; None for
            an unknown type, or when the record has no value.
    """

    type: int
    name: str
    value: EndTransactionMarker | dict[str, Any] | None

    def __str__(self) -> str:
        """Say what the record is: ``"commit marker, coordinator epoch 3"``."""
        if isinstance(self.value, EndTransactionMarker):
            return f"{self.name} marker, coordinator epoch {self.value.coordinator_epoch}"
        name = self.name.replace("_", " ")
        if self.value is None:
            return f"control record, type {name}"
        told = {key: value for key, value in self.value.items() if key != "version"}
        return ", ".join([name, *(f"{_spaced(key)} {_told(each)}" for key, each in told.items())])


def _spaced(name: str) -> str:
    """Return a field's name as text: ``leaderId`` as ``leader id``."""
    return re.sub(r"[A-Z]", lambda found: f" {found[0].lower()}", name.replace("kRaft", "kraft"))


def _told(value: Any) -> str:
    """Return a field's value as text; of a list's entries, the ids."""
    if isinstance(value, list):
        return " ".join(str(each.get("voterId", each)) for each in value) or "none"
    return str(value)


def control_type_name(control_type: int) -> str:
    """Return the name of a type number; one without a name as ``"unknown (337)"``."""
    return CONTROL_TYPE_NAMES.get(control_type, f"unknown ({control_type})")


def decode_control_type(key: bytes | memoryview | None) -> int:
    """Return the type number in the key of a control record; it need not be a known one.

    Raises:
        CorruptRecordError: the key is null, shorter than 4 bytes, or its version is negative.
    """
    if key is None or len(key) < _KEY.size:
        size = "no" if key is None else len(key)
        raise CorruptRecordError(
            None, None, f"the key of a control record has {size} bytes (expected at least 4)"
        )
    version, control_type = _KEY.unpack_from(key)
    if version < CONTROL_VERSION:
        raise CorruptRecordError(None, None, f"the key of a control record has version {version}")
    return int(control_type)


def encode_control_key(control_type: int) -> bytes:
    """Return the key of a control record."""
    return _KEY.pack(CONTROL_VERSION, control_type)


def decode_end_transaction(value: bytes | memoryview | None) -> EndTransactionMarker:
    """Return the content of an abort or commit marker; accept a longer, newer value.

    Raises:
        CorruptRecordError: the value is null, shorter than 6 bytes, or its version is negative.
    """
    if value is None or len(value) < _MARKER.size:
        size = "no" if value is None else len(value)
        raise CorruptRecordError(
            None, None, f"the value of a transaction marker has {size} bytes (expected 6)"
        )
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < CONTROL_VERSION:
        raise CorruptRecordError(None, None, f"a transaction marker has version {version}")
    return EndTransactionMarker(version, coordinator_epoch)


def encode_end_transaction(coordinator_epoch: int) -> bytes:
    """Return the value of an abort or commit marker."""
    return _MARKER.pack(CONTROL_VERSION, coordinator_epoch)


def decode_control_record(
    key: bytes | memoryview | None, value: bytes | memoryview | None
) -> ControlRecord:
    """Return the content of a control record.

    A value of a newer, unknown version is read as the newest known version.

    Raises:
        CorruptRecordError: the key or the value is too short, or its version is negative.
    """
    control_type = decode_control_type(key)
    name = control_type_name(control_type)
    if control_type in (ABORT, COMMIT):
        return ControlRecord(control_type, name, decode_end_transaction(value))
    message = MESSAGES.get(control_type)
    if message is None or value is None:
        return ControlRecord(control_type, name, None)
    return ControlRecord(control_type, name, _decode_message(message, value))


def encode_control_value(control_type: int, values: dict[str, Any]) -> bytes:
    """Return the value of a quorum's control record; ``values["version"]`` is its version.

    Raises:
        UnsupportedFormatError: the version is not known.
    """
    return MESSAGES[control_type].encode(values, values.get("version", 0))


def _decode_message(message: Message, value: bytes | memoryview) -> dict[str, Any]:
    # The version is the first field of the message itself.
    if len(value) < _VERSION.size:
        raise CorruptRecordError(
            None, None, f"the value of a {message.name} has {len(value)} bytes (expected 2)"
        )
    (version,) = _VERSION.unpack_from(value)
    if version < 0:
        raise CorruptRecordError(None, None, f"a {message.name} has version {version}")
    values, _ = message.decode(value, min(version, message.highest))
    return values
