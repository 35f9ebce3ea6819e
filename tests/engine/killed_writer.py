"""A process that writes to a log until it is killed, and notes what it did in a journal.

Each step is noted before it is begun and after it has ended; what was noted survives the process,
as does what it wrote to the log: both are in the operating system's memory.
"""

import json
import os
from binascii import crc32
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.engine.life import NOW, ORDERS, open_log
from workbench.config.log_config import LogConfig
from workbench.file_system.local import LOCAL
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import CLEAN_SHUTDOWN, LOG_START_OFFSETS, RECOVERY_POINTS
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.log.retention import rules_for
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock

CONFIG = LogConfig.of(
    {
        "segment.bytes": 6000,
        "index.interval.bytes": 500,
        "segment.index.bytes": 1200,
        "file.delete.delay.ms": 3000,
        "retention.ms": 20_000,
    }
)
TRANSACTIONAL = (11, 12, 13)  # producers
_RUN_MS = 1_000_000  # that a run's clock is ahead of the one before


class Writer:
    """Writes to a log by chance.

    Args:
        root: the log directory.
        seed: of what it does; also the number of the run.
        journal: path of the file for the notes.
    """

    def __init__(self, root: Path, seed: int, journal: Path) -> None:
        self._root = root
        self._rng = Random(seed)
        self._clock = ManualClock(NOW + seed * _RUN_MS)
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._log = open_log(root, CONFIG, self._clock)
        self._note(step="opened", is_done=True)

    def run(self) -> None:
        """Take steps for ever."""
        steps: dict[Callable[[], None], int] = {
            self._append: 60,
            self._produce: 12,
            self._transact: 8,
            self._roll: 3,
            self._flush: 6,
            self._truncate: 5,
            self._truncate_fully: 1,
            self._delete_records: 3,
            self._retain: 3,
            self._wait: 4,
            self._shut_down: 1,
        }
        while True:
            self._rng.choices(tuple(steps), tuple(steps.values()))[0]()

    def _note(self, **what: Any) -> None:
        line = json.dumps({**what, "start": self._log.log_start_offset, "end": self._end})
        os.write(self._journal, line.encode() + b"\n")

    @property
    def _end(self) -> int:
        return self._log.log_end_offset

    def _append(self, **options: Any) -> None:
        self._clock.advance(10)
        rng = self._rng
        records = [
            (self._clock.now(), b"k%d" % self._end, rng.randbytes(rng.randrange(400)))
            for _ in range(rng.randrange(1, 8))
        ]
        self._store(MemoryRecords.of(*records, **options), "append")

    def _store(self, batch: MemoryRecords, step: str, **options: Any) -> None:
        self._note(step=step, is_done=False)
        info = self._log.append_as_leader(batch, **options)
        appended = [info.first_offset, info.last_offset, crc32(bytes(batch))]
        self._note(step=step, is_done=True, batch=appended)

    def _produce(self, producers: tuple[int, ...] = (1, 2, 3, 4), **options: Any) -> None:
        producer = self._rng.choice(producers)
        known = self._log.producer_state.last_entry(producer)
        last = known.batches[-1].last_sequence if known is not None and known.batches else None
        sequence = 0 if last is None else last + 1
        self._append(producer_id=producer, producer_epoch=0, base_sequence=sequence, **options)

    def _transact(self) -> None:
        """Append to a transaction, or end one."""
        known = self._log.producer_state.producers
        open_ones = [
            id_ for id_ in TRANSACTIONAL
            if id_ in known and known[id_].current_transaction_first_offset is not None
        ]  # fmt: skip
        if not open_ones or self._rng.random() < 0.6:
            self._produce(TRANSACTIONAL, is_transactional=True)
            return
        marker = end_transaction_marker(
            0,
            self._clock.now(),
            self._rng.choice(open_ones),
            0,
            commit=self._rng.random() < 0.5,
            coordinator_epoch=0,
        )
        self._store(marker, "end transaction", origin=AppendOrigin.COORDINATOR)

    def _roll(self) -> None:
        self._do("roll", self._log.roll)

    def _flush(self) -> None:
        self._do("flush", self._log.flush)
        self._checkpoint()

    def _checkpoint(self) -> None:
        log = self._log
        for name, offset in (
            (LOG_START_OFFSETS, log.log_start_offset),
            (RECOVERY_POINTS, log.recovery_point),
        ):
            data = OffsetCheckpoint({ORDERS: offset}).encode()
            LOCAL.write_atomically(str(self._root / name), data)

    def _truncate(self) -> None:
        offset = self._rng.randrange(max(self._end - 60, 0), self._end + 1)
        is_within = offset >= self._log.segments[0].base_offset
        step = "truncate" if is_within else "truncate fully"
        self._do(step, lambda: self._with_checkpoint(self._log.truncate_to, offset), offset)

    def _truncate_fully(self) -> None:
        offset = self._end + 5
        truncate = self._log.truncate_fully_and_start_at
        self._do("truncate fully", lambda: self._with_checkpoint(truncate, offset), offset)

    def _with_checkpoint(self, truncate: Callable[[int], object], offset: int) -> None:
        """Truncate, and write the checkpoints as a log manager does."""
        truncate(offset)
        self._checkpoint()

    def _delete_records(self) -> None:
        log = self._log
        log.update_high_watermark(self._end)
        offset = self._rng.randrange(log.log_start_offset, self._end + 1)
        self._do("delete records", lambda: log.delete_records(offset), offset)

    def _retain(self) -> None:
        self._log.update_high_watermark(self._end)
        self._clock.advance(self._rng.choice([100, 5000]))
        self._do("retain", self._log.delete_old_segments, start_after_retention(self._log))

    def _wait(self) -> None:
        self._do("wait", lambda: self._clock.advance(4000))

    def _shut_down(self) -> None:
        """Close in order, as a log manager does, and open again."""
        self._do("shut down", self._close_and_open)

    def _close_and_open(self) -> None:
        self._log.flush(force_active_segment=True)
        self._log.close()
        self._checkpoint()
        LOCAL.write_atomically(str(self._root / CLEAN_SHUTDOWN), b'{"version":0,"brokerEpoch":-1}')
        self._log.close_handlers()
        self._log = open_log(self._root, CONFIG, self._clock)

    def _do(self, step: str, action: Callable[[], object], offset: int | None = None) -> None:
        self._note(step=step, is_done=False, offset=offset)
        action()
        self._note(step=step, is_done=True, offset=offset)


