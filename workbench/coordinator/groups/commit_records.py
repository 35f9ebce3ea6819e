"""Read and write records of committed offsets, types 0 and 1: the most frequent ones by far.

Their messages are declared in `decoders.consumer_offsets`. The fields of a value are at positions
that only the metadata's length moves, so most are read by two structs; any other value is left to
the reader of messages, which reports what is wrong.

Kafka: OffsetCommitKey, OffsetCommitValue (4.2)
"""

import struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.runtime.log_records import LogChunk
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.records import (
    OffsetCommitValue,
)
from workbench.decoders.typed_records import RecordType, read_key, read_value
from workbench.files.names import TopicPartition
from workbench.record.message_schema import NULL_UUID, uuid_text

OFFSET_TYPES: Final = frozenset({0, 1})

_OFFSET: Final = TYPES[1]
_ABSENT: Final = -1
_MOST_KEYS: Final = 1 << 16  # that are remembered

# Version, offset, leader epoch from version 3 on, length of the metadata; then what follows that.
_HEAD: Final = struct.Struct(">hqh")
_HEAD_3: Final = struct.Struct(">hqih")
_TIME: Final = struct.Struct(">q")
_TIMES: Final = struct.Struct(">qq")

# From version 4 on lengths are varints of n + 1, and tagged fields follow: the topic id, or none.
_FLEXIBLE: Final = 4
_HEAD_4: Final = struct.Struct(">hqiB")
_TIME_AND_TAGS: Final = struct.Struct(">qB")
_LARGEST_BYTE: Final = 0x7F  # of a varint
_TOPIC_ID: Final = b"\x00\x10"  # tag 0 with 16 bytes
_TOPIC_ID_SIZE: Final = 18

# Version → bytes before the metadata, their length last, and bytes that follow it at least.
_PLACES: Final = {
    0: (_HEAD.size, _TIME.size),
    1: (_HEAD.size, _TIMES.size),
    2: (_HEAD.size, _TIME.size),
    3: (_HEAD_3.size, _TIME.size),
    4: (_HEAD_4.size, _TIME_AND_TAGS.size),
}
_SMALLEST_KEY: Final = 10  # type, two lengths, the partition

_COMMIT_KEY: Final = 1  # the type that brokers write
_KEY_START: Final = struct.Struct(">hh")
_LENGTH: Final = struct.Struct(">h")
_PARTITION: Final = struct.Struct(">i")
_VERSION: Final = struct.Struct(">h")


class CommitKey(NamedTuple):
    """What an offset is committed for."""

    group: str
    where: TopicPartition


class CommitReader:
    """Read keys of commits; cache them, because the same ones recur.

    Attributes:
        keys: the cached keys by their bytes; a null key is none of them.
    """

    def __init__(self) -> None:
        self.keys: dict[bytes | None, CommitKey] = {}

    def key(self, data: bytes) -> CommitKey:
        """Return the contents of a key.

        Raises:
            CorruptRecordError: the bytes do not fit.
        """
        key = _read_key_quickly(data)
        if key is None:
            fields = read_key(TYPES, data).fields
            key = CommitKey(fields["group"], TopicPartition(fields["topic"], fields["partition"]))
        if len(self.keys) >= _MOST_KEYS:
            self.keys.clear()
        self.keys[data] = key
        return key


def _read_key_quickly(data: bytes) -> CommitKey | None:
    """Return the contents of a key if it has the usual layout; None otherwise."""
    if len(data) < _SMALLEST_KEY:
        return None
    kind, size = _KEY_START.unpack_from(data)
    middle = _KEY_START.size + size
    if kind not in OFFSET_TYPES or size < 0 or middle + _LENGTH.size > len(data):
        return None
    (length,) = _LENGTH.unpack_from(data, middle)
    start = middle + _LENGTH.size
    end = start + length
    if length < 0 or end + _PARTITION.size != len(data):
        return None
    group = data[_KEY_START.size : middle].decode("utf-8", "replace")
    topic = data[start:end].decode("utf-8", "replace")
    return CommitKey(group, TopicPartition(topic, _PARTITION.unpack_from(data, end)[0]))


def read_commit(data: bytes, record_offset: int, known: RecordType = _OFFSET) -> OffsetAndMetadata:
    """Return the value of a commit.

    Args:
        data: the value's bytes.
        record_offset: the record's offset in the coordinator's log.
        known: the type of the record.

    Raises:
        CorruptRecordError: the bytes do not fit.
        UnsupportedFormatError: the version is not known.
    """
    quick = _read_quickly(data, record_offset)
    if quick is not None:
        return quick
    version, fields = read_value(known, data)
    return _of_fields(fields, version, record_offset)


def _read_quickly(data: bytes, record_offset: int) -> OffsetAndMetadata | None:
    """Return the value if it has the usual layout; None otherwise."""
    if len(data) < _HEAD_3.size:
        return None
    version, offset, size = _HEAD.unpack_from(data)
    if not 0 <= version <= _FLEXIBLE:
        return None
    epoch, at, tail = _ABSENT, _HEAD.size, _TIMES if version == 1 else _TIME
    if version == _FLEXIBLE:
        _, offset, epoch, size = _HEAD_4.unpack_from(data)
        at, tail = _HEAD_4.size, _TIME_AND_TAGS
        size = -1 if size > _LARGEST_BYTE else size - 1
    elif version == _FLEXIBLE - 1:
        _, offset, epoch, size = _HEAD_3.unpack_from(data)
        at = _HEAD_3.size
    end = at + size
    if size < 0 or end + tail.size > len(data):
        return None
    commit, *rest = tail.unpack_from(data, end)
    expires, topic_id = rest[0] if version == 1 else _ABSENT, NULL_UUID
    if version == _FLEXIBLE and rest[0]:
        tags = data[end + tail.size :]
        if rest[0] != 1 or tags[:2] != _TOPIC_ID or len(tags) < _TOPIC_ID_SIZE:
            return None
        topic_id = uuid_text(tags[2:_TOPIC_ID_SIZE])
    return OffsetAndMetadata(
        offset,
        None if epoch == _ABSENT else epoch,
        data[at:end].decode("utf-8", "replace"),
        commit,
        None if expires == _ABSENT else expires,
        None if topic_id == NULL_UUID else topic_id,
        record_offset,
        version,
    )


