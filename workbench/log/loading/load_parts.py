"""Load the files of a log, and make the parts that the log works with.

Kafka: UnifiedLog.create (4.2)
"""

import threading
from collections.abc import Callable

from workbench.config.producer_state_config import ProducerStateConfig
from workbench.log.context import LogContext
from workbench.log.damage import raise_as_corrupt
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loading.loader import LogLoader
from workbench.log.local_log import LocalLog
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.log_segments import LogSegments
from workbench.log.watermarks import Watermarks


def load_parts(
    context: LogContext,
    *,
    log_start_offset: int,
    recovery_point: int,
    had_clean_shutdown: bool,
    producer_config: ProducerStateConfig,
    remaining: Callable[[int], None] | None,
) -> tuple[LocalLog, LeaderEpochCache, ProducerStateManager, Watermarks]:
    """Load a log, creating its directory if missing, and recover it if necessary.

    For arguments and errors see `Log.open`.

    Returns:
        The parts of a `BaseLog` besides its context.
    """
    directory = context.directory
    if not context.fs.exists(directory):
        context.fs.make_directory(directory)
    epochs = LeaderEpochCache(context)
    state = ProducerStateManager(
        context.topic_partition,
        directory,
        context.fs,
        producer_config,
        context.clock,
        context.observer,
    )
    segments = LogSegments()
    loader = LogLoader(
        context,
        segments,
        had_clean_shutdown=had_clean_shutdown,
        log_start_offset_checkpoint=log_start_offset,
        recovery_point_checkpoint=recovery_point,
        leader_epochs=epochs,
        producer_state=state,
        remaining=remaining,
    )
    with raise_as_corrupt(directory, "loaded"):
        loaded = loader.load()
    active = segments.active
    end = LogOffsetMetadata(loaded.next_offset, active.base_offset, active.size)
    local = LocalLog(context, segments, loaded.recovery_point, end)
    start = max(loaded.log_start_offset, segments.all[0].base_offset)
    watermarks = Watermarks(local, state, start, threading.RLock())
    watermarks.raise_log_start(start)  # the recovery point is not before it
    return local, epochs, state, watermarks
