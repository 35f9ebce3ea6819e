"""What the library is built for: systems, and levels of their processors."""

import os
import platform
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).absolute().parents[2]
FILE: Final = "kernels.library"
"""Its ending is not one of an extension module, for which Python would take it."""
PLACE: Final = Path(__file__).absolute().with_name(FILE)


class BuildTarget(NamedTuple):
    """The oldest system that the library is linked for: as zig names it, and as a wheel does."""

    zig: str
    wheel: str


class Level(NamedTuple):
    """A level of a processor: as LLVM names it, and what it has besides."""

    cpu: str
    features: str = ""


LEVELS: Final = {
    "x86_64": {3: Level("x86-64-v3"), 2: Level("x86-64-v2")},
    "arm64": {8: Level("generic", "+crc")},
}
"""For each kind of processor, its levels by the number that `library.c` gives them."""

_TARGETS: Final = {
    ("Linux", "x86_64"): BuildTarget("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64"),
    ("Linux", "arm64"): BuildTarget("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    ("Darwin", "arm64"): BuildTarget("aarch64-macos.11.0", "macosx_11_0_arm64"),
}


def levels() -> dict[int, Level]:
    """Return the levels of this kind of processor."""
    return LEVELS.get(_machine(), {})


def target() -> BuildTarget | None:
    """Return what the library is linked for on this system; None: it cannot be built here."""
    if platform.system() == "Linux" and platform.libc_ver()[0] != "glibc":
        return None  # numba has no wheel for musl
    return _TARGETS.get((platform.system(), _machine()))


def is_built() -> bool:
    """Return whether an installation compiles the kernels: where numba is, unless asked not to."""
    return target() is not None and os.environ.get("KAFKA_WORKBENCH_KERNELS") != "plain"


def _machine() -> str:
    """Return the kind of processor, by one name on all systems."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(name, name)
