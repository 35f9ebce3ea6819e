"""The record browser as a static picture: the matches over time, and the first of them.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
import textwrap
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widgets.pictures import ACCENT, DIM, HAIR, INK, LINE, plain_text
from widgets.view.packing import unpack
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

_WIDTH, _DPI = 10.0, 120
_ROW, _HEAD, _CHART = 0.2, 0.42, 1.05  # inches
_MOST_ROWS: Final = 14
_COLUMNS: Final = (("Time (UTC)", 0.016, 24), ("Partition", 0.185, 14), ("Offset", 0.345, 12),
                   ("Key", 0.36, 22), ("Value", 0.53, 66))  # fmt: skip


def records_picture(place: str, query: str, result: dict[str, Any]) -> bytes:
    """Return a PNG of what a `RecordBrowser` shows.

    Args:
        place: the topic or partition.
        query: the query.
        result: the state of the search, as it is sent to the front end.
    """
    rows = [row for row in result.get("rows", ()) if row is not None][:_MOST_ROWS]
    height = _HEAD + _CHART + _ROW * (len(rows) + 1.6)
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor="white")

    def level(inches: float) -> float:
        return 1 - inches / height

    with plain_text():
        figure.text(0.016, level(0.2), place, size=10.5, weight="bold", color=INK, va="center")
        asked = textwrap.shorten(query, 90, placeholder="…") if query.strip() else "all records"
        figure.text(0.3, level(0.2), asked, size=9, family="monospace", color=INK, va="center")
        count = plural(result.get("found", 0), "record")
        figure.text(0.984, level(0.2), count, size=8.5, color=DIM, va="center", ha="right")
        figure.add_artist(Line2D([0, 1], [level(_HEAD - 0.04)] * 2, color=LINE, lw=0.8))
        box = (0.016, level(_HEAD + 0.78), 0.968, 0.66 / height)
        _chart(figure.add_axes(box), result)
        _table(figure, rows, _HEAD + _CHART, height)
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _chart(axes: Axes, result: dict[str, Any]) -> None:
    """Draw the matches over time."""
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.set_yticks([])
    axes.tick_params(colors=DIM, labelsize=7, length=2)
    counts = unpack(result["counts"]) if result.get("counts") else np.zeros(0, np.int64)
    filled = np.flatnonzero(counts)
    if not len(filled):
        axes.set_xticks([])
        axes.text(0.5, 0.5, "no times to show", color=DIM, size=8, ha="center",
                  transform=axes.transAxes)  # fmt: skip
        return
    start, width = int(result["start"]), int(result["width"])
    first, last = int(filled[0]), int(filled[-1]) + 1
    places = np.arange(first, last)
    axes.bar(places, counts[first:last], width=0.9, align="edge", color=ACCENT, lw=0)
    axes.set_xlim(first, last)
    ticks = np.linspace(first, last, 5)
    axes.set_xticks(ticks, [time_text(int(start + at * width), "minutes") for at in ticks])
    labels = axes.get_xticklabels()
    labels[0].set_horizontalalignment("left")
    labels[-1].set_horizontalalignment("right")


def _table(figure: Figure, rows: list[list[Any]], top: float, height: float) -> None:
    """Draw the rows below each other."""
    level = 1 - (top + 0.12) / height
    for name, x, _ in _COLUMNS:
        side = "right" if name == "Offset" else "left"
        figure.text(x, level, name, size=7.5, color=DIM, va="center", ha=side)
    line = 1 - (top + 0.24) / height
    figure.add_artist(Line2D([0.016, 0.984], [line] * 2, color=HAIR, lw=0.8))
    for number, row in enumerate(rows):
        level = 1 - (top + 0.38 + _ROW * number) / height
        texts = (time_text(row[2]), row[0], f"{int(row[1]):,}", row[3][0], row[4][0])
        for (name, x, most), text in zip(_COLUMNS, texts, strict=True):
            shown = text.replace("\n", " ")
            shown = shown if len(shown) <= most else f"{shown[: most - 1]}…"
            side = "right" if name == "Offset" else "left"
            family = "monospace" if name in {"Key", "Value"} else "sans-serif"
            figure.text(x, level, shown, size=7.5, color=INK, va="center", ha=side, family=family)
