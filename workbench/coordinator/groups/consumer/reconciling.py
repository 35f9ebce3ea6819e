"""How far a member's next heartbeat brings it towards its target assignment.

Kafka: CurrentAssignmentBuilder (4.2)
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from workbench.coordinator.groups.consumer.member import (
    NOTHING,
    STABLE,
    UNRELEASED,
    UNREVOKED,
    Assignment,
    ConsumerMember,
)
from workbench.runtime.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What a member's next assignment is made of.

    Attributes:
        target_epoch, target: the target assignment, and its epoch.
        topic_ids: the topics that the member subscribes to.
        has_changed: whether the subscription has just changed.
        is_held: returns whether any member has, or must give up, a partition of a topic id.
        owned: the partitions that the client says it has; None: it did not say.
    """

    target_epoch: int
    target: Assignment
    topic_ids: Collection[str]
    has_changed: bool
    is_held: Callable[[str, int], bool]
    owned: Assignment | None

    def next(self, member: ConsumerMember) -> ConsumerMember:
        """Return the member with its next assignment.

        Raises:
            CoordinatorError: FENCED_MEMBER_EPOCH: the member is in a state that is not known.
        """
        if member.state == STABLE:
            if member.epoch != self.target_epoch:
                return self._towards_target(member, member.epoch)
            return self._without_unsubscribed(member) if self.has_changed else member
        if member.state == UNREVOKED:
            if not self._owns(member.revoking):
                return self._towards_target(member, member.epoch)
            return self._without_unsubscribed(member) if self.has_changed else member
        if member.state == UNRELEASED:
            return self._towards_target(member, member.epoch)
        if self.owned is None or self.owned:
            raise ErrorCode.FENCED_MEMBER_EPOCH.error(
                "The consumer group member is in a unknown state. The member must abandon all its "
                "partitions and rejoin."
            )
        return self._towards_target(member, self.target_epoch)

    def _owns(self, partitions: Assignment) -> bool:
        """Return whether the client still has one of some partitions, or does not say."""
        if self.owned is None:
            return True
        return any(
            not numbers.isdisjoint(partitions.get(topic_id, frozenset()))
            for topic_id, numbers in self.owned.items()
        )

    def _without_unsubscribed(self, member: ConsumerMember) -> ConsumerMember:
        """Return the member without topics that it no longer subscribes to.

        Kafka: CurrentAssignmentBuilder.updateCurrentAssignment (4.2)
        """
        kept = {each: member.assigned[each] for each in member.assigned if each in self.topic_ids}
        if len(kept) == len(member.assigned):
            return member
        revoking = dict(member.revoking)
        for topic_id, numbers in member.assigned.items():
            if topic_id not in self.topic_ids:
                revoking[topic_id] = revoking.get(topic_id, frozenset()) | numbers
        if revoking and self._owns(revoking):
            return replace(member, state=UNREVOKED, assigned=kept, revoking=revoking)
        return replace(member, assigned=kept)

    def _towards_target(self, member: ConsumerMember, epoch: int) -> ConsumerMember:
        """Kafka: CurrentAssignmentBuilder.computeNextAssignment (4.2)."""
        assigned: dict[str, frozenset[int]] = {}
        revoking: dict[str, frozenset[int]] = {}
        waiting: dict[str, frozenset[int]] = {}
        is_waiting_for_others = False
        for topic_id in {**self.target, **member.assigned}:
            wanted = self.target.get(topic_id, frozenset())
            if topic_id not in self.topic_ids:
                wanted = frozenset()
            has = member.assigned.get(topic_id, frozenset())
            own = member.revoking.get(topic_id, frozenset())
            free = {
                number
                for number in wanted - has
                if number in own or not self.is_held(topic_id, number)
            }
            is_waiting_for_others |= len(free) < len(wanted - has)
            for found, numbers in (
                (assigned, has & wanted),
                (revoking, has - wanted),
                (waiting, frozenset(free)),
            ):
                if numbers:
                    found[topic_id] = numbers
        moved = replace(member, previous_epoch=member.epoch, assigned=assigned)
        if revoking and self._owns(revoking):
            return replace(moved, state=UNREVOKED, epoch=epoch, revoking=revoking)
        for topic_id, numbers in waiting.items():
            assigned[topic_id] = assigned.get(topic_id, frozenset()) | numbers
        state = UNRELEASED if is_waiting_for_others else STABLE
        return replace(moved, state=state, epoch=self.target_epoch, revoking=NOTHING)
