"""Do with the engine's log what a script says, and report the outcome: `Sequence.java`, ours."""

import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.engine_jvm.scripts import START
from tests.golden.compaction import assert_same
from workbench.cleaner.cleaner import clean_log, plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.offset_map import ENTRY_SIZE
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.config.log_config import LogConfig
from workbench.errors import WorkbenchError
from workbench.log.append.append_info import LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import Task

KAFKA_ERRORS = {
    "CleaningAbortedError": "LogCleaningAbortedException",
    "CorruptRecordError": "CorruptRecordException",
    "CoordinatorFencedError": "TransactionCoordinatorFencedException",
    "InvalidProducerEpochError": "InvalidProducerEpochException",
    "InvalidTransactionStateError": "InvalidTxnStateException",
    "InvalidTimestampError": "InvalidTimestampException",
    "InvalidRecordError": "InvalidRecordException",
    "OffsetOutOfRangeError": "OffsetOutOfRangeException",
    "OffsetsOutOfOrderError": "OffsetsOutOfOrderException",
    "OutOfOrderSequenceError": "OutOfOrderSequenceException",
    "RecordBatchTooLargeError": "RecordBatchTooLargeException",
    "RecordTooLargeError": "RecordTooLargeException",
    "UnexpectedAppendOffsetError": "UnexpectedAppendOffsetException",
    "UnsupportedFormatError": "IllegalStateException",
    "ValueError": "IllegalArgumentException",
    "CorruptLogError": "IllegalArgumentException",
}
ISOLATIONS: dict[str, Any] = {
    "log_end": "log_end",
    "high_watermark": "high_watermark",
    "txn_committed": "read_committed",
}


