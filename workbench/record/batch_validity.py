"""Which batches in memory are whole: their sizes fit and their CRCs are right.

Kafka: RecordBatch.ensureValid (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch


def count_valid(buffer: npt.NDArray[np.uint8], rows: npt.NDArray[Any]) -> int:
    """Return how many batches come before the first that is not valid.

    Args:
        buffer: uint8[n]; ``rows["position"]`` counts from its start.
        rows: BATCH_ROW[m], whole batches one behind the other.
    """
    return int(dispatch.first_invalid(buffer, 0, rows))
