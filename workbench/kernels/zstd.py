"""Zstandard frames into bytes: libzstd does it, called from compiled code.

Kafka: ZstdCompression (4.2)
"""

from workbench.kernels._jit import kernel
from workbench.kernels.foreign import call_zstd


@kernel
def decode_zstd(
    source: int, end: int, target: int, limit: int, library: tuple[int, int, int]
) -> int:
    """Decode frames that fill the bytes between two addresses, writing below ``limit``.

    Args:
        library: addresses of `ZSTD_decompressDCtx` and of a context.

    Returns:
        The address after the last byte; -1: they do not fit, or are corrupt.
    """
    function, context, _ = library
    size = call_zstd(function, context, target, limit - target, source, end - source)
    return target + size if size >= 0 else -1
