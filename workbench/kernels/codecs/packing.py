"""Records of batches into compressed records, compiled: the codecs' own libraries compress them.

Kafka: MemoryRecordsBuilder.close (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.foreign import call_zstd
from workbench.kernels.codecs.inputs import Library
from workbench.kernels.codecs.lz4 import encode_frame
from workbench.kernels.compaction.retain import seal_batch
from workbench.kernels.intrinsics import address_of, copy
from workbench.layout.attributes import LZ4
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.compaction import REBUILT


@kernel
def pack_batches(
    plain: npt.NDArray[np.uint8],
    at: int,
    codec: int,
    library: Library,
    outcomes: Any,
    first: int,
    last: int,
    out: npt.NDArray[np.uint8],
    filled: int,
) -> tuple[int, int, int]:
    """Compress the records of rebuilt batches; copy the others.

    Args:
        plain: uint8[n], C-contiguous: consecutive batches from ``at``, as `retain.write_batches`
            writes them.
        codec: LZ4 or ZSTD.
        library: the addresses of `LZ4_compress_default`, or of `ZSTD_compress2` and a context that
            no other thread uses.
        outcomes: BATCH_OUTCOME[m]; the sizes of compressed batches are filled in.
        first, last: the batches [first, last).
        out: uint8[o], C-contiguous, filled from ``filled``.

    Returns:
        (filled, at, row) after the last batch, or at a batch that is not written: the library
        refuses it, or ``out`` may be too small.
    """
    source, target = address_of(plain), address_of(out)
    function, state = library.function, library.state
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
