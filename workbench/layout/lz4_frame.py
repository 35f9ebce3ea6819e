"""The parts of an LZ4 frame that are the same in every frame that Kafka writes.

Kafka: Lz4BlockOutputStream (4.2)
"""

from typing import Final

MAGIC: Final = bytes.fromhex("04224d18")
WRITTEN_FLAGS: Final = 0x60  # version 1, independent blocks, nothing optional
WRITTEN_DESCRIPTOR: Final = 0x40  # blocks of at most 64 KiB
WRITTEN_CHECKSUM: Final = 0x82  # checksum of these two
WRITTEN_HEADER: Final = MAGIC + bytes((WRITTEN_FLAGS, WRITTEN_DESCRIPTOR, WRITTEN_CHECKSUM))
BLOCK_SIZE: Final = 64 * 1024  # bytes of input per block
STORED_BIT: Final = 0x80000000  # bit in a block's size: its bytes are not compressed
