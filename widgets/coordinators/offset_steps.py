"""The coordinator's steps for a player: what each does to its log and to the offsets in memory."""

from collections.abc import Sequence
from typing import Any, Final

from widgets.view.players.steps import kinds_of, number_text
from widgets.view.records import Lens
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.steps import OFFSET_KINDS
from workbench.runtime.steps import KINDS, Step
from workbench.runtime.times import time_text

MEANINGS: Final = KINDS | OFFSET_KINDS
"""Kind of step → its meaning."""

ROLES: Final = {
    "commit validated": "validated",
    "commit refused": "invalid",
    "append failed": "invalid",
    "records appended": "written",
    "offset loaded": "cached",
    "offset pending": "pending",
    "pending offset loaded": "settled",
    "pending offset dropped": "dropped",
    "offset removed": "tombstone",
    "pending offset removed": "tombstone",
    "transaction committed": "marker",
    "transaction aborted": "marker",
    "group loaded": "group",
    "group changed": "group",
    "group removed": "tombstone",
    "record ignored": "ignored",
    "record unreadable": "invalid",
    "offset expired": "expired",
    "group expired": "expired",
    "offset deleted": "expired",
    "group deleted": "expired",
    "offset kept": "kept",
    "load started": "loading",
    "partition loading": "loading",
    "load finished": "loaded",
    "partition loaded": "loaded",
    "partition unloaded": "unloaded",
    "load failed": "invalid",
}
"""Kind of step → its role in the picture; others are shown as text only."""

NO_RECORD: Final = -1


class Effect:
    """What a step does.

    Attributes:
        role: one of the values of `ROLES`; "" if the step is shown as text only.
        log: the coordinator's partition, by name.
        at, count: the offset of the first record concerned, and how many there are; -1: none.
        group, where: group and partition of the offset concerned; "" without one.
        value: the committed offset; None without one.
        replaced: offset of the record whose commit ends; -1: none.
        producer: the producer of the transaction; -1: none.
    """

    __slots__ = ("at", "count", "group", "log", "producer", "replaced", "role", "value", "where")

    def __init__(self, step: Step) -> None:
        """Read a step's numbers."""
        numbers = step.numbers
        self.role = ROLES.get(step.kind, "")
        self.log = step.where
        self.at = _number(numbers.get("at"))
        self.count = int(numbers.get("records", 1)) if self.at >= 0 else 0
        self.group = str(numbers.get("group", ""))
        self.where = f"{numbers['topic']}-{numbers['partition']}" if "topic" in numbers else ""
        value = numbers.get("value")
        self.value = value if isinstance(value, OffsetAndMetadata) else None
        self.replaced = _number(numbers.get("replaced"))
        self.producer = _number(numbers.get("producer_id"))

    def sent(self, logs: dict[str, int]) -> list[Any]:
        """Return it as it is sent, with the log's number; offsets as text."""
        value = self.value
        return [
            logs[self.log],
            str(self.at),
            self.count,
            self.group,
            self.where,
            None if value is None else str(value.offset),
            str(NO_RECORD if value is None else value.record_offset),
            str(self.replaced),
            str(self.producer),
        ]


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else NO_RECORD


def logs_of(steps: Sequence[Step]) -> dict[str, int]:
    """Return name → number of the places that the steps name, in order of appearance."""
    return {name: number for number, name in enumerate(dict.fromkeys(s.where for s in steps))}


def step_rows(steps: Sequence[Step], lens: Lens) -> list[list[Any]]:
    """Return a row for each step, as `static/players/step_rows.js` reads it, and its effect."""
    kinds = {kind: number for number, kind in enumerate(kinds_of(steps))}
    logs = logs_of(steps)
    return [
        [
            kinds[step.kind], -1, -1, -1, ROLES.get(step.kind, ""), _short(step.where),
            step.reason, numbers_of(step, lens), Effect(step).sent(logs),
        ]
        for step in steps
    ]  # fmt: skip


def _short(where: str) -> str:
    return where.replace("\\", "/").rsplit("/", 1)[-1]


def numbers_of(step: Step, lens: Lens) -> list[list[str]]:
    """Return the names and numbers of a step in readable form; metadata as the lens allows."""
    rows: list[list[str]] = []
    for name, value in step.numbers.items():
        if isinstance(value, OffsetAndMetadata):
            rows += _value_rows(value, lens)
        elif name in {"time", "expires"} and isinstance(value, int):
            rows.append([name, f"{time_text(value)} ({value})"])
        elif name == "producer_id" and value == NO_RECORD:
            continue
        elif value is None or isinstance(value, int | str):
            text = "none" if value is None else number_text(name, value)
            rows.append([name.replace("_", " "), text])
    return rows


def _value_rows(value: OffsetAndMetadata, lens: Lens) -> list[list[str]]:
    return [
        ["offset", f"{value.offset:,}"],
        ["leader epoch", "none" if value.leader_epoch is None else str(value.leader_epoch)],
        ["metadata", lens.cell("metadata", value.metadata.encode())[0]],
        ["commit timestamp", time_text(value.commit_timestamp)],
        ["record", f"offset {value.record_offset:,}"],
    ]
