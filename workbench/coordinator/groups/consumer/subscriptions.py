"""What the members of a consumer group subscribe to, by name and by regular expression.

Kafka: ConsumerGroup.computeSubscribedTopicNames, computeSubscribedRegularExpressions,
subscriptionType, computePreferredServerAssignor (4.2)
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from workbench.coordinator.groups.classic.java_hash_map import in_hash_order, text_order
from workbench.coordinator.groups.consumer.member import ConsumerMember
from workbench.coordinator.groups.groups import ModernGroup, preferred_assignor
from workbench.coordinator.runtime.partitioning import java_hash


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The subscriptions of some members.

    Attributes:
        members: the members.
        regexes: regular expression → its topics, as they were resolved last.
        own_assignor: what the member asks for whose heartbeat changes the group.
    """

    members: Collection[ConsumerMember]
    regexes: Mapping[str, Collection[str]]
    own_assignor: str | None = None

    @classmethod
    def of(
        cls,
        group: ModernGroup,
        members: Iterable[ConsumerMember],
        dropped: Iterable[str] = (),
        own_assignor: str | None = None,
    ) -> "Subscriptions":
        """Return the subscriptions of a group.

        Args:
            group: the group, for what its expressions resolve to.
            members: its members, as they will be.
            dropped: expressions that no member has any more.
            own_assignor: what the member asks for whose heartbeat changes the group.
        """
        gone = set(dropped)
        regexes = {
            regex: fields["topics"] for regex, fields in group.regexes.items() if regex not in gone
        }
        return cls(tuple(members), regexes, own_assignor)

    @property
    def topics(self) -> set[str]:
        """The topics of all members."""
        return {
            *(topic for member in self.members for topic in member.topics),
            *(topic for topics in self.regexes.values() for topic in topics),
        }

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics, in the same way."""
        by_name = Counter(topic for member in self.members for topic in member.topics)
        by_regex = Counter(topic for topics in self.regexes.values() for topic in topics)
        subscribed = Counter(member.regex for member in self.members if member.regex)
        if not subscribed:
            return all(by_name[topic] == len(self.members) for topic in self.topics)
        first = text_order(name for name in subscribed if name)[0]
        if subscribed[first] != len(self.members):
            return False
        return all(by_regex[topic] == 1 and not by_name[topic] for topic in self.topics)

    @property
    def assignor(self) -> str:
        """The assignor that most members ask for, otherwise the default."""
        return preferred_assignor((each.assignor for each in self.members), self.own_assignor)


def topics_of(member: ConsumerMember, group: ModernGroup) -> list[str]:
    """Return the topics that a member subscribes to, by name and by resolved expression.

    Topics whose ids are in one bucket of a broker's map are assigned in this order.

    Kafka: ConsumerTargetAssignmentBuilder.newMemberSubscriptionAndAssignment, UnionSet (4.2)
    """
    named = in_hash_order(sorted(member.topics), java_hash, is_copied=True)
    resolved = group.regexes.get(member.regex) if member.regex else None
    if resolved is None:
        return named
    found = in_hash_order(sorted(resolved["topics"]), java_hash, is_copied=True)
    larger_first = (*named, *found) if len(named) > len(found) else (*found, *named)
    return list(dict.fromkeys(larger_first))
