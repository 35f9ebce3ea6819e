"""Records of batches into compressed ones, compiled: their codecs' own libraries do it.

Kafka: MemoryRecordsBuilder.close (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.foreign import call_zstd
from workbench.kernels.intrinsics import address_of, copy
from workbench.kernels.lz4 import encode_frame
from workbench.kernels.retain import seal_batch
from workbench.layout.attributes import LZ4
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.compaction import REBUILT


@kernel
def pack_batches(
    plain: npt.NDArray[np.uint8],
    at: int,
    codec: int,
    library: tuple[int, int, int],
    outcomes: Any,
    first: int,
    last: int,
    out: npt.NDArray[np.uint8],
    filled: int,
) -> tuple[int, int, int]:
    """Compress the records of batches that were rebuilt; the others are copied.

    Args:
        plain: uint8[n], C-contiguous: batches one behind the other from ``at`` on, as
            `retain.write_batches` leaves them.
        codec: LZ4 or ZSTD.
        library: addresses of `LZ4_compress_default`, or of `ZSTD_compress2` and a context that no
            other thread uses.
        outcomes: BATCH_OUTCOME[m]; sizes of what is compressed are filled in.
        first, last: batches; the last excluded.
        out: uint8[o], C-contiguous, filled from ``filled`` on.

    Returns:
        (filled, at, row) behind the last batch, or at one that is not written: the library refuses
        it, or ``out`` may be too small.
    """
    source, target = address_of(plain), address_of(out)
    function, state, _ = library
    for index in range(first, last):
        outcome = outcomes[index]
        size = outcome.new_size
        if size == 0:
            continue
        if size > len(out) - filled:
            return filled, at, index
        head = target + filled
        copy(head, source + at, BATCH_HEADER_SIZE)
        body, records = head + BATCH_HEADER_SIZE, source + at + BATCH_HEADER_SIZE
        room = target + len(out) - body
        packed = size - BATCH_HEADER_SIZE
        if outcome.verdict == REBUILT:
            if codec == LZ4:
                packed = encode_frame(function, records, packed, body, room)
            else:
                packed = call_zstd(function, state, body, room, records, packed)
            if packed < 0:
                return filled, at, index
            seal_batch(out, filled, filled + BATCH_HEADER_SIZE + packed)
            outcome.new_size = BATCH_HEADER_SIZE + packed
        else:
            copy(body, records, packed)
        filled += BATCH_HEADER_SIZE + packed
        at += size
    return filled, at, last
