"""A cluster as a static picture: its changes over time, and its topics and brokers."""

import textwrap
from typing import Any, Final

from widgets.pictures import DIM, HAIR, INK, LEFT, RIGHT, sheet
from workbench.runtime.times import time_text

_LINE: Final = 0.19  # inches
_MOST_ROWS: Final = 12
_PLACES: Final = (0.016, 0.36, 0.46, 0.56, 0.68, 0.80)


def cluster_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `ClusterView`."""
    topics = sent["shown"]["tables"]["Topics"]
    headings = [name for name, _, _ in sent["columns"]["Topics"]]
    lines = topics[:_MOST_ROWS]
    moments = sent["moments"]
    with sheet(_LINE * (6.4 + len(lines)), sent["title"], _told(moments)) as page:
        times = [time for _, time, _ in moments if time is not None]
        first, span = (times[0], max(1, times[-1] - times[0])) if times else (0, 1)
        page.line(LEFT, 3 * _LINE, RIGHT, 3 * _LINE, color=HAIR)
        for time in times:
            at = LEFT + (RIGHT - LEFT) * (time - first) / span
            page.line(at, 2.7 * _LINE, at, 3.3 * _LINE, color=INK)
        for number, row in enumerate([headings, *lines]):
            color = INK if number else DIM
            for place, cell in zip(_PLACES, row, strict=True):
                text = textwrap.shorten(cell, 46, placeholder="…")
                page.text(place, _LINE * (4.4 + number), text, color=color)
        left = len(topics) - len(lines)
        if left or not topics:
            text = f"and {left:,} more topics" if left else "No topics."
            page.text(LEFT, _LINE * (5.4 + len(lines)), text, color=DIM)
        return page.png()


def _told(moments: list[Any]) -> str:
    if not moments:
        return "no record changed the cluster"
    offset, time, _ = moments[-1]
    when = "" if time is None else f", {time_text(time)}"
    return f"the cluster after offset {offset:,}{when}"
