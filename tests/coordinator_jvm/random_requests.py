"""Random requests to groups, one line each: most of them what a client would send, many wrong.

What is sent next depends on the state of the groups, so that rebalances come to their ends.
"""

import random
import struct
from collections.abc import Iterator

from tests.coordinator.writing import subscription
from tests.coordinator_jvm.served_groups import START, Served
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import Protocol

GROUPS = ("g", "h", "größe")
INSTANCES = ("i1", "i2", "i3")
CLIENTS = ("c", "consumer-1", "ж")
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
SESSIONS = (6_000, 10_000, 45_000)
REBALANCES = (1_000, 60_000, 300_000)
APPEND_ERRORS = (3, 4, 6, 10, 18, 19, 20, 56)
SUBSCRIPTIONS = (
    subscription("a"),
    subscription("a", "b"),
    subscription(),
    b"",
    b"\x00",
    struct.pack(">h", -1),
    struct.pack(">hh", 3, 0),
)


class Requests:
    """Requests for one `Served`.

    Args:
        seed: makes the same requests again.
        served: the groups that they are for.
    """

    def __init__(self, seed: int, served: Served) -> None:
        self._random = random.Random(seed)
        self._served = served
        self._now = START
        self._labels = 0
        self._holds = 0
        self._ids = ["nobody"]

    def lines(self, count: int) -> Iterator[str]:
        """Yield ``count`` requests."""
        rng = self._random
        size = rng.choice((2, 3, 100, 100))
        delay = rng.choice((0, 1_000, 3_000))
        yield _line("new", size, delay, START)
        # Some groups are left in peace and grow; others see members come and go.
        calm = rng.choice((1, 4))
        makers = (
            (self._join_new, 14), (self._join_known, 12), (self._go_on, 46), (self._sync, 8),
            (self._heartbeat, 8), (self._leave, 5), (self._commit, 4), (self._describe, 3),
            (self._list, 1), (self._delete, 3), (self._pass, 14 / calm), (self._fail, 3),
            (self._hold, 3), (self._reload, 2 / calm), (self._static_returns, 8),
        )  # fmt: skip
        chosen, weights = zip(*makers, strict=True)
        for _ in range(count):
            self._note_ids()
            yield rng.choices(chosen, weights)[0]()

    def _note_ids(self) -> None:
        for group in self._served.manager.groups:
            for name in [*group.members, *sorted(group.pending_join_members)]:
                if name not in self._ids:
                    self._ids.append(name)

    def _group(self) -> tuple[str, ClassicGroup | None]:
        name = self._random.choice(GROUPS)
        return name, self._served.manager.groups.get(name)

    def _member(self, group: ClassicGroup | None) -> tuple[str, str, int]:
        """Return member id, instance id and generation, mostly those of one member."""
        rng = self._random
        names = list(group.members) if group is not None else []
        name = rng.choice(names) if names and rng.random() < 0.8 else rng.choice(self._ids[-12:])
        member = group.members.get(name) if group is not None else None
        instance = "~" if member is None else _word(member.group_instance_id)
        if rng.random() < 0.1:
            instance = rng.choice(("~", *INSTANCES))
        generation = 0 if group is None else group.generation
        if rng.random() < 0.1:
            generation += rng.choice((-1, 1, -1000))
        return name, instance, generation

    def _label(self) -> int:
        self._labels += 1
        return self._labels

    def _protocols(self) -> tuple[str, tuple[Protocol, ...]]:
        rng = self._random
        if rng.random() < 0.03:
            return rng.choice(("consumer", "")), ()
        if rng.random() < 0.08:
            return "connect", (Protocol("default", b"worker"),)
        names = rng.sample(ASSIGNORS, rng.randint(1, 3))
        if rng.random() < 0.7:
            names = ["range", *(name for name in names if name != "range")]
            rng.shuffle(names)
        usual = rng.random() < 0.85
        data = rng.choice(SUBSCRIPTIONS[:3] if usual else SUBSCRIPTIONS)
        return "consumer", tuple(Protocol(name, data) for name in names)

    def _join(self, group: str, member: str, instance: str, kind: str, protocols: object) -> str:
        rng = self._random
        pairs = ",".join(f"{name}:{data.hex()}" for name, data in protocols)  # type: ignore[attr-defined]
        version = rng.choice((0, 3, 4, 5, 9))
        session, rebalance = rng.choice(SESSIONS), rng.choice(REBALANCES)
        client = rng.choice(CLIENTS)
        return _line(
            "join", self._label(), client, version, group, session, rebalance, member, instance,
            kind, pairs,
        )  # fmt: skip

    def _join_new(self) -> str:
        rng = self._random
        instance = rng.choice(INSTANCES) if rng.random() < 0.35 else "~"
        return self._join(rng.choice(GROUPS), "", instance, *self._protocols())

    def _static_returns(self) -> str:
        name, group = self._group()
        if group is None or not group.static_members:
            return self._join_new()
        instance, member_id = self._random.choice(sorted(group.static_members.items()))
        member = group.members[member_id]
        if self._random.random() < 0.3:
            return self._join(name, "", instance, *self._protocols())
        return self._join(name, "", instance, member.protocol_type, member.supported_protocols)

    def _join_known(self) -> str:
        name, group = self._group()
        pending = sorted(group.pending_join_members) if group is not None else []
        if pending and self._random.random() < 0.6:
            instance = "~" if self._random.random() < 0.95 else "i1"
            return self._join(name, pending[0], instance, *self._protocols())
        member, instance, _ = self._member(group)
        known = group.members.get(member) if group is not None else None
        if known is not None and self._random.random() < 0.7:
            return self._rejoin(name, known)
        return self._join(name, member, instance, *self._protocols())

    def _rejoin(self, group: str, member: ClassicGroupMember) -> str:
        instance = _word(member.group_instance_id)
        kind, protocols = member.protocol_type, member.supported_protocols
        return self._join(group, member.member_id, instance, kind, protocols)

    def _go_on(self) -> str:
        """Send what a member would send now."""
        rng = self._random
        name, group = self._group()
        if group is None:
            return self._join_new()
        if group.pending_join_members and rng.random() < 0.5:
            pending = rng.choice(sorted(group.pending_join_members))
            return self._join(name, pending, "~", *self._protocols())
        late = [each for each in group.members.values() if each.awaiting_join is None]
        if group.state == "PreparingRebalance":
            return self._rejoin(name, rng.choice(late)) if late else self._pass()
        if group.state == "CompletingRebalance":
            unsynced = sorted(group.pending_sync_members)
            return self._sync_of(name, group, rng.choice(unsynced or list(group.members)))
        if group.state == "Stable" and rng.random() < 0.5:
            return self._rejoin(name, rng.choice(list(group.members.values())))
        return self._heartbeat()

    def _sync_of(self, name: str, group: ClassicGroup, member_id: str) -> str:
        rng = self._random
        member = group.members[member_id]
        assignments = ""
        if group.is_leader(member_id) or rng.random() < 0.1:
            given = [who for who in group.members if rng.random() < 0.9]
            given += ["nobody"] * (rng.random() < 0.1)
            assignments = ",".join(
                f"{who}:{rng.randbytes(rng.choice((0, 3))).hex()}" for who in given
            )
        kind, protocol = _word(group.protocol_type), _word(group.protocol)
        if rng.random() < 0.2:
            kind, protocol = rng.choice((("~", "~"), ("connect", protocol), (kind, "sticky")))
        instance = _word(member.group_instance_id)
        return _line(
            "sync", self._label(), name, group.generation, member_id, instance, kind, protocol,
            assignments,
        )  # fmt: skip

    def _sync(self) -> str:
        name, group = self._group()
        member, instance, generation = self._member(group)
        given = f"{member}:aa"
        return _line("sync", self._label(), name, generation, member, instance, "~", "~", given)

    def _heartbeat(self) -> str:
        name, group = self._group()
        member, instance, generation = self._member(group)
        return _line("heartbeat", name, generation, member, instance)

    def _leave(self) -> str:
        name, group = self._group()
        pairs = []
        for _ in range(self._random.choice((1, 1, 2, 3))):
            member, instance, _ = self._member(group)
            if instance != "~" and self._random.random() < 0.4:
                member = ""
            if group is not None and group.pending_join_members and self._random.random() < 0.3:
                member, instance = min(group.pending_join_members), "~"
            pairs.append(f"{member}:{instance}")
        return _line("leave", name, ",".join(pairs))

    def _commit(self) -> str:
        name, group = self._group()
        member, instance, generation = self._member(group)
        if self._random.random() < 0.3:
            member, instance, generation = "", "~", -1
        return _line("commit", name, member, instance, generation)

    def _describe(self) -> str:
        return _line("describe", self._group()[0], self._random.choice((5, 6)))

    def _list(self) -> str:
        return _line("list", self._random.choice(("", "Stable", "empty,PREPARINGREBALANCE")))

    def _delete(self) -> str:
        return _line("delete", ",".join(self._random.sample(GROUPS, self._random.randint(1, 3))))

    def _pass(self) -> str:
        rng = self._random
        if rng.random() < 0.05:
            passed = rng.choice((300_000, 300_001, 600_000))
        else:
            passed = rng.choice((0, 1, 500, 1_000, 3_000, 5_999, 6_000, 10_000, 44_000, 60_000))
        self._now += passed
        return _line("now", self._now)

    def _fail(self) -> str:
        rng = self._random
        return _line("fail", rng.choice(GROUPS), rng.choice(APPEND_ERRORS))

    def _hold(self) -> str:
        return self._random.choice(("hold", "release", "release", "timeout"))

    def _reload(self) -> str:
        if self._random.random() < 0.2:
            return _line("maxsize", self._random.choice((1, 2, 3, 100)))
        return self._random.choice(("reload", "unload"))


def _line(*words: object) -> str:
    return "\t".join(map(str, words))


def _word(word: str | None) -> str:
    return "~" if word is None else word
