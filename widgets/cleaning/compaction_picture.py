"""A compaction player as a static picture: the records, their states, and the new segments."""

from typing import Any, Final, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from widgets.pictures import BLUE, CONTROL, DAMAGE, DIM, GREEN, HAIR, INK, LEFT, LINE, ORANGE, sheet
from widgets.players.player_picture import write_step
from widgets.view.key_names import KeyNames
from widgets.view.players.compaction import Layout, Touched, round_of
from widgets.view.players.compaction_states import CompactionStates
from workbench.cleaner.decisions import Verdict
from workbench.foresight.rehearse.cleaning import CleaningRehearsal
from workbench.runtime.steps import Step

_NOW, _KEPT, _MAPPED, _CELL = ORANGE, GREEN, BLUE, LINE
_REGIONS: Final = {"clean": _KEPT, "dirty": _NOW}
_WORDS: Final = {"waiting": "not cleaned yet", "deleted": "renamed .deleted"}
_LEFT, _WIDE = 0.07, 0.914
_HEIGHT, _STAGE = 3.35, 2.1
_BEFORE, _AFTER, _TALL = 1.35, 0.15, 0.75


class PlayedCleaning(Protocol):
    """What a picture needs from a player of a cleaning."""

    at: Any
    layouts: tuple[Layout, ...]
    names: KeyNames
    rehearsal: CleaningRehearsal
    steps: tuple[Step, ...]
    touches: tuple[Touched, ...]

    @property
    def title(self) -> str:
        """What the steps do."""

    @property
    def about(self) -> str:
        """What they do it to."""

    @property
    def step(self) -> Step | None:
        """The step that is shown; None where there is none."""


def compaction_picture(player: PlayedCleaning) -> bytes:
    """Return a PNG of a player: its title, the round with the step in it, and the step's words."""
    with sheet(_HEIGHT, player.title, player.about[:110], dpi=100) as page:
        if player.layouts:
            number, at = round_of(player.rehearsal.rounds, player.at), player.at
            states = CompactionStates(player.layouts[number], player.steps, player.touches, at)
            _stage(page.axes(_LEFT, 0.39, _WIDE, _STAGE), player, states)
            for name, level in (("Before", _BEFORE), ("After", _AFTER)):
                y = 0.39 + (1 - (level + _TALL / 2 + 0.25) / 3.1) * _STAGE
                page.text(LEFT, y, name, size=8, color=DIM)
        write_step(page, _HEIGHT - 0.62, player.step, player.at, len(player.steps))
        return page.png()


def _stage(axes: Axes, player: PlayedCleaning, states: CompactionStates) -> None:
    axes.set_axis_off()
    axes.set_xlim(states.view[0] - 0.2, states.view[1] + 0.2)
    axes.set_ylim(-0.25, 2.85)
    _segments(axes, states)
    _targets(axes, states)
    for batch in np.flatnonzero(
        (states.ends >= states.view[0]) & (states.starts <= states.view[1])
    ).tolist():
        _batch(axes, player, states, batch)
    _step(axes, player, states)


def _segments(axes: Axes, states: CompactionStates) -> None:
    """Draw the segments' names over a line in the color of their region."""
    for number, (begin, end) in enumerate(states.bounds):
        if end < states.view[0] or begin > states.view[1]:
            continue
        region = states.layout.regions[number]
        fate = states.fates.get(number, region)
        axes.plot([begin, end], [2.5, 2.5], color=_REGIONS.get(region, "#8b949e"), lw=2,
                  solid_capstyle="butt")  # fmt: skip
        text = f"{states.layout.bases[number]:,}  {_WORDS.get(fate, fate)}"
        axes.text(max(begin, states.view[0]), 2.66, text, size=7.5, color=INK, va="center",
                  clip_on=True)  # fmt: skip


def _targets(axes: Axes, states: CompactionStates) -> None:
    for first, last, suffix in states.groups:
        begin, end = states.bounds[first][0] - 0.12, states.bounds[last][1] + 0.12
        axes.add_patch(
            Rectangle((begin, _AFTER - 0.1), end - begin, _TALL + 0.2, facecolor="#fafbfc",
                      edgecolor=_KEPT if suffix == "" else "#8b949e",
                      ls="-" if suffix == "" else "--", lw=1.4 if suffix == "" else 0.8)
        )  # fmt: skip
        name = f"{states.layout.bases[first]:020}.log{suffix}"
        if end > states.view[0]:
            axes.text(max(begin, states.view[0]), -0.13, name, size=7, color=DIM, va="center")