class Later:
    """Runs what is due after each operation, in order of time, as threads would a moment later."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._tasks: list[Task] = []

    def schedule(
        self, name: str, task: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> Task:
        """Queue a task; see `Scheduler`."""
        queued = Task(name, task, self._clock.now() + delay_ms, period_ms)
        self._tasks.append(queued)
        return queued

    def run_due(self) -> None:
        """Run what is due by now."""
        while due := [t for t in self._tasks if t.due <= self._clock.now() and not t.is_cancelled]:
            first = min(due, key=lambda task: task.due)
            if first.period_ms is None:
                self._tasks.remove(first)
            else:
                first.due += first.period_ms
            first.action()

    def shutdown(self) -> None:
        """Forget all tasks."""
        self._tasks.clear()


class Sequence:
    """One log, from its first line to its last.

    Args:
        directory: the partition's; made.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ManualClock(START)
        self.config = LogConfig.of({})
        self.log: Log | None = None
        self.last_recovery_point = self.last_start = self.last_clean = 0
        self.scheduler = Later(self.clock)

    def run(self, script: str) -> list[str]:
        """Run all lines and return what they print."""
        return [
            printed
            for number, line in enumerate(script.splitlines())
            for printed in self.step(number, line)
        ]

    def step(self, number: int, line: str) -> list[str]:
        """Run one line; return what came of it, the state of the log, and its files."""
        words = line.split(" ")
        try:
            answer = self._do(*words)
            self.scheduler.run_due()
        except (WorkbenchError, ValueError) as error:
            name = type(error).__name__
            answer = f"error {KAFKA_ERRORS.get(name, name)}"
            if getattr(error, "record_errors", None):
                answer = "error RecordValidationException"
        state = [] if self.log is None else [f"  {self._state(self.log)}"]
        return [f"{number} {words[0]} {answer}", *state, f"  {self._files()}"]

    def _do(self, what: str, *words: str) -> str:
        answer = getattr(self, f"_{what}")(*words)
        return "done" if answer is None else str(answer)

    @property
    def _log(self) -> Log:
        assert self.log is not None
        return self.log

    def _config(self, *pairs: str) -> None:
        self.config = LogConfig.of(dict(pair.split("=", 1) for pair in pairs))
        if self.log is not None:
            self.log.update_config(self.config)

    def _now(self, moment: str) -> None:
        self.clock.set(int(moment))

    def _open(self, how: str, recovery_point: str, start: str) -> None:
        self.log = Log.open(
            str(self.directory),
            self.config,
            log_start_offset=self.last_start if start == "last" else int(start),
            recovery_point=(
                self.last_recovery_point if recovery_point == "last" else int(recovery_point)
            ),
            had_clean_shutdown=how == "clean",
            clock=self.clock,
            scheduler=self.scheduler,
            rng=Random(1),
        )

    def _close(self) -> None:
        self._log.close()
        self._forget()

    def _crash(self) -> None:
        self._log.close_handlers()
        self._forget()

    def _forget(self) -> None:
        self.last_recovery_point = self._log.recovery_point
        self.last_start = self._log.log_start_offset
        self.log = None
        self.scheduler.shutdown()  # what waited is never done, as after a restart

    def _append(self, epoch: str, origin: str, data: str) -> str:
        info = self._log.append_as_leader(_records(data), int(epoch), AppendOrigin[origin.upper()])
        return _appended(info)

    def _follow(self, epoch: str, data: str) -> str:
        return _appended(self._log.append_as_follower(_records(data), int(epoch)))

    def _roll(self) -> int:
        return self._log.roll().base_offset

    def _flush(self, what: str) -> None:
        self._log.flush(force_active_segment=what == "all")

    def _flushto(self, part: str) -> None:
        self._log.flush_up_to(self._log.log_end_offset * int(part) // 100)

    def _highwatermark(self, offset: str) -> int:
        return self._log.update_high_watermark(int(offset))

    def _truncate(self, offset: str) -> str:
        return str(self._log.truncate_to(int(offset))).lower()

    def _truncatefully(self, offset: str, start: str | None = None) -> None:
        self._log.truncate_fully_and_start_at(int(offset), None if start is None else int(start))

    def _deleterecords(self, offset: str) -> str:
        raised = self._log.maybe_increment_log_start_offset(int(offset), "a client deleted records")
        return str(raised).lower()

    def _retain(self) -> int:
        return sum(verdict.is_deleted for verdict in self._log.delete_old_segments())

    def _clean(self, checkpoint: str, slots: str, load_factor: str, buffer_size: str) -> str:
        """Clean once, from the checkpoint: "none", "last" or an offset; as it was planned.

        Half of them as a cleaner's thread does, which collects no decisions.
        """
        last = self.last_clean if checkpoint == "last" else None
        if checkpoint.isdigit():
            last = int(checkpoint)
        now = self.clock.now()
        found = log_to_clean(self._log, last, now)
        first, end = found.first_dirty_offset, found.first_uncleanable_offset
        words: list[object] = [first, end, found.clean_bytes, found.cleanable_bytes]
        if first >= end:
            return " ".join(map(str, [*words, "nothing"]))
        memory = int(slots) * ENTRY_SIZE
        config = CleanerConfig(memory, float(load_factor), int(buffer_size))
        plan = plan_cleaning(self._log, first, end, now, config)
        collects = end % 2 == 0
        cleaning = clean_log(self._log, first, end, now, config, collects=collects)
        if collects:
            assert_same(plan, cleaning)
        stats = cleaning.stats
        assert stats == plan.stats
        self.last_clean = stats.end_offset
        words += ["end", stats.end_offset, "mapped", stats.map_messages_read]
        words += ["read", stats.messages_read, stats.bytes_read]
        words += ["written", stats.messages_written, stats.bytes_written]
        words += ["invalid", stats.invalid_messages_read, "full", stats.map_utilization]
        return " ".join(map(str, words))

    def _snapshot(self) -> None:
        self._log.take_producer_snapshot()

    def _expire(self) -> None:
        with self._log.lock:
            self._log.producer_state.remove_expired(self.clock.now())

    def _read(self, offset: str, size: str, isolation: str, least: str) -> str:
        found = self._log.read(
            int(offset), int(size), ISOLATIONS[isolation], min_one_message=least == "one"
        )
        data = bytes(found.records.view)
        where = found.offset_metadata
        words: list[object] = [where.offset, where.segment_base_offset, where.position, len(data)]
        words += [zlib.crc32(data) if data else 0, str(found.first_entry_incomplete).lower()]
        aborted = found.aborted_transactions or ()
        words += [f"{each.producer_id}@{each.first_offset}" for each in aborted]
        return " ".join(map(str, words))

    def _time(self, moment: str) -> str:
        found = self._log.offset_for_timestamp(int(moment))
        if found is None:
            return "none"
        epoch = -1 if found.leader_epoch is None else found.leader_epoch
        return f"{found.timestamp} {found.offset} {epoch}"

    def _epoch(self, epoch: str) -> str:
        found = self._log.end_offset_for_epoch(int(epoch))
        return "none" if found is None else f"{found[1]} {found[0]}"

    def _state(self, log: Log) -> str:
        unstable = log.first_unstable_offset
        words: list[object] = ["end", log.log_end_offset, "hw", log.high_watermark]
        words += ["lso", log.last_stable_offset, "start", log.log_start_offset]
        words += ["recovery", log.recovery_point]
        words += ["unstable", "none" if unstable is None else unstable, "segments"]
        words += [f"{segment.base_offset}:{segment.size}" for segment in log.segments]
        words += ["epochs"]
        words += [f"{entry.epoch}@{entry.start_offset}" for entry in log.leader_epochs.entries]
        words += ["producers"]
        for identity, entry in sorted(log.producer_state.producers.items()):
            numbers = (
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_data_offset,
                entry.current_transaction_first_offset,
            )
            words.append(f"{identity}/" + "/".join(str(-1 if n is None else n) for n in numbers))
        return " ".join(map(str, words))

    def _files(self) -> str:
        if not self.directory.exists():
            return "no files"
        for segment in [] if self.log is None else self.log.segments:
            segment.write_out()  # as a mapped file shows what is appended at once
        names = []
        for path in sorted(self.directory.iterdir()):
            data = path.read_bytes()
            names.append(f"{path.name}:{len(data)}:{zlib.crc32(data):x}")
        return " ".join(names)


def _records(data: str) -> MemoryRecords:
    return MemoryRecords(np.frombuffer(bytearray.fromhex(data), np.uint8))


def _appended(info: LogAppendInfo) -> str:
    numbers = (info.first_offset, info.last_offset, info.max_timestamp, info.log_append_time)
    return " ".join(map(str, (*numbers, info.log_start_offset)))
