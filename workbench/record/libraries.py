"""Addresses of C functions in the codecs' wheels, for kernels that call them without Python.

The wheels of lz4 and zstandard hold their C library, and most builds show its functions. Where one
does not, the address is 0 and others do the work: our own kernel for lz4, the Python calls of
zstandard.
"""

import ctypes
import importlib.util
import threading
import weakref
from functools import cache
from typing import Final

from workbench.kernels.dispatch import COMPILED
from workbench.layout.attributes import LZ4, SNAPPY, ZSTD

_THREAD: Final = threading.local()


@cache
def _library(module: str) -> ctypes.CDLL | None:
    """Return the C library within an extension module; None where it cannot be opened."""
    try:
        spec = importlib.util.find_spec(module)
        return ctypes.CDLL(spec.origin) if spec and spec.origin else None
    except (ImportError, OSError):
        return None


def _address(module: str, name: str) -> int:
    try:
        function = getattr(_library(module), name)
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def lz4_decoder() -> int:
    """Return the address of `LZ4_decompress_safe`; 0: there is none."""
    return _address("lz4.block._block", "LZ4_decompress_safe") if COMPILED else 0


class _State:
    """A context of libzstd; freed with the thread that it belongs to."""

    def __init__(self, library: ctypes.CDLL, kind: str) -> None:
        make, free = library[f"ZSTD_create{kind}"], library[f"ZSTD_free{kind}"]
        make.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        self.address: int = make() or 0
        weakref.finalize(self, free, self.address)


@cache
def _zstd_decoder() -> int:
    return _address("zstandard._cffi", "ZSTD_decompressDCtx") if COMPILED else 0


def zstd_decoder() -> tuple[int, int]:
    """Return the addresses of `ZSTD_decompressDCtx` and of this thread's context; 0: none."""
    function, library = _zstd_decoder(), _library("zstandard._cffi")
    if not function or library is None:
        return 0, 0
    state = getattr(_THREAD, "decoder", None)
    if state is None:
        state = _THREAD.decoder = _State(library, "DCtx")
    return (function, state.address) if state.address else (0, 0)


def compiled_decoder(codec: int) -> tuple[int, int] | None:
    """Return the library of `kernels.packed.decode_packed` for a codec; None: it knows no such."""
    if codec == LZ4 and COMPILED:
        return lz4_decoder(), 0
    if codec == SNAPPY and COMPILED:
        return 0, 0
    library = zstd_decoder() if codec == ZSTD else (0, 0)
    return library if library[0] else None