def usual_commits(
    chunk: LogChunk, *, in_transactions: bool = False
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int16]]:
    """Return which records of a chunk are commits of the usual kind, and the values' versions.

    Those for which `read_commit` reads the value by two structs. Of a run of them only the last of
    each key needs to be read.

    Args:
        chunk: the records.
        in_transactions: also those in transactions.

    Returns:
        bool[n] and int16[n], -1 where it is not known.
    """
    keys, values, rows = chunk.keys, chunk.values, chunk.rows
    is_plain = ~rows["is_control"]
    if not in_transactions:
        is_plain &= ~rows["is_transactional"]
    large = (keys.sizes() >= _SMALLEST_KEY) & (values.sizes() >= _HEAD_3.size)
    at = np.flatnonzero(is_plain[chunk.columns.batch] & large)
    usual, versions = np.zeros(len(chunk), np.bool_), np.full(len(chunk), -1, np.int16)
    start, size, data = values.offsets[at], values.sizes()[at], values.data
    version = int16_at(data, start)
    fits = int16_at(keys.data, keys.offsets[at]) >> 1 == 0  # types 0 and 1
    for number, (head, tail) in _PLACES.items():
        mine = fits & (version == number)
        if not mine.any():
            continue
        first = start[mine]
        length = int16_at(data, first + head - 2)
        if number == _FLEXIBLE:
            length = data[first + head - 1].astype(np.int64) - 1
            length[length >= _LARGEST_BYTE] = -1
        end = head + length + tail
        good = (length >= 0) & (end <= size[mine])
        if number == _FLEXIBLE:
            tags = data[first + np.where(good, end - 1, 0)]
            good &= (tags == 0) | _has_topic_id(data, first, np.where(good, end, 0), size[mine])
        found = at[mine][good]
        usual[found], versions[found] = True, number
    return usual, versions


def int16_at(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the big-endian int16 at each position."""
    high = data[at].astype(np.int8).astype(np.int64)
    return (high << 8) | data[at + 1]


def _has_topic_id(
    data: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return where one tagged field follows ``end``, the topic id."""
    is_there = (end > 0) & (end + _TOPIC_ID_SIZE <= size)
    at = start + np.where(is_there, end, 1)
    is_one = (data[at - 1] == 1) & (data[at] == _TOPIC_ID[0]) & (data[at + 1] == _TOPIC_ID[1])
    found: npt.NDArray[np.bool_] = is_there & is_one
    return found


def _of_fields(fields: OffsetCommitValue, version: int, record_offset: int) -> OffsetAndMetadata:
    epoch = fields.get("leaderEpoch", _ABSENT)
    expires = fields.get("expireTimestamp", _ABSENT)
    topic_id = fields.get("topicId", NULL_UUID)
    return OffsetAndMetadata(
        fields["offset"],
        None if epoch == _ABSENT else epoch,
        fields["metadata"],
        fields["commitTimestamp"],
        None if expires == _ABSENT else expires,
        None if topic_id == NULL_UUID else topic_id,
        record_offset,
        version,
    )


def commit_key(group: str, where: TopicPartition) -> bytes:
    """Return the key of a commit or of its tombstone, type 1.

    Kafka: GroupCoordinatorRecordHelpers.newOffsetCommitTombstoneRecord (4.2)
    """
    name, topic = group.encode("utf-8", "replace"), where.topic.encode("utf-8", "replace")
    return b"".join((
        _KEY_START.pack(_COMMIT_KEY, len(name)), name,
        _LENGTH.pack(len(topic)), topic, _PARTITION.pack(where.partition),
    ))  # fmt: skip


def commit_value(value: OffsetAndMetadata) -> bytes:
    """Return the value of a commit in the version that it names; fields it lacks are dropped.

    Kafka: GroupCoordinatorRecordHelpers.newOffsetCommitRecord (4.2)
    """
    version = value.version
    epoch = _ABSENT if value.leader_epoch is None else value.leader_epoch
    metadata = value.metadata.encode("utf-8", "replace")
    if version == _FLEXIBLE and value.topic_id is None and len(metadata) < _LARGEST_BYTE:
        head = _HEAD_4.pack(version, value.offset, epoch, len(metadata) + 1)
        return head + metadata + _TIME_AND_TAGS.pack(value.commit_timestamp, 0)
    fields = {
        "offset": value.offset,
        "leaderEpoch": epoch,
        "metadata": metadata,
        "commitTimestamp": value.commit_timestamp,
        "expireTimestamp": _ABSENT if value.expire_timestamp is None else value.expire_timestamp,
        "topicId": NULL_UUID if value.topic_id is None else value.topic_id,
    }
    return _VERSION.pack(version) + _OFFSET.value.encode(fields, version)
