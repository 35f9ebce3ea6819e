"""A view of a log's rules as a static picture: its segments in their regions, and the verdicts."""

import textwrap
from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from widgets.pictures import (
    ACCENT,
    DAMAGE,
    DIM,
    GREEN,
    HAIR,
    INK,
    LEFT,
    ORANGE,
    RIGHT,
    Cell,
    Heading,
    Sheet,
    SheetTable,
    sheet,
    text_picture,
)
from workbench.runtime.words import size_text

_CLEAN, _DIRTY, _ACTIVE = GREEN, ORANGE, "#8b949e"
_EDGES: Final = {"clean": _CLEAN, "dirty": _DIRTY, "waiting": _DIRTY, "active": _ACTIVE,
                 "kept": _CLEAN, "held": _DIRTY, "deleted": DAMAGE}  # fmt: skip
_FILLS: Final = {"clean": "#b3e2d5", "dirty": "#f7dfa8", "waiting": "white", "active": HAIR,
                 "kept": "#b3e2d5", "held": "#f7dfa8", "deleted": "white"}  # fmt: skip
_HATCHED: Final = frozenset({"waiting", "deleted"})
_MOST_RULES: Final = 40  # of a log with many segments
_LEAST_WIDTH = 0.014
_COLUMNS: Final = (
    Heading("Rule", LEFT), Heading("Verdict", 0.2), Heading("Value", 0.35, "right", 18),
    Heading("Threshold", 0.43, "right", 18), Heading("Reason", 0.445, most=98),
)  # fmt: skip


def log_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `CleanerView` or `RetentionView`."""
    if "problem" in sent:
        return text_picture(f"{sent['partition']}: {sent['problem']}")
    table = SheetTable.of(_COLUMNS, sent["rules"], _cells, most=_MOST_RULES, noun="rule")
    with sheet(1.95 + table.height, sent["partition"], f"as of {sent['now']}", dpi=100) as page:
        conclusion = textwrap.shorten(sent["conclusion"], 142, placeholder="…")
        page.text(LEFT, 0.52, conclusion[:1].upper() + conclusion[1:], size=8.5)
        _strip(page.axes(LEFT, 0.65, RIGHT - LEFT, 0.85), sent)
        if sent["kind"] == "cleaning":
            _gauge(page, sent, 1.72)
        page.table(1.95, table)
        return page.png()


def _cells(row: Sequence[str]) -> list[str | Cell]:
    rule, verdict, *rest = row[:5]
    judged = Cell(verdict, DAMAGE, "bold") if verdict == "blocks" else verdict
    return [rule, judged, *(Cell(text, DIM) for text in rest)]


def _strip(axes: Axes, sent: dict[str, Any]) -> None:
    """Draw the segments, as wide as they are large, and the bounds of the regions."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 2)
    total = max(1, sum(segment["size"] for segment in sent["segments"]))
    widths = [max(_LEAST_WIDTH, segment["size"] / total) for segment in sent["segments"]]
    scale = 1 / sum(widths)
    at, starts = 0.0, []
    for segment, width in zip(sent["segments"], widths, strict=True):
        wide, region = width * scale, segment["region"]
        starts.append(at)
        axes.add_patch(
            Rectangle((at, 0), wide - 0.002, 1, facecolor=_FILLS[region], edgecolor=_EDGES[region],
                      hatch="////" if region in _HATCHED else None, lw=0.9, clip_on=False)
        )  # fmt: skip
        words = [f"{int(segment['base_offset']):,}", size_text(segment["size"])]
        if segment.get("tombstones"):
            words.append(f"† {segment['tombstones']:,}")
        for line, word in enumerate(words):
            if wide > 0.0075 * len(word):
                axes.text(at + 0.006, 0.8 - 0.29 * line, word, size=7, color=INK, va="center")
        at += wide
    starts.append(1.0)
    bases = [int(segment["base_offset"]) for segment in sent["segments"]]
    _markers(axes, sent, [*bases, int(sent["end_offset"])], starts)


def _markers(axes: Axes, sent: dict[str, Any], bases: list[int], starts: list[float]) -> None:
    for line, (name, text) in enumerate(sent["markers"]):
        offset = int(text)
        number = max(0, min(len(bases) - 2, sum(base <= offset for base in bases) - 1))
        span = max(1, bases[number + 1] - bases[number])
        share = max(0.0, min(1.0, (offset - bases[number]) / span))
        x = starts[number] + share * (starts[number + 1] - starts[number])
        level = 1.9 - 0.26 * (line % 4)
        color = ACCENT if name == "checkpoint" else INK
        axes.plot([x, x], [0, level], color=color, lw=1.2, clip_on=False)
        side = "right" if x > 0.7 else "left"
        axes.text(x + (-0.004 if side == "right" else 0.004), level, f"{name} {offset:,}",
                  size=7, color=color, ha=side, va="center")  # fmt: skip


def _gauge(page: Sheet, sent: dict[str, Any], y: float) -> None:
    page.box(0.1, y - 0.05, 0.25, 0.1, facecolor=_FILLS["clean"], lw=0)
    page.box(0.1, y - 0.05, 0.25 * sent["ratio"], 0.1, facecolor=_DIRTY, lw=0)
    threshold = 0.1 + 0.25 * min(1, sent["threshold"])
    page.line(threshold, y - 0.09, threshold, y + 0.09, color=INK, lw=1.8)
    page.text(LEFT, y, "Dirty ratio", size=8, color=DIM)
    words = "above" if sent["ratio"] > sent["threshold"] else "not above"
    text = f"{sent['ratio']:.2f} {words} {sent['threshold']:g}"
    page.text(0.365, y, text, size=8.5, weight="bold")
