"""The moments of a playback as they are sent to the page, and as steps of a player."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from widgets.view.players.steps import kinds_of
from workbench.replication.simulation.events import OF_CLIENTS, Event
from workbench.replication.simulation.playback import Moment, Playback, step_text
from workbench.replication.simulation.snapshots import ReplicaSnapshot, Snapshot
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Step

MOST_MOMENTS: Final = 1000
MOST_OFFSETS: Final = 48
"""Older offsets of a log are omitted."""

ROLES: Final = {
    "produce": "appended",
    "delete records": "dropped",
    "fetch": "probe",
    "answer": "found",
    "expire": "waits",
    "lose": "gone",
    "crash": "gone",
    "kill": "gone",
    "restart": "gone",
    "stop": "gone",
    "isolate": "gone",
    "start": "kept",
    "heal": "kept",
    "notice": "chosen",
    "elect": "chosen",
    "elect unclean": "chosen",
    "rest": "found",
    "validate": "probe",
    "run": "found",
}
"""Kind of event → its look in lists; others have the plain one."""

_COMMIT: Final = re.compile(r"\S+ \S+-\d+(=\d+)")


def names_of(events: Sequence[Event]) -> dict[str, str]:
    """Return value → the name that stands for it where values are hidden: `#1`, `#2`."""
    values = dict.fromkeys(event.value for event in events if event.do == "produce")
    return {value: f"#{number}" for number, value in enumerate(values, 1)}


def renamed(event: Event, names: Mapping[str, str]) -> Event:
    """Return an event with the name of its record in place of the value."""
    return event._replace(value=names[event.value]) if event.do == "produce" else event


def label_of(value: str) -> str:
    """Return what fits into a record's cell: of a commit only the offset, such as `=42`."""
    return _COMMIT.sub(r"\1", value)


def steps_of(played: Playback) -> tuple[Step, ...]:
    """Return a step per moment: the event, why it happens, and what came of it."""
    return tuple(
        Step(moment.event.do, _where(moment), moment.why.rstrip(".") or moment.outcome, {})
        for moment in played.moments
    )


def _where(moment: Moment) -> str:
    if moment.event.do in OF_CLIENTS | {"validate"}:
        return "client"
    return f"broker {moment.event.broker}" if moment.event.broker >= 0 else "cluster"


def step_rows(moments: Sequence[Moment], steps: Sequence[Step]) -> list[list[Any]]:
    """Return a row per moment, as `static/players/step_rows.js` reads it, then event and state."""
    kinds = {kind: number for number, kind in enumerate(kinds_of(steps))}
    known: set[str] = set()
    rows = []
    for moment, step in zip(moments, steps, strict=True):
        new = [each for each in moment.violations if each.kind not in known]
        known.update(each.kind for each in new)
        role = "invalid" if new else ROLES.get(moment.event.do, "")
        rows.append(
            [
                kinds[step.kind], -1, -1, -1, role, step.where, step.reason,
                numbers_of(moment), str(moment.event), state_of(moment),
            ]
        )  # fmt: skip
    return rows


def numbers_of(moment: Moment) -> list[list[str]]:
    """Return what happened in a moment: names and texts."""
    rows = [["messages", moment.messages]] if moment.moves else []
    if not moment.moves and not moment.steps:
        rows.append(["outcome", moment.outcome])
    reported: dict[tuple[str, str], int] = {}
    for step in moment.steps:
        who, _, what = step_text(step).partition(": ")
        text = f"{what}: {step.reason}" if step.reason else what
        reported[who, text] = reported.get((who, text), 0) + 1
    rows += [
        [who, text if n == 1 else f"{text} ({n} times)"] for (who, text), n in reported.items()
    ]
    if moment.after.time_ms:
        rows.append(["time", f"{moment.after.time_ms:,} ms"])
    return rows


def state_of(moment: Moment) -> dict[str, Any]:
    """Return the cluster after a moment, and what moved."""
    return {
        **cluster_state(moment.after),
        "moves": [[m.sender, m.receiver, m.text, m.is_lost] for m in moment.moves],
        "broken": [[each.kind, each.text] for each in moment.violations],
    }


def cluster_state(state: Snapshot) -> dict[str, Any]:
    """Return a cluster as it is sent."""
    first = first_offset(state)
    return {
        "leader": state.leader,
        "epoch": state.leader_epoch,
        "isr": list(state.isr),
        "elr": list(state.elr),
        "first": first,
        "replicas": [_replica(each, first) for each in state.replicas],
        "under_way": [[m.follower, m.leader, m.asks, m.answers] for m in state.under_way],
        "waiting": [[each.broker, each.kind, each.text] for each in state.waiting],
        "produced": [
            [
                label_of(sent.value),
                _fate(sent.answer),
                "" if sent.answer is None else sent.answer.name,
            ]
            for sent in state.produced[-MOST_OFFSETS:]
        ],
    }


def first_offset(state: Snapshot) -> int:
    """Return the first offset that is shown."""
    return max(0, max(each.log_end_offset for each in state.replicas) - MOST_OFFSETS)


def _fate(answer: ErrorCode | None) -> str:
    return "waits" if answer is None else "stored" if answer is ErrorCode.NONE else "refused"


def _replica(each: ReplicaSnapshot, first: int) -> dict[str, Any]:
    return {
        "broker": each.broker,
        "role": each.role,
        "isolated": each.is_isolated,
        "epoch": each.leader_epoch,
        "start": each.log_start_offset,
        "leo": each.log_end_offset,
        "hw": each.high_watermark,
        "checkpoint": each.checkpointed,
        "records": [
            [r.offset, r.epoch, label_of(r.value)] for r in each.records if r.offset >= first
        ],
        "epochs": [list(entry) for entry in each.epochs],
        "remote": [list(pair) for pair in each.remote],
        "isr": list(each.isr),
        "maximal": list(each.maximal_isr),
    }
