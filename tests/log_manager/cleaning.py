"""A log manager's cleaner, as tests ask for it."""

import threading
from collections.abc import Callable

from workbench.cleaner.schedule.log_cleaner import LogCleaner
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager

COMPACT = {"cleanup.policy": "compact"}


def last_values(log: Log) -> dict[bytes, bytes | None]:
    """Return the last value of each key."""
    found: dict[bytes, bytes | None] = {}
    position = log.log_start_offset
    while position < log.log_end_offset:
        records = log.read(position, 1 << 20).records.records()
        for record in records:
            if record.key is not None:
                found[record.key] = record.value
            position = max(position, record.offset + 1)
        if not records:
            return found
    return found


def cleaner_of(manager: LogManager) -> LogCleaner:
    assert manager.cleaner is not None
    return manager.cleaner


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread
