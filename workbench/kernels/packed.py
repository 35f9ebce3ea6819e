"""Compressed batches into columns, compiled: each is decoded as soon as it is decompressed.

The bytes of a batch are decompressed behind the values that are there already, and its own values
move to their end: no memory but theirs is written to.

Kafka: DefaultRecordBatch.streamingIterator (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.decode import decode_records
from workbench.kernels.outputs import VALUE_BYTES, VALUES, RecordOutputs, Rows
from workbench.kernels.unpack import unpack_bodies
from workbench.layout.problems import OK

_GAP: Final = 64  # bytes between values and what they are moved from; more than `targets.STEP`


@kernel
def decode_packed(
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    task: tuple[int, int, int],
    limits: tuple[int, int, int],
    library: tuple[int, int, int],
    room: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    rows: Rows,
    out: RecordOutputs,
) -> tuple[int, int, int]:
    """Decode the records of compressed batches of magic 2 into columns, from the first on.

    Args:
        source: uint8[n], C-contiguous; what the compressed records lie in.
        places: int64[m, 2], C-contiguous; where those of each batch start and end in ``source``.
        task: batch to start with; the codec; sum of KEYS, VALUES and HEADERS.
        limits: bytes that one batch may expand to; bytes in all after which to stop; the checksum
            of an lz4 header.
        library: as of `unpack.unpack_bodies`.
        room: uint8[capacity], C-contiguous: for decompressed bytes where values are not wanted.
        spans: int64[m, 2]: where the bytes of a batch that was decoded last start and end.
        rows: BATCH_ROW[m], the batches' headers.
        out: as of `decode_records`.

    Returns:
        (row, code, position): as of `decode_records`, ``row`` the first that was not decoded. With
        `OK` all are decoded, or there are enough bytes, or ``row`` needs more room or has not the
        framing that Kafka writes.
    """
    first, codec, options = task
    largest, enough, checksum = limits
    start = 0
    size = 0
    target = room
    while first < len(places) and size < enough:
        if options & VALUES:
            target = out.value_data
            start = out.used[VALUE_BYTES] + _GAP
            if start >= len(target):
                break
        bounds = (largest, start + 1, checksum)  # one batch
        last, end = unpack_bodies(
            codec, source, places, first, target, start, bounds, library, spans
        )
        if last == first:
            break
        row, code, position = decode_records(target, spans, rows, first, last, options, out)
        if code != OK:
            return row, code, position
        first = last
        size += end - start
    return first, OK, 0
