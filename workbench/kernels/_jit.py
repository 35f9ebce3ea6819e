"""How kernels are compiled: by numba, when the library is built and when they are checked.

A process that reads runs the library and never imports this. With `KAFKA_WORKBENCH_KERNELS=checked`
kernels are compiled as they are called, with the bounds of arrays checked, and run as `guarded`
does.
"""

import os
from collections.abc import Callable
from typing import Any, Final

import numba

CHECKED: Final = os.environ.get("KAFKA_WORKBENCH_KERNELS") == "checked"
if CHECKED:
    from workbench.kernels.guarded import guard, guard_allocations

    guard_allocations()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function``, without the GIL.

    Division by zero and overflow behave as in numpy; the kernel must check array bounds.
    """
    return _compiled(function, inline="never")


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` into each kernel that calls it, where a call costs more than its work.

    "Never" leaves the choice to the compiler, which inlines functions with a few branches.
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], *, inline: str) -> Callable[..., Any]:
    compiled: Callable[..., Any] = numba.njit(
        nogil=True, error_model="numpy", inline=inline, boundscheck=CHECKED or None
    )(function)
    if CHECKED:
        guard(compiled)
    return compiled
