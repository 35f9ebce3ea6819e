"""Checkpoints as a static picture: the directories, and partitions with contradictions first."""

import textwrap
from typing import Any, Final

from widgets.pictures import DIM, HAIR, INK, LEFT, RIGHT, WARN, Sheet, sheet

_LINE = 0.19  # inches
_MOST_ROWS: Final = 14
_MOST_DIRECTORIES: Final = 4
_LONGEST: Final = 56
_COLUMNS: Final = (
    ("log_start", "log start", 0.36),
    ("recovery_point", "recovery point", 0.44),
    ("high_watermark", "high watermark", 0.53),
    ("cleaner_offset", "cleaner", 0.59),
)


def checkpoint_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `CheckpointTable`."""
    directories, rows = sent["directories"][:_MOST_DIRECTORIES], sent["rows"][:_MOST_ROWS]
    lines = 3.4 + 1.25 * len(directories) + max(1, len(rows)) + (len(sent["rows"]) > len(rows))
    about = f"{sent['summary']} · {_told(sent)}"
    with sheet(_LINE * (lines + 1.6), sent["title"], about) as page:
        y = 2.7 * _LINE
        for directory in directories:
            facts = " · ".join(f"{name} {text}" for name, text in directory["facts"][:6])
            bad = [each for each in directory["findings"] if each["severity"] != "info"]
            text = f"{bad[0]['found']}: {bad[0]['broker']}" if bad else facts
            text = textwrap.shorten(text, 172, placeholder="…")
            page.text(LEFT, y, text, color=WARN if bad else DIM)
            y += 1.25 * _LINE
        _head(page, y)
        y += 1.15 * _LINE
        for row in rows:
            _draw_row(page, row, y)
            y += _LINE
        left = len(sent["rows"]) - len(rows)
        if left or not rows:
            text = f"and {left:,} more" if left else "No partitions."
            page.text(LEFT, y, text, color=DIM)
        return page.png()


def _told(sent: dict[str, Any]) -> str:
    if not sent["is_checked"]:
        return "not checked"
    return f"{sent['found']} contradictions" if sent["found"] else "no contradictions"


def _head(page: Sheet, y: float) -> None:
    small: dict[str, Any] = {"size": 7, "color": DIM}
    page.text(LEFT, y, "partition", **small)
    page.text(0.29, y, "log in segments", ha="right", **small)
    for _, name, x in _COLUMNS:
        page.text(x, y, name, ha="right", **small)
    page.text(0.63, y, "epoch", ha="right", **small)
    page.text(0.645, y, "contradiction", **small)
    page.line(LEFT, y + 0.1, RIGHT, y + 0.1, color=HAIR)


def _draw_row(page: Sheet, row: dict[str, Any], y: float) -> None:
    is_bad = row["weight"] < 2
    name = textwrap.shorten(row["name"], 32, placeholder="…")
    page.text(LEFT, y, name, weight="bold" if is_bad else "normal")
    held = row["kind"] or "no segments"
    if row["end"] is not None:
        held = f"{int(row['first']):,} – {int(row['end']):,}"
    page.text(0.29, y, held, ha="right")
    for column, _, x in _COLUMNS:
        _cell(page, x, y, row["offsets"].get(column), row["findings"].get(column))
    _cell(page, 0.63, y, row["epoch"], row["findings"].get("leader_epoch"))
    first = next((each for found in row["findings"].values() for each in found), None)
    if first is not None:
        expected = f"; expected {first['expected']}" if first["expected"] else ""
        text = first["found"] + expected
        text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        page.text(0.645, y, text, color=WARN if is_bad else DIM)


def _cell(page: Sheet, x: float, y: float, value: str | None, found: Any) -> None:
    is_bad = any(each["severity"] != "info" for each in found or ())
    text = f"{int(value):,}" if value is not None else "?" if found else "–"
    page.text(x, y, text, color=WARN if is_bad else INK, ha="right",
              weight="bold" if is_bad else "normal")  # fmt: skip
