"""How kernels are compiled, and where the machine code is stored.

`cache_folder` says where, and why not in a folder that others can write to.

`KAFKA_WORKBENCH_KERNELS=checked` compiles them with the bounds of arrays checked, to a folder of
their own, and runs them as `guarded` does.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import _CacheLocator

from workbench.kernels.cache_folder import KERNELS, kernel_folder

CHECKED: Final = KERNELS == "checked"
CACHE_FOLDER = kernel_folder()
_HERE: Final = Path(__file__).absolute().parent
_NUMBAS_ROOM: Final = _CacheLocator.get_suitable_cache_subpath
if CHECKED:
    from workbench.kernels.guarded import guard, guard_allocations

    guard_allocations()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on its first call, without the GIL, and keep the machine code on disk.

    Division by zero and overflow behave as in numpy; the kernel must check array bounds.
    """
    return _compiled(function, inline="never")


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` into each kernel that calls it, where a call costs more than its work.

    "Never" leaves the choice to numba's compiler, which calls functions with a few branches.
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], *, inline: str) -> Callable[..., Any]:
    # numba reads its cache folder when a function is decorated: set it for that moment only, so
    # that the functions of other packages keep theirs.
    before = numba.config.CACHE_DIR, vars(_CacheLocator)["get_suitable_cache_subpath"]
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    _CacheLocator.get_suitable_cache_subpath = staticmethod(_room_of)
    try:
        compiled: Callable[..., Any] = numba.njit(
            cache=True, nogil=True, error_model="numpy", inline=inline, boundscheck=CHECKED or None
        )(function)
        if CHECKED:
            guard(compiled)
        return compiled
    finally:
        numba.config.CACHE_DIR, _CacheLocator.get_suitable_cache_subpath = before


def _room_of(file: str) -> str:
    """Return the folder for a source file's machine code, wherever this package is.

    numba takes a hash of its path: each Spark application, for which executors unpack the
    package again, would compile again.
    """
    folder = Path(file).absolute().parent
    if folder.is_relative_to(_HERE):
        return "-".join(("kernels", *folder.relative_to(_HERE).parts))
    return str(_NUMBAS_ROOM(file))
