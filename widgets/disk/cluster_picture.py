"""A cluster as a static picture: its changes over time, and its topics and brokers.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
import textwrap
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widgets.pictures import DIM, HAIR, INK, LINE, plain_text
from workbench.runtime.times import time_text

_INCHES, _DPI = 10.0, 110
_LINE: Final = 0.19  # inches
_MOST_ROWS: Final = 12
_PLACES: Final = (0.016, 0.36, 0.46, 0.56, 0.68, 0.80)


def cluster_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `ClusterView`."""
    topics = sent["shown"]["tables"]["Topics"]
    headings = [name for name, _, _ in sent["columns"]["Topics"]]
    lines = topics[:_MOST_ROWS]
    height = _LINE * (6.4 + len(lines))

    def level(line: float) -> float:
        return 1 - _LINE * (line + 0.6) / height

    with plain_text():
        figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")
        small: dict[str, Any] = {"size": 7.5, "va": "center"}
        moments = sent["moments"]
        figure.text(0.016, level(0.4), sent["title"], size=10.5, weight="bold", color=INK,
                    va="center")  # fmt: skip
        figure.text(0.984, level(0.4), _told(moments), color=DIM, ha="right", size=8.5,
                    va="center")  # fmt: skip
        figure.add_artist(Line2D([0, 1], [level(1.3)] * 2, color=LINE, lw=0.8))
        times = [time for _, time, _ in moments if time is not None]
        first, span = (times[0], max(1, times[-1] - times[0])) if times else (0, 1)
        figure.add_artist(Line2D([0.016, 0.984], [level(2.4)] * 2, color=HAIR, lw=0.8))
        for time in times:
            at = 0.016 + 0.968 * (time - first) / span
            figure.add_artist(Line2D([at, at], [level(2.1), level(2.7)], color=INK, lw=0.8))
        for number, row in enumerate([headings, *lines]):
            color = INK if number else DIM
            for place, cell in zip(_PLACES, row, strict=True):
                text = textwrap.shorten(cell, 46, placeholder="…")
                figure.text(place, level(3.8 + number), text, color=color, **small)
        left = len(topics) - len(lines)
        if left or not topics:
            text = f"and {left:,} more topics" if left else "No topics."
            figure.text(0.016, level(4.8 + len(lines)), text, color=DIM, **small)
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _told(moments: list[Any]) -> str:
    if not moments:
        return "no record changed the cluster"
    offset, time, _ = moments[-1]
    when = "" if time is None else f", {time_text(time)}"
    return f"the cluster after offset {offset:,}{when}"
