"""A coordinator's step as a static picture: its words, the log's records, the offsets in memory."""

import textwrap
from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from widgets.coordinators.offset_states import OffsetStates
from widgets.coordinators.offset_steps import MEANINGS, Effect
from widgets.pictures import (
    ACCENT,
    BLUE,
    CONTROL,
    DAMAGE,
    DIM,
    GREEN,
    HAIR,
    INK,
    LEFT,
    LINE,
    ORANGE,
    RIGHT,
    Cell,
    Heading,
    SheetTable,
    sheet,
)
from workbench.runtime.steps import Step
from workbench.runtime.words import plural

_CELLS, _MOST_ROWS = 22, 10
_COLUMNS: Final = (
    Heading("Group", 0.37), Heading("Partition", 0.56), Heading("Offset", 0.78, "right"),
    Heading("Record", 0.86, "right"), Heading("", 0.875),
)  # fmt: skip
_LOOKS: Final = {
    "unread": ("white", LINE, ""), "written": ("white", BLUE, ""),
    "cached": ("#bfe6da", GREEN, "●"), "pending": ("#faecce", ORANGE, "○"),
    "superseded": (HAIR, HAIR, ""), "dropped": ("#f7dccd", "#e3a687", "×"),
    "removed": ("#f7dccd", "#e3a687", "×"), "tombstone": ("#fae6da", DAMAGE, "†"),
    "marker": ("#d5d8da", CONTROL, "▮"), "group": ("#d3e5f1", BLUE, "◆"),
    "ignored": ("white", LINE, ""), "invalid": ("white", DAMAGE, "!"),
}  # fmt: skip
_DASHED: Final = frozenset({"unread", "written", "pending"})


def offsets_picture(steps: Sequence[Step], at: int, title: str, about: str) -> bytes:
    """Return a PNG of a step of an `OffsetsPlayer`."""
    states = OffsetStates(steps, at)
    table = SheetTable.of(_COLUMNS, states.entries, _cells, most=_MOST_ROWS, noun="offset")
    place = f"step {at + 1:,} of {len(steps):,}" if steps else "no steps"
    about = ", ".join(filter(None, (about, place)))
    with sheet(1.75 + max(0.85, table.height), title, about) as page:
        page.text(LEFT, 0.52, states.log or "no log", weight="bold")
        page.text(RIGHT, 0.52, plural(len(states.records), "record"), color=DIM, ha="right")
        axes = page.axes(LEFT, 0.64, RIGHT - LEFT, 0.66)
        _records(axes, states, Effect(steps[at]) if steps else None)
        if steps:
            step = steps[at]
            words = textwrap.wrap(step.reason or MEANINGS[step.kind], 44)[:5]
            page.text(LEFT, 1.52, step.kind, weight="bold", size=9)
            for number, line in enumerate(words):
                text = line[:1].upper() + line[1:] if not number else line
                page.text(LEFT, 1.74 + 0.17 * number, text, size=8)
        page.text(0.37, 1.52, "Offsets in memory", weight="bold", size=9)
        page.text(0.52, 1.52, f"{len(states.entries):,}", color=DIM, size=8.5)
        page.table(1.75, table)
        return page.png()


def _records(axes: Axes, states: OffsetStates, effect: Effect | None) -> None:
    """Draw the records around the one that the step concerns."""
    axes.set_axis_off()
    axes.set_xlim(0, _CELLS)
    axes.set_ylim(0, 1)
    records = list(states.records.items())
    touched = set() if effect is None else set(range(effect.at, effect.at + effect.count))
    if effect is not None and effect.value is not None:
        touched.add(effect.value.record_offset)
    read = [number for number, (_, look) in enumerate(records) if look != "unread"]
    now = [number for number, (offset, _) in enumerate(records) if offset in touched] or read
    current = now[-1] if now else 0
    first = max(0, min(len(records) - _CELLS, current - int(_CELLS * 0.6)))
    for place, (offset, look) in enumerate(records[first : first + _CELLS]):
        fill, edge, glyph = _LOOKS[look]
        is_now = offset in touched
        axes.add_patch(
            FancyBboxPatch((place + 0.06, 0.08), 0.86, 0.84, facecolor=fill, clip_on=False,
                           boxstyle="round,pad=0,rounding_size=0.09", mutation_aspect=1.2,
                           edgecolor=INK if is_now else edge, lw=2 if is_now else 1.1,
                           ls="--" if look in _DASHED and not is_now else "-")
        )  # fmt: skip
        faint = look in {"unread", "superseded"}
        axes.text(place + 0.49, 0.29, f"{offset:,}", size=7, ha="center", va="center",
                  color=DIM if faint else INK)  # fmt: skip
        axes.text(place + 0.49, 0.64, glyph, size=9, ha="center", va="center", color=INK)


def _cells(row: Any) -> list[str | Cell]:
    state = Cell("" if row.state == "cached" else row.state, ACCENT)
    return [row.group[-30:], row.where[-34:], f"{row.offset:,}", f"{row.record:,}", state]