class Restarter(Writer):
    """Starts, recovers and shuts down again and again, with a little writing between."""

    def run(self) -> None:
        """Take steps for ever."""
        while True:
            for _ in range(self._rng.randrange(4)):
                self._rng.choice((self._append, self._produce, self._transact, self._roll))()
            if self._rng.random() < 0.3:
                self._flush()
            self._rng.choice((self._shut_down, self._recover))()

    def _recover(self) -> None:
        """Open what was not closed in order."""
        self._do("recover", self._reopen)

    def _reopen(self) -> None:
        self._log.close_handlers()
        self._log = open_log(self._root, CONFIG, self._clock)


def start_after_retention(log: Log) -> int:
    """Return where a log will start when retention has run."""
    start = log.log_start_offset
    bases = [segment.base_offset for segment in log.segments[1:]]
    for rule in rules_for(log.config):
        count = sum(verdict.is_deleted for verdict in rule(log.retention_state()))
        if count:
            start = max(start, bases[count - 1] if count <= len(bases) else log.log_end_offset)
    return start


def restart_until_killed(root: str, seed: int, journal: str) -> None:
    """Open, recover and close the log in a log directory."""
    Restarter(Path(root), seed, Path(journal)).run()


def write_until_killed(root: str, seed: int, journal: str) -> None:
    """Write to the log in a log directory."""
    Writer(Path(root), seed, Path(journal)).run()
