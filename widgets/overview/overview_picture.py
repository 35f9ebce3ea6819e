"""The overview as a static picture: its numbers, and what fills the disk by topic."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from widgets.disk.usage_nodes import KIND, NAME, OCCUPIED, Node
from widgets.pictures import DIM, LEFT, color_of_rank, sheet
from workbench.runtime.words import plural, size_text

_LINE: Final = 0.22  # inches
_MOST_TOPICS: Final = 12
_PER_ROW: Final = 4  # numbers


def overview_picture(
    title: str, tiles: Sequence[Mapping[str, Any]], nodes: Sequence[Node]
) -> bytes:
    """Return a PNG of the contents of an `Overview`.

    Args:
        title: of the directories.
        tiles: the numbers, each with value and label.
        nodes: of `directory_nodes`.
    """
    topics = sorted((n for n in nodes if n[KIND] == "topic"), key=lambda n: -n[OCCUPIED])
    shown, left = topics[:_MOST_TOPICS], len(topics) - _MOST_TOPICS
    rows = -(-len(tiles) // _PER_ROW)
    with sheet(_LINE * (4 + 2 * rows + len(shown) + (left > 0)), title) as page:
        for number, tile in enumerate(tiles):
            x, y = LEFT + 0.246 * (number % _PER_ROW), _LINE * (2.4 + 2 * (number // _PER_ROW))
            page.text(x, y, tile["value"], size=11, weight="bold")
            page.text(x, y + 0.8 * _LINE, tile["label"], color=DIM)
        most = max((n[OCCUPIED] for n in shown), default=0) or 1
        for number, node in enumerate(shown):
            y = _LINE * (3 + 2 * rows + number)
            page.text(LEFT, y, node[NAME], size=8)
            end = 0.28 + 0.58 * node[OCCUPIED] / most
            color = color_of_rank(number)
            page.line(0.28, y, end, y, color=color, lw=7, solid_capstyle="butt")
            page.text(end + 0.01, y, size_text(node[OCCUPIED]), color=DIM)
        if left > 0:
            y = _LINE * (3 + 2 * rows + len(shown))
            page.text(LEFT, y, plural(left, "more topic"), color=DIM)
        return page.png()
