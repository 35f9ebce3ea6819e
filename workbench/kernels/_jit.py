"""How kernels are compiled, and where the machine code is stored.

numba keys its cache on the file of one function and does not see edits in the files of the
functions it calls. So the cache folder carries a hash of this whole folder: an edit anywhere gives
a new one.

`NUMBA_CACHE_DIR` sets the parent folder. A folder that others can write to is not used:
see `cache_folder`.

`KAFKA_WORKBENCH_KERNELS=checked` compiles them with the bounds of arrays checked, to a folder of
their own, and runs them as `guarded` does.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numba

from workbench.kernels.cache_folder import safe_folder, user_cache


def _folder_hash() -> str:
    """Return a hash of every source file that a kernel may inline: this folder and the layouts."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted([*here.rglob("*.py"), *(here.parent / "layout").glob("*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


CHECKED: Final = os.environ.get("KAFKA_WORKBENCH_KERNELS") == "checked"
CACHE_FOLDER = safe_folder(
    user_cache(), f"kafka-log-workbench/kernels-{_folder_hash()}{'-checked' * CHECKED}"
)
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
