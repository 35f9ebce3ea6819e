"""A player as a static picture: the step shown, and the state after the steps before it."""

import textwrap
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from widgets.pictures import (
    ACCENT,
    DAMAGE,
    DIM,
    GREEN,
    HAIR,
    INK,
    LEFT,
    LINE,
    ORANGE,
    RIGHT,
    Sheet,
    sheet,
)
from widgets.view.players.player_states import PlayerStates
from widgets.view.players.steps import Scene, Touch
from workbench.runtime.steps import Step
from workbench.runtime.words import plural, size_text

_NOW, _FOUND, _VALID, _PASSED, _BATCH = ORANGE, GREEN, "#3b8ec4", "#8b949e", "#dfe3e8"
_FILLS: Final = {
    "found": _FOUND, "valid": _VALID, "appended": _VALID, "invalid": DAMAGE, "passed": _PASSED,
}  # fmt: skip
_FATES: Final = {
    "kept": "kept", "deletable": "deletable", "gone": ".deleted", "removed": "removed",
    "recovered": "recovered", "cut": "end truncated",
}  # fmt: skip
_LEFT, _WIDE = 0.105, 0.879
_MOST_LABELS = 60


class Played(Protocol):
    """What a picture needs from a player of steps."""

    at: Any
    scenes: tuple[Scene, ...]
    steps: tuple[Step, ...]
    touches: tuple[Touch, ...]

    @property
    def title(self) -> str:
        """What the steps do."""

    @property
    def about(self) -> str:
        """The result, in a few words."""

    @property
    def step(self) -> Step | None:
        """The step shown; None without steps."""


def player_picture(player: Played) -> bytes:
    """Return a PNG of a player: title, segments, the stage with the step, and its words."""
    states = PlayerStates(player.scenes, player.steps, player.touches, player.at)
    has_strip, has_search = len(player.scenes) > 1, bool(states.probes)
    bare = states.stage < 0
    tall = 0.0 if bare else 1.2 + 0.42 * has_search
    height = 1.25 + 0.42 * has_strip + tall
    with sheet(height, player.title, player.about[:110], dpi=120) as page:
        top = 0.4
        if has_strip:
            _strip(page.axes(LEFT, top + 0.04, RIGHT - LEFT, 0.32), states)
            top += 0.46
        if not bare:
            _stage(page, states, top, tall)
            top += tall
        write_step(page, top + 0.22, player.step, player.at, len(player.steps))
        return page.png()


def write_step(page: Sheet, y: float, step: Step | None, at: int, count: int) -> None:
    """Write a step's kind, reason and numbers, and the place of the step among the others."""
    if step is None:
        page.text(LEFT, y, "No steps recorded.", size=8.5, color=DIM)
        return
    page.text(LEFT, y, step.kind, size=9.5, weight="bold")
    page.text(RIGHT, y, f"step {at + 1:,} of {count:,}", size=8.5, color=DIM, ha="right")
    numbers = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in step.numbers.items())
    for line, text in enumerate([*textwrap.wrap(step.reason, 150)[:1], numbers[:170]], 1):
        color = INK if line == 1 and step.reason else DIM
        page.text(LEFT, y + 0.01 + 0.19 * line, text, size=8.5, color=color)


def _bare(axes: Axes) -> None:
    axes.set_yticks([])
    axes.set_xticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    axes.patch.set_visible(False)


def _strip(axes: Axes, states: PlayerStates) -> None:
    """Draw the segments, as wide as they are large, with each one's state."""
    _bare(axes)
    sizes = [max(1, scene.size) for scene in states.scenes]
    total, at = sum(sizes), 0
    axes.set_xlim(0, total)
    axes.set_ylim(0, 1)
    for number, (scene, size) in enumerate(zip(states.scenes, sizes, strict=True)):
        fate, gap = states.fates.get(number, ""), total * 0.002
        if number in states.unborn:
            at += size
            continue
        current, doomed = number == states.stage, fate in {"deletable", "gone", "removed"}
        done = min(size, states.progress.get(number, 0))
        axes.add_patch(Rectangle((at, 0), max(0, done - gap), 1, color="#cfe3f1", lw=0))
        edge = DAMAGE if doomed else ACCENT if current else LINE
        axes.add_patch(
            Rectangle(
                (at, 0), max(size - gap, gap), 1, facecolor="none", edgecolor=edge, clip_on=False,
                hatch="////" if doomed else None, lw=1.6 if current else 0.9,
                ls="--" if fate == "removed" else "-",
            )
        )  # fmt: skip
        words = f"{scene.base_offset:,}" + (f"  {_FATES[fate]}" if fate in _FATES else "")
        if size > total * 0.012 * len(words) * 0.62:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2} if doomed else None
            axes.text(at + total * 0.008, 0.48, words, size=7.5, color=INK, va="center", bbox=box)
        at += size


