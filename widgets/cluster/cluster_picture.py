"""A cluster as a static picture: its changes over time, and its topics and brokers."""

from typing import Any, Final

from widgets.pictures import HAIR, INK, LEFT, RIGHT, Heading, SheetTable, sheet
from workbench.runtime.times import time_text

_TIMES, _TABLE = 0.57, 0.84  # inches from the top
_MOST_ROWS: Final = 12
_PLACES: Final = (LEFT, 0.36, 0.46, 0.56, 0.68, 0.80)


def cluster_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `ClusterView`."""
    headings = [name for name, _, _ in sent["columns"]["Topics"]]
    columns = [Heading(*each, most=46) for each in zip(headings, _PLACES, strict=True)]
    topics = sent["shown"]["tables"]["Topics"]
    table = SheetTable.of(columns, topics, list, most=_MOST_ROWS, noun="topic")
    moments = sent["moments"]
    with sheet(_TABLE + table.height, sent["title"], _told(moments)) as page:
        times = [time for _, time, _ in moments if time is not None]
        first, span = (times[0], max(1, times[-1] - times[0])) if times else (0, 1)
        page.line(LEFT, _TIMES, RIGHT, _TIMES, color=HAIR)
        for time in times:
            at = LEFT + (RIGHT - LEFT) * (time - first) / span
            page.line(at, _TIMES - 0.06, at, _TIMES + 0.06, color=INK)
        page.table(_TABLE, table)
        return page.png()


def _told(moments: list[Any]) -> str:
    if not moments:
        return "no record changed the cluster"
    offset, time, _ = moments[-1]
    when = "" if time is None else f", {time_text(time)}"
    return f"the cluster after offset {offset:,}{when}"
