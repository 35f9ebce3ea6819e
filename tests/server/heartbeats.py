"""Schedules of heartbeats of consumer groups, one after the other, some of them wrong."""

import random
from collections.abc import Iterator
from typing import Any, Final

from tests.server.asking import Asker, Values
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.api import Api

GROUP: Final = "g"
TOPICS: Final = {"t": 5, "u": 3, "v": 7}
JOIN: Final = {"memberEpoch": 0, "rebalanceTimeoutMs": 1_800_000, "topicPartitions": []}
OWN: Final = "own"  # the partitions that the member was given last

Step = tuple[str, Values]


class Member:
    """The members of a group at one server: who is in which epoch, with which partitions."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.epochs: dict[str, int] = {}
        self._owned: dict[str, list[Values]] = {}

    def heartbeat(self, name: str, fields: Values) -> Values:
        """Send the heartbeat of a member; return the answer."""
        asked = {
            "groupId": GROUP,
            "memberId": name,
            "memberEpoch": self.epochs.get(name, 0),
            "rebalanceTimeoutMs": -1,
            **fields,
        }
        if asked.get("topicPartitions") == OWN:
            asked["topicPartitions"] = self._owned.get(name, [])
        answer = self._asker.ask(apis.CONSUMER_GROUP_HEARTBEAT, 1, asked)
        if not answer["errorCode"]:
            self.epochs[name] = answer["memberEpoch"]
            if answer["assignment"] is not None:
                self._owned[name] = answer["assignment"]["topicPartitions"]
        return answer

    def offsets(self, name: str, epoch: int, topic_id: str) -> list[Values]:
        """Commit and fetch an offset as a member of an epoch; return the answers."""
        partition = {"partitionIndex": 0, "committedOffset": 0, "committedMetadata": ""}
        commit = {
            "groupId": GROUP,
            "memberId": name,
            "generationIdOrMemberEpoch": epoch,
            "topics": [{"topicId": topic_id, "partitions": [partition]}],
        }
        fetch = {
            "groupId": GROUP,
            "memberId": name,
            "memberEpoch": epoch,
            "topics": [{"topicId": topic_id, "partitionIndexes": [0]}],
        }
        return [
            self._ask(apis.OFFSET_COMMIT, commit),
            self._ask(apis.OFFSET_FETCH, {"groups": [fetch], "requireStable": True}),
        ]

    def described(self) -> list[Values]:
        """Return what administrators see of the group."""
        return [
            self._ask(apis.CONSUMER_GROUP_DESCRIBE, {"groupIds": [GROUP]}),
            self._ask(apis.LIST_GROUPS, {}),
        ]

    def _ask(self, api: Api, asked: Values) -> Values:
        return self._asker.ask(api, api.highest, asked)


def every_rule() -> Iterator[Step]:
    """Yield joins, revocations, epochs, static members, expressions, assignors and leaves."""
    yield "a", {**JOIN, "subscribedTopicNames": ["t", "u"]}
    yield "b", {**JOIN, "subscribedTopicNames": ["t", "u"]}
    yield from rounds("ab", 2)
    yield "c", {**JOIN, "subscribedTopicNames": ["t", "v"]}
    yield from rounds("abc", 2)
    for wrong in (1, 99):
        yield "b", {"memberEpoch": wrong}
    yield "z", {"memberEpoch": 5}
    yield "c", {"subscribedTopicNames": ["v"]}
    yield from rounds("abc", 2)
    for name in ("s1", "s2"):
        yield name, {**JOIN, "subscribedTopicNames": ["t"], "instanceId": "i1"}
    yield from rounds(["a", "b", "c", "s1"], 2)
    yield "s1", {"memberEpoch": -2, "instanceId": "i1"}
    yield "s2", {**JOIN, "subscribedTopicNames": ["t"], "instanceId": "i1"}
    yield "s1", {"memberEpoch": 3, "instanceId": "i1"}
    yield "a", {"memberEpoch": -1}
    yield from rounds(["b", "c", "s2"], 3)
    yield "r", {**JOIN, "subscribedTopicRegex": "[tv]", "subscribedTopicNames": []}
    yield from rounds(["b", "c", "r", "s2"], 3)
    yield "q", {**JOIN, "subscribedTopicRegex": "[tv", "subscribedTopicNames": []}
    yield "b", {"serverAssignor": "range", "topicPartitions": OWN}
    yield "b", {"serverAssignor": "nonsense"}
    yield "d", {**JOIN, "subscribedTopicNames": ["t", "missing"], "serverAssignor": "range"}
    yield from rounds(["b", "c", "r", "d", "s2"], 3)
    yield "r", {"memberEpoch": -1}
    yield "e", dict(JOIN)
    yield "e", {**JOIN, "subscribedTopicNames": ["t"], "topicPartitions": None}
    yield "", {**JOIN, "subscribedTopicNames": ["t"]}
    for epoch in (-7, -2, -1):
        yield "f", {"memberEpoch": epoch}
    yield "f", {"memberEpoch": 4, "groupId": "no-such-group"}
    yield "f", {"memberEpoch": -1, "groupId": "no-such-group"}
    yield from rounds(["b", "c", "d", "s2"], 2)


def rounds(names: str | list[str], count: int) -> Iterator[Step]:
    """Yield heartbeats of members that give up at once what they are told to."""
    for _ in range(count):
        for name in names:
            fields: Values = {"topicPartitions": OWN}
            yield name, {**fields, "instanceId": "i1"} if name.startswith("s") else fields


def at_random(chance: random.Random, count: int) -> Iterator[Step]:
    """Yield heartbeats of members that come, change their mind, and go."""
    known: dict[str, str | None] = {}
    topics = list(TOPICS)
    for number in range(count):
        is_alike = number // 50 % 2  # for a while, all members subscribe to the same topics
        name = chance.choice([*known, "new"])
        fields: dict[str, Any] = {"topicPartitions": chance.choice([OWN, OWN, OWN, None])}
        wanted = topics if is_alike else chance.sample(topics, chance.randint(1, len(topics)))
        if name == "new" and len(known) < 8:
            name = f"member-{number}-{chance.randrange(1000)}"
            known[name] = chance.choice([None, None, f"i-{number}"])
            fields = {**JOIN, "subscribedTopicNames": wanted}
            fields["serverAssignor"] = chance.choice([None, None, None, "range", "uniform"])
        elif name == "new":
            name = chance.choice(list(known))
        elif chance.random() < (0.3 if is_alike else 0.1):
            fields["subscribedTopicNames"] = wanted
        elif chance.random() < 0.08:
            fields["memberEpoch"] = -1
        if known[name] is not None:
            fields["instanceId"] = known[name]
        if fields.get("memberEpoch") == -1:
            del known[name]
        yield name, fields
