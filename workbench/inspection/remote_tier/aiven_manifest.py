"""The manifest of a segment that Aiven's plugin stored: chunks, indexes, compression, encryption.

JSON, beside the segment's `.log` and `.indexes`::

    {"version": "1",
     "chunkIndex": {"type": "fixed", "originalChunkSize", "originalFileSize",
                    "transformedChunkSize", "finalTransformedChunkSize"}
                 | {"type": "variable", "originalChunkSize", "originalFileSize",
                    "transformedChunks": base64 of the sizes, see `chunk_sizes`},
     "segmentIndexes": {"offset"|"timestamp"|"producerSnapshot"|"leaderEpoch"|"transaction":
                        {"position", "size"} in `.indexes`, or null},
     "compression": whether each chunk is a zstd frame,
     "encryption": {"dataKey": "<key id>:<base64>", "aad": base64},
     "remoteLogSegmentMetadata": {"remoteLogSegmentId", "startOffset", "endOffset", …}}

Of an untrusted manifest nothing is believed that the sizes of its own parts do not bear out.

Aiven: SegmentManifestV1, ChunkSizesBinaryCodec (1.2)
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptFileError
from workbench.inspection.remote_tier.segment_metadata import RemoteSegmentMetadata, sorted_epochs
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.record.codecs import zstd_frame
from workbench.record.reading.arena import Arena, DecompressionError

MOST_MANIFEST_BYTES: Final = 2 << 20
MOST_CHUNKS: Final = 1 << 18  # of 8 KiB, in the largest segment; by default they have 4 MiB
INDEX_NAMES: Final = ("offset", "timestamp", "producerSnapshot", "leaderEpoch", "transaction")

_HEADER: Final = 9  # bytes of count, base and bytes per value


@dataclass(frozen=True)
class Encryption:
    """How chunks and indexes are encrypted: AES-256-GCM, with a data key that RSA protects.

    Attributes:
        key_id: which RSA key pair protects the data key.
        data_key: the data key, encrypted.
        aad: the additional authenticated data of every chunk and index.
    """

    key_id: str
    data_key: bytes
    aad: bytes


@dataclass(frozen=True)
class Manifest:
    """A manifest.

    Attributes:
        size: bytes of the segment's `.log` file before it was stored.
        chunk_size: bytes of a chunk before it was stored; the last may be smaller.
        positions: int64[chunks + 1], where each chunk begins in the stored file; the last item is
            the file's size.
        indexes: name → position and size in `.indexes`.
        compression: whether chunks are compressed; indexes never are.
        encryption: None: neither chunks nor indexes are encrypted.
        metadata: the segment's metadata when it was stored; None: the manifest has none.
        topic_id, topic, partition: the partition in that metadata.
    """

    size: int
    chunk_size: int
    positions: npt.NDArray[np.int64]
    indexes: Mapping[str, tuple[int, int]]
    compression: bool
    encryption: Encryption | None
    metadata: RemoteSegmentMetadata | None
    topic_id: str | None = None
    topic: str | None = None
    partition: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the stored `.log` file is the segment's own, byte for byte."""
        return not self.compression and self.encryption is None

    @property
    def stored_size(self) -> int:
        """Bytes of the stored `.log` file."""
        return int(self.positions[-1])


def parse_manifest(data: bytes, path: str | None = None) -> Manifest:
    """Return a manifest.

    Raises:
        CorruptFileError: the bytes are not a manifest of version 1, or contradict themselves.
    """
    try:
        return _manifest(_fields_of(data))
    except _Wrong as wrong:
        raise CorruptFileError(path, None, str(wrong)) from None


def _fields_of(data: bytes) -> "_Fields":
    if len(data) > MOST_MANIFEST_BYTES:
        raise _Wrong(f"more bytes than the {MOST_MANIFEST_BYTES:,} that are read of a manifest")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _Wrong(f"not JSON: {error}") from None
    fields = _Fields(found, "the manifest")
    if fields.values.get("version") != "1":
        raise _Wrong(f"version {_short(fields.values.get('version'))}, expected '1'")
    return fields


class _Wrong(ValueError):  # noqa: N818 - becomes a CorruptFileError
    """What is wrong with a manifest."""


