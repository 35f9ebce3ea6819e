"""A process that writes to a compacted log and cleans it until it is killed, with a journal.

Each append is noted before and after it, each cleaning too; see `tests.engine.killed_writer`.
"""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

from tests.engine.life import NOW, open_log
from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.config.log_config import LogConfig
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock

CONFIG = LogConfig.of(
    {
        "cleanup.policy": "compact",
        "segment.bytes": 2500,
        "index.interval.bytes": 300,
        "segment.index.bytes": 480,
        "file.delete.delay.ms": 3000,
        "delete.retention.ms": 20_000,
    }
)
CLEANER = CleanerConfig(map_memory=1 << 13, buffer_size=600)
KEYS = 40
_RUN_MS = 1_000_000  # that a run's clock is ahead of the one before


class Cleaner:
    """Writes and cleans by chance.

    Args:
        root: the log directory.
        seed: of what it does; also the number of the run.
        journal: path of the file for the notes.
    """

    def __init__(self, root: Path, seed: int, journal: Path) -> None:
        self._rng = Random(seed)
        self._clock = ManualClock(NOW + seed * _RUN_MS)
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._log = open_log(root, CONFIG, self._clock, clean=False)
        self._note(step="opened", is_done=True)

    def run(self) -> None:
        """Write and clean for ever."""
        while True:
            for _ in range(self._rng.randrange(1, 25)):
                self._append()
            self._clock.advance(self._rng.choice([0, 4000, 30_000]))
            self._clean()

    def _note(self, **what: Any) -> None:
        os.write(self._journal, json.dumps(what).encode() + b"\n")

    def _append(self) -> None:
        rng = self._rng
        end = self._log.log_end_offset
        sent = [
            (rng.randrange(KEYS), None if rng.random() < 0.25 else f"{end + number}-{'v' * 20}")
            for number in range(rng.randrange(1, 6))
        ]
        records = [
            (self._clock.now(), b"%d" % key, None if value is None else value.encode())
            for key, value in sent
        ]
        codec = rng.choice(["none", "none", "lz4"])
        self._note(step="append", is_done=False, offset=end, sent=sent)
        self._log.append_as_leader(MemoryRecords.of(*records, codec=codec))
        self._note(step="append", is_done=True, offset=end, sent=sent)

    def _clean(self) -> None:
        log, now = self._log, self._clock.now()
        log.update_high_watermark(log.log_end_offset)
        found = log_to_clean(log, None, now)
        if found.first_dirty_offset < found.first_uncleanable_offset:
            self._note(step="clean", is_done=False)
            clean_log(log, 0, found.first_uncleanable_offset, now, CLEANER)
            self._note(step="clean", is_done=True)


def clean_until_killed(root: str, seed: int, journal: str) -> None:
    """Write to the log in a log directory, and clean it."""
    Cleaner(Path(root), seed, Path(journal)).run()
