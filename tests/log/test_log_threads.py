"""One log and many threads: readers hold no lock, and meet neither holes nor halves."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.log.logs import LogHome, every_offset, offsets, values
from workbench.errors import OffsetOutOfRangeError
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
