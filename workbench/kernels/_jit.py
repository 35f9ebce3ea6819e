"""How kernels are compiled, and where the machine code is stored.

`cache_folder` says where, and why not in a folder that others can write to.

`KAFKA_WORKBENCH_KERNELS=checked` compiles them with the bounds of arrays checked, to a folder of
their own, and runs them as `guarded` does.
"""

from collections.abc import Callable
from typing import Any, Final

import numba

from workbench.kernels.cache_folder import KERNELS, kernel_folder

CHECKED: Final = KERNELS == "checked"
CACHE_FOLDER = kernel_folder()
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
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        compiled: Callable[..., Any] = numba.njit(
            cache=True, nogil=True, error_model="numpy", inline=inline, boundscheck=CHECKED or None
        )(function)
        if CHECKED:
            guard(compiled)
        return compiled
    finally:
        numba.config.CACHE_DIR = before
