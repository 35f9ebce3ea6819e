"""The kernels that the rest of the product calls: those of the library, or the plain twins.

Call them as attributes, ``dispatch.scan_file(…)``: the first access opens the library. `library`
says what it is made of, and where there is none.

`KAFKA_WORKBENCH_KERNELS=plain` selects the twins, `checked` kernels that numba compiles as they are
called and that `guarded` runs.
"""

import importlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from workbench.kernels.library.entries import ENTRIES
from workbench.kernels.library.opening import Kernels, opened

KERNELS: Final = os.environ.get("KAFKA_WORKBENCH_KERNELS", "")
"""What the user asks for: "plain", "checked" or ""."""

HAS_PREAD: Final = os.name == "posix"


@cache
def is_compiled() -> bool:
    """Return whether compiled kernels run in this process."""
    return KERNELS == "checked" or (KERNELS != "plain" and isinstance(opened(), Kernels))


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in ENTRIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = _chosen(name)
    globals()[name] = function  # later accesses do not call this function
    return function


def _chosen(name: str) -> Callable[..., Any]:
    """Return a kernel, in the form that this process runs."""
    room = "workbench.kernels.plain"
    if KERNELS == "checked":
        room = "workbench.kernels"
    elif KERNELS != "plain":
        library = opened()
        if isinstance(library, Kernels):
            from workbench.kernels.library.calls import call_of

            return call_of(library, name)
        warnings.warn(
            f"records are decoded in plain Python, about 100 times slower: {library}",
            RuntimeWarning,
            stacklevel=3,
        )
    found: Callable[..., Any] = getattr(importlib.import_module(f"{room}.{ENTRIES[name][0]}"), name)
    return found
