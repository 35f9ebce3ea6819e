"""Findings as a static picture: the first of them, two lines each."""

import textwrap
from typing import Any, Final

from widgets.pictures import DIM, HAIR, LEFT, RIGHT, WARN, sheet

_LINE: Final = 0.36  # inches
_MOST_ROWS: Final = 12
_LONGEST: Final = 150  # characters


def finding_picture(title: str, rows: list[dict[str, Any]]) -> bytes:
    """Return a PNG of the first rows of a `FindingView`."""
    shown = rows[:_MOST_ROWS]
    with sheet(_LINE * (2.2 + max(1, len(shown))), title) as page:
        for number, row in enumerate(shown):
            y = _LINE * (1.65 + number)
            place = (
                row["file"] if row["partition"] is None else f"{row['partition']} · {row['file']}"
            )
            color = WARN if row["severity"] == "error" else DIM
            page.text(LEFT, y, row["severity"], color=color, va="bottom")
            page.text(0.09, y, f"{row['kind']}   {place}", va="bottom")
            found = textwrap.shorten(row["found"], _LONGEST, placeholder="…")
            page.text(0.09, y, found, color=DIM, va="top")
            page.line(LEFT, y + 0.42 * _LINE, RIGHT, y + 0.42 * _LINE, color=HAIR)
        left = len(rows) - len(shown)
        if left or not rows:
            text = f"and {left:,} more" if left else "No findings are listed."
            page.text(LEFT, _LINE * (1.6 + len(shown)), text, color=DIM)
        return page.png()
