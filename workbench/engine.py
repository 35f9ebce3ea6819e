"""What logs of your own are written with: a clock that is moved by hand, records, configurations.

    import workbench as wb

    clock = wb.engine.ManualClock(1_732_924_800_000)
    manager = wb.LogManager(["data"], clock=clock, scheduler=wb.engine.ManualScheduler(clock))

Nothing is defined here: the lessons and documents take these names from one place.
"""

from typing import NoReturn

from workbench.cleaner.config import CleanerConfig
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transactions.states import TransactionVersion
from workbench.foresight.copies.copying import copy_log_directory
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.replication.simulation.events import Bounds
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Observer, Step
from workbench.runtime.words import no_attribute

__all__ = [
    "AppendOrigin",
    "Bounds",
    "CleanerConfig",
    "ManualClock",
    "ManualScheduler",
    "MemoryRecords",
    "Observer",
    "OffsetCommit",
    "OffsetConfig",
    "Step",
    "TransactionConfig",
    "TransactionVersion",
    "copy_log_directory",
    "end_transaction_marker",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise no_attribute(__name__, name, __all__)
