"""What can happen to a cluster, as plain data: events can be stored and played again."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from workbench.errors import ReplicationError
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.coordinator import Commit
from workbench.replication.simulation.simulated_broker import SimulatedBroker
from workbench.runtime.words import plural

KINDS: Final = {
    "produce": "a client sends a record to the leader, with acks=all unless it says otherwise",
    "commit": "a group commits an offset to the coordinator, the leader of `__consumer_offsets`",
    "ask offset": "a consumer asks the coordinator at which offset its group resumes",
    "fetch": "a follower's request reaches the leader",
    "answer": "the leader's answer reaches the follower",
    "lose": "a follower's request or its answer is lost",
    "expire": "a follower's fetch has waited long enough and is answered",
    "crash": "a broker's process ends, and the controller notices",
    "kill": "a broker's process ends; the controller has not noticed",
    "notice": "the controller fences a broker that it does not hear of",
    "start": "a dead broker starts",
    "restart": "a broker's process ends and starts at once",
    "stop": "a broker shuts down cleanly",
    "elect": "the controller moves leadership to an in-sync replica",
    "elect unclean": "the controller elects a replica though none in sync lives",
    "isolate": "a broker is disconnected from the controller and the other brokers",
    "heal": "an isolated broker is connected again",
    "pause": "a broker's process is suspended; what is sent to it waits",
    "resume": "a paused broker continues",
    "checkpoint": "a broker writes its high watermark to its checkpoint",
    "check ISR": "leaders look for followers that lag too long",
    "configure": "the topic's configuration changes",
    "delete records": "a client deletes the records before an offset",
    "validate": "a consumer asks whether its position is still in the leader's log (since 2.1)",
    "advance": "time passes",
    "run": "time passes while followers fetch; a broker that is named does not fetch",
    "rest": "followers fetch until nothing changes any more",
}
"""Every kind of event and its meaning."""


OF_CLIENTS: Final = frozenset({"produce", "commit", "ask offset"})
"""What a client sends to a broker, to the leader unless one is named."""


class Event(NamedTuple):
    """One event.

    Attributes:
        do: what happens, one of `KINDS`.
        broker: the broker concerned; -1: none.
        value: the record of a produce; NAME=VALUE of a configuration; the leader epoch of a
            consumer's position; a commit such as `billing orders-0=42`; of "ask offset" the group
            and partition, `billing orders-0`.
        acks: of a produce.
        lose: records that a killed broker loses with its page cache.
        ms: how much time passes.
        offset: records before it are deleted; a consumer's position.
    """

    do: str
    broker: int = -1
    value: str = ""
    acks: int = -1
    lose: int = 0
    ms: int = 0
    offset: int = 0

    def __str__(self) -> str:
        if self.do in OF_CLIENTS:
            to = "" if self.broker < 0 else f" to {self.broker}"
            acks = "" if self.acks == -1 else f" with acks={self.acks}"
            return f"{self.do} {self.value}{to}{acks}"
        if self.do == "advance":
            return f"{self.ms} ms pass"
        if self.do == "run":
            stuck = "" if self.broker < 0 else f", {self.broker} does not"
            return f"{self.ms} ms pass, followers fetch{stuck}"
        if self.do == "configure":
            return f"configure {self.value}"
        if self.do == "delete records":
            return f"delete records before {self.offset}"
        if self.do == "validate":
            return f"validate {self.offset} of epoch {self.value}"
        lost = f", {plural(self.lose, 'record')} lost" if self.lose else ""
        return f"{self.do} {self.broker}{lost}" if self.broker >= 0 else self.do


def do(cluster: Cluster, event: Event) -> None:
    """Let an event happen.

    Raises:
        ReplicationError: there is no such event or broker.
    """
    kind, broker = event.do, event.broker
    if kind in OF_CLIENTS:
        _send(cluster, event)
    elif kind == "crash":
        cluster.kill(broker, lose=event.lose)
        cluster.notice(broker)
    elif kind == "kill":
        cluster.kill(broker, lose=event.lose)
    elif kind == "restart":
        cluster.kill(broker, lose=event.lose)
        cluster.start(broker)
    elif kind in {"advance", "run"}:
        _pass_time(cluster, event)
    elif kind in {"configure", "delete records", "validate"}:
        _ask(cluster, event)
    elif kind in _SIMPLE:
        getattr(cluster, _SIMPLE[kind])(broker)
    elif kind in _WITHOUT_BROKER:
        getattr(cluster, _WITHOUT_BROKER[kind])()
    else:
        raise ReplicationError(f"event {kind!r}: expected one of {', '.join(KINDS)}")


def _send(cluster: Cluster, event: Event) -> None:
    """Do what a client does; the question for an offset changes nothing."""
    to = None if event.broker < 0 else event.broker
    if event.do == "produce":
        cluster.produce(event.value, acks=event.acks, to=to)
    elif event.do == "commit":
        commit = Commit.of(event.value)
        cluster.commit(commit.group, str(commit.partition), commit.offset, to=to)


def _pass_time(cluster: Cluster, event: Event) -> None:
    if event.do == "advance":
        cluster.advance(event.ms)
    else:
        cluster.run(event.ms, stuck=() if event.broker < 0 else (event.broker,))


def _ask(cluster: Cluster, event: Event) -> None:
    """Do what an administrator or consumer asks; the question of a consumer changes nothing."""
    if event.do == "configure":
        name, _, value = event.value.partition("=")
        cluster.configure(name, _SETTINGS.get(value, value))
    elif event.do == "delete records":
        cluster.delete_records(event.offset)


_SIMPLE: Final = {
    "fetch": "fetch",
    "answer": "answer",
    "lose": "lose",
    "expire": "expire",
    "notice": "notice",
    "start": "start",
    "stop": "stop",
    "elect": "elect",
    "isolate": "isolate",
    "heal": "heal",
    "pause": "pause",
    "resume": "resume",
    "checkpoint": "checkpoint",
}
_WITHOUT_BROKER: Final = {
    "elect unclean": "elect_unclean",
    "check ISR": "check_isr",
    "rest": "rest",
}
_SETTINGS: Final[dict[str, Any]] = {"true": True, "false": False, **{str(n): n for n in range(10)}}
_TEXTS: Final = (
    re.compile(
        r"(?P<do>produce) (?P<value>.+?)(?: to (?P<broker>\d+))?(?: with acks=(?P<acks>-1|0|1))?"
    ),
    re.compile(r"(?P<do>commit) (?P<value>\S+ \S+=\d+)(?: to (?P<broker>\d+))?"),
    re.compile(r"(?P<do>ask offset) (?P<value>\S+ \S+)(?: to (?P<broker>\d+))?"),
    re.compile(r"(?P<ms>\d+) ms pass(?P<run>, followers fetch(?:, (?P<broker>\d+) does not)?)?"),
    re.compile(r"(?P<do>configure) (?P<value>[\w.]+=\w+)"),
    re.compile(r"(?P<do>delete records) before (?P<offset>\d+)"),
    re.compile(r"(?P<do>validate) (?P<offset>\d+) of epoch (?P<value>\d+)"),
    re.compile(rf"(?P<do>{'|'.join(_WITHOUT_BROKER)})"),
    re.compile(
        rf"(?P<do>{'|'.join([*_SIMPLE, 'crash', 'kill', 'restart'])}) (?P<broker>\d+)"
        r"(?:, (?P<lose>[1-9]\d*) records? lost)?"
    ),
)


def event_of(text: str) -> Event:
    """Return the event that a text means, written as `str(Event)` writes it.

    Such as `"produce m0"`, `"produce m1 to 0 with acks=1"`, `"fetch 1"`, `"kill 1, 2 records
    lost"`, `"9000 ms pass"`.

    Raises:
        ReplicationError: the text is not an event.
    """
    for form in _TEXTS:
        found = form.fullmatch(text)
        if found is not None:
            parts = {name: part for name, part in found.groupdict().items() if part is not None}
            run = parts.pop("run", None)
            parts.setdefault("do", "advance" if run is None else "run")
            return Event(
                **{n: v if n in {"do", "value"} else int(v) for n, v in parts.items()}  # type: ignore[arg-type]
            )
    raise ReplicationError(f"event {text!r}: expected such as 'produce m0', 'fetch 1' or 'crash 0'")


class Bounds(NamedTuple):
    """How much may happen in a search or a random run.

    Attributes:
        records: how many records clients send.
        crashes: how many times a broker's process ends.
        elections: how often the controller moves leadership by itself.
        losses: how many answers are lost.
        cuts: how many records a crash loses with the page cache.
        unclean: whether the controller may elect unclean leaders by hand.
    """

    records: int = 3
    crashes: int = 2
    elections: int = 2
    losses: int = 0
    cuts: int = 0
    unclean: bool = False


class Spent(NamedTuple):
    """How much of the bounds has happened."""

    crashes: int = 0
    elections: int = 0
    losses: int = 0

    def after(self, event: Event) -> "Spent":
        """Return what is spent after an event."""
        kind = event.do
        return Spent(
            self.crashes + (kind in {"crash", "restart", "kill"}),
            self.elections + (kind in {"elect", "elect unclean"}),
            self.losses + (kind == "lose"),
        )


def possible_events(cluster: Cluster, bounds: Bounds, spent: Spent) -> Iterator[Event]:
    """Yield the events that can happen now, in an order that depends on the state alone."""
    state = cluster.state
    leader = cluster.brokers.get(state.leader)
    number = len(cluster.produced)
    if number < bounds.records and leader is not None and leader.is_alive:
        yield Event("produce", value=f"m{number}")
    for broker in cluster.brokers.values():
        if not broker.is_alive:
            yield Event("start", broker.id)
            continue
        yield from _messages(cluster, broker, may_lose=spent.losses < bounds.losses)
        if spent.crashes < bounds.crashes:
            for lose in range(bounds.cuts + 1):
                yield Event("crash", broker.id, lose=lose)
                yield Event("restart", broker.id, lose=lose)
        if spent.elections < bounds.elections:
            if broker.id != state.leader and broker.id in state.isr:
                yield Event("elect", broker.id)
            elif bounds.unclean and state.leader < 0:
                yield Event("elect unclean")


def _messages(cluster: Cluster, broker: SimulatedBroker, *, may_lose: bool) -> Iterator[Event]:
    exchange = broker.exchange
    if exchange is None:
        if cluster.can_fetch(broker.id):
            yield Event("fetch", broker.id)
    elif exchange.is_answered:
        yield Event("answer", broker.id)
        if may_lose:
            yield Event("lose", broker.id)
    else:
        yield Event("expire", broker.id)


def as_dict(event: Event) -> dict[str, Any]:
    """Return an event with the fields that it uses, for JSON."""
    default = Event(event.do)
    return {
        name: value
        for name, value, usual in zip(Event._fields, event, default, strict=True)
        if name == "do" or value != usual
    }
