"""Random operations on committed offsets, as text that Kafka's coordinator and ours carry out.

Of the groups, s0 and s1 only commit; c0 and c1 are of the classic protocol, k0 of another type;
m0 is a consumer group, h0 a share group.
"""

from random import Random
from typing import Any, Final
from urllib.parse import quote_plus

from tests.coordinator.writing import group, member, record, subscription
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode

NOW: Final = 1_700_000_000_000
RETENTION_MS: Final = 60_000
METADATA_MAX_BYTES: Final = 16

SIMPLE: Final = ("s0", "s1", "")
CLASSIC: Final = ("c0", "c1", "k0")
MODERN: Final = ("m0", "h0")
GROUPS: Final = (*SIMPLE, *CLASSIC, *MODERN, "nobody")
TOPICS: Final = ("t", "u", "ä.ö")
MEMBERS: Final = ("a", "b", "")
IDS: Final = (NULL_UUID, "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg")
METADATA: Final = ("", "m", "x" * 16, "x" * 17, "😀" * 8, "😀" * 8 + "x", "ä" * 9, "a b+%&:-")
Pair = tuple[bytes, bytes | None]


class OffsetScript:
    """One script: the same for the same seed."""

    def __init__(self, seed: int, length: int) -> None:
        self._random = Random(seed)
        self._length = length
        self._now = NOW
        self._has_member: set[str] = set()

    def lines(self) -> list[str]:
        """Return one operation per line."""
        lines = [f"now {NOW}", *map(_line, self._share())]
        lines += [f"translate {code.value}" for code in ErrorCode if code is not ErrorCode.NONE]
        while len(lines) < self._length:
            lines += self._operation()
        return lines

    def _operation(self) -> list[str]:
        pick = self._random
        kinds = {
            self._commit: 30, self._transact: 12, self._marker: 9, self._fetch: 18,
            self._classic: 7, self._modern: 6, self._time: 8, self._delete: 12, self._reload: 3,
        }  # fmt: skip
        [operation] = pick.choices(list(kinds), list(kinds.values()))
        return operation()

    def _name(self) -> str:
        return quote_plus(self._random.choice(GROUPS))

    def _fails(self) -> str:
        return "fail-" if self._random.random() < 0.05 else ""

    def _commit(self) -> list[str]:
        pick = self._random
        retention = pick.choice([-1, -1, -1, 0, 1000, RETENTION_MS])
        version = pick.choice([6, 8, 9, 10])
        items = [f"{each}:{pick.choice(IDS)}" for each in self._items()]
        who = (self._name(), *self._committer())
        return [" ".join([f"{self._fails()}commit", *who, f"{retention} {version}", *items])]

    def _transact(self) -> list[str]:
        producer = str(self._random.randrange(3))
        name = self._name() or "s0"  # the service refuses the empty group
        who = (producer, name, *self._committer())
        return [" ".join([f"{self._fails()}transact", *who, *self._items()])]

    def _marker(self) -> list[str]:
        pick = self._random
        return [f"marker {pick.randrange(3)} {pick.choice(['commit', 'abort'])}"]

    def _fetch(self) -> list[str]:
        pick = self._random
        kind = pick.choice(["fetch", "fetch", "fetch-all"])
        parts = [kind, self._name(), pick.choice(["stable", "plain"]), *self._fetcher()]
        if kind == "fetch":
            parts += [f"{each}:{pick.choice(IDS)}" for each in self._partitions()]
        return [" ".join(parts)]

    def _time(self) -> list[str]:
        self._now += self._random.choice([1, 500, 1000, RETENTION_MS - 1, RETENTION_MS])
        return [f"now {self._now}"]

    def _delete(self) -> list[str]:
        pick = self._random
        kinds = ["cleanup", "cleanup", "cleanup", "offsets", "offsets", "groups", "gone"]
        match pick.choice(kinds):
            case "offsets":
                parts = ["delete-offsets", self._name(), *self._partitions()]
            case "groups":
                names = pick.sample([name for name in GROUPS if name != "h0"], pick.randint(1, 3))
                parts = ["delete-groups", *map(quote_plus, names)]
            case "gone":
                parts = ["gone", *self._partitions()]
            case _:
                parts = ["cleanup"]
        return [self._fails() + " ".join(parts)]

    def _reload(self) -> list[str]:
        return ["reload"]

    def _committer(self) -> tuple[str, str, str]:
        pick = self._random
        if pick.random() < 0.4:
            return "", "-1", "-"
        instance = pick.choice(["-", "-", "-", "i", "j"])
        return pick.choice(MEMBERS), str(pick.choice([-1, 0, 1, 1, 2])), instance

    def _fetcher(self) -> tuple[str, str]:
        pick = self._random
        if pick.random() < 0.7:
            return "-", "-1"
        return pick.choice(["a", "b"]), str(pick.choice([-1, 1, 2]))

    def _partitions(self) -> list[str]:
        pick = self._random
        every = [f"{quote_plus(topic)}-{number}" for topic in TOPICS for number in range(3)]
        return pick.sample(every, pick.randint(1, 4))

    def _items(self) -> list[str]:
        pick = self._random
        return [
            f"{each}:{pick.choice([0, 1, 77, -5, 1 << 62])}:{pick.choice([-1, 0, 3])}:"
            f"{quote_plus(pick.choice(METADATA))}"
            for each in self._partitions()
        ]

    def _classic(self) -> list[str]:
        """Return a record of a classic group: with members, or empty."""
        pick = self._random
        name = pick.choice(CLASSIC)
        kind = "consumer" if name != "k0" else "connect"
        fields: dict[str, Any] = {
            "generation": pick.choice([0, 1, 2]),
            "protocolType": kind,
            "currentStateTimestamp": pick.choice([-1, self._now, self._now - 1000]),
        }
        if pick.random() < 0.6:
            text = subscription(*pick.sample(TOPICS, pick.randint(0, 2)))
            text = pick.choice([text, text, text, b"\0", text[:-1]])
            instance = pick.choice([None, "i"])
            fields["members"] = [
                member("a", subscription=text, groupInstanceId=instance),
                member("b", subscription=text),
            ][: pick.randint(1, 2)]
            fields |= {"protocol": "range", "leader": "a"}
        key, value = group(name, **fields)
        assert key is not None
        return [_line((key, value))]

    def _modern(self) -> list[str]:
        kind = self._random.choice(["consumer", "consumer", "share"])
        return [_line(pair) for pair in self._records(kind)]

    def _share(self) -> list[Pair]:
        """Return the records that make h0 a share group before anything is committed to it."""
        return self._records("share")

    def _records(self, kind: str) -> list[Pair]:
        """Return records of a consumer group or a share group, in an order that Kafka takes."""
        pick = self._random
        name = {"groupId": "m0" if kind == "consumer" else "h0"}
        who = {**name, "memberId": "a"}
        epoch = pick.choice([1, 2])
        has_member = name["groupId"] in self._has_member
        if has_member and pick.random() < 0.3:
            self._has_member.discard(name["groupId"])
            types = (8, 7, 5) if kind == "consumer" else (14, 13, 10)
            return [_pair(each, who, None) for each in types]
        self._has_member.add(name["groupId"])
        fields: dict[str, Any] = {
            "rackId": None, "clientId": "c", "clientHost": "/h",
            "subscribedTopicNames": pick.sample(TOPICS, pick.randint(0, 2)),
        }  # fmt: skip
        current: dict[str, Any] = {"memberEpoch": epoch, "previousMemberEpoch": 0, "state": 0}
        if kind == "share":
            return [
                _pair(11, name, {"epoch": epoch, "metadataHash": 0}),
                _pair(10, who, fields),
                _pair(14, who, {**current, "assignedPartitions": []}),
            ]
        classic = {"sessionTimeoutMs": 1, "supportedProtocols": []}
        fields |= {
            "instanceId": None, "subscribedTopicRegex": None, "rebalanceTimeoutMs": 1,
            "serverAssignor": None,
            "classicMemberMetadata": pick.choice([None, None, classic]),
        }  # fmt: skip
        current |= {"assignedPartitions": [], "partitionsPendingRevocation": []}
        return [
            _pair(3, name, {"epoch": epoch, "metadataHash": 0}),
            _pair(5, who, fields),
            _pair(8, who, current),
        ]


def _pair(type_id: int, key: dict[str, Any], value: dict[str, Any] | None) -> Pair:
    found, data = record(type_id, key, value)
    assert found is not None
    return found, data


def _line(pair: Pair) -> str:
    key, value = pair
    return f"record {key.hex()} {'null' if value is None else value.hex()}"
