"""Threads that append, clean, retain, delete and reconfigure at the same time."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.log_manager.cleaning import COMPACT, cleaner_of, in_thread, last_values
from workbench.log_manager.manager import LogManager
from workbench.runtime.steps import Outline, Step

BUSY = {
    "log.cleaner.threads": 2,
    "log.cleaner.backoff.ms": 1,
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 1,
    "log.flush.offset.checkpoint.interval.ms": 5,
    "log.segment.delete.delay.ms": 1,
    "log.segment.bytes": 3000,
    "log.cleaner.min.cleanable.ratio": 0.01,
}
FOREVER = {"retention.ms": -1}
TOPICS: Mapping[str, Mapping[str, Any]] = {
    "orders": {**COMPACT, **FOREVER},
    "users": {"cleanup.policy": "compact,delete", **FOREVER},
    "turns": {**COMPACT, **FOREVER},
    "events": {"retention.ms": 1},
    "brief": COMPACT,
}
KEPT = ("orders-0", "users-0", "turns-0")
KEYS = 7
LEAST_APPENDS = 250
LEAST_CLEANINGS = 12
PAUSE_S = 0.005  # between appends when there are enough: cleaning has to catch up


class ManagedTraffic:
    """A manager and the threads that work on it.

    Attributes:
        last: partition → key → the last value that was appended.
        kinds: how often each step was reported.
        errors: what went wrong in a thread.
    """

    def __init__(self) -> None:
        self.last: dict[str, dict[bytes, bytes]] = {name: {} for name in KEPT}
        self.kinds: Counter[str] = Counter()
        self.errors: list[BaseException] = []
        self._done = threading.Event()

    def observe(self, step: Step) -> None:
        """Count a step."""
        self.kinds[step.kind] += 1

    def run(self, *works: Callable[[int], None]) -> None:
        """Let threads do their work again and again until enough was cleaned."""

        def repeat(work: Callable[[int], None]) -> None:
            number = 0
            try:
                while not self._done.is_set():
                    work(number)
                    number += 1
            except BaseException as error:  # noqa: BLE001 - told by the test
                self.errors.append(error)
                self._done.set()

        threads = [in_thread(partial(repeat, work)) for work in works]
        for thread in threads:
            thread.join()

    def append(self, manager: LogManager, name: str, number: int) -> None:
        """Append to a log."""
        log = manager.get_or_create_log(name)
        key, value = b"%d" % (number % KEYS), b"%d" % number * 20
        log.append([(key, value)])
        log.update_high_watermark(log.log_end_offset)
        if name in self.last:
            self.last[name][key] = value
        assert not self.kinds["log uncleanable"]
        if number >= LEAST_APPENDS:
            self._done.wait(PAUSE_S)
            if self.kinds["log cleaned"] >= LEAST_CLEANINGS:
                self._done.set()

    def turn(self, manager: LogManager, number: int) -> None:
        """Change the policy of a topic."""
        policy = ("delete", "compact", "compact,delete")[number % 3]
        manager.update_topic_config("turns", {"cleanup.policy": policy, **FOREVER})
        self._done.wait(PAUSE_S)

    def come_and_go(self, manager: LogManager, number: int) -> None:
        """Make a log, fill it and delete it."""
        name = f"brief-{number % 3}"
        for each in range(30):
            self.append(manager, name, each)
        manager.async_delete(name)

    def check(self, manager: LogManager) -> None:
        """Every key has the last value that was appended."""
        for name, values in self.last.items():
            log = manager.get_log(name)
            assert log is not None
            assert last_values(log) == values, name


def test_no_last_value_is_lost_while_all_is_done_at_the_same_time(tmp_path: Path) -> None:
    """CL-2: appends, cleaning, retention, deletion of topics, changes of a topic's policy."""
    traffic = ManagedTraffic()
    directories = [tmp_path / "a", tmp_path / "b"]
    observer = Outline(traffic.observe)
    with LogManager(directories, BUSY, topic_configs=TOPICS, observer=observer) as manager:
        traffic.run(
            *(partial(traffic.append, manager, name) for name in (*KEPT, "events-0")),
            partial(traffic.turn, manager),
            partial(traffic.come_and_go, manager),
        )
        assert traffic.errors == []
        assert cleaner_of(manager).metrics()["DeadThreadCount"] == 0
        traffic.check(manager)
    assert traffic.kinds["segment deletable"] > 0
    with LogManager(directories, BUSY, topic_configs=TOPICS) as manager:
        traffic.check(manager)
