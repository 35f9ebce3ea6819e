"""A log is cleaned while threads append to it, read it, flush it and look up times."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.engine.soundness import assert_sound
from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.config.log_config import LogConfig
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.scheduler import ThreadScheduler

LEAST_APPENDS = 400
LEAST_CLEANINGS = 8
MOST_SECONDS = 200.0  # for a machine that does much else; about 3 here
KEYS = 60
CONFIG = LogConfig.of(
    {
        "cleanup.policy": "compact",
        "segment.bytes": 8000,
        "index.interval.bytes": 500,
        "segment.index.bytes": 2000,
        "file.delete.delay.ms": 50,
    }
)
CLEANER = CleanerConfig(map_memory=1 << 14, buffer_size=3000)


class CleanedTraffic:
    """One log and what the threads do with it.

    Attributes:
        sent: offset to key and value.
        cleanings: how many were done.
    """

    def __init__(self, root: Path) -> None:
        self.scheduler = ThreadScheduler(2)
        self.log = Log.open(str(root / "orders-0"), CONFIG, scheduler=self.scheduler)
        self.sent: dict[int, tuple[bytes, bytes]] = {}
        self.appends = self.cleanings = 0
        self.errors: list[BaseException] = []
        self._rng = Random(3)
        self._is_over = threading.Event()

    def append(self) -> None:
        """Append a batch and note it."""
        end = self.log.log_end_offset
        records = [
            (b"%d" % self._rng.randrange(KEYS), b"%d" % offset)
            for offset in range(end, end + self._rng.randrange(1, 9))
        ]
        self.sent.update(enumerate(records, end))
        codec = self._rng.choice(["none", "none", "lz4"])
        self.log.append_as_leader(MemoryRecords.of(*records, codec=codec))
        self.log.update_high_watermark(self.log.log_end_offset)
        self.appends += 1

    def clean(self) -> None:
        """Clean what may be."""
        found = log_to_clean(self.log, None, time.time_ns() // 1_000_000)
        if found.first_dirty_offset < found.first_uncleanable_offset:
            clean_log(self.log, 0, found.first_uncleanable_offset, 0, CLEANER)
            self.cleanings += 1

    def read(self) -> None:
        """Read the log from its start: offsets ascend, and each record is as it was sent."""
        position, end = 0, self.log.log_end_offset
        while position < end:
            records = self.log.read(position, 4000).records
            rows = records.batches().rows
            if not len(rows):
                return  # the last ones were compacted away
            last = position - 1
            for record in records.records():
                if record.offset >= position:
                    assert record.offset > last
                    assert self.sent[record.offset] == (record.key, record.value)
                    last = record.offset
            position = int(rows["last_offset"][-1]) + 1

    def look_up(self) -> None:
        """Flush, and look up the first record."""
        self.log.flush()
        self.log.offset_for_timestamp(0)
        time.sleep(0.01)

    def run(self, *works: Callable[[], None]) -> None:
        """Let threads do their work until enough was done."""
        threads = [threading.Thread(target=self._repeat, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + MOST_SECONDS
        while not self.errors and time.monotonic() < deadline:
            if self.appends >= LEAST_APPENDS and self.cleanings >= LEAST_CLEANINGS:
                break
            time.sleep(0.02)
        self._is_over.set()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _repeat(self, work: Callable[[], None]) -> None:
        try:
            while not self._is_over.is_set():
                work()
        except BaseException as error:  # noqa: BLE001  # told by the thread of the test
            self.errors.append(error)


@pytest.mark.slow
def test_a_log_is_cleaned_while_threads_append_and_read(memory_path: Path) -> None:
    traffic = CleanedTraffic(memory_path)
    traffic.run(traffic.append, traffic.clean, traffic.read, traffic.read, traffic.look_up)
    assert traffic.cleanings >= LEAST_CLEANINGS
    log = traffic.log
    traffic.clean()
    newest = {key: (offset, value) for offset, (key, value) in sorted(traffic.sent.items())}
    found = {
        record.key: (record.offset, record.value)
        for batch in assert_sound(log, is_loaded=False)
        for record in MemoryRecords.copy_of(batch.data).records()
    }
    assert found == newest
    log.close()
    traffic.scheduler.shutdown()
