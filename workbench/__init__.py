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

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from workbench import spark
from workbench.errors import (
    CorruptFileError,
    CorruptRecordError,
    LogDirectoryError,
    MissingDependencyError,
    OffsetOutOfRangeError,
    UnsupportedFormatError,
    WorkbenchError,
)
from workbench.inspection.findings import Finding
from workbench.inspection.segment import Segment
from workbench.loaders.partition import Partition
from workbench.loaders.scan.scan import CorruptDataWarning, Scan
from workbench.log_directory import (
    LogDirectory,
    compare_replicas,
    open_log_directory,
    serve,
    verify,
    what_if,
)

if TYPE_CHECKING:
    from workbench.coordinator.group_coordinator_service import GroupCoordinatorService
    from workbench.coordinator.offsets.offset_manager import OffsetManager
    from workbench.coordinator.transactions.serving.transaction_coordinator import (
        TransactionCoordinator,
    )
    from workbench.log_manager.manager import LogManager
    from workbench.replication.simulation import scenarios
    from workbench.replication.simulation.cluster import Cluster
    from workbench.replication.simulation.search import find_schedule
    from workbench.server.security import ServerSecurity

try:
    __version__ = version("kafka-log-workbench")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0"

__all__ = [
    "Cluster",
    "CorruptDataWarning",
    "CorruptFileError",
    "CorruptRecordError",
    "Finding",
    "GroupCoordinatorService",
    "LogDirectory",
    "LogDirectoryError",
    "LogManager",
    "MissingDependencyError",
    "OffsetManager",
    "OffsetOutOfRangeError",
    "Partition",
    "Scan",
    "Segment",
    "ServerSecurity",
    "TransactionCoordinator",
    "UnsupportedFormatError",
    "WorkbenchError",
    "compare_replicas",
    "find_schedule",
    "open_log_directory",
    "scenarios",
    "serve",
    "spark",
    "verify",
    "what_if",
]

_LATER: Final = {
    "Cluster": "workbench.replication.simulation.cluster",
    "GroupCoordinatorService": "workbench.coordinator.group_coordinator_service",
    "LogManager": "workbench.log_manager.manager",
    "OffsetManager": "workbench.coordinator.offsets.offset_manager",
    "ServerSecurity": "workbench.server.security",
    "TransactionCoordinator": (
        "workbench.coordinator.transactions.serving.transaction_coordinator"
    ),
    "find_schedule": "workbench.replication.simulation.search",
}
"""Names of the engine that writes, and their modules: imported at the first use."""

_LATER_MODULES: Final = {"scenarios": "workbench.replication.simulation.scenarios"}


def __getattr__(name: str) -> Any:
    if name in _LATER_MODULES:
        found: Any = import_module(_LATER_MODULES[name])
    elif name in _LATER:
        found = getattr(import_module(_LATER[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
