"""What waits until the high watermark of a coordinator's log passes an offset.

Kafka: DeferredEventQueue, DeferredEvent (4.2)
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from workbench.runtime.error_codes import ErrorCode

_NEVER: Final = 1 << 62


class DeferredEvent(NamedTuple):
    """One event.

    Attributes:
        offset: the high watermark that it waits for.
        deadline_ms: when it has waited too long.
        complete: called with NONE once the high watermark is there, or with an error. After
            REQUEST_TIMED_OUT it may be called a second time, because what was written still counts.
    """

    offset: int
    deadline_ms: int
    complete: Callable[[ErrorCode], None]


class DeferredEventQueue:
    """Events in the order of their offsets. Not thread-safe."""

    def __init__(self) -> None:
        self._events: deque[DeferredEvent] = deque()

    def add(self, event: DeferredEvent) -> None:
        """Let an event wait; its offset is at least that of the last one."""
        self._events.append(event)

    def complete_up_to(self, high_watermark: int) -> None:
        """Complete the events that wait for at most this high watermark."""
        while self._events and self._events[0].offset <= high_watermark:
            self._events.popleft().complete(ErrorCode.NONE)

    def expire(self, now: int, *, keeps: bool) -> None:
        """Complete the events whose deadline is over, once.

        Args:
            now: the time, ms.
            keeps: whether they wait on.
        """
        late = [each for each in self._events if each.deadline_ms <= now]
        self._events = deque(
            each._replace(deadline_ms=_NEVER) if each.deadline_ms <= now else each
            for each in self._events
            if keeps or each.deadline_ms > now
        )
        for each in late:
            each.complete(ErrorCode.REQUEST_TIMED_OUT)

    def fail_all(self, error: ErrorCode) -> None:
        """Complete all events with an error."""
        while self._events:
            self._events.popleft().complete(error)

    @property
    def next_deadline_ms(self) -> int | None:
        """The next deadline; None: there is none."""
        found = min((each.deadline_ms for each in self._events), default=_NEVER)
        return None if found == _NEVER else found
