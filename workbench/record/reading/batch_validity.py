"""Which batches in memory are valid, by their sizes and CRCs, and the CRC a batch should have.

Kafka: RecordBatch.ensureValid (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.layout.batch_header import CRC_FROM, MAGIC_AT
from workbench.layout.message_header import MESSAGE_CRC_FROM


def count_valid(buffer: npt.NDArray[np.uint8], rows: npt.NDArray[Any], position: int = 0) -> int:
    """Return how many batches come before the first that is not valid.

    Args:
        buffer: uint8[n].
        rows: BATCH_ROW[m], complete batches, one after the other.
        position: the one of ``buffer[0]``, as ``rows["position"]`` counts.
    """
    return int(dispatch.first_invalid(buffer, position, rows))


def entry_crc(entry: npt.NDArray[np.uint8]) -> int:
    """Return the CRC that a complete entry, uint8[n], should have stored."""
    if entry[MAGIC_AT] < 2:
        return int(dispatch.crc32(entry[MESSAGE_CRC_FROM:]))
    return int(dispatch.crc32c(entry[CRC_FROM:]))
