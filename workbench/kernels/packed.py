"""Compressed batches into columns, compiled: a few are decompressed, then decoded from the cache.

Kafka: DefaultRecordBatch.streamingIterator (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.decode import decode_records
from workbench.kernels.lz4 import decode_frames
from workbench.kernels.outputs import RecordOutputs, Rows
from workbench.kernels.snappy import decode_streams
from workbench.layout.attributes import LZ4
from workbench.layout.problems import OK

_IN_CACHE: Final = 64 << 10  # decompressed bytes after which they are decoded


@kernel
def decode_packed(
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    task: tuple[int, int, int, int],
    limits: tuple[int, int],
    room: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    rows: Rows,
    out: RecordOutputs,
) -> tuple[int, int, int]:
    """Decode the records of compressed batches of magic 2 into columns, from the first on.

    Args:
        source: uint8[n], C-contiguous; what the compressed records lie in.
        places: int64[m, 2], C-contiguous; where those of each batch start and end in ``source``.
        task: batch to start with; LZ4 or SNAPPY; the checksum of an lz4 header; sum of KEYS, VALUES
            and HEADERS.
        limits: bytes that one batch may expand to; bytes in all after which to stop.
        room: uint8[capacity], C-contiguous: for decompressed bytes.
        spans: int64[m, 2]: where the bytes of a batch that was decoded last start and end in
            ``room``.
        rows: BATCH_ROW[m], the batches' headers.
        out: as of `decode_records`.

    Returns:
        (row, code, position): as of `decode_records`, ``row`` the first that was not decoded. With
        `OK` all are decoded, or there are enough bytes, or ``row`` needs more room or has not the
        framing that Kafka writes.
    """
    first, codec, checksum, options = task
    largest, enough = limits
    bounds = (largest, _IN_CACHE, checksum)
    size = 0
    while first < len(places) and size < enough:
        if codec == LZ4:
            _, last, used = decode_frames(source, places, first, room, 0, bounds, spans)
        else:
            last, used = decode_streams(source, places, first, room, 0, bounds, spans)
        if last == first:
            break
        row, code, position = decode_records(room, spans, rows, first, last, options, out)
        if code != OK:
            return row, code, position
        first = last
        size += used
    return first, OK, 0
