"""Find the shortest schedule that breaks a promise.

    found = find_schedule("committed record lost", rules="0.10")
    print(found)            # events, what is lost
    found.play()            # the same on real logs

The search is breadth first over all orders of events within bounds, on light logs; states that were
seen before are not looked at again. So a schedule that is found is a shortest one, and none found
within the bounds means that there is none.
"""

import gc
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from workbench.errors import ReplicationError
from workbench.replication.rules import Rules
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import Bounds, Event, Spent, do, possible_events
from workbench.replication.simulation.invariants import INVARIANTS, Invariant
from workbench.runtime.signatures import explained, options_of, shows
from workbench.runtime.steps import Observer

_Node = tuple[Cluster, Spent, tuple[Event, ...]]


@dataclass(frozen=True)
class Schedule:
    """What a search found.

    Attributes:
        rules: the version whose rules held.
        brokers: how many brokers there were.
        events: the events, in order; None: no schedule within the bounds breaks the promise.
        violation: what is wrong after the last event; None without events.
        states: how many different states were looked at.
        is_complete: whether all states within the bounds were; only then None means "none".
        options: those of the cluster.
    """

    rules: str
    brokers: int
    events: tuple[Event, ...] | None
    violation: str | None
    states: int
    is_complete: bool
    options: dict[str, Any]

    def __str__(self) -> str:
        if self.events is None:
            reach = "all" if self.is_complete else "the first"
            return f"rules of {self.rules}: nothing found in {reach} {self.states:,} states"
        lines = [f"{number:3}  {event}" for number, event in enumerate(self.events, 1)]
        head = f"rules of {self.rules}: found after {self.states:,} states"
        return "\n".join([head, *lines, f"     {self.violation}"])

    def found(self) -> tuple[Event, ...]:
        """Return the events.

        Raises:
            ReplicationError: no schedule was found.
        """
        if self.events is None:
            raise ReplicationError("no schedule was found that could be played")
        return self.events

    def play(
        self,
        *,
        after: Callable[[Event, Cluster], None] | None = None,
        observer: Observer | None = None,
        **options: Any,
    ) -> Cluster:
        """Play the schedule on a new cluster with real logs, and return that.

        Args:
            after: called after each event.
            observer: receives each step.
            options: of the cluster, such as ``directory``, in place of those of the search.

        Raises:
            ReplicationError: no schedule was found.
        """
        events = self.found()
        cluster = Cluster(
            self.brokers, rules=self.rules, observer=observer, **{**self.options, **options}
        )
        for event in events:
            do(cluster, event)
            if after is not None:
                after(event, cluster)
        return cluster


@explained
@shows(options_of(Cluster, "storage"))
def find_schedule(
    breaks: Invariant | str,
    *,
    rules: str = "4.2",
    brokers: int = 2,
    bounds: Bounds | None = None,
    depth: int = 24,
    most_states: int = 500_000,
    begin: tuple[Event, ...] = (),
    **options: Any,
) -> Schedule:
    """Find the shortest sequence of events after which a promise is broken.

    Args:
        breaks: the name of one of `INVARIANTS`, or a function that returns what is wrong in a
            state, None if nothing is.
        rules: the version whose rules hold.
        brokers: how many brokers.
        bounds: how much may happen; None takes `Bounds()`.
        depth: most events.
        most_states: the search ends after that many states.
        begin: events that come first.
        options: of the `Cluster`, such as `min_insync_replicas`. Unclean elections are off unless
            asked for: they lose records by design.

    Raises:
        ConfigError: ``rules`` is not a version.
        ReplicationError: there is no invariant of that name.
    """
    check = _invariant(breaks)
    bounds = Bounds() if bounds is None else bounds
    options = {"unclean_leader_election": False, **options}
    first = Cluster(brokers, rules=Rules.of(rules), storage="light", **options)
    for event in begin:
        do(first, event)

    def result(events: tuple[Event, ...] | None, wrong: str | None, *, whole: bool) -> Schedule:
        return Schedule(rules, brokers, events, wrong, len(seen), whole, options)

    seen = {hash((first.fingerprint(), Spent()))}
    queue: deque[_Node] = deque([(first, Spent(), tuple(begin))])
    is_complete = True
    with _no_collection(queue):
        while queue:
            cluster, spent, path = queue.popleft()
            if len(path) >= depth:
                is_complete = False
                continue
            for event in possible_events(cluster, bounds, spent):
                next_ = cluster.copy()
                do(next_, event)
                then = spent.after(event)
                state = hash((next_.fingerprint(), then))
                if state in seen:
                    _forget(next_)
                    continue
                seen.add(state)
                wrong = check(next_)
                if wrong is not None:
                    return result((*path, event), wrong, whole=False)
                if len(seen) >= most_states:
                    return result(None, None, whole=False)
                queue.append((next_, then, (*path, event)))
            _forget(cluster)
    return result(None, None, whole=is_complete)


def _forget(cluster: Cluster) -> None:
    """Let go of everything; the cluster cannot be used any more.

    Brokers, managers and partitions know each other, so without this only a collection of garbage
    would free a copy, and a search makes thousands of copies per second.
    """
    for broker in cluster.brokers.values():
        if broker.manager is not None:
            broker.manager.forget()
    cluster.brokers.clear()


@contextmanager
def _no_collection(queue: deque[_Node]) -> Iterator[None]:
    """Keep Python from looking for cycles in the states that wait, two thirds of the time.

    The search itself frees the states that it has seen, and at the end those that wait.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        for cluster, *_ in queue:
            _forget(cluster)
        queue.clear()
        if was_enabled:
            gc.enable()


def _invariant(breaks: Invariant | str) -> Invariant:
    if callable(breaks):
        return breaks
    known: object = breaks  # a caller may give anything
    if not isinstance(known, str) or known not in INVARIANTS:
        names = ", ".join(map(repr, INVARIANTS))
        raise ReplicationError(f"invariant {breaks!r}: expected a function or one of {names}")
    return INVARIANTS[breaks]
