"""Threads that append, read, flush, retain, delete and look up at the same time on one log."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.engine.soundness import (
    StoredBatch,
    assert_producers_sound,
    assert_sound,
    batches_in,
    producers,
)
from workbench.config.log_config import LogConfig
from workbench.errors import OffsetOutOfRangeError
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Isolation, Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.scheduler import ThreadScheduler

LEAST_APPENDS = 1000
MOST_SECONDS = 120.0  # for a machine that does much else; about 4 here
SWITCH_INTERVAL_S = 0.0005
CONFIG = LogConfig.of(
    {
        "segment.bytes": 20_000,
        "index.interval.bytes": 1000,
        "segment.index.bytes": 4000,
        "retention.bytes": 120_000,
        "file.delete.delay.ms": 1500,
    }
)


class Traffic:
    """One log and the threads on it.

    Attributes:
        log: what all work on.
        acknowledged: first offset → the batch as it was appended.
        aborted: first offsets of batches whose transaction was aborted.
        errors: what went wrong in a thread.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.scheduler = ThreadScheduler(2)
        self.log = self.open(clean=True)
        self.acknowledged: dict[int, bytes] = {}
        self.aborted: set[int] = set()
        self.errors: list[BaseException] = []
        self._stop = threading.Event()

    def open(self, *, clean: bool, recovery_point: int = 0) -> Log:
        """Open the log."""
        return Log.open(
            str(self.root / "orders-0"),
            CONFIG,
            had_clean_shutdown=clean,
            recovery_point=recovery_point,
            scheduler=self.scheduler,
        )

    def run(self, *works: Callable[[], Any]) -> None:
        """Let threads do their work again and again until enough was appended."""

        def repeat(work: Callable[[], Any]) -> None:
            try:
                while not self._stop.is_set():
                    work()
            except BaseException as error:  # noqa: BLE001  # told by the thread of the test
                self.errors.append(error)
                self._stop.set()

        threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        end = time.monotonic() + MOST_SECONDS
        while not self._stop.wait(0.1) and len(self.acknowledged) < LEAST_APPENDS:
            assert time.monotonic() < end, f"{len(self.acknowledged)} appends in {MOST_SECONDS} s"
        self._stop.set()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    # Work of threads that write.

    def appender(self, number: int) -> Callable[[], None]:
        """Return what appends a batch."""
        rng = Random(number)
        count = 0

        def work() -> None:
            nonlocal count
            count += 1
            pairs = [(b"%d-%d" % (number, count), rng.randbytes(rng.randrange(200)))] * 3
            batch = MemoryRecords.of(*pairs, timestamp=time.time_ns() // 1_000_000)
            self._append(batch)

        return work

    def transactions(self, producer: int) -> Callable[[], None]:
        """Return what writes a transaction and ends it."""
        rng = Random(producer)
        sequence = 0

        def work() -> None:
            nonlocal sequence
            written = []
            for _ in range(rng.randrange(1, 5)):
                batch = MemoryRecords.of(
                    (b"t%d" % producer, b"%d" % sequence),
                    timestamp=time.time_ns() // 1_000_000,
                    producer_id=producer,
                    producer_epoch=0,
                    base_sequence=sequence,
                    is_transactional=True,
                )
                sequence += 1
                written.append(self._append(batch))
            commit = rng.random() < 0.5
            if not commit:
                self.aborted.update(written)
            now = time.time_ns() // 1_000_000
            marker = end_transaction_marker(0, now, producer, 0, commit=commit, coordinator_epoch=0)
            self._append(marker, origin=AppendOrigin.COORDINATOR)

        return work

    def _append(self, batch: MemoryRecords, **options: Any) -> int:
        info = self.log.append_as_leader(batch, **options)
        self.acknowledged[info.first_offset] = bytes(batch)
        return info.first_offset

    # Work of others that change the log.

    def follow(self) -> None:
        """Move the high watermark."""
        self.log.update_high_watermark(self.log.log_end_offset)
        time.sleep(0.001)

    def flush(self) -> None:
        """Flush, and see that the recovery point is where the log ended."""
        end = self.log.log_end_offset
        self.log.flush()
        assert self.log.recovery_point >= end
        time.sleep(0.005)

    def retain(self) -> None:
        """Apply retention."""
        self.log.delete_old_segments()
        assert self.log.segments[0].base_offset <= self.log.log_start_offset
        time.sleep(0.02)

    def deleter(self) -> Callable[[], None]:
        """Return what deletes some of the first records."""
        rng = Random(99)

        def work() -> None:
            log = self.log
            offset = log.log_start_offset + rng.randrange(200)
            if offset <= log.high_watermark:
                assert log.delete_records(offset) >= offset
            time.sleep(0.05)

        return work

    def roll(self) -> None:
        """Begin a new segment."""
        self.log.roll()
        time.sleep(0.05)

    # Work of those that read.

    def reader(
        self, isolation: Isolation, seen: list[StoredBatch], gaps: list[tuple[int, int]]
    ) -> Callable[[], None]:
        """Return what reads on from where it stopped, and notes what it was given.

        Args:
            isolation: the reads'.
            seen: gets the batches.
            gaps: gets the offsets [first, end) that were deleted before they could be read.
        """
        position = 0

        def work() -> None:
            nonlocal position
            try:
                fetched = self.log.read(position, 3000, isolation)
            except OffsetOutOfRangeError:
                start = self.log.log_start_offset
                assert start > position
                gaps.append((position, start))
                position = start
                return
            found = list(batches_in(fetched.records))
            aborted = fetched.aborted_transactions or ()
            for batch in found:
                is_left_out = any(
                    one.producer_id == batch.producer_id
                    and one.first_offset <= batch.first_offset < one.last_offset
                    for one in aborted
                )
                if not is_left_out:
                    seen.append(batch)
            if found:
                assert found[0].first_offset <= position <= found[0].last_offset
                assert is_contiguous(found)
                position = found[-1].last_offset + 1
            else:
                time.sleep(0.001)

        return work

    def random_reads(self) -> Callable[[], None]:
        """Return what reads anywhere."""
        rng = Random(5)

        def work() -> None:
            start, end = self.log.log_start_offset, self.log.log_end_offset
            if start == end:
                return
            offset = rng.randrange(start, end)
            try:
                found = list(batches_in(self.log.read(offset, 500).records))
            except OffsetOutOfRangeError:
                assert self.log.log_start_offset > offset
                return
            assert found[0].first_offset <= offset <= found[0].last_offset
            assert is_contiguous(found)

        return work

    def look_ups(self) -> Callable[[], None]:
        """Return what looks up offsets by time."""
        rng = Random(6)

        def work() -> None:
            timestamp = time.time_ns() // 1_000_000 - rng.randrange(2000)
            start = self.log.log_start_offset
            found = self.log.offset_for_timestamp(timestamp)
            if found is not None:
                assert found.timestamp >= timestamp
                assert found.offset >= start
            latest = self.log.offset_for_timestamp(-1)
            assert latest is not None
            assert latest.offset >= start

        return work


def is_contiguous(batches: list[StoredBatch]) -> bool:
    """Return whether each batch begins where the one before ends."""
    ends = [batch.last_offset + 1 for batch in batches[:-1]]
    return ends == [batch.first_offset for batch in batches[1:]]


@pytest.fixture
def traffic(memory_path: Path) -> Iterator[Traffic]:
    """A log; threads take turns more often than they usually do."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    found = Traffic(memory_path)
    yield found
    found.log.close_handlers()
    found.scheduler.shutdown()
    sys.setswitchinterval(interval)


def test_nothing_is_lost_and_no_half_state_is_seen(traffic: Traffic) -> None:
    isolations: tuple[Isolation, ...] = ("log_end", "high_watermark", "read_committed")
    seen: dict[Isolation, list[StoredBatch]] = {isolation: [] for isolation in isolations}
    gaps: dict[Isolation, list[tuple[int, int]]] = {isolation: [] for isolation in isolations}
    traffic.appender(0)()
    traffic.run(
        traffic.appender(1),
        traffic.appender(2),
        traffic.transactions(7),
        traffic.transactions(8),
        traffic.follow,
        traffic.flush,
        traffic.retain,
        traffic.deleter(),
        traffic.roll,
        *(traffic.reader(one, seen[one], gaps[one]) for one in isolations),
        traffic.random_reads(),
        traffic.look_ups(),
    )
    log = traffic.log
    assert log.log_start_offset > 0

    found = assert_sound(log, is_loaded=False)
    written = traffic.acknowledged
    assert {batch.first_offset: batch.data for batch in found} == {
        offset: data for offset, data in written.items() if offset >= found[0].first_offset
    }
    for isolation in isolations:
        check_reader(traffic, seen[isolation], gaps[isolation], isolation)

    assert_producers_sound(log)
    ends = (log.log_start_offset, log.log_end_offset)
    known = producers(log)
    log.flush()
    assert log.recovery_point == log.log_end_offset
    log.close()
    traffic.log = traffic.open(clean=True)
    assert (traffic.log.segments[0].base_offset, traffic.log.log_end_offset) <= ends
    assert producers(traffic.log) == known


def check_reader(
    traffic: Traffic,
    seen: list[StoredBatch],
    gaps: list[tuple[int, int]],
    isolation: Isolation,
) -> None:
    """A reader was given each batch once, as it was appended, but for what was deleted."""
    firsts = [batch.first_offset for batch in seen]
    assert firsts == sorted(set(firsts))
    assert all(batch.data == traffic.acknowledged[batch.first_offset] for batch in seen)
    end = seen[-1].first_offset
    expected = {
        offset
        for offset in traffic.acknowledged
        if offset <= end and not any(first <= offset < stop for first, stop in gaps)
    }
    if isolation == "read_committed":
        assert not set(firsts) & traffic.aborted
        expected -= traffic.aborted
    assert expected <= set(firsts)


def test_a_folder_can_be_renamed_while_others_work_on_its_log(traffic: Traffic) -> None:
    seen: list[StoredBatch] = []
    names = cycle(["orders-0.0123456789abcdef0123456789abcdef-future", "orders-0"])

    def rename() -> None:
        traffic.log.rename_directory(next(names))
        for segment in traffic.log.segments:
            segment.close_handlers()  # so that files are opened again, by their names
        time.sleep(0.003)

    traffic.appender(0)()
    traffic.run(
        traffic.appender(1),
        traffic.transactions(7),
        traffic.follow,
        traffic.flush,
        traffic.roll,
        rename,
        traffic.reader("read_committed", seen, []),
        traffic.random_reads(),
        traffic.look_ups(),
    )
    assert not traffic.log.context.failures.any_offline
    check_reader(traffic, seen, [], "read_committed")
    found = {batch.first_offset: batch.data for batch in assert_sound(traffic.log, is_loaded=False)}
    assert found == traffic.acknowledged
