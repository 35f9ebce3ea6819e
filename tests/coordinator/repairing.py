"""Do what a planned repair says, with the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.cleaner.cleaner import clean_log
from workbench.coordinator.repair.plan import plan_repairs
from workbench.coordinator.repair.repair import APPEND, CLEAN, MARKER, REPAIR, Repair
from workbench.inspection.listing import list_log_directories
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock

COMPACTED = {"cleanup.policy": "compact"}
OF_TOPICS = {"__consumer_offsets": COMPACTED, "__transaction_state": COMPACTED}


def plan(root: Path) -> list[Repair]:
    """Return the planned repair of a log directory."""
    return plan_repairs(list_log_directories(root))


def repair(root: Path, repairs: Sequence[Repair], now: int, **config: Any) -> None:
    """Append the records and markers, then clean; the directory is shut down cleanly."""
    clock = ManualClock(now)
    manager = LogManager(
        [root], {"log.cleaner.enable": False, **config}, clock=clock, topic_configs=OF_TOPICS
    )
    with manager:
        for each in repairs:
            if each.by == REPAIR:
                _do(manager.get_or_create_log(each.where), each, now)


def _do(log: Log, each: Repair, now: int) -> None:
    latest = log.leader_epochs.latest
    epoch = 0 if latest is None else latest.epoch
    if each.action == APPEND:
        time = now if each.timestamp is None else each.timestamp
        log.append_as_leader(MemoryRecords.of((time, each.key, each.value)), epoch)
    elif each.action == MARKER:
        assert each.producer_id is not None
        assert each.producer_epoch is not None
        assert each.coordinator_epoch is not None
        marker = end_transaction_marker(
            0, now, each.producer_id, each.producer_epoch, commit=each.what == "COMMIT",
            coordinator_epoch=each.coordinator_epoch,
        )  # fmt: skip
        (written,) = marker.records()
        assert (written.key, written.value) == (each.key, each.value)
        log.append_as_leader(marker, epoch, AppendOrigin.COORDINATOR)
    else:
        assert each.action == CLEAN
        log.roll()
        log.update_high_watermark(log.log_end_offset)
        clean_log(log, log.log_start_offset, log.local.segments.active.base_offset, now)
