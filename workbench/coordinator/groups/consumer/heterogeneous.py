"""The uniform assignor where members subscribe to different topics.

Members keep what they have, partitions without an owner go to the members with the fewest, and then
topic by topic the members with the most give partitions to those with the fewest, until nothing
changes.

Kafka: UniformHeterogeneousAssignmentBuilder (4.2)
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Final

from workbench.coordinator.groups.classic.java_hash_map import in_hash_order, uuid_hash
from workbench.coordinator.groups.consumer.member import Assignment

_MOST_ROUNDS: Final = 16
_NOBODY: Final = -1

_Target = dict[str, set[int]]


def joined(kept: _Target, added: _Target) -> Assignment:
    """Return a target assignment: the topics that a member had before, and those it gets.

    `HashMap.computeIfAbsent` puts a topic first in its bucket, so the newest come first.
    """
    topics = {**dict(reversed(added.items())), **kept}
    return {topic_id: frozenset(numbers) for topic_id, numbers in topics.items()}


class HeterogeneousAssignment:
    """An assignment that is being made.

    Args:
        topics: member id → topic id → number of partitions, of those that it subscribes to.
        assignments: member id → its target assignment so far.
    """

    def __init__(
        self, topics: Mapping[str, Mapping[str, int]], assignments: Mapping[str, Assignment]
    ) -> None:
        self._names = list(topics)
        self._counts: dict[str, int] = {}
        self._subscribers: dict[str, list[int]] = {}
        for index, name in enumerate(self._names):
            for topic_id, count in topics[name].items():
                self._counts[topic_id] = count
                self._subscribers.setdefault(topic_id, []).append(index)
        self._sizes = [0] * len(self._names)
        self._kept: list[_Target] = [{} for _ in self._names]
        self._added: list[_Target] = [{} for _ in self._names]
        self._owners = {topic_id: [_NOBODY] * count for topic_id, count in self._counts.items()}
        for index, name in enumerate(self._names):
            for topic_id, numbers in assignments[name].items():
                if topic_id in topics[name]:
                    self._sizes[index] += len(numbers)
                    self._kept[index][topic_id] = set(numbers)
                    for number in numbers:
                        self._owners[topic_id][number] = index

    def build(self) -> dict[str, Assignment]:
        """Return member id → what it is to get."""
        if not self._counts:
            return {}
        self._assign_rest()
        self._balance()
        return {
            name: joined(kept, added)
            for name, kept, added in zip(self._names, self._kept, self._added, strict=True)
        }

    def _sorted(self, topic_ids: Sequence[str]) -> list[str]:
        """Return topics with those first that have most partitions for each subscriber."""

        def position(topic_id: str) -> tuple[float, int, int, int]:
            subscribers = len(self._subscribers[topic_id])
            data = base64.urlsafe_b64decode(topic_id + "==")
            high, low = (int.from_bytes(half, signed=True) for half in (data[:8], data[8:]))
            return -self._counts[topic_id] / subscribers, subscribers, high, low

        return sorted(in_hash_order(topic_ids, uuid_hash), key=position)

    def _assign(self, topic_id: str, number: int, owner: int) -> None:
        before = self._owners[topic_id][number]
        if before != _NOBODY:
            self._sizes[before] -= 1
            held = self._target(before, topic_id)
            held[topic_id].remove(number)
            if not held[topic_id]:
                del held[topic_id]
        self._owners[topic_id][number] = owner
        self._sizes[owner] += 1
        self._target(owner, topic_id).setdefault(topic_id, set()).add(number)

    def _target(self, member: int, topic_id: str) -> _Target:
        """Return the part of a member's target that has a topic, or is to get it."""
        return (self._kept if topic_id in self._kept[member] else self._added)[member]

    def _assign_rest(self) -> None:
        free = {
            topic_id: [number for number, owner in enumerate(owners) if owner == _NOBODY]
            for topic_id, owners in self._owners.items()
            if _NOBODY in owners
        }
        for topic_id in self._sorted(list(free)):
            balancer = _Balancer(self._sizes, self._subscribers[topic_id])
            for number in free[topic_id]:
                self._assign(topic_id, number, balancer.next_least_loaded())

    def _balance(self) -> None:
        """Kafka: UniformHeterogeneousAssignmentBuilder.balanceTopics (4.2)."""
        shared = [each for each in self._counts if len(self._subscribers[each]) > 1]
        ordered = self._sorted(shared)
        last: int | None = None
        for _ in range(_MOST_ROUNDS):
            for index, topic_id in enumerate(ordered):
                if index == last:
                    return
                if self._balance_topic(topic_id) or last is None:
                    last = index

    def _balance_topic(self, topic_id: str) -> int:
        """Move partitions of one topic; return how many."""
        subscribers, owners = self._subscribers[topic_id], self._owners[topic_id]
        loads = [self._sizes[each] for each in subscribers]
        if max(loads) - min(loads) <= 1:
            return 0
        balancer = _Balancer(self._sizes, subscribers)
        owned: dict[int, list[int]] = {}
        for number, owner in enumerate(owners):
            owned.setdefault(owner, []).append(number)
        moved = 0
        while not balancer.is_balanced():
            giver = balancer.next_most_loaded()
            while giver is not None and not owned.get(giver):
                balancer.exclude_most_loaded()
                giver = balancer.next_most_loaded()
            if giver is None:
                break
            number = owned[giver].pop()
            receiver = balancer.next_least_loaded()
            if balancer.is_balanced():
                break
            self._assign(topic_id, number, receiver)
            moved += 1
        return moved


class _Balancer:
    """Names the members with the fewest and the most partitions, in turn.

    The members with the same, lowest number of partitions take turns; once each had one, they are
    joined by those that had one more. The same holds at the other end, downwards.

    Args:
        sizes: the number of partitions of each member; others change it.
        members: the members to choose from.

    Kafka: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer (4.2)
    """

    def __init__(self, sizes: list[int], members: Sequence[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(members, key=lambda member: (sizes[member], member))
        self._least_end = 0
        self._least_size = sizes[self._sorted[0]] - 1
        self._next_least = 0
        self._most_start = self._most_end = len(self._sorted)
        self._most_size = sizes[self._sorted[-1]] + 1
        self._next_most = len(self._sorted) - 1

    def is_balanced(self) -> bool:
        """Return whether no member has more than one partition more than any other."""
        return self._most_size - self._least_size <= 1

    def next_least_loaded(self) -> int:
        """Return the member that gets the next partition."""
        if self._next_least >= self._least_end:
            self._least_size += 1
            while (
                self._least_end < len(self._sorted)
                and self._sizes[self._sorted[self._least_end]] == self._least_size
            ):
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._sorted[self._next_least - 1]

    def next_most_loaded(self) -> int | None:
        """Return the member that gives the next partition; None: no member is left."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_size = self._sizes[self._sorted[self._most_start - 1]]
            else:
                self._most_size -= 1
            while (
                self._most_start > 0
                and self._sizes[self._sorted[self._most_start - 1]] == self._most_size
            ):
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return self._sorted[self._next_most + 1]

    def exclude_most_loaded(self) -> None:
        """Leave out the member that was named last: it has no partition of this topic."""
        at, last = self._next_most + 1, self._most_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._most_end -= 1
