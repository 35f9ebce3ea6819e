"""CRC-32C (Castagnoli) of a few bytes at a time: batches made here and producer snapshots.

Whole files of batches are checked by the kernels.
"""

from collections.abc import Callable
from functools import cache


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C of ``data``, 0 to 2**32 - 1."""
    return _function()(data)


@cache
def _function() -> Callable[[bytes | memoryview], int]:
    # Imported at the first use: most commands and notebooks never check a snapshot.
    from crcmod.predefined import mkPredefinedCrcFun

    function: Callable[[bytes | memoryview], int] = mkPredefinedCrcFun("crc-32c")
    return function
