"""The codecs: one entry for each, with all that reading and writing ask of it.

A codec that Kafka adds needs its id and name in `layout.attributes`, a module of its own here, and
an entry in `CODECS`; a kernel for it is an optimization. A test adds one so.

Kafka: CompressionType (4.2)
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from workbench.layout.attributes import GZIP, LZ4, NONE, SNAPPY, ZSTD
from workbench.record.codecs import gzip_stream, lz4_frame, xerial_snappy, zstd_frame
from workbench.record.reading.arena import Arena

Data = bytes | bytearray | memoryview


class Levels(NamedTuple):
    """The compression levels of a codec."""

    lowest: int
    highest: int
    default: int


class Codec(NamedTuple):
    """How the records of a batch are compressed.

    Attributes:
        decompress: appends the content of compressed bytes to an arena; the number is the batch's
            magic. Raises DecompressionError.
        compress: returns bytes compressed, for a batch of a magic and at a level.
        levels: None for a codec without levels.
        read_small: reads one usual batch in one call of a library, or returns None; None for a
            codec without such a way.
        lowest_magic: the lowest magic of batches that may have it.
        pieces: yields the content of compressed bytes, at most so many bytes at a time. None for
            codecs whose content is at most 255 times as large, and is decompressed at once.
    """

    decompress: Callable[[memoryview, Arena, int], None]
    compress: Callable[[bytes | memoryview, int, int], bytes]
    levels: Levels | None = None
    read_small: Callable[[memoryview], bytes | None] | None = None
    lowest_magic: int = 0
    pieces: Callable[[memoryview, int], Iterator[bytes]] | None = None


CODECS: Final[dict[int, Codec]] = {
    NONE: Codec(
        lambda data, arena, _magic: arena.append(data), lambda data, _magic, _level: bytes(data)
    ),
    GZIP: Codec(
        lambda data, arena, _magic: gzip_stream.decompress(data, arena),
        lambda data, _magic, level: gzip_stream.compress(data, level),
        Levels(1, 9, -1),
        gzip_stream.read_small,
        pieces=gzip_stream.pieces,
    ),
    SNAPPY: Codec(
        lambda data, arena, _magic: xerial_snappy.decompress(data, arena),
        lambda data, _magic, _level: xerial_snappy.compress(data),
    ),
    LZ4: Codec(lz4_frame.decompress, lz4_frame.compress, Levels(1, 17, 9)),
    ZSTD: Codec(
        lambda data, arena, _magic: zstd_frame.decompress(data, arena),
        lambda data, _magic, level: zstd_frame.compress(data, level),
        Levels(-131072, 22, 3),
        zstd_frame.read_small,
        lowest_magic=2,
        pieces=zstd_frame.pieces,
    ),
}
"""By id in the attributes of a batch."""
