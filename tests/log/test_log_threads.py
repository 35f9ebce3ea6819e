"""One log and many threads: readers hold no lock, and meet neither holes nor halves."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.log.logs import (
    NOW,
    LogHome,
    end_transaction,
    every_offset,
    in_transaction,
    offsets,
    values,
)
from tests.waiting import HANGS_AFTER_S
from workbench.errors import OffsetOutOfRangeError
from workbench.files.indexes.time_index import TimestampOffset
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.log import Log

APPENDS = 300


@pytest.fixture(autouse=True)
def _often() -> Iterator[None]:
    """Let threads take turns a thousand times as often as they do."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


class Team:
    """Threads that run until the first of them, the writer, has ended; errors are kept."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.is_done = threading.Event()

    def run(self, first: Callable[[], None], *others: Callable[[], None]) -> None:
        """Run all, and raise what the first of them to fail raised."""

        def guarded(work: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                try:
                    work()
                except BaseException as error:  # noqa: BLE001  # told in the test's own thread
                    self.errors.append(error)
                    self.is_done.set()

            return run

        def repeated(work: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                while not self.is_done.is_set():
                    work()

            return run

        threads = [threading.Thread(target=guarded(repeated(work))) for work in others]
        for thread in threads:
            thread.start()
        guarded(first)()
        self.is_done.set()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def small_segments(tmp_path: Path) -> tuple[LogHome, Log]:
    home = LogHome(tmp_path, {"segment.bytes": 2000, "index.interval.bytes": 200})
    return home, home.open()


def read_some(log: Log, chance: random.Random) -> None:
    """Read from anywhere; whatever comes must begin there and have no hole."""
    start, end = log.log_start_offset, log.log_end_offset
    wanted = chance.randint(start, end)
    try:
        found = offsets(log.read(wanted, 700))
    except OffsetOutOfRangeError:
        assert wanted < log.log_start_offset or wanted > log.log_end_offset
        return
    if found:
        assert found[0] <= wanted
        assert found == list(range(found[0], found[0] + len(found)))


def test_readers_are_not_disturbed_by_appends_and_rolls(tmp_path: Path) -> None:
    _, log = small_segments(tmp_path)
    chance = random.Random(1)

    def write() -> None:
        for number in range(APPENDS):
            log.append_as_leader(values(1 + number % 3))

    Team().run(write, *(lambda: read_some(log, chance) for _ in range(3)))
    assert len(log.segments) > 5
    assert every_offset(log) == list(range(log.log_end_offset))


def test_readers_are_not_disturbed_by_retention(tmp_path: Path) -> None:
    home, log = small_segments(tmp_path)
    log.update_config(log.config.with_({"retention.bytes": 6000}))
    chance = random.Random(2)

    def write() -> None:
        for number in range(APPENDS):
            log.append_as_leader(values(1 + number % 3))
            log.update_high_watermark(log.log_end_offset)

    def retain() -> None:
        log.delete_old_segments()

    def look_up() -> None:
        log.offset_for_timestamp(home.clock.now())

    Team().run(write, retain, look_up, *(lambda: read_some(log, chance) for _ in range(2)))
    log.delete_old_segments()
    assert 6000 <= log.size < 8000 + 200
    assert every_offset(log) == list(range(log.log_start_offset, log.log_end_offset))


def test_many_writers_take_turns(tmp_path: Path) -> None:
    _, log = small_segments(tmp_path)
    taken: list[range] = []

    def write() -> None:
        for number in range(60):
            info = log.append_as_leader(values(1 + number % 4))
            taken.append(range(info.first_offset, info.last_offset + 1))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(offset for each in taken for offset in each) == list(range(log.log_end_offset))
    assert every_offset(log) == list(range(log.log_end_offset))


def test_flushes_run_beside_appends(tmp_path: Path) -> None:
    _, log = small_segments(tmp_path)

    def write() -> None:
        for _ in range(200):
            log.append_as_leader(values(2))

    def flush() -> None:
        before = log.log_end_offset
        log.flush()
        assert log.recovery_point >= before

    Team().run(write, flush)
    log.flush()
    assert log.recovery_point == log.log_end_offset == 400


class Pause:
    """Runs something in a thread that stops once, where a function returns.

    Args:
        name: the function's.
        work: what the thread does.
        number: that of the return where it stops.
    """

    def __init__(self, name: str, work: Callable[[], object], number: int = 1) -> None:
        self._name, self._work, self._left = name, work, number
        self._has_come, self._may_go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()
        assert self._has_come.wait(HANGS_AFTER_S)

    def __exit__(self, *_: object) -> None:
        self._may_go_on.set()
        self._thread.join()

    def _run(self) -> None:
        sys.settrace(self._trace)
        self._work()

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_name != self._name:
            return None
        if event == "return":
            self._left -= 1
            if self._left == 0:
                self._has_come.set()
                assert self._may_go_on.wait(HANGS_AFTER_S)
        return self._trace


def test_who_asks_for_the_largest_timestamp_makes_no_writer_forget_it(tmp_path: Path) -> None:
    """A new segment knows of none; who saw that, and is slow, must not say so afterwards."""
    _, log = small_segments(tmp_path)
    segment = log.active_segment
    with Pause("last_entry", lambda: segment.max_timestamp_so_far):
        log.append_as_leader(values(3))
    assert segment.max_timestamp_so_far == TimestampOffset(NOW, 2)


def test_who_asks_for_the_last_stable_offset_brings_no_transaction_back(tmp_path: Path) -> None:
    """The position of the oldest transaction is looked up; it may have been decided meanwhile."""
    _, log = small_segments(tmp_path)
    log.append_as_leader(in_transaction(1, 0, 3))
    log.update_high_watermark(log.log_end_offset)
    watermarks = log.watermarks
    watermarks._first_unstable = LogOffsetMetadata(0)  # noqa: SLF001 - as if its place was not found
    with Pause("is_offset_only", watermarks.stable_metadata, 2):  # that of the high watermark first
        end_transaction(log, 1, commit=True)
        log.update_high_watermark(log.log_end_offset)
        assert watermarks.first_unstable is None
    assert watermarks.first_unstable is None


def test_the_thread_of_a_log_ends_with_it(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    for end in (Log.close, Log.close_handlers, Log.delete):
        log = Log.open(str(tmp_path / "orders-0"))
        log.append([(b"k", b"v")])
        (mine,) = set(threading.enumerate()) - before
        end(log)
        mine.join(HANGS_AFTER_S)
        assert not mine.is_alive()
