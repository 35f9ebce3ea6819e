"""Kafka Log Workbench: open a Kafka log directory in Python, without a broker.

    import workbench as wb

    logs = wb.open_log_directory("sample_data/shop-4.3.1")
    logs.inspect.batches()                      # an Arrow table
    logs.scan(topics=["orders"]).to_pandas()    # a DataFrame
    logs.verify()                               # what is damaged, and what a broker would do

Nothing is written by any of these; `recover`, `compact` and `retain` change a copy. `serve` answers
any Kafka client from a directory, with `ServerSecurity` on a network; with ``writable=True`` it is
a small broker.
`to_table` loads the records of several disks into Parquet, Delta or Iceberg.
`LogManager` is the engine that writes, `engine` has what its logs are written with, and
`OffsetManager`, `GroupCoordinatorService` and `TransactionCoordinator` are coordinators on them.
`Cluster` simulates brokers that replicate, `find_schedule` finds the events that lose a record, and
`scenarios.play` plays the known ones.
"""

# ruff: noqa: I001 - the names of a module in one statement
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` imports a name
    from workbench import engine as engine, errors as errors, spark as spark
    from workbench.coordinator.group_coordinator.group_coordinator_service import (
        GroupCoordinatorService as GroupCoordinatorService,
    )
    from workbench.coordinator.group_coordinator.offset_manager import (
        OffsetManager as OffsetManager,
    )
    from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
        TransactionCoordinator as TransactionCoordinator,
    )
    from workbench.errors import (
        AppendError as AppendError,
        CleaningAbortedError as CleaningAbortedError,
        ConfigError as ConfigError,
        CoordinatorError as CoordinatorError,
        CoordinatorFencedError as CoordinatorFencedError,
        CorruptCheckpointError as CorruptCheckpointError,
        CorruptDataWarning as CorruptDataWarning,
        CorruptFileError as CorruptFileError,
        CorruptIndexError as CorruptIndexError,
        CorruptLogError as CorruptLogError,
        CorruptNameError as CorruptNameError,
        CorruptRecordError as CorruptRecordError,
        CorruptSnapshotError as CorruptSnapshotError,
        GroupStateError as GroupStateError,
        InconsistentTopicIdError as InconsistentTopicIdError,
        InvalidOffsetError as InvalidOffsetError,
        InvalidProducerEpochError as InvalidProducerEpochError,
        InvalidRecordError as InvalidRecordError,
        InvalidTimestampError as InvalidTimestampError,
        InvalidTransactionStateError as InvalidTransactionStateError,
        InvalidTransitionError as InvalidTransitionError,
        LinkError as LinkError,
        LogDirectoryError as LogDirectoryError,
        MissingDependencyError as MissingDependencyError,
        NotRegularFileError as NotRegularFileError,
        OffsetOutOfRangeError as OffsetOutOfRangeError,
        OffsetOverflowError as OffsetOverflowError,
        OffsetsOutOfOrderError as OffsetsOutOfOrderError,
        OutOfOrderSequenceError as OutOfOrderSequenceError,
        OutputError as OutputError,
        PlayerError as PlayerError,
        QueryError as QueryError,
        RecordBatchTooLargeError as RecordBatchTooLargeError,
        RecordTooLargeError as RecordTooLargeError,
        RemoteStorageError as RemoteStorageError,
        ReplayError as ReplayError,
        ReplicationError as ReplicationError,
        SchemaError as SchemaError,
        ServerError as ServerError,
        StateUnknownError as StateUnknownError,
        StorageError as StorageError,
        UnexpectedAppendOffsetError as UnexpectedAppendOffsetError,
        UnsupportedForMessageFormatError as UnsupportedForMessageFormatError,
        UnsupportedFormatError as UnsupportedFormatError,
        WorkbenchError as WorkbenchError,
    )
    from workbench.inspection.findings import Finding as Finding
    from workbench.inspection.segment import Segment as Segment
    from workbench.loaders.changes import (
        compact as compact,
        recover as recover,
        retain as retain,
    )
    from workbench.loaders.partition import Partition as Partition
    from workbench.loaders.scan.scan import Scan as Scan
    from workbench.loaders.tables.findings import FindingList as FindingList
    from workbench.loaders.topic import Topic as Topic
    from workbench.log_directory import (
        LogDirectory as LogDirectory,
        compare_replicas as compare_replicas,
        open_log_directory as open_log_directory,
        serve as serve,
        verify as verify,
        what_if as what_if,
    )
    from workbench.log_manager.manager import LogManager as LogManager
    from workbench.pipelines import to_table as to_table
    from workbench.replication.simulation import scenarios as scenarios
    from workbench.replication.simulation.cluster import Cluster as Cluster
    from workbench.replication.simulation.search import find_schedule as find_schedule
    from workbench.server.security import ServerSecurity as ServerSecurity

    __version__: str

_COORDINATOR: Final = "workbench.coordinator"
_ERRORS: Final = "workbench.errors"
_MODULES: Final = {
    "AppendError": _ERRORS,
    "CleaningAbortedError": _ERRORS,
    "Cluster": "workbench.replication.simulation.cluster",
    "ConfigError": _ERRORS,
    "CoordinatorError": _ERRORS,
    "CoordinatorFencedError": _ERRORS,
    "CorruptCheckpointError": _ERRORS,
    "CorruptDataWarning": _ERRORS,
    "CorruptFileError": _ERRORS,
    "CorruptIndexError": _ERRORS,
    "CorruptLogError": _ERRORS,
    "CorruptNameError": _ERRORS,
    "CorruptRecordError": _ERRORS,
    "CorruptSnapshotError": _ERRORS,
    "Finding": "workbench.inspection.findings",
    "FindingList": "workbench.loaders.tables.findings",
    "GroupCoordinatorService": f"{_COORDINATOR}.group_coordinator.group_coordinator_service",
    "GroupStateError": _ERRORS,
    "InconsistentTopicIdError": _ERRORS,
    "InvalidOffsetError": _ERRORS,
    "InvalidProducerEpochError": _ERRORS,
    "InvalidRecordError": _ERRORS,
    "InvalidTimestampError": _ERRORS,
    "InvalidTransactionStateError": _ERRORS,
    "InvalidTransitionError": _ERRORS,
    "LinkError": _ERRORS,
    "LogDirectory": "workbench.log_directory",
    "LogDirectoryError": _ERRORS,
    "LogManager": "workbench.log_manager.manager",
    "MissingDependencyError": _ERRORS,
    "NotRegularFileError": _ERRORS,
    "OffsetManager": f"{_COORDINATOR}.group_coordinator.offset_manager",
    "OffsetOutOfRangeError": _ERRORS,
    "OffsetOverflowError": _ERRORS,
    "OffsetsOutOfOrderError": _ERRORS,
    "OutOfOrderSequenceError": _ERRORS,
    "OutputError": _ERRORS,
    "Partition": "workbench.loaders.partition",
    "PlayerError": _ERRORS,
    "QueryError": _ERRORS,
    "RecordBatchTooLargeError": _ERRORS,
    "RecordTooLargeError": _ERRORS,
    "RemoteStorageError": _ERRORS,
    "ReplayError": _ERRORS,
    "ReplicationError": _ERRORS,
    "Scan": "workbench.loaders.scan.scan",
    "SchemaError": _ERRORS,
    "Segment": "workbench.inspection.segment",
    "ServerError": _ERRORS,
    "ServerSecurity": "workbench.server.security",
    "StateUnknownError": _ERRORS,
    "StorageError": _ERRORS,
    "Topic": "workbench.loaders.topic",
    "TransactionCoordinator": f"{_COORDINATOR}.transaction_coordinator.transaction_coordinator",
    "UnexpectedAppendOffsetError": _ERRORS,
    "UnsupportedForMessageFormatError": _ERRORS,
    "UnsupportedFormatError": _ERRORS,
    "WorkbenchError": _ERRORS,
    "compact": "workbench.loaders.changes",
    "compare_replicas": "workbench.log_directory",
    "engine": "workbench.engine",
    "errors": _ERRORS,
    "find_schedule": "workbench.replication.simulation.search",
    "open_log_directory": "workbench.log_directory",
    "recover": "workbench.loaders.changes",
    "retain": "workbench.loaders.changes",
    "scenarios": "workbench.replication.simulation.scenarios",
    "serve": "workbench.log_directory",
    "spark": "workbench.spark",
    "to_table": "workbench.pipelines",
    "verify": "workbench.log_directory",
    "what_if": "workbench.log_directory",
}
"""Public names and their modules, which are imported at the first use.

`dir` offers `errors` in place of what is in it."""

__all__ = list(_MODULES)


def __dir__() -> list[str]:
    offered = [name for name, module in _MODULES.items() if module != _ERRORS]
    return [*offered, "errors", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            found: Any = version("kafka-log-workbench")
        except PackageNotFoundError:  # run from a checkout that was never installed
            found = "0"
    elif name not in _MODULES:
        from workbench import engine
        from workbench.loaders.guessed_names import hint_of_module
        from workbench.runtime.words import no_attribute

        names = [*_MODULES, "__version__", *(f"engine.{each}" for each in engine.__all__)]
        raise no_attribute(__name__, name, names, hint_of_module(name, names))
    else:
        module = import_module(_MODULES[name])
        found = module if module.__name__.endswith(f".{name}") else getattr(module, name)
    globals()[name] = found
    return found
