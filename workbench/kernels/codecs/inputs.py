"""What the kernels of the codecs are given besides arrays, and their codes."""

from typing import Final, NamedTuple

# Results of `lz4.decode_blocks`.
OK: Final = 0
CUT_SHORT: Final = 1
BLOCK_TOO_LARGE: Final = 2
CORRUPT_BLOCK: Final = 3
NO_ROOM: Final = 4

GZIP_STATE_SIZE: Final = 1 << 18
"""Bytes of ISA-L's `struct inflate_state`."""


class Library(NamedTuple):
    """A codec's C library, as addresses; 0: there is none.

    Attributes:
        function: compresses or decompresses.
        state: memory that the function keeps between calls; no other thread uses it.
        reset: a second function, which makes the state as new.
    """

    function: int = 0
    state: int = 0
    reset: int = 0


class DecompressionBounds(NamedTuple):
    """What bounds a run of batches that are decompressed.

    Attributes:
        content: bytes that one batch may expand to.
        enough: bytes after which no further batch is begun.
        checksum: the header checksum that an lz4 frame must have, -1 for any.
    """

    content: int
    enough: int
    checksum: int


class DecodeTask(NamedTuple):
    """Which batches are decoded, and what of them.

    Attributes:
        first: the batch to start with.
        codec: of all.
        options: sum of KEYS, VALUES and HEADERS.
    """

    first: int
    codec: int
    options: int
