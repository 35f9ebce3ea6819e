"""Addresses of C functions in the codecs' wheels, for kernels that call them without Python.

The wheels of isal, lz4 and zstandard hold their C library, and most builds show its functions.
Otherwise our own kernel (for lz4) or the Python calls of the wheels do the work.
"""

import ctypes
import importlib.util
import threading
import weakref
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from workbench.kernels import dispatch
from workbench.kernels.codecs.inputs import GZIP_STATE_SIZE, DecompressionBounds, Library
from workbench.kernels.dispatch import is_compiled
from workbench.layout.attributes import GZIP, LZ4, SNAPPY, ZSTD
from workbench.record.codecs import zstd_frame

_NOTHING: Final = Library()
_LZ4: Final = "lz4.block._block"
_ZSTD: Final = "zstandard._cffi"
_ISAL: Final = "isal.isal_zlib"
_CONTENT_SIZE_FLAG: Final = 200  # ZSTD_c_contentSizeFlag
_ZSTD_PARAMETERS: Final = {
    "window_log": 101,
    "hash_log": 102,
    "chain_log": 103,
    "search_log": 104,
    "min_match": 105,
    "target_length": 106,
    "strategy": 107,
}  # ZSTD_cParameter
_THREAD: Final = threading.local()


@cache
def _library(module: str) -> ctypes.CDLL | None:
    """Return the C library within an extension module; None where it cannot be opened."""
    try:
        spec = importlib.util.find_spec(module)
        return ctypes.CDLL(spec.origin) if spec and spec.origin else None
    except (ImportError, OSError):
        return None


@cache
def _address(module: str, name: str) -> int:
    """Return the address of a function; 0: there is none."""
    try:
        function = getattr(_library(module), name)
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def lz4_decoder() -> int:
    """Return the address of `LZ4_decompress_safe`; 0: there is none."""
    return _address(_LZ4, "LZ4_decompress_safe")


def compiled_decoder(codec: int) -> Library | None:
    """Return the library that `kernels.codecs.unpack` takes for a codec, for this thread.

    None: batches of that codec are decompressed one by one.
    """
    if not is_compiled():
        return None
    if codec == LZ4:
        return Library(lz4_decoder())
    if codec == SNAPPY:  # all of it is ours
        return _NOTHING
    make = _MAKERS.get(codec)
    if make is None:
        return None
    return _of_this_thread(codec, make)


def compiled_encoder(codec: int) -> Library | None:
    """Return the library that `kernels.codecs.packing` takes for a codec, for this thread.

    It compresses with the codec's default level. None: batches are compressed one by one.
    """
    if not is_compiled():
        return None
    if codec == LZ4:
        function = _address(_LZ4, "LZ4_compress_default")
        return Library(function) if function else None
    return _of_this_thread(-codec, _zstd_encoder) if codec == ZSTD else None


Made = tuple[Library | None, Any]
"""A library, and the objects that must live as long as it is used."""


def _of_this_thread(key: int, make: Callable[[], Made]) -> Library | None:
    """Return a library with a state that belongs to this thread."""
    made: dict[int, Made] = _THREAD.__dict__.setdefault("made", {})
    if key not in made:
        made[key] = make()
    return made[key][0]


class _ZstdContext:
    """A context of libzstd, `DCtx` or `CCtx`; freed with the thread that it belongs to."""

    def __init__(self, library: ctypes.CDLL, kind: str) -> None:
        make, free = library[f"ZSTD_create{kind}"], library[f"ZSTD_free{kind}"]
        make.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        self.address: int = make() or 0
        weakref.finalize(self, free, self.address)


def _zstd(name: str, kind: str) -> Made:
    """Return a function of libzstd with a context of its own."""
    library, function = _library(_ZSTD), _address(_ZSTD, name)
    if library is None or not function:
        return None, None
    context = _ZstdContext(library, kind)
    return (Library(function, context.address), context) if context.address else (None, None)


def _zstd_decoder() -> Made:
    return _zstd("ZSTD_decompressDCtx", "DCtx")


def _zstd_encoder() -> Made:
    """Return what compresses as `zstd_frame.compress` does, with the default level."""
    found, context = _zstd("ZSTD_compress2", "CCtx")
    if found is None:
        return None, None
    setter = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)(
        _address(_ZSTD, "ZSTD_CCtx_setParameter")
    )
    wanted = zstd_frame.parameters(zstd_frame.DEFAULT_LEVEL)
    chosen = {number: getattr(wanted, name) for name, number in _ZSTD_PARAMETERS.items()}
    chosen[_CONTENT_SIZE_FLAG] = 0
    refused = any(setter(found[1], *each) < 0 for each in chosen.items())  # see `call_zstd`
    return (None, None) if refused else (found, context)


def _gzip_decoder() -> Made:
    """Return ISA-L.

    Its state is a struct whose layout we know for one version: check that it reads a member.
    """
    inflate, reset = (_address(_ISAL, f"isal_inflate{name}") for name in ("", "_reset"))
    if not inflate or not reset:
        return None, None
    state = np.zeros(GZIP_STATE_SIZE, np.uint8)
    library = Library(inflate, state.ctypes.data, reset)
    content = bytes(range(256)) * 4
    stream = zlib.compressobj(wbits=31)
    source = np.frombuffer(stream.compress(content) + stream.flush(), np.uint8)
    target, spans = np.zeros(2 * len(content), np.uint8), np.zeros((1, 2), np.int64)
    places = np.array([[0, len(source)]])
    limits = DecompressionBounds(len(content), len(target), 0)
    _, used = dispatch.unpack_bodies(GZIP, source, places, 0, target, 0, limits, library, spans)
    is_right = target[:used].tobytes() == content
    return (library, state) if is_right else (None, None)


_MAKERS: Final[dict[int, Callable[[], Made]]] = {
    GZIP: _gzip_decoder,
    ZSTD: _zstd_decoder,
}
