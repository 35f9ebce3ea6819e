"""The topics of MirrorMaker 2: checkpoints, offset syncs and heartbeats.

    X.checkpoints.internal         in the target: where a group of cluster X goes on there
    mm2-offset-syncs.X.internal    in the source: pairs of equal offsets, for the target X
    heartbeats                     the connector runs

    key    ::=  the fields of its schema, one after the other
    value  ::=  version: int16, but for offset syncs, and the fields

A text is an int16 of bytes, then UTF-8.

Kafka: Checkpoint, OffsetSync, Heartbeat of connect-mirror (4.2)
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder, failure

_VERSION: Final = struct.Struct(">h")
_NUMBERS: Final = {"int32": struct.Struct(">i"), "int64": struct.Struct(">q")}

Fields = Mapping[str, str]
"""Name of a field → string, int32 or int64."""


class _Wrong(ValueError):  # noqa: N818 - becomes a failure
    """What is wrong with the bytes."""


@dataclass(frozen=True)
class _Kind:
    """A kind of record.

    Attributes:
        name: what its keys and values are called.
        key, value: the fields.
        has_version: whether a version precedes those of the value.
    """

    name: str
    key: Fields
    value: Fields
    has_version: bool = True

    def decode_key(self, data: Bytes | None) -> Any:
        """Return the fields of a key, or a failure."""
        return None if data is None else self._decoded(self.key, bytes(data), 0)

    def decode_value(self, data: Bytes | None) -> Any:
        """Return the fields of a value, or a failure."""
        if data is None:
            return None
        content = bytes(data)
        if not self.has_version:
            return self._decoded(self.value, content, 0)
        if len(content) < _VERSION.size:
            return failure(f"{len(content)} bytes, expected a version", data)
        (version,) = _VERSION.unpack_from(content)
        if version != 0:
            return failure(f"version {version} of a {self.name}, expected 0", data)
        return self._decoded(self.value, content, _VERSION.size)

    def _decoded(self, fields: Fields, content: bytes, at: int) -> Any:
        found: dict[str, Any] = {}
        for name, kind in fields.items():
            try:
                found[name], at = _field(kind, content, at)
            except _Wrong as wrong:
                return failure(f"{name} of a {self.name}: {wrong}", content)
        return found


def _field(kind: str, content: bytes, at: int) -> tuple[Any, int]:
    """Return a field, and the position after it.

    Raises:
        _Wrong: the bytes end before it does, or are not UTF-8.
    """
    number = _NUMBERS.get(kind, _VERSION)
    end = at + number.size
    if end > len(content):
        raise _Wrong(f"ends at byte {len(content)}, before {end}")
    (value,) = number.unpack_from(content, at)
    if kind != "string":
        return value, end
    if not 0 <= value <= len(content) - end:
        raise _Wrong(f"a length of {value} bytes, where {len(content) - end} are left")
    try:
        return content[end : end + value].decode(), end + value
    except UnicodeDecodeError:
        raise _Wrong("not UTF-8") from None


_CHECKPOINT: Final = _Kind(
    "checkpoint",
    {"group": "string", "topic": "string", "partition": "int32"},
    {"upstreamOffset": "int64", "offset": "int64", "metadata": "string"},
)
_OFFSET_SYNC: Final = _Kind(
    "offset sync",
    {"topic": "string", "partition": "int32"},
    {"upstreamOffset": "int64", "offset": "int64"},
    has_version=False,
)
_HEARTBEAT: Final = _Kind(
    "heartbeat",
    {"sourceClusterAlias": "string", "targetClusterAlias": "string"},
    {"timestamp": "int64"},
)


def checkpoint_key(data: Bytes | None) -> Any:
    """Return group, topic and partition of a key, or a failure."""
    return _CHECKPOINT.decode_key(data)


def checkpoint_value(_key: Bytes | None, data: Bytes | None) -> Any:
    """Return upstreamOffset, offset and metadata of a value, or a failure."""
    return _CHECKPOINT.decode_value(data)


def offset_sync_key(data: Bytes | None) -> Any:
    """Return topic and partition of a key, or a failure."""
    return _OFFSET_SYNC.decode_key(data)


def offset_sync_value(_key: Bytes | None, data: Bytes | None) -> Any:
    """Return upstreamOffset and offset of a value, or a failure."""
    return _OFFSET_SYNC.decode_value(data)


def heartbeat_key(data: Bytes | None) -> Any:
    """Return sourceClusterAlias and targetClusterAlias of a key, or a failure."""
    return _HEARTBEAT.decode_key(data)


def heartbeat_value(_key: Bytes | None, data: Bytes | None) -> Any:
    """Return the timestamp of a value, in ms, or a failure."""
    return _HEARTBEAT.decode_value(data)


MM2_CHECKPOINTS: Final = Decoder("mm2_checkpoints", checkpoint_key, checkpoint_value)
MM2_OFFSET_SYNCS: Final = Decoder("mm2_offset_syncs", offset_sync_key, offset_sync_value)
MM2_HEARTBEATS: Final = Decoder("mm2_heartbeats", heartbeat_key, heartbeat_value)

_TOPICS: Final = (
    (re.compile(r".+\.checkpoints\.internal"), MM2_CHECKPOINTS),
    (re.compile(r"mm2-offset-syncs\..+\.internal"), MM2_OFFSET_SYNCS),
)


def mirror_maker_decoder(topic: str) -> Decoder | None:
    """Return the decoder of one of MirrorMaker's topics; None for any other name.

    Not of `heartbeats`, a name that other topics have, too: ask for ``mm2_heartbeats``.

    Kafka: DefaultReplicationPolicy.checkpointsTopic, offsetSyncsTopic (4.2)
    """
    return next((each for name, each in _TOPICS if name.fullmatch(topic)), None)
