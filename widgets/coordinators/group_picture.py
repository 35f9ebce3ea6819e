"""A group as a static picture: its lanes over time, and its position in each partition."""

import textwrap
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from widgets.coordinators.group_lines import ABORTED, BACK, OVERTAKEN, PENDING, TOMBSTONE
from widgets.pictures import (
    ACCENT,
    DAMAGE,
    DIM,
    HAIR,
    INK,
    LEFT,
    LINE,
    Cell,
    Heading,
    SheetTable,
    sheet,
)
from widgets.view.packing import unpack
from workbench.runtime.times import time_text

_LANE, _MOST_LANES, _MOST_ROWS = 0.5, 8, 12
_COLUMNS: Final = (
    Heading("Partition", LEFT), Heading("Committed", 0.3, "right"),
    Heading("Log end", 0.4, "right"), Heading("Lag", 0.49, "right"), Heading("State", 0.51),
    Heading("Committed at", 0.64), Heading("Expires", 0.82),
)  # fmt: skip
_MARK: Final = "#8C5A00"


def group_picture(story: dict[str, Any], lanes: list[dict[str, Any]], window: list[float]) -> bytes:
    """Return a PNG of the contents of a `GroupView`."""
    shown = lanes[:_MOST_LANES]
    table = SheetTable.of(_COLUMNS, story["rows"], _cells, most=_MOST_ROWS, noun="partition")
    height = 0.78 + (_LANE * len(shown) + 0.35 if shown else 0) + table.height
    with sheet(height, story["group"], story["summary"]) as page:
        conclusion = textwrap.shorten(story["conclusion"], 150, placeholder="…")
        page.text(LEFT, 0.52, conclusion[:1].upper() + conclusion[1:], size=8.5)
        top = 0.78
        view = window if len(window) == 2 else _padded(story["span"])
        for number, lane in enumerate(shown):
            axes = page.axes(0.16, top + 0.04, 0.75, _LANE - 0.09)
            _lane(axes, lane, view, is_last=number == len(shown) - 1)
            page.text(LEFT, top + _LANE / 2, lane["name"][-24:], weight="bold", size=8)
            for mark in story["marks"]:
                if view[0] <= mark["time"] <= view[1]:
                    axes.axvline(mark["time"] - view[0], color=_MARK, lw=0.8, ls=(0, (3, 3)))
            top += _LANE
        page.table(top + (0.35 if shown else 0), table)
        return page.png()


def _padded(span: list[int]) -> list[float]:
    return [span[0], span[1] + max(1, (span[1] - span[0]) * 0.02)] if span else [0, 1]


def _lane(axes: Axes, lane: dict[str, Any], view: list[float], *, is_last: bool) -> None:
    """Draw the committed offset, the log end offset, and the lag between them."""
    commits = {name: unpack(lane["commits"][name]) for name in ("time", "offset", "kind")}
    ends = {name: unpack(lane["ends"][name]) for name in ("time", "offset")}
    times = np.linspace(view[0], view[1], 900)
    counts = ~np.isin(commits["kind"], (PENDING, ABORTED, OVERTAKEN))
    values = np.where(commits["kind"] == TOMBSTONE, np.nan, commits["offset"])[counts]
    committed = _at(times, commits["time"][counts], values)
    end = _at(times, ends["time"], np.where(ends["offset"] < 0, np.nan, ends["offset"]))
    x = times - view[0]
    axes.fill_between(x, committed, end, where=end >= committed, color=ACCENT, alpha=0.17, lw=0)
    axes.plot(x, end, color=DIM, lw=0.9)
    axes.plot(x, committed, color=ACCENT, lw=1.5)
    for kinds, marker, color, fill in (
        ((TOMBSTONE,), "x", DAMAGE, DAMAGE), ((BACK,), "v", DAMAGE, DAMAGE),
        ((PENDING, ABORTED, OVERTAKEN), "o", INK, "white"),
    ):  # fmt: skip
        rows = np.isin(commits["kind"], kinds) & (commits["time"] >= view[0])
        rows &= commits["time"] <= view[1]
        levels = commits["offset"][rows].astype(float)
        if marker == "x":
            levels = _at(commits["time"][rows] - 1, commits["time"][counts], values)
        axes.plot(commits["time"][rows] - view[0], levels, marker, color=color, mfc=fill, ms=4,
                  mew=1.2, clip_on=False)  # fmt: skip
    for values_at_end, color in ((end, DIM), (committed, ACCENT)):
        if not np.isnan(values_at_end[-1]):
            other = committed if values_at_end is end else end
            above = values_at_end is end
            near = abs(values_at_end[-1] - other[-1]) < 0.2 * max(1, np.ptp(axes.get_ylim()))
            align = ("bottom" if above else "top") if near else "center"
            axes.text(x[-1] * 1.008, values_at_end[-1], f"{int(values_at_end[-1]):,}", size=6.5,
                      color=color, va=align)  # fmt: skip
    axes.set_xlim(0, x[-1])
    axes.set_yticks([])
    axes.tick_params(length=2, labelsize=6.5, colors=DIM, pad=1)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE if is_last else HAIR)
    places = np.linspace(0, x[-1], 6)[:-1]
    labels = [time_text(int(view[0] + place), "seconds") for place in places]
    axes.set_xticks(places, labels if is_last else [])


def _at(times: Any, known: Any, values: Any) -> Any:
    """Return the value in force at each time; NaN before the first."""
    rows = np.searchsorted(known, times, side="right") - 1
    found = np.full(len(times), np.nan)
    if len(known):
        found[rows >= 0] = values[rows[rows >= 0]]
    return found


def _cells(row: dict[str, Any]) -> list[str | Cell]:
    cells: list[str | Cell] = [cell[-40:] for cell in row["cells"]]
    if row["state"] not in {"in the log", "pending", "unknown"}:
        cells[4] = Cell(row["cells"][4], DAMAGE, "bold")
    return cells
