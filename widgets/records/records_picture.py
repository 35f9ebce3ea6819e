"""The record browser as a static picture: the matches over time, and the first of them."""

import textwrap
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from widgets.pictures import ACCENT, DIM, LEFT, LINE, RIGHT, Cell, Heading, SheetTable, sheet
from widgets.view.packing import unpack
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

_HEAD, _CHART = 0.42, 1.17  # inches
_MOST_ROWS: Final = 14
_COLUMNS: Final = (
    Heading("Time", LEFT), Heading("Partition", 0.185, most=14), Heading("Offset", 0.345, "right"),
    Heading("Key", 0.36, most=22), Heading("Value", 0.53, most=66),
)  # fmt: skip


def records_picture(place: str, query: str, result: dict[str, Any]) -> bytes:
    """Return a PNG of what a `RecordBrowser` shows.

    Args:
        place: the topic or partition.
        query: the query.
        result: the state of the search, as it is sent to the front end.
    """
    rows = [row for row in result.get("rows", ()) if row is not None][:_MOST_ROWS]
    table = SheetTable(_COLUMNS, list(map(_cells, rows)))
    about = plural(result.get("found", 0), "record")
    with sheet(_HEAD + _CHART + table.height, place, about, dpi=120) as page:
        asked = textwrap.shorten(query, 90, placeholder="…") if query.strip() else "all records"
        page.text(0.3, 0.17, asked, size=9, family="monospace")
        _chart(page.axes(LEFT, _HEAD + 0.12, RIGHT - LEFT, 0.66), result)
        page.table(_HEAD + _CHART, table)
        return page.png()


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


def _cells(row: list[Any]) -> list[str | Cell]:
    key, value = (Cell(each[0], family="monospace") for each in row[3:5])
    return [time_text(row[2]), row[0], f"{int(row[1]):,}", key, value]
