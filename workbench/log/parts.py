"""The parts of one log, which its functions work on.

Kafka: the fields of UnifiedLog (4.2)
"""

import threading
from dataclasses import dataclass, field

from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.local_log import LocalLog
from workbench.log.producers.state import ProducerStateManager
from workbench.log.watermarks import Watermarks


@dataclass(slots=True, eq=False)
class LogParts:
    """The parts of one log.

    Attributes:
        context: directory, configuration, file system, clock.
        local: the segments.
        leader_epochs: where each leader epoch starts.
        producer_state: sequences and transactions of producers.
        watermarks: log start offset, high watermark and last stable offset.
        lock: held by every change of the log.
    """

    context: LogContext
    local: LocalLog
    leader_epochs: LeaderEpochCache
    producer_state: ProducerStateManager
    watermarks: Watermarks
    lock: threading.RLock = field(default_factory=threading.RLock)
