"""Schedulers: by a manual clock, and on threads."""

import logging
import threading
from collections.abc import Iterator

import pytest

from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler, Task, ThreadScheduler

SECONDS = 180  # to wait for what takes milliseconds


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000)


@pytest.fixture
def manual(clock: ManualClock) -> ManualScheduler:
    return ManualScheduler(clock)


@pytest.fixture
def threads() -> Iterator[ThreadScheduler]:
    scheduler = ThreadScheduler(2)
    yield scheduler
    scheduler.shutdown()


def test_a_task_without_delay_runs_at_once(manual: ManualScheduler) -> None:
    ran: list[str] = []
    manual.schedule("now", lambda: ran.append("now"))
    assert ran == ["now"]
    assert manual.pending == ()


def test_a_task_runs_when_its_time_has_come_and_not_before(
    manual: ManualScheduler, clock: ManualClock
) -> None:
    ran: list[int] = []
    task = manual.schedule("later", lambda: ran.append(clock.now()), delay_ms=100)
    assert (task.name, task.due, task.period_ms) == ("later", 1100, None)
    clock.advance(99)
    assert ran == []
    clock.advance(1)
    clock.advance(1000)
    assert ran == [1100]


def test_tasks_run_in_the_order_of_their_times_then_in_that_of_their_coming(
    manual: ManualScheduler, clock: ManualClock
) -> None:
    ran: list[str] = []
    for name, delay in (("c", 30), ("a", 10), ("b1", 20), ("b2", 20)):
        manual.schedule(name, lambda name=name: ran.append(name), delay)  # type: ignore[misc]
    assert [task.name for task in manual.pending] == ["a", "b1", "b2", "c"]
    clock.advance(30)
    assert ran == ["a", "b1", "b2", "c"]


def test_a_periodic_task_runs_once_for_each_period_that_passed(
    manual: ManualScheduler, clock: ManualClock
) -> None:
    ran: list[int] = []
    manual.schedule("tick", lambda: ran.append(clock.now()), delay_ms=5, period_ms=10)
    clock.advance(5)
    clock.advance(25)
    assert ran == [1005, 1030, 1030]
    clock.advance(5)
    assert ran == [1005, 1030, 1030, 1035]


def test_a_cancelled_task_does_not_run_not_even_one_that_cancels_itself(
    manual: ManualScheduler, clock: ManualClock
) -> None:
    ran: list[str] = []
    never = manual.schedule("never", lambda: ran.append("never"), delay_ms=5)
    never.cancel()
    tasks: list[Task] = []

    def once() -> None:
        ran.append("once")
        tasks[0].cancel()

    tasks.append(manual.schedule("once", once, delay_ms=5, period_ms=5))
    clock.advance(100)
    assert ran == ["once"]
    assert manual.pending == ()


def test_a_task_may_schedule_others(manual: ManualScheduler, clock: ManualClock) -> None:
    ran: list[str] = []

    def first() -> None:
        manual.schedule("at once", lambda: ran.append("at once"))
        manual.schedule("later", lambda: ran.append("later"), delay_ms=10)
        ran.append("first")

    manual.schedule("first", first, delay_ms=1)
    clock.advance(5)
    assert ran == ["at once", "first"]
    clock.advance(10)
    assert ran == ["at once", "first", "later"]


def test_what_a_task_raises_comes_out_of_the_call_that_moved_the_clock(
    manual: ManualScheduler, clock: ManualClock
) -> None:
    def fail() -> None:
        raise OSError("disk")

    manual.schedule("fails", fail, delay_ms=1, period_ms=1)
    with pytest.raises(OSError, match="disk"):
        clock.advance(1)
    assert [task.name for task in manual.pending] == ["fails"]  # it runs again, as on threads


def test_after_shutdown_nothing_runs(manual: ManualScheduler, clock: ManualClock) -> None:
    ran: list[str] = []
    manual.schedule("waits", lambda: ran.append("waits"), delay_ms=1)
    manual.shutdown()
    assert manual.schedule("late", lambda: ran.append("late")).is_cancelled
    clock.advance(10)
    assert ran == []


def test_threads_run_tasks_by_their_times(threads: ThreadScheduler) -> None:
    ran: list[str] = []
    done = threading.Event()
    threads.schedule("third", done.set, delay_ms=60)
    threads.schedule("second", lambda: ran.append("second"), delay_ms=30)
    threads.schedule("first", lambda: ran.append(threading.current_thread().name))
    assert done.wait(SECONDS)
    assert [ran[0].rstrip("01"), ran[1]] == ["kafka-scheduler-", "second"]


def test_a_periodic_task_on_threads_is_never_run_twice_at_a_time(
    threads: ThreadScheduler,
) -> None:
    running = threading.Lock()
    overlaps: list[bool] = []
    done = threading.Event()

    def tick() -> None:
        overlaps.append(not running.acquire(blocking=False))
        done.wait(0.005)
        running.release()
        if len(overlaps) == 8:
            done.set()

    task = threads.schedule("tick", tick, period_ms=1)
    assert done.wait(SECONDS)
    task.cancel()
    assert not any(overlaps)


def test_a_task_that_fails_is_logged_and_ends_neither_itself_nor_others(
    threads: ThreadScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    count = threading.Semaphore(0)

    def fail() -> None:
        count.release()
        raise OSError("disk")

    with caplog.at_level(logging.ERROR):
        threads.schedule("fails", fail, period_ms=1)
        assert all(count.acquire(timeout=SECONDS) for _ in range(3))
    assert "uncaught error in scheduled task 'fails'" in caplog.text


def test_a_task_far_away_is_waited_for(threads: ThreadScheduler) -> None:
    threads.schedule("never", lambda: None, delay_ms=2**63 - 1)
    done = threading.Event()
    threads.schedule("soon", done.set, delay_ms=5)
    assert done.wait(SECONDS)
    assert [task.name for task in threads.pending] == ["never"]


def test_shutting_threads_down_waits_for_what_runs_and_drops_what_waits() -> None:
    scheduler = ThreadScheduler(1)
    began, goes_on = threading.Event(), threading.Event()
    ran: list[str] = []

    def long() -> None:
        began.set()
        goes_on.wait(SECONDS)
        ran.append("long")

    scheduler.schedule("long", long)
    scheduler.schedule("due", lambda: ran.append("due"))
    scheduler.schedule("later", lambda: ran.append("later"), delay_ms=100_000)
    scheduler.schedule("again", lambda: ran.append("again"), delay_ms=100_000, period_ms=1)
    assert began.wait(SECONDS)
    threading.Timer(0.02, goes_on.set).start()
    scheduler.shutdown()
    assert ran == ["long", "due"]
    assert scheduler.schedule("late", lambda: ran.append("late")).is_cancelled
    assert scheduler.pending == ()


def test_a_task_may_shut_its_scheduler_down() -> None:
    scheduler = ThreadScheduler(2)
    done = threading.Event()

    def stop() -> None:
        scheduler.shutdown()
        done.set()

    scheduler.schedule("stop", stop)
    assert done.wait(SECONDS)