class _Fields:
    """Fields of an object of JSON, each of the type that is asked for."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise _Wrong(f"{where} is {type(values).__name__}, expected an object")
        self.values = values
        self.where = where

    def number(self, name: str, low: int = 0, high: int = INT32_MAX) -> int:
        value = self.values.get(name)
        if type(value) is not int or not low <= value <= high:
            raise _Wrong(f"{name} of {self.where} is {_short(value)}, expected {low} to {high}")
        return value

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str):
            raise _Wrong(f"{name} of {self.where} is {_short(value)}, expected a text")
        return value

    def bytes(self, name: str) -> bytes:
        return _base64(self.text(name), f"{name} of {self.where}")

    def object(self, name: str) -> "_Fields":
        return _Fields(self.values.get(name), f"{name} of {self.where}")


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return "a larger number"
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:40]}…"


def _base64(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _Wrong(f"{where} is not base64") from None


def _manifest(fields: _Fields) -> Manifest:
    index = fields.object("chunkIndex")
    size = index.number("originalFileSize")
    chunk_size = index.number("originalChunkSize", 1)
    count = -(-size // chunk_size)
    if count > MOST_CHUNKS:
        raise _Wrong(f"{count:,} chunks, expected at most {MOST_CHUNKS:,}")
    kind = index.values.get("type")
    if kind == "fixed":
        each, last = index.number("transformedChunkSize"), index.number("finalTransformedChunkSize")
        sizes = np.full(count, each, np.int64)
        sizes[-1:] = last
    elif kind == "variable":
        sizes = chunk_sizes(index.bytes("transformedChunks"), max(count, 1))[:count]
    else:
        raise _Wrong(f"type of {index.where} is {_short(kind)}, expected 'fixed' or 'variable'")
    positions = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    compression = fields.values.get("compression")
    if not isinstance(compression, bool):
        raise _Wrong(f"compression is {_short(compression)}, expected true or false")
    encryption = None
    if fields.values.get("encryption") is not None:
        encryption = _encryption(fields.object("encryption"))
    if not compression and encryption is None and positions[-1] != size:
        found = f"{positions[-1]:,} bytes of chunks that are not transformed"
        raise _Wrong(f"{found}, expected {size:,}")
    sections = fields.object("segmentIndexes")
    indexes = {}
    for name in INDEX_NAMES:
        if sections.values.get(name) is not None:
            section = sections.object(name)
            indexes[name] = (section.number("position"), section.number("size"))
    manifest = Manifest(size, chunk_size, positions, indexes, compression, encryption, None)
    if fields.values.get("remoteLogSegmentMetadata") is None:
        return manifest
    return _with_metadata(manifest, fields.object("remoteLogSegmentMetadata"))


def _encryption(fields: _Fields) -> Encryption:
    key_id, colon, key = fields.text("dataKey").partition(":")
    if not key_id or not colon:
        raise _Wrong(f"dataKey of {fields.where} is not a key id, a colon and base64")
    return Encryption(key_id, _base64(key, f"dataKey of {fields.where}"), fields.bytes("aad"))


def _with_metadata(manifest: Manifest, fields: _Fields) -> Manifest:
    """Return a manifest with the metadata that the plugin wrote beside it."""
    largest = INT64_MAX
    segment_id = fields.object("remoteLogSegmentId")
    where = segment_id.object("topicIdPartition")
    named = where.object("topicPartition")
    epochs = fields.object("segmentLeaderEpochs")
    try:
        starts = {int(epoch): epochs.number(epoch, 0, largest) for epoch in epochs.values}
    except ValueError as error:
        raise error if isinstance(error, _Wrong) else _Wrong("an epoch is not a number") from None
    metadata = RemoteSegmentMetadata(
        segment_id.text("id"),
        fields.number("startOffset", 0, largest),
        fields.number("endOffset", 0, largest),
        sorted_epochs(starts.items()),
        size=manifest.size,
        broker_id=fields.number("brokerId", -1),
        max_timestamp=fields.number("maxTimestampMs", -1, largest),
        event_timestamp=fields.number("eventTimestampMs", -1, largest),
    )
    return Manifest(
        manifest.size,
        manifest.chunk_size,
        manifest.positions,
        manifest.indexes,
        manifest.compression,
        manifest.encryption,
        metadata,
        where.text("topicId"),
        named.text("topic"),
        named.number("partition"),
    )


def chunk_sizes(compressed: bytes, count: int) -> npt.NDArray[np.int64]:
    """Return the sizes of stored chunks.

    A zstd frame of big-endian numbers::

        count: int32  base: int32  width: int8  (size - base): width bytes, count - 1 times
        last size: int32

    Without base and width if there is one size only.

    Args:
        compressed: the frame.
        count: how many sizes there must be, at least 1.

    Raises:
        ValueError: the bytes are anything else.

    Aiven: ChunkSizesBinaryCodec.decode (1.2)
    """
    arena = Arena(64)
    arena.limit = _HEADER + 4 * count + 4
    try:
        zstd_frame.decompress(memoryview(compressed), arena)
    except DecompressionError as error:
        raise _Wrong(f"transformedChunks: {error}") from None
    data = arena.data[: arena.used].tobytes()
    found = int.from_bytes(data[:4])
    if found != count:
        raise _Wrong(f"transformedChunks has {found} sizes, expected {count}")
    width = data[8] if count > 1 and len(data) > 8 else 0
    wanted = 8 if count == 1 else _HEADER + width * (count - 1) + 4
    if len(data) != wanted or width > 4:
        raise _Wrong(f"transformedChunks has {len(data)} bytes, expected {wanted}")
    sizes = np.zeros(count, np.int64)
    sizes[-1] = int.from_bytes(data[-4:], signed=True)
    if count > 1:
        digits = np.frombuffer(data, np.uint8, width * (count - 1), _HEADER)
        for column in digits.reshape(count - 1, width).T:
            sizes[:-1] = sizes[:-1] << 8 | column
        sizes[:-1] += int.from_bytes(data[4:8], signed=True)
    if sizes.min() < 0:
        raise _Wrong("transformedChunks has a size below 0")
    return sizes
