"""Which partition a key belongs to, as Kafka's producers choose it.

Kafka: BuiltInPartitioner.partitionForKey (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.record.columns import BinaryColumn

_POSITIVE: Final = 0x7FFFFFFF


def partitions_for_keys(keys: BinaryColumn, partitions: int) -> npt.NDArray[np.int32]:
    """Return int32[n]: the partition of each key, 0 to ``partitions`` - 1; -1 for null.

    Raises:
        ValueError: the number of partitions is below 1.

    Kafka: BuiltInPartitioner.partitionForKey, Utils.toPositive (4.2)
    """
    if partitions < 1:
        raise ValueError(f"a topic has at least one partition, not {partitions}")
    hashes = np.empty(len(keys), np.int64)
    dispatch.murmur2_many(keys.offsets, keys.data, hashes)
    chosen = ((hashes & _POSITIVE) % partitions).astype(np.int32)
    chosen[keys.is_null()] = -1
    return chosen
