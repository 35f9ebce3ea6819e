"""The builder of pip: setuptools, with what compiles the kernels where an installation does that.

A package cannot say "not on musl" in its requirements; numba has no wheel there.
"""

import sys
import tomllib
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - what pip asks a builder for

PROJECT = Path(__file__).resolve().parents[2]


def get_requires_for_build_wheel(settings: dict[str, str] | None = None) -> list[str]:
    """Return what must be installed before a wheel can be built."""
    return [*build_meta.get_requires_for_build_wheel(settings), *compilers()]


def get_requires_for_build_editable(settings: dict[str, str] | None = None) -> list[str]:
    """Return what must be installed before an editable installation."""
    return [*build_meta.get_requires_for_build_editable(settings), *compilers()]


def compilers() -> list[str]:
    """Return what compiles the kernels; nothing where the plain twins run."""
    sys.path.insert(0, str(PROJECT))
    from workbench.kernels.library.targets import is_built

    groups = tomllib.loads((PROJECT / "pyproject.toml").read_text())["dependency-groups"]
    return list(groups["kernels"]) if is_built() else []
