"""Clocks: the machine's, and one that is moved by hand."""

import time

import pytest

from workbench.runtime.clock import ManualClock, SystemClock


def test_the_system_clock_tells_milliseconds_since_the_epoch() -> None:
    before = time.time()
    now = SystemClock().now()
    assert before * 1000 - 1 <= now <= time.time() * 1000 + 1


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(1_700_000_000_000)
    assert clock.now() == clock.now() == 1_700_000_000_000
    clock.advance(250)
    assert clock.now() == 1_700_000_000_250
    clock.set(5)
    assert clock.now() == 5


def test_advancing_does_not_go_back() -> None:
    clock = ManualClock(10)
    with pytest.raises(ValueError, match="cannot go back by 1 ms"):
        clock.advance(-1)
    assert clock.now() == 10


def test_who_listens_is_called_after_the_clock_moved() -> None:
    clock = ManualClock()
    seen: list[int] = []
    clock.listeners.append(lambda: seen.append(clock.now()))
    clock.advance(3)
    clock.set(8)
    assert seen == [3, 8]
