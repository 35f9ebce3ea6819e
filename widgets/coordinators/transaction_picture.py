"""The transactions of a partition as a static picture: lanes, last stable offset, what is open."""

import textwrap
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from widgets.coordinators.transaction_bars import OPEN, OUTCOMES
from widgets.pictures import (
    DAMAGE,
    DIM,
    GREEN,
    HAIR,
    INK,
    LEFT,
    LINE,
    ORANGE,
    Cell,
    Heading,
    SheetTable,
    sheet,
)
from widgets.view.packing import unpack
from workbench.runtime.words import plural

_LANE, _MOST_LANES, _MOST_ROWS = 0.4, 10, 8
_COLORS: Final = (GREEN, DAMAGE, ORANGE)
_LEFT, _WIDE = 0.16, 0.824
_COLUMNS: Final = (
    Heading("Partition", LEFT, most=22), Heading("Producer", 0.16, most=22),
    Heading("State", 0.3, most=18), Heading("First offset", 0.41), Heading("Since", 0.51),
    Heading("Verdict", 0.66), Heading("Why", 0.73, most=46),
)  # fmt: skip


def transaction_picture(
    directory: dict[str, Any], shown: dict[str, Any], window: list[float]
) -> bytes:
    """Return a PNG of the contents of a `TransactionLanes`."""
    lanes = shown.get("lanes", [])[:_MOST_LANES]
    table = SheetTable.of(
        _COLUMNS, directory["open"], _cells, most=_MOST_ROWS, noun="open transaction"
    )
    height = 0.75 + (_LANE * len(lanes) + 0.75 if lanes else 0) + table.height
    count = sum(lane["bars"]["first"]["length"] for lane in shown.get("lanes", []))
    about = f"{plural(count, 'transaction')} of {plural(len(shown.get('lanes', [])), 'producer')}"
    with sheet(height, shown["partition"] or "no partition", about) as page:
        conclusion = textwrap.shorten(directory["conclusion"], 150, placeholder="…")
        page.text(LEFT, 0.52, conclusion[:1].upper() + conclusion[1:], size=8.5)
        top = 0.75
        if lanes:
            top += 0.2
            tall = _LANE * len(lanes)
            _lanes(page.axes(_LEFT, top, _WIDE, tall), lanes, shown, window)
            for number, lane in enumerate(lanes):
                label = (lane["name"] or f"producer {lane['producer']}")[-22:]
                page.text(LEFT, top + _LANE * (number + 0.5), label, weight="bold", size=8)
            top += tall + 0.55
        page.table(top, table)
        return page.png()


def _cells(row: dict[str, Any]) -> list[str | Cell]:
    partition, producer, state, first, since, _, verdict, why = row["cells"][:8]
    hangs = row["verdict"] == "hangs"
    judged = Cell(verdict, DAMAGE) if hangs else verdict
    return [partition, producer, state, first, since, judged, why]


def _lanes(
    axes: Axes, lanes: list[dict[str, Any]], shown: dict[str, Any], window: list[float]
) -> None:
    """Draw bars, markers and the last stable offset over the offsets."""
    start, end, stable = (int(shown[name]) for name in ("log_start", "log_end", "stable"))
    low, high = window if len(window) == 2 else (start, end + max(1, (end - start) * 0.012))
    least = (high - low) / 900
    found = set()
    for number, lane in enumerate(lanes):
        first, last, marker, outcome = (
            unpack(lane["bars"][name]) for name in ("first", "last", "marker", "outcome")
        )
        ends = np.where(outcome == OPEN, end, marker + 1)
        y = len(lanes) - 1 - number
        for kind, color in enumerate(_COLORS):
            rows = np.flatnonzero((outcome == kind) & (ends >= low) & (first <= high))
            if not len(rows):
                continue
            found.add(kind)
            wide = np.maximum(ends[rows] - first[rows], least)
            if kind == OPEN:
                solid = np.maximum(last[rows] + 1 - first[rows], least)
                axes.barh(y, solid, 0.42, first[rows], color=color, lw=0)
                axes.barh(y, wide, 0.42, first[rows], color="none", edgecolor=color, lw=1, ls="--")
                continue
            axes.barh(y, wide * 0.98, 0.42, first[rows], color=color, lw=0)
            clear = rows[ends[rows] - first[rows] > 10 * least]
            axes.vlines(marker[clear] + 0.5, y - 0.21, y + 0.34, color=INK, lw=1.4)
    if stable < end:
        axes.axvspan(stable, end, color=_COLORS[OPEN], alpha=0.18, lw=0)
    axes.axvline(stable, color=INK, lw=1.4)
    blocked = f" · {end - stable:,} blocked" if stable < end else ""
    is_late = stable > (low + high) / 2
    if low <= stable <= high:
        label = f"last stable offset {stable:,}{blocked}"
        axes.text(stable, len(lanes) - 0.46, label, size=7.5, weight="bold", color=INK,
                  ha="right" if is_late else "left", va="bottom")  # fmt: skip
    axes.set_xlim(low, high)
    axes.set_ylim(-0.5, len(lanes) - 0.5)
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    axes.tick_params(length=2, labelsize=6.5, colors=DIM, pad=1)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    for y in range(1, len(lanes)):
        axes.axhline(y - 0.5, color=HAIR, lw=0.8)
    handles: list[Any] = [
        Patch(color=_COLORS[kind], label=OUTCOMES[kind]) for kind in sorted(found)
    ]
    handles.append(Line2D([], [], color=INK, lw=1.4, label="last stable offset"))
    below = -0.005, -0.29 / len(lanes)
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=below, ncols=4,
                frameon=False, fontsize=7.5, labelcolor=DIM, handlelength=1.1,
                handletextpad=0.4, columnspacing=1.4)  # fmt: skip
