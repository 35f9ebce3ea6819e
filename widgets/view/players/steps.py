"""The engine's steps for a player: each with what it touched, and the segments.

A player gets two things. Segments: for each the batches by position, and the entries of its
indexes. Steps: for each its kind, its words, and the bytes of a segment that it touched.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from widgets.view.packing import pack
from widgets.view.segments import positions_of
from workbench.foresight.rehearse.log import SegmentPicture
from workbench.inspection.segment import Segment
from workbench.runtime.steps import KINDS, Step
from workbench.runtime.times import ms_text, time_text
from workbench.runtime.words import size_text

MOST_STEPS: Final = 50_000
"""The most steps a player shows; it omits later ones and says so."""

ROLES: Final = {
    "appended": "appended",
    "index entry added": "added",
    "index entry skipped": "skipped",
    "segment found": "floor",
    "segment passed": "floor",
    "index probed": "probe",
    "index entry found": "entry",
    "batch passed": "passed",
    "batch found": "found",
    "records sliced": "slice",
    "batch validated": "valid",
    "invalid batch found": "invalid",
    "segment recovered": "recovered",
    "segment kept": "kept",
    "segment deletable": "deletable",
    "segment marked deleted": "gone",
    "segment files removed": "removed",
    "rolled": "rolled",
}
"""Kinds of steps that change the picture, and how; others are shown as text only."""

MOST_UNTOUCHED: Final = 5_000
"""Batches that a player gets for segments that no step touches, to show them too."""

_FILE = re.compile(r"(?:.*[/\\])?(\d{20})\.(\w+)(?:\.\w+)*$")
_PLACED = frozenset(ROLES.values()) - {
    "kept", "deletable", "gone", "removed", "rolled", "floor",
}  # fmt: skip
_Int64 = npt.NDArray[np.int64]


class Scene(NamedTuple):
    """A segment as a player draws it.

    Attributes:
        base_offset, size: the segment's base offset, and its size in bytes.
        rows: a row for each batch, as in a batch table.
        entries: int64[n], positions that the entries of its offset index point to.
        time_entries: int64[n], positions of the batches that its time index names.
    """

    base_offset: int
    size: int
    rows: npt.NDArray[Any]
    entries: _Int64
    time_entries: _Int64


class Touch(NamedTuple):
    """What a step touched: ``segment`` of the scenes (-1: none), and bytes in it (-1: none)."""

    segment: int
    position: int
    size: int


NOWHERE: Final = Touch(-1, -1, -1)


def scene_of(segment: Segment | SegmentPicture) -> Scene:
    """Read what a player needs from a segment.

    Raises:
        OSError: the segment's file cannot be read.
    """
    rows = segment.batches.rows
    if isinstance(segment, SegmentPicture):
        nothing = np.zeros(0, np.int64)
        return Scene(segment.base_offset, segment.size, rows, segment.index_positions, nothing)
    offsets, times = segment.offset_index, segment.time_index
    positions = np.zeros(0, np.int64) if offsets is None else np.asarray(offsets.positions)
    named = np.zeros(0, np.int64) if times is None else np.asarray(times.offsets)
    return Scene(
        segment.base_offset,
        segment.size,
        rows,
        positions.astype(np.int64),
        positions_of(named.astype(np.int64), rows),
    )


def place(step: Step, scenes: Sequence[Scene]) -> Touch:
    """Return which of the scenes, ascending by base offset, a step touched, and where."""
    numbers = step.numbers
    found = _FILE.match(step.where)
    if found is None and step.kind != "appended":
        return NOWHERE
    if found is None:
        return _appended(numbers, scenes)
    base = int(found[1])
    number = next((at for at, each in enumerate(scenes) if each.base_offset == base), -1)
    if number < 0 or ROLES.get(step.kind) not in _PLACED:
        return Touch(number, -1, -1)
    scene = scenes[number]
    if step.kind == "segment recovered":
        cut = int(numbers.get("cut", 0))
        return Touch(number, scene.size - cut, cut) if cut else Touch(number, -1, -1)
    position = numbers.get("position")
    if position is None:  # an entry of the time index names an offset
        if "offset" not in numbers or not len(scene.rows):
            return Touch(number, -1, -1)
        position = positions_of(np.array([numbers["offset"]], np.int64), scene.rows)[0]
    return Touch(number, int(position), numbers.get("size") or _size_at(scene, int(position)))


def _appended(numbers: dict[str, Any], scenes: Sequence[Scene]) -> Touch:
    """Return the batch that begins with the first offset appended."""
    first = numbers.get("first_offset")
    if first is None:
        return NOWHERE
    number = sum(each.base_offset <= first for each in scenes) - 1
    if number < 0:
        return NOWHERE
    scene = scenes[number]
    position = int(positions_of(np.array([first], np.int64), scene.rows)[0])
    return Touch(number, position, int(numbers.get("bytes", 0)) or _size_at(scene, position))


def _size_at(scene: Scene, position: int) -> int:
    """Return the size of the batch there; if none begins there, the rest of the file."""
    row = int(np.searchsorted(scene.rows["position"], position))
    if row < len(scene.rows) and scene.rows["position"][row] == position:
        return int(scene.rows["size"][row])
    return max(0, scene.size - position)


def segment_columns(scenes: Sequence[Scene], used: Iterable[int]) -> list[dict[str, Any]]:
    """Return the segments as they are sent: with batches and entries if ``used`` or short."""
    wanted, room = set(used), MOST_UNTOUCHED
    for number, scene in enumerate(scenes):
        room -= 0 if number in wanted else len(scene.rows)
        if room >= 0:
            wanted.add(number)
    sent = []
    for number, scene in enumerate(scenes):
        rows = scene.rows if number in wanted else scene.rows[:0]
        one: dict[str, Any] = {
            "base_offset": str(scene.base_offset),
            "size": scene.size,
            "batches": {
                name: pack(rows[name])
                for name in ("position", "size", "base_offset", "last_offset")
            },
            "entries": pack(scene.entries if number in wanted else scene.entries[:0]),
            "time_entries": pack(scene.time_entries if number in wanted else scene.entries[:0]),
        }
        sent.append(one)
    return sent


def step_rows(steps: Sequence[Step], touches: Sequence[Touch]) -> list[list[Any]]:
    """Return a row for each step: kind, segment, position, size, role, file, reason, numbers."""
    kinds = {kind: number for number, kind in enumerate(kinds_of(steps))}
    return [
        [
            kinds[step.kind],
            *touch,
            role_of(step, touch),
            _file(step.where),
            step.reason,
            numbers_of(step),
        ]
        for step, touch in zip(steps, touches, strict=True)
    ]


def role_of(step: Step, touch: Touch) -> str:
    """Return how a step changes the picture; "" if it does not."""
    role = ROLES.get(step.kind, "")
    if role in {"probe", "entry"} and step.where.endswith(".timeindex"):
        return f"time {role}"
    return "cut" if role == "recovered" and touch.size > 0 else role


def _file(where: str) -> str:
    return re.split(r"[/\\]", where)[-1]


def kinds_of(steps: Iterable[Step]) -> list[str]:
    """Return the kinds among the steps, each once, in order of appearance."""
    return list(dict.fromkeys(step.kind for step in steps))


def kind_rows(steps: Sequence[Step], meanings: Mapping[str, str] = KINDS) -> list[list[Any]]:
    """Return for each of `kinds_of`: the kind, its meaning, its number of steps."""
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.kind] = counts.get(step.kind, 0) + 1
    return [[kind, meanings.get(kind, ""), n] for kind, n in counts.items()]


def numbers_of(step: Step) -> list[list[str]]:
    """Return the names and numbers of a step in readable form."""
    is_time = "timestamp" in step.numbers  # then the target is a time, too
    return [
        [name.replace("_", " "),
         number_text("timestamp" if name == "target" and is_time else name, value)]
        for name, value in step.numbers.items()
    ]  # fmt: skip


def number_text(name: str, value: Any) -> str:
    """Return a number of a step in readable form: times as times, bytes with their unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int):
        return str(value)
    if "timestamp" in name or name in {"delete_horizon", "now"}:
        return f"{time_text(value)} ({value})"
    if name.endswith("_ms"):
        return ms_text(value, " ms")
    if (name == "cut" or name.endswith(("size", "bytes", "bytes_cut"))) and value >= 1024:
        return f"{value:,} ({size_text(value)})"
    return f"{value:,}"
