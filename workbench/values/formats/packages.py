"""Packages that only some formats need: the extra ``values``."""

import importlib
from typing import Any

from workbench.errors import MissingDependencyError

_EXTRA = "pip install 'kafka-log-workbench[values]'"


def optional(module: str, package: str) -> Any:
    """Import a module of an optional package.

    Raises:
        MissingDependencyError: the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(package, _EXTRA) from error