def _batch(axes: Axes, player: PlayedCleaning, states: CompactionStates, batch: int) -> None:
    start, wide = float(states.starts[batch]), float(states.ends[batch] - states.starts[batch])
    verdict, records = states.verdicts.get(batch), states.layout.round.records
    segment = int(np.searchsorted(states.layout.first_batches, batch, "right")) - 1
    alpha = {"deleted": 0.45, "removed": 0.2}.get(states.fates.get(segment, ""), 1.0)
    axes.add_patch(Rectangle((start, _BEFORE), wide, _TALL, color=HAIR, lw=0, alpha=alpha))
    has_after = verdict is not None and verdict != Verdict.REMOVED
    if has_after:
        axes.add_patch(
            Rectangle((start, _AFTER), wide, _TALL, facecolor=HAIR, edgecolor=_KEPT, lw=0.9,
                      ls="-" if verdict == Verdict.COPIED else ":")
        )  # fmt: skip
    if records is None:
        share = states.share_of(batch) if verdict is not None else 1.0
        color = _CELL if verdict is None else _KEPT
        if share < 1:
            _cell(axes, (start, _BEFORE, wide, _TALL), "white", DAMAGE, alpha)
        axes.add_patch(
            Rectangle((start, _BEFORE), wide, _TALL * share, color=color, lw=0, alpha=alpha)
        )
        if has_after:
            axes.add_patch(Rectangle((start, _AFTER), wide, _TALL * share, color=_KEPT, lw=0))
        return
    first, end = states.layout.first_records[batch : batch + 2].tolist()
    for record in range(first, end):
        _record(axes, player, states, record, alpha)


def _record(
    axes: Axes, player: PlayedCleaning, states: CompactionStates, record: int, alpha: float
) -> None:
    records = states.layout.round.records
    assert records is not None
    state = states.records.get(record, "")
    control, key = int(records.controls[record]), int(records.keys[record])
    start = states.place_of(record)
    if not states.view[0] - 1 < start < states.view[1]:
        return
    fill = {"mapped": _MAPPED, "kept": _KEPT, "dropped": "white"}.get(
        state, CONTROL if control >= 0 else _CELL
    )
    place = (start + 0.05, _BEFORE + 0.06, 0.9, _TALL - 0.12)
    _cell(axes, place, fill, DAMAGE if state == "dropped" else None, alpha)
    if control >= 0:
        name = "commit" if control == 1 else "abort"
    else:
        name = "none" if key < 0 else player.names.rows()[key][0]
    ink = INK if state == "dropped" else DIM if state == "" and control < 0 else "white"
    room = states.view[1] - states.view[0]
    mark = "† " if records.is_tombstone[record] else ""
    text = (name[: max(2, int(150 / room))], f"{mark}{int(records.offsets[record]):,}")
    _label(axes, start + 0.5, _BEFORE, text, ink)
    if state == "kept":
        _cell(axes, (start + 0.05, _AFTER + 0.06, 0.9, _TALL - 0.12), _KEPT, None, 1.0)
        _label(axes, start + 0.5, _AFTER, text, "white")


def _cell(
    axes: Axes,
    place: tuple[float, float, float, float],
    fill: str,
    stripes: str | None,
    alpha: float,
) -> None:
    x, y, wide, tall = place
    axes.add_patch(
        Rectangle((x, y), wide, tall, facecolor=fill, edgecolor=stripes or fill, alpha=alpha,
                  hatch="////" if stripes else None, lw=0.8 if stripes else 0)
    )  # fmt: skip


def _label(axes: Axes, x: float, level: float, text: tuple[str, str], ink: str) -> None:
    options: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "clip_on": True}
    if ink == INK:
        options["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    axes.text(x, level + _TALL * 0.62, text[0], size=5.8, weight="bold", **options)
    axes.text(x, level + _TALL * 0.32, text[1], size=6.3, **options)


def _step(axes: Axes, player: PlayedCleaning, states: CompactionStates) -> None:
    """Draw a frame around the step's target, and an arrow to the record that supersedes it."""
    if states.touched is None:
        return
    begin, end = states.touched
    axes.add_patch(
        Rectangle((begin, _BEFORE - 0.03), end - begin, _TALL + 0.06, facecolor="none",
                  edgecolor=_NOW, lw=2, zorder=8)
    )  # fmt: skip
    record = player.touches[player.at].record
    step = player.step
    if record < 0 or step is None or step.kind != "record dropped":
        return
    newer = states.newer_of(record)
    if newer >= 0:
        ends = [(states.place_of(each) + 0.5, _BEFORE + _TALL + 0.06) for each in (record, newer)]
        rad = -min(0.3, 3 / max(1.0, ends[1][0] - ends[0][0]))
        axes.add_patch(
            FancyArrowPatch(ends[0], ends[1], connectionstyle=f"arc3,rad={rad}", color=DAMAGE,
                            arrowstyle="-|>", mutation_scale=8, lw=1.4, zorder=9)
        )  # fmt: skip
