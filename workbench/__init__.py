"""Kafka Log Workbench: open a Kafka log directory in Python, without a broker.

    import workbench as wb

    logs = wb.open_log_directory("sample_data/shop-4.3.1")
    logs.inspect.batches()                      # an Arrow table
    logs.scan(topics=["orders"]).to_pandas()    # a DataFrame
    logs.verify()                               # what is damaged, and what a broker would do

Nothing is written by any of these, nor by `serve`, which answers any Kafka client from a directory,
with `ServerSecurity` on a network; with ``writable=True`` it is a small broker.
`LogManager` is the engine that writes, and `OffsetManager`, `GroupCoordinatorService` and
`TransactionCoordinator` are coordinators on its logs. `Cluster` simulates brokers that replicate,
`find_schedule` finds the events that lose a record, and `scenarios.play` plays the known ones.
"""

# ruff: noqa: I001 - the names of a module in one statement
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` imports a name
    from workbench import spark as spark
    from workbench.coordinator.group_coordinator_service import (
        GroupCoordinatorService as GroupCoordinatorService,
    )
    from workbench.coordinator.offsets.offset_manager import OffsetManager as OffsetManager
    from workbench.coordinator.transactions.serving.transaction_coordinator import (
        TransactionCoordinator as TransactionCoordinator,
    )
    from workbench.errors import (
        CorruptFileError as CorruptFileError,
        CorruptRecordError as CorruptRecordError,
        LogDirectoryError as LogDirectoryError,
        MissingDependencyError as MissingDependencyError,
        OffsetOutOfRangeError as OffsetOutOfRangeError,
        UnsupportedFormatError as UnsupportedFormatError,
        WorkbenchError as WorkbenchError,
    )
    from workbench.inspection.findings import Finding as Finding
    from workbench.inspection.segment import Segment as Segment
    from workbench.loaders.partition import Partition as Partition
    from workbench.loaders.scan.scan import (
        CorruptDataWarning as CorruptDataWarning,
        Scan as Scan,
    )
    from workbench.log_directory import (
        LogDirectory as LogDirectory,
        compare_replicas as compare_replicas,
        open_log_directory as open_log_directory,
        serve as serve,
        verify as verify,
        what_if as what_if,
    )
    from workbench.log_manager.manager import LogManager as LogManager
    from workbench.replication.simulation import scenarios as scenarios
    from workbench.replication.simulation.cluster import Cluster as Cluster
    from workbench.replication.simulation.search import find_schedule as find_schedule
    from workbench.server.security import ServerSecurity as ServerSecurity

    __version__: str

_COORDINATOR: Final = "workbench.coordinator"
_MODULES: Final = {
    "Cluster": "workbench.replication.simulation.cluster",
    "CorruptDataWarning": "workbench.loaders.scan.scan",
    "CorruptFileError": "workbench.errors",
    "CorruptRecordError": "workbench.errors",
    "Finding": "workbench.inspection.findings",
    "GroupCoordinatorService": f"{_COORDINATOR}.group_coordinator_service",
    "LogDirectory": "workbench.log_directory",
    "LogDirectoryError": "workbench.errors",
    "LogManager": "workbench.log_manager.manager",
    "MissingDependencyError": "workbench.errors",
    "OffsetManager": f"{_COORDINATOR}.offsets.offset_manager",
    "OffsetOutOfRangeError": "workbench.errors",
    "Partition": "workbench.loaders.partition",
    "Scan": "workbench.loaders.scan.scan",
    "Segment": "workbench.inspection.segment",
    "ServerSecurity": "workbench.server.security",
    "TransactionCoordinator": f"{_COORDINATOR}.transactions.serving.transaction_coordinator",
    "UnsupportedFormatError": "workbench.errors",
    "WorkbenchError": "workbench.errors",
    "compare_replicas": "workbench.log_directory",
    "find_schedule": "workbench.replication.simulation.search",
    "open_log_directory": "workbench.log_directory",
    "scenarios": "workbench.replication.simulation.scenarios",
    "serve": "workbench.log_directory",
    "spark": "workbench.spark",
    "verify": "workbench.log_directory",
    "what_if": "workbench.log_directory",
}
"""Public names and their modules, which are imported at the first use."""

__all__ = list(_MODULES)


def __dir__() -> list[str]:
    return [*_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            found: Any = version("kafka-log-workbench")
        except PackageNotFoundError:  # run from a checkout that was never installed
            found = "0"
    elif name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        module = import_module(_MODULES[name])
        found = module if module.__name__.endswith(f".{name}") else getattr(module, name)
    globals()[name] = found
    return found
