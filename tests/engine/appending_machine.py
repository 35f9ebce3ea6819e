"""The part of the state machine that writes: batches of all kinds, and what must be refused."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.engine.plain_log import PlainBatch, PlainLog, PlainRecord
from workbench.config.log_config import LogConfig
from workbench.errors import OutOfOrderSequenceError
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

NOW = 1_700_000_000_000
RETENTION_MS = 10_000
CONFIG = LogConfig.of(
    {
        "segment.bytes": 600,
        "index.interval.bytes": 150,
        "segment.index.bytes": 240,
        "file.delete.delay.ms": 1000,
        "retention.ms": RETENTION_MS,
    }
)
MEMORY = Path("/dev/shm")  # noqa: S108  # a file system that needs no disk

counts = st.integers(1, 4)
parts = st.sampled_from([0, 0.1, 0.3, 0.5, 0.8, 1])
producer_ids = st.integers(1, 3)
TRANSACTIONAL = {2, 3}  # the producers that write in transactions, always
kinds = st.sampled_from(["plain", "produced", "commit", "abort"])
appends = st.lists(st.tuples(kinds, producer_ids, counts), min_size=1, max_size=10)


class AppendingMachine(RuleBasedStateMachine):
    """A log and its model, and the rules that append."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.clock = ManualClock(NOW)
        self.model = PlainLog()
        self.checkpoint = (0, 0)  # recovery point, log start
        # A truncation may bring back transactions that had ended. Kafka looks for those that are
        # undecided when the high watermark moves next.
        self.is_stable_offset_known = True
        self.log = self.open(clean=True)

    def open(self, *, clean: bool) -> Log:
        recovery_point, start = self.checkpoint
        return Log.open(
            str(self.root / "orders-0"),
            CONFIG,
            recovery_point=recovery_point,
            log_start_offset=start,
            had_clean_shutdown=clean,
            clock=self.clock,
            scheduler=ManualScheduler(self.clock),
        )

    # Appends.

    def records(self, count: int, jitter: int) -> list[tuple[int, bytes, bytes]]:
        self.clock.advance(50)
        end, now = self.model.end, self.clock.now()
        return [
            (now - jitter * (number % 2), b"k", b"%d:%d" % (end, number)) for number in range(count)
        ]

    def batch(self, records: list[tuple[int, bytes, bytes]], **options: Any) -> PlainBatch:
        end = self.model.end
        plain = tuple(
            PlainRecord(end + number, timestamp, value)
            for number, (timestamp, _, value) in enumerate(records)
        )
        return PlainBatch(plain, **options)

    @initialize(several=appends)
    def begin(self, several: list[tuple[str, int, int]]) -> None:
        self.append_several(several)

    @rule(several=appends)
    def append_several(self, several: list[tuple[str, int, int]]) -> None:
        for kind, producer, count in several:
            if kind == "plain":
                self.append(count, 0)
            elif kind in {"commit", "abort"}:
                self.end_transaction(producer, commit=kind == "commit")
            else:
                self.produce(producer, count)

    @rule(count=counts, jitter=st.sampled_from([20, 3000]))
    def append(self, count: int, jitter: int) -> None:
        records = self.records(count, jitter)
        info = self.log.append(records)
        assert (info.first_offset, info.last_offset) == (self.model.end, self.model.end + count - 1)
        self.model.append(self.batch(records))

    def produce(self, producer: int, count: int) -> None:
        known = self.model.producers.get(producer)
        sequence = 0 if known is None else known.next_sequence
        records = self.records(count, 0)
        info = self.log.append_as_leader(self.sent(records, producer, sequence))
        assert info.first_offset == self.model.end
        is_transactional = producer in TRANSACTIONAL
        batch = self.batch(
            records, producer=producer, sequence=sequence, is_transactional=is_transactional
        )
        self.model.append(batch)

    def sent(self, records: Any, producer: int, sequence: int) -> MemoryRecords:
        return MemoryRecords.of(
            *records,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=producer in TRANSACTIONAL,
        )

    @rule(producer=producer_ids, part=parts)
    def send_again(self, producer: int, part: float) -> None:
        known = self.model.producers.get(producer)
        if known is None or not known.known:
            return
        batch = known.known[int(part * (len(known.known) - 1))]
        records = [(record.timestamp, b"k", record.value) for record in batch.records]
        info = self.log.append_as_leader(self.sent(records, producer, batch.sequence))
        assert info.is_duplicate
        assert (info.first_offset, info.last_offset) == (batch.first, batch.last)

    @rule(producer=producer_ids)
    def leave_a_gap(self, producer: int) -> None:
        known = self.model.producers.get(producer)
        if known is None or known.last is None:
            return
        records, sequence = self.records(1, 0), known.next_sequence + 1
        with pytest.raises(OutOfOrderSequenceError):
            self.log.append_as_leader(self.sent(records, producer, sequence))

    def end_transaction(self, producer: int, *, commit: bool) -> None:
        known = self.model.producers.get(producer)
        if known is None or known.transaction is None:
            return
        self.clock.advance(50)
        marker = end_transaction_marker(
            0, self.clock.now(), producer, 0, commit=commit, coordinator_epoch=0
        )
        info = self.log.append_as_leader(marker, origin=AppendOrigin.COORDINATOR)
        assert info.first_offset == info.last_offset == self.model.end
        record = (PlainRecord(self.model.end, self.clock.now(), None),)
        ends = "commit" if commit else "abort"
        self.model.append(PlainBatch(record, producer, is_transactional=True, ends=ends))
