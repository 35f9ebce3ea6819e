"""Play events on a cluster and keep every moment: what happened, why, and the state after it.

played = play(["produce m0", "fetch 1", "answer 1", "fetch 1"], brokers=2)
print(played.table())
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.cluster_state import Produced
from workbench.replication.simulation.events import KINDS, OF_CLIENTS, Event, do, event_of
from workbench.replication.simulation.invariants import Violation, violations
from workbench.replication.simulation.search import Schedule
from workbench.replication.simulation.snapshots import (
    FetchMessage,
    ReplicaSnapshot,
    Snapshot,
    message_of,
    take_snapshot,
    without_lost,
)
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Step

CLIENT: Final = -1
"""The sender or receiver of a `Move` that is not a broker."""

_OF_LEADER: Final = OF_CLIENTS | {"delete records"}


class Move(NamedTuple):
    """A message that moved in one moment.

    Attributes:
        sender: broker id; `CLIENT` is a client.
        receiver: the same.
        text: what it says.
        is_lost: whether it did not arrive.
    """

    sender: int
    receiver: int
    text: str
    is_lost: bool = False


class Moment(NamedTuple):
    """One event and what came of it.

    Attributes:
        event: the event.
        why: what the event shows, in sentences; empty if not given.
        steps: what the engine reported.
        moves: the messages that moved.
        after: the cluster after it.
        violations: the promises that the state breaks.
        has_effect: whether anything changed.
    """

    event: Event
    why: str
    steps: tuple[Step, ...]
    moves: tuple[Move, ...]
    after: Snapshot
    violations: tuple[Violation, ...] = ()
    has_effect: bool = True

    @property
    def messages(self) -> str:
        """What moved, as a sentence."""
        return "; ".join(_move_text(move) for move in self.moves)

    @property
    def outcome(self) -> str:
        """What happened, in a few words."""
        if not self.has_effect:
            has_leader = self.after.leader >= 0 or self.event.do not in _OF_LEADER
            return "nothing changes" if has_leader else "there is no leader"
        parts = [self.messages] if self.moves else []
        parts += [step_text(step) for step in self.steps if step.kind != "request waits"]
        return "; ".join(parts) or KINDS[self.event.do]


@dataclass(frozen=True)
class Playback:
    """What was played.

    Attributes:
        title: what it is.
        about: what it shows, in sentences.
        rules: the version whose rules held.
        moments: the events in order.
        start: the cluster before the first event.
        cluster: the cluster after the last event; its logs can be looked at.
        options: of the `Cluster`, as they were given.
    """

    title: str
    about: str
    rules: str
    moments: tuple[Moment, ...]
    start: Snapshot
    cluster: Cluster
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.title}, rules of {self.rules}\n{self.table()}\n{self.result}"

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The promises that were broken at any moment, each kind once, with its first text."""
        found: dict[str, Violation] = {}
        for moment in self.moments:
            for each in moment.violations:
                found.setdefault(each.kind, each)
        return tuple(found.values())

    @property
    def result(self) -> str:
        """The logs at the end, and the promises that were broken."""
        end = self.moments[-1].after if self.moments else self.start
        logs = ", ".join(
            f"{each.broker}: [{' '.join(r.value for r in each.records)}]" for each in end.replicas
        )
        broken = "; ".join(f"{each.kind}: {each.text}" for each in self.violations)
        return f"logs at the end: {logs}" + (f"\nbroken: {broken}" if broken else "")

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per moment: event, then LEO and HW of each broker, remote LEOs, ISR."""
        rows: list[dict[str, Any]] = []
        for number, moment in enumerate(self.moments, 1):
            row: dict[str, Any] = {"step": number, "event": str(moment.event)}
            leader = None
            for each in moment.after.replicas:
                row[f"LEO {each.broker}"] = each.log_end_offset
                row[f"HW {each.broker}"] = each.high_watermark if each.runs else None
                if each.role == "leader" and each.broker == moment.after.leader:
                    leader = each
            row["remote LEO"] = "" if leader is None else remote_text(leader)
            row["leader"] = moment.after.leader if moment.after.leader >= 0 else None
            row["ISR"] = list(moment.after.isr)
            rows.append(row)
        return rows

    def table(self) -> str:
        """Return `rows` as text, one line per moment."""
        rows = self.rows()
        if not rows:
            return "no events"
        lines = [
            [str(name) for name in rows[0]],
            *[["" if v is None else str(v) for v in row.values()] for row in rows],
        ]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def play(
    events: Iterable[Event | str | tuple[Event | str, str]] | Schedule,
    *,
    title: str = "",
    about: str = "",
    **options: Any,
) -> Playback:
    """Play events on a new cluster.

    Args:
        events: events, texts of events as `event_of` reads them, pairs of one of them and why it
            happens, or a schedule that `find_schedule` found.
        title: what it is.
        about: what it shows.
        options: of the `Cluster`; with a schedule, in place of the schedule's.

    Raises:
        ReplicationError: an event or option is wrong, or no schedule was found.
        ConfigError: ``rules`` is not a version.
    """
    if isinstance(events, Schedule):
        found = events.found()
        title = title or f"The shortest schedule of {len(found)} events"
        about = about or events.violation or ""
        options = {
            "brokers": events.brokers,
            "rules": events.rules,
            **events.options,
            **options,
        }
        events = found
    script = [_with_reason(each) for each in events]
    steps: list[Step] = []
    given = options.pop("observer", None)

    def observe(step: Step) -> None:
        steps.append(step)
        if given is not None:
            given(step)

    cluster = Cluster(observer=observe, **options)
    began = cluster.clock.now()
    before = start = take_snapshot(cluster, began)
    moments = []
    steps.clear()
    for event, why in script:
        under_way = {
            each.id: message_of(each.id, each.exchange)
            for each in cluster.brokers.values()
            if each.exchange is not None
        }
        if event.do not in _OF_LEADER or event.broker >= 0 or cluster.leader >= 0:
            do(cluster, event)
        stored = before._replace(
            replicas=tuple(_stored(each, cluster, event) for each in before.replicas)
        )
        after = take_snapshot(cluster, began, stored)
        moves = _moves(event, under_way.get(event.broker), before, after, cluster)
        moments.append(
            Moment(
                event, why, tuple(steps), moves, after, tuple(violations(cluster)),
                has_effect=bool(steps or moves) or after != before,
            )
        )  # fmt: skip
        before = after
        steps.clear()
    version = cluster.rules.version
    return Playback(title or "Events", about, version, tuple(moments), start, cluster, options)


def _with_reason(each: Event | str | tuple[Event | str, str]) -> tuple[Event, str]:
    if isinstance(each, Event):
        return each, ""
    if isinstance(each, str):
        return event_of(each), ""
    event, why = each
    return event_of(event) if isinstance(event, str) else event, why


def _stored(replica: ReplicaSnapshot, cluster: Cluster, event: Event) -> ReplicaSnapshot:
    """Return what a broker has on its disk if this event ended it."""
    is_ended = not cluster.brokers[replica.broker].is_alive and replica.runs
    is_meant = event.broker == replica.broker and event.do in {"kill", "crash"}
    return without_lost(replica, event.lose) if is_ended and is_meant else replica


def _moves(
    event: Event, carried: FetchMessage | None, before: Snapshot, after: Snapshot, cluster: Cluster
) -> tuple[Move, ...]:
    moves: list[Move] = []
    kind, broker = event.do, event.broker
    if kind in OF_CLIENTS and len(after.produced) > len(before.produced):
        sent = after.produced[-1]
        how = "commit" if sent.is_commit else f"acks={_acks_text(sent.acks)}"
        moves.append(Move(CLIENT, sent.to, f"{sent.value}, {how}"))
    elif kind == "ask offset":
        moves += _question(event, cluster)
    elif kind == "fetch" and broker >= 0:
        asked = next((each for each in after.under_way if each.follower == broker), None)
        if asked is not None and carried is None:
            moves.append(Move(broker, asked.leader, asked.asks))
        elif carried is None and cluster.brokers[broker].manager is not None:
            manager = cluster.brokers[broker].manager
            leader = next(iter(manager.fetchers), None) if manager else None
            if leader is not None:
                moves.append(Move(broker, leader, "fetch", is_lost=True))
    elif kind == "answer" and carried is not None and carried.answers:
        moves.append(Move(carried.leader, broker, carried.answers))
    elif kind == "validate":
        moves += _validation(event, cluster)
    elif kind == "lose" and carried is not None:
        lost = (
            Move(carried.leader, broker, carried.answers, is_lost=True)
            if carried.answers
            else Move(broker, carried.leader, carried.asks, is_lost=True)
        )
        moves.append(lost)
    moves += [
        Move(sent.to, CLIENT, answer_text(sent))
        for number, sent in enumerate(after.produced)
        if sent.answer is not None
        and sent.acks != 0
        and (number >= len(before.produced) or before.produced[number].answer is None)
    ]
    return tuple(moves)


def _validation(event: Event, cluster: Cluster) -> list[Move]:
    """Return a consumer's question about its position, and the leader's answer.

    Kafka: SubscriptionState.maybeCompleteValidation, KIP-320 (2.1)
    """
    leader = cluster.brokers.get(cluster.leader)
    if leader is None or leader.manager is None or not cluster.rules.fences_epochs:
        return []
    position, epoch = event.offset, int(event.value)
    current = cluster.state.leader_epoch
    asked = {cluster.partition: (current, epoch)}
    error, end = leader.manager.last_offsets_for_leader_epoch(asked)[cluster.partition]
    if error is not ErrorCode.NONE:
        text = error.name
    elif end.is_undefined:
        text = "the epoch is not known: by auto.offset.reset"
    elif end.end_offset < position or end.epoch < epoch:
        text = f"epoch {end.epoch} ends at {end.end_offset}: continue there"
    else:
        text = f"offset {position} is still in the log"
    return [
        Move(CLIENT, leader.id, f"position {position}, epoch {epoch}"),
        Move(leader.id, CLIENT, text),
    ]


def _question(event: Event, cluster: Cluster) -> list[Move]:
    """Return a consumer's question for its offset, and the coordinator's answer."""
    broker = event.broker if event.broker >= 0 else cluster.leader
    if broker < 0:
        return []
    group, partition = event.value.split(" ")
    found = cluster.committed_offset(group, partition, of=broker)
    name = found.name if isinstance(found, ErrorCode) else None
    text = name or (f"resume at {found}" if found >= 0 else "no offset is committed")
    return [
        Move(CLIENT, broker, f"where does {group} resume in {partition}?"),
        Move(broker, CLIENT, text),
    ]


def answer_text(sent: Produced) -> str:
    """Return the answer that the client got for a record."""
    if sent.answer is None:
        return f"{sent.value} waits"
    if sent.answer is not ErrorCode.NONE:
        return f"{sent.value}: {sent.answer.name}"
    if sent.is_commit:
        return f"{sent.value} is committed"
    return f"{sent.value} is stored at {sent.offset}" if sent.offset >= 0 else sent.value


def remote_text(leader: ReplicaSnapshot) -> str:
    """Return a leader's remote LEOs: `1: 0, 2: ?`."""
    return ", ".join(f"{id_}: {end if end >= 0 else '?'}" for id_, end in leader.remote)


def step_text(step: Step) -> str:
    """Return a step of the engine with its broker and what changed."""
    numbers = step.numbers
    what = f"broker {numbers['at']}: {step.kind}" if "at" in numbers else step.kind
    if "high_watermark" in numbers and "watermark" in step.kind:
        return f"{what}, {numbers['before']} → {numbers['high_watermark']}"
    if "before" in numbers and "log_end_offset" in numbers:
        return f"{what}, {numbers['before']} → {numbers['log_end_offset']}"
    return what


def _move_text(move: Move) -> str:
    names = ["the client" if each == CLIENT else str(each) for each in move[:2]]
    lost = " (lost)" if move.is_lost else ""
    return f"{names[0]} → {names[1]}: {move.text}{lost}"


def _acks_text(acks: int) -> str:
    return "all" if acks == -1 else str(acks)
