"""Compressed batches into columns, compiled: each is decoded as soon as it is decompressed.

The bytes of a batch are decompressed after the existing values, and its own values move to their
end: no other memory is written.

Kafka: DefaultRecordBatch.streamingIterator (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.inputs import DecodeTask, DecompressionBounds, Library
from workbench.kernels.codecs.unpack import unpack_bodies
from workbench.kernels.reading.decode import decode_records
from workbench.kernels.reading.outputs import VALUE_BYTES, VALUES, RecordOutputs, Rows
from workbench.layout.problems import OK

_GAP: Final = 64  # bytes between values and their source; more than `targets.STEP`


@kernel
def decode_packed(
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    task: DecodeTask,
    limits: DecompressionBounds,
    library: Library,
    room: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    rows: Rows,
    out: RecordOutputs,
) -> tuple[int, int, int]:
    """Decode the records of compressed batches of magic 2 into columns, starting with the first.

    Args:
        source: uint8[n], C-contiguous; the bytes with the compressed records.
        places: int64[m, 2], C-contiguous; start and end of each batch's records in ``source``.
        task: which batches, and what of them.
        limits: the bounds of all batches together.
        library: the codec's library.
        room: uint8[capacity], C-contiguous: for decompressed bytes if values are not wanted.
        spans: int64[m, 2]: start and end of the bytes of the batch decoded last.
        rows: BATCH_ROW[m], the batches' headers.
        out: see `decode_records`.

    Returns:
        (row, code, position): see `decode_records`; ``row`` is the first that was not decoded.
        With `OK` all are decoded, or there are enough bytes, or ``row`` needs more room or does
        not have the framing that Kafka writes.
    """
    first, options = task.first, task.options
    start = 0
    size = 0
    target = room
    while first < len(places) and size < limits.enough:
        if options & VALUES:
            target = out.value_data
            start = out.used[VALUE_BYTES] + _GAP
            if start >= len(target):
                break
        bounds = DecompressionBounds(limits.content, start + 1, limits.checksum)  # one batch
        last, end = unpack_bodies(
            task.codec, source, places, first, target, start, bounds, library, spans
        )
        if last == first:
            break
        row, code, position = decode_records(target, spans, rows, first, last, options, out)
        if code != OK:
            return row, code, position
        first = last
        size += end - start
    return first, OK, 0
