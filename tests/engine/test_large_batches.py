"""Batches that a broker takes and that readers leave out: the engine works with them."""

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.naive import Record, batch
from workbench.cleaner.cleaner import clean_log
from workbench.config.log_config import LogConfig
from workbench.layout.attributes import GZIP, ZSTD
from workbench.log.log import Log
from workbench.record.limits import LARGEST_CONTENT, VARIABLE
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

CONFIG = LogConfig.of({"cleanup.policy": "compact"})
LARGE = bytes(LARGEST_CONTENT + 1)


def opened(folder: Path, *, clean: bool = True) -> Log:
    clock = ManualClock(1_800_000_000_000)
    return Log.open(
        str(folder),
        CONFIG,
        clock=clock,
        scheduler=ManualScheduler(clock),
        had_clean_shutdown=clean,
    )


def as_records(data: bytes) -> MemoryRecords:
    return MemoryRecords(np.frombuffer(bytearray(data), np.uint8))


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_the_engine_appends_finds_recovers_and_cleans_a_batch_that_readers_leave_out(
    tmp_path: Path, codec: int
) -> None:
    log = opened(tmp_path / "orders-0")
    records = [Record(0, 5, b"a", b"old"), Record(1, 6, b"b", LARGE)]
    log.append_as_leader(as_records(batch(records, codec)))
    log.append([(b"a", b"new")])
    assert log.offset_for_timestamp(6) is not None
    log.roll()
    log.close()
    recovered = opened(tmp_path / "orders-0", clean=False)
    assert recovered.log_end_offset == 3
    clean_log(recovered, 0, recovered.local.segments.active.base_offset, 1_800_000_000_000)
    kept = recovered.read(0, 1 << 20).records.records()
    assert [(record.offset, record.key) for record in kept] == [(1, b"b"), (2, b"a")]
    assert kept[0].value == LARGE
    recovered.close()
    with pytest.warns(wb.CorruptDataWarning, match=VARIABLE):
        assert wb.open_log_directory(tmp_path).scan().count() == 1


def test_what_only_looks_keeps_the_readers_limit(tmp_path: Path) -> None:
    log = opened(tmp_path / "orders-0")
    log.append_as_leader(as_records(batch([Record(0, 5, b"a", LARGE)], GZIP)))
    log.roll()
    log.append([(b"a", b"new")])
    log.close()
    partition = wb.open_log_directory(tmp_path)["orders-0"]
    with pytest.raises(wb.WorkbenchError, match=VARIABLE):
        partition.plan_cleaning({"cleanup.policy": "compact"}, now=1_800_000_000_000)
