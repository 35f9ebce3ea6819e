"""How kernels are compiled, and where the machine code is kept.

numba keys its cache on the file of one function and does not see edits in the files of the
functions it calls. So the cache folder carries a hash of this whole folder: an edit anywhere gives
a new one.

`NUMBA_CACHE_DIR` is honoured as the parent folder.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def _user_cache() -> Path:
    """Return the folder where this user's programs keep what can be made again."""
    if configured := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def _folder_hash() -> str:
    """Return a hash of every source file that a kernel may inline: this folder and the layouts."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted([*here.glob("*.py"), *(here.parent / "layout").glob("*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


CACHE_FOLDER = _user_cache() / "kafka-log-workbench" / f"kernels-{_folder_hash()}"


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on its first call, without the GIL, and keep the machine code on disk.

    Division by zero and overflow behave as in numpy; array bounds are the kernel's own duty.
    """
    return _compiled(function, is_part=False)


def part_of_kernels(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, for what is so short and frequent that a call would cost more than its work."""
    return _compiled(function, is_part=True)


def _compiled(function: Callable[..., Any], *, is_part: bool) -> Callable[..., Any]:
    # numba reads its cache folder when a function is decorated: set it for that moment only, so
    # that
    # the functions of other packages keep theirs.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        compiled: Callable[..., Any] = numba.njit(
            cache=True, nogil=True, error_model="numpy", forceinline=is_part
        )(function)
        return compiled
    finally:
        numba.config.CACHE_DIR = before
