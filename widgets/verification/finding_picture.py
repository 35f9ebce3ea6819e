"""Findings as a static picture: the first of them, two lines each.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
import textwrap
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widgets.pictures import DIM, HAIR, INK, LINE, plain_text

_WARN: Final = "#B34700"  # of text: darker than that of areas
_INCHES, _DPI = 10.0, 110
_LINE: Final = 0.36  # inches
_MOST_ROWS: Final = 12
_LONGEST: Final = 150  # characters


def finding_picture(title: str, rows: list[dict[str, Any]]) -> bytes:
    """Return a PNG of the first rows of a `FindingView`."""
    shown = rows[:_MOST_ROWS]
    height = _LINE * (2.2 + max(1, len(shown)))

    def level(line: float) -> float:
        return 1 - _LINE * (line + 0.5) / height

    with plain_text():
        figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")
        figure.text(0.016, level(0), title, size=10.5, weight="bold", color=INK, va="center")
        figure.add_artist(Line2D([0, 1], [level(0.6)] * 2, color=LINE, lw=0.8))
        for number, row in enumerate(shown):
            at = level(1.15 + number)
            place = (
                row["file"] if row["partition"] is None else f"{row['partition']} · {row['file']}"
            )
            color = _WARN if row["severity"] == "error" else DIM
            small: dict[str, Any] = {"size": 7.5, "va": "bottom"}
            figure.text(0.016, at, row["severity"], color=color, **small)
            figure.text(0.09, at, f"{row['kind']}   {place}", color=INK, **small)
            found = textwrap.shorten(row["found"], _LONGEST, placeholder="…")
            figure.text(0.09, at, found, color=DIM, size=7.5, va="top")
            figure.add_artist(Line2D([0.016, 0.984], [at - 0.42 * _LINE / height] * 2, color=HAIR))
        left = len(rows) - len(shown)
        if left or not rows:
            text = f"and {left:,} more" if left else "No findings are listed."
            figure.text(0.016, level(1.1 + len(shown)), text, size=7.5, color=DIM, va="center")
        out = io.BytesIO()
        figure.savefig(out, format="png")
    return out.getvalue()
