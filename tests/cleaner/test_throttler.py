"""Sleep so long that a rate is kept."""

import threading

import pytest

from workbench.cleaner.schedule.throttler import Throttler

MS = 1_000_000  # ns


class Hand:
    """A clock that moves when a test sets it, and when somebody sleeps."""

    def __init__(self) -> None:
        self.ns = 0
        self.slept: list[int] = []

    def now(self) -> int:
        return self.ns

    def sleep(self, seconds: float) -> None:
        ms = round(seconds * 1000)
        self.slept.append(ms)
        self.ns += ms * MS


def throttler(hand: Hand, rate: float) -> Throttler:
    return Throttler(rate, nanoseconds=hand.now, sleep=hand.sleep)


@pytest.mark.parametrize(
    ("rate", "passed_ms", "sleep_ms"),
    [
        (1000, 301, 699),  # 1000 bytes at 1000 bytes per second take a second
        (1000, 300, 0),  # the interval has not passed
        (1000, 1000, 0),  # just the rate
        (3000, 301, 32),  # 333.3 ms - 301 ms
        (2857, 301, 49),  # 350.0175 ms - 301 ms
        (4000, 301, 0),
        (1.7976931348623157e308, 301, 0),
    ],
)
def test_the_sleep_makes_up_for_what_was_too_fast(
    rate: float, passed_ms: int, sleep_ms: int
) -> None:
    hand = Hand()
    throttle = throttler(hand, rate)
    hand.ns += passed_ms * MS
    throttle.maybe_throttle(1000)
    assert sum(hand.slept) == sleep_ms


def test_half_a_millisecond_is_rounded_up() -> None:
    hand = Hand()
    throttle = throttler(hand, 800)
    hand.ns += 400 * MS
    throttle.maybe_throttle(402)  # 502.5 ms - 400 ms
    assert hand.slept == [103]


def test_what_came_before_the_interval_has_passed_counts() -> None:
    hand = Hand()
    throttle = throttler(hand, 1000)
    for _ in range(4):
        hand.ns += 100 * MS
        throttle.maybe_throttle(200)
    assert hand.slept == [400]
    hand.ns += 301 * MS
    throttle.maybe_throttle(301)
    assert hand.slept == [400]


def test_a_pause_is_no_credit_for_later() -> None:
    hand = Hand()
    throttle = throttler(hand, 1000)
    hand.ns += 1000 * 1000 * MS
    throttle.maybe_throttle(1)  # looks, and begins a new interval
    hand.ns += 400 * MS
    throttle.maybe_throttle(1000)
    assert hand.slept == [600]


def test_nothing_observed_begins_no_interval() -> None:
    hand = Hand()
    throttle = throttler(hand, 1000)
    hand.ns += 500 * MS
    throttle.maybe_throttle(0)
    throttle.maybe_throttle(1000)
    assert hand.slept == [500]


def test_the_rate_may_be_changed() -> None:
    """CL-40."""
    hand = Hand()
    throttle = throttler(hand, 10)
    throttle.desired_rate = 1000.0
    hand.ns += 500 * MS
    throttle.maybe_throttle(1000)
    assert hand.slept == [500]


@pytest.mark.parametrize(("rate", "ms"), [(0.0, [3_600_000]), (-1.0, [])])
def test_a_rate_of_nothing_sleeps_long_and_below_it_never(rate: float, ms: list[int]) -> None:
    hand = Hand()
    throttle = throttler(hand, rate)
    hand.ns += 301 * MS
    throttle.maybe_throttle(1)
    assert hand.slept == ms


def test_threads_wait_for_the_one_that_sleeps() -> None:
    sleeping, wake = threading.Event(), threading.Event()
    ns = iter(range(0, 10**15, 400 * MS))
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        sleeping.set()
        wake.wait()

    throttle = Throttler(1000, nanoseconds=lambda: next(ns), sleep=sleep)
    first = threading.Thread(target=throttle.maybe_throttle, args=(10_000,))
    first.start()
    sleeping.wait()
    second = threading.Thread(target=throttle.maybe_throttle, args=(1,))
    second.start()
    assert second.is_alive()
    wake.set()
    first.join()
    second.join()
    assert len(slept) == 1
