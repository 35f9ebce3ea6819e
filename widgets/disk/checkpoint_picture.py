"""Checkpoints as a static picture: the directories, and the partitions with contradictions first.

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
    height = _LINE * (lines + 1.6)

    def level(line: float) -> float:
        return 1 - _LINE * (line + 0.6) / height

    with plain_text():
        figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")
        small: dict[str, Any] = {"size": 7.5, "va": "center"}
        figure.text(0.016, level(0.4), sent["title"], size=10.5, weight="bold", color=INK,
                    va="center")  # fmt: skip
        told = _told(sent)
        figure.text(0.984, level(0.4), f"{sent['summary']} · {told}", color=DIM, ha="right",
                    size=8.5, va="center")  # fmt: skip
        figure.add_artist(Line2D([0, 1], [level(1.3)] * 2, color=LINE, lw=0.8))
        at = 2.1
        for directory in directories:
            facts = " · ".join(f"{name} {text}" for name, text in directory["facts"][:6])
            bad = [each for each in directory["findings"] if each["severity"] != "info"]
            text = f"{bad[0]['found']}: {bad[0]['broker']}" if bad else facts
            figure.text(0.016, level(at), textwrap.shorten(text, 172, placeholder="…"),
                        color=_WARN if bad else DIM, **small)  # fmt: skip
            at += 1.25
        _head(figure, level(at))
        for number, row in enumerate(rows):
            _draw_row(figure, row, level(at + 1.15 + number))
        left = len(sent["rows"]) - len(rows)
        if left or not rows:
            text = f"and {left:,} more" if left else "No partitions."
            figure.text(0.016, level(at + 1.15 + len(rows)), text, color=DIM, **small)
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _told(sent: dict[str, Any]) -> str:
    if not sent["is_checked"]:
        return "not checked"
    return f"{sent['found']} contradictions" if sent["found"] else "no contradictions"


def _head(figure: Figure, y: float) -> None:
    small: dict[str, Any] = {"size": 7, "va": "center", "color": DIM}
    figure.text(0.016, y, "partition", **small)
    figure.text(0.29, y, "log in segments", ha="right", **small)
    for _, name, x in _COLUMNS:
        figure.text(x, y, name, ha="right", **small)
    figure.text(0.63, y, "epoch", ha="right", **small)
    figure.text(0.645, y, "contradiction", **small)
    figure.add_artist(Line2D([0.016, 0.984], [y - 0.011] * 2, color=HAIR, lw=0.8))


def _draw_row(figure: Figure, row: dict[str, Any], y: float) -> None:
    small: dict[str, Any] = {"size": 7.5, "va": "center"}
    is_bad = row["weight"] < 2
    figure.text(0.016, y, textwrap.shorten(row["name"], 32, placeholder="…"), color=INK,
                weight="bold" if is_bad else "normal", **small)  # fmt: skip
    held = row["kind"] or "no segments"
    if row["end"] is not None:
        held = f"{int(row['first']):,} – {int(row['end']):,}"
    figure.text(0.29, y, held, color=INK, ha="right", **small)
    for column, _, x in _COLUMNS:
        _cell(figure, x, y, row["offsets"].get(column), row["findings"].get(column))
    _cell(figure, 0.63, y, row["epoch"], row["findings"].get("leader_epoch"))
    first = next((each for found in row["findings"].values() for each in found), None)
    if first is not None:
        expected = f"; expected {first['expected']}" if first["expected"] else ""
        text = first["found"] + expected
        text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        figure.text(0.645, y, text, color=_WARN if is_bad else DIM, **small)


def _cell(figure: Figure, x: float, y: float, value: str | None, found: Any) -> None:
    is_bad = any(each["severity"] != "info" for each in found or ())
    text = f"{int(value):,}" if value is not None else "?" if found else "–"
    figure.text(x, y, text, color=_WARN if is_bad else INK, size=7.5, va="center", ha="right",
                weight="bold" if is_bad else "normal")  # fmt: skip