def _stage(page: Sheet, states: PlayerStates, top: float, tall: float) -> None:
    """Draw the batches with their states, index entries and the search, on the file's bytes."""
    scene = states.scenes[states.stage]
    axes = page.axes(_LEFT, top, _WIDE, tall)
    _bare(axes)
    low = -0.85 if states.probes else 0.0
    first, end = states.view
    axes.set_xlim(first, end)
    axes.set_ylim(low - 0.05, 2.35)
    count = plural(len(scene.rows), "batch", "batches")

    def level(value: float) -> float:
        return top + (2.35 - value) / (2.4 - low) * tall

    page.text(LEFT, level(2.05), f"Segment {scene.base_offset:,}", size=8, weight="bold")
    page.text(_LEFT, level(2.05), count, size=8, color=DIM)
    page.text(LEFT, level(1.1), "Batches", size=8, color=DIM)
    index = "Time index" if states.is_in_times else "Offset index"
    page.text(LEFT, level(0.25), index, size=8, color=DIM)
    _ticks(axes, first, end)
    _batches(axes, scene.rows, states)
    if states.cut_from is not None:
        cut = scene.size - states.cut_from
        axes.add_patch(
            Rectangle((states.cut_from, 0.66), cut, 0.9, facecolor="white", edgecolor=DAMAGE,
                      hatch="////", lw=1)
        )  # fmt: skip
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        at = (max(first, states.cut_from) + min(end, scene.size)) / 2
        if cut > (end - first) * 0.08:
            axes.text(at, 1.1, f"{size_text(cut)} truncated", size=7.5, color=DAMAGE, ha="center",
                      va="center", weight="bold", bbox=box)  # fmt: skip
    entries = states.entries
    entries = entries[(entries >= first) & (entries <= end)]
    axes.vlines(entries, 0.25, 0.64, color=ACCENT, lw=0.7, alpha=0.6)
    marker = "D" if states.is_in_times else "o"
    axes.plot(entries, np.full(len(entries), 0.25), marker, color=ACCENT, ms=2.6, clip_on=False)
    _search(axes, states)
    _touched(axes, states)


def _ticks(axes: Axes, first: float, end: float) -> None:
    step = 2 ** max(0, int(np.ceil(np.log2(max(1, end - first) / 9))))
    for at in range(int(-(-first // step) * step), int(end) + 1, step):
        axes.vlines(at, 0.1, 2.0, color=HAIR, lw=0.7, zorder=0)
        text = f"{at:,}" if step < 1024 else size_text(at)
        if at < end - (end - first) * 0.04 and at > first + (end - first) * 0.1:
            axes.text(at, 2.06, text, size=7, color=DIM, va="center", ha="left")


def _batches(axes: Axes, rows: npt.NDArray[Any], states: PlayerStates) -> None:
    first, end = states.view
    ends = rows["position"] + rows["size"]
    last = end if states.cut_from is None else min(end, states.cut_from)
    seen = np.flatnonzero((ends > first) & (rows["position"] < last) & states.shown)
    gap = (end - first) * (0.0016 if len(seen) < 300 else 0)
    for row in seen.tolist():
        state = states.state_of(row)
        position, size = int(rows["position"][row]), int(rows["size"][row])
        axes.bar(position, 0.8, max(size - gap, (end - first) * 0.0008), bottom=0.7, align="edge",
                 color=_FILLS.get(state, _BATCH), lw=0,
                 hatch="////" if state == "invalid" else None, edgecolor="white")  # fmt: skip
        if len(seen) <= _MOST_LABELS and size > (end - first) * 0.05:
            text = f"{int(rows['base_offset'][row]):,}"
            color = DIM if state == "" else "white"
            axes.text(position + size / 2, 1.1, text, size=7, ha="center", va="center",
                      color=color, clip_on=True)  # fmt: skip


def _search(axes: Axes, states: PlayerStates) -> None:
    """Draw arcs from one compared entry to the next, numbered in order."""
    before: int | None = None
    for number, (position, is_now) in enumerate(states.probes, 1):
        color = _NOW if is_now else ACCENT
        if before is not None and before != position:
            part = abs(position - before) / (states.view[1] - states.view[0])
            axes.add_patch(
                PathPatch(
                    _hop(before, position, 0.25 + min(0.8, part * 1.6)),
                    facecolor="none",
                    edgecolor=color,
                    lw=1.8 if is_now else 0.8,
                    alpha=1 if is_now else 0.6,
                )
            )
        before = position
        if not states.view[0] <= position <= states.view[1]:
            continue
        marker = "D" if states.is_in_times else "o"
        axes.plot([position], [0.25], marker, color=color, ms=9 if is_now else 8,
                  mec="white", mew=0.8, clip_on=False, zorder=5)  # fmt: skip
        axes.text(position, 0.24, str(number), size=6, ha="center", va="center", color="white",
                  zorder=6)  # fmt: skip


def _hop(before: float, position: float, depth: float) -> Path:
    """Return a curve below the index, from one entry to another."""
    points = [(before, 0.14), (before, -depth), (position, -depth), (position, 0.14)]
    return Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])


def _touched(axes: Axes, states: PlayerStates) -> None:
    """Draw a frame around the bytes that the step touched."""
    touch, role = states.touch, states.role
    if touch.position < 0 or touch.segment != states.stage or role == "cut":
        return
    if role in {"entry", "time entry", "added"}:
        color = _NOW if role == "added" else _FOUND
        axes.plot([touch.position], [0.25], "o", color=color, ms=7, zorder=7, clip_on=False)
        axes.vlines(touch.position, 0.25, 1.5 if role == "entry" else 0.66, color=color, lw=1.6)
        if role != "added":
            return
    elif role.endswith("probe"):
        return
    color = {"invalid": DAMAGE, "found": _FOUND}.get(role, _NOW)
    axes.add_patch(
        Rectangle((touch.position, 0.64), touch.size, 0.92, facecolor="none", edgecolor=color,
                  lw=1.8, zorder=8, clip_on=False)
    )  # fmt: skip
