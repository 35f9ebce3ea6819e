"""Zstandard frames into bytes: compiled code calls libzstd.

Kafka: ZstdCompression (4.2)
"""

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.foreign import call_zstd
from workbench.kernels.codecs.inputs import Library


@kernel
def decode_zstd(source: int, end: int, target: int, limit: int, library: Library) -> int:
    """Decode frames that fill the bytes between two addresses, writing below ``limit``.

    Args:
        library: the addresses of `ZSTD_decompressDCtx` and of a context.

    Returns:
        The address after the last byte; -1: they do not fit, or are corrupt.
    """
    function, context = library.function, library.state
    size = call_zstd(function, context, target, limit - target, source, end - source)
    return target + size if size >= 0 else -1
