"""The overview as a static picture: its numbers, and what fills the disk by topic.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widgets.disk.usage_nodes import KIND, NAME, OCCUPIED, Node
from widgets.pictures import DIM, INK, LINE, PALETTE, plain_text
from workbench.runtime.words import plural, size_text

_INCHES, _DPI = 10.0, 110
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
    height = _LINE * (4 + 2 * rows + len(shown) + (left > 0))

    def level(line: float) -> float:
        return 1 - _LINE * (line + 0.6) / height

    with plain_text():
        figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")
        figure.text(0.016, level(0.3), title, size=10.5, weight="bold", color=INK, va="center")
        figure.add_artist(Line2D([0, 1], [level(1.1)] * 2, color=LINE, lw=0.8))
        for number, tile in enumerate(tiles):
            x, line = 0.016 + 0.246 * (number % _PER_ROW), 1.8 + 2 * (number // _PER_ROW)
            figure.text(x, level(line), tile["value"], size=11, weight="bold", color=INK,
                        va="center")  # fmt: skip
            figure.text(x, level(line + 0.8), tile["label"], size=7.5, color=DIM, va="center")
        most = max((n[OCCUPIED] for n in shown), default=0) or 1
        for number, node in enumerate(shown):
            y = level(2.4 + 2 * rows + number)
            figure.text(0.016, y, node[NAME], size=8, color=INK, va="center")
            end = 0.28 + 0.58 * node[OCCUPIED] / most
            figure.add_artist(Line2D([0.28, end], [y, y], color=PALETTE[number % 7], lw=7,
                                     solid_capstyle="butt"))  # fmt: skip
            figure.text(end + 0.01, y, size_text(node[OCCUPIED]), size=7.5, color=DIM, va="center")
        if left > 0:
            y = level(2.4 + 2 * rows + len(shown))
            figure.text(0.016, y, plural(left, "more topic"), size=7.5, color=DIM, va="center")
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
