"""A view of a log's rules as a static picture: its segments in their regions, and the verdicts.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
import textwrap
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from widgets.pictures import ACCENT, DAMAGE, DIM, HAIR, INK, LINE, plain_text, text_picture
from workbench.runtime.words import size_text

_CLEAN, _DIRTY, _ACTIVE = "#009E73", "#E69F00", "#8b949e"
_EDGES: Final = {"clean": _CLEAN, "dirty": _DIRTY, "waiting": _DIRTY, "active": _ACTIVE,
                 "kept": _CLEAN, "held": _DIRTY, "deleted": DAMAGE}  # fmt: skip
_FILLS: Final = {"clean": "#b3e2d5", "dirty": "#f7dfa8", "waiting": "white", "active": HAIR,
                 "kept": "#b3e2d5", "held": "#f7dfa8", "deleted": "white"}  # fmt: skip
_HATCHED: Final = frozenset({"waiting", "deleted"})
_MOST_RULES: Final = 40  # of a log with many segments
_INCHES, _DPI = 10.0, 100
_LEAST_WIDTH = 0.014
_RULE_LINE = 0.19


@plain_text()
def log_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `CleanerView` or `RetentionView`."""
    if "problem" in sent:
        return text_picture(f"{sent['partition']}: {sent['problem']}")
    rules = sent["rules"][:_MOST_RULES]
    height = 2.05 + _RULE_LINE * len(rules)
    figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")

    def level(inches: float) -> float:
        return 1 - inches / height

    text: dict[str, Any] = {"va": "center", "size": 8.5}
    figure.text(0.016, level(0.17), sent["partition"], color=INK, weight="bold", va="center",
                size=10.5)  # fmt: skip
    figure.text(0.984, level(0.17), f"as of {sent['now']}", color=DIM, ha="right", **text)
    figure.add_artist(Line2D([0, 1], [level(0.34)] * 2, color=LINE, lw=0.8))
    conclusion = textwrap.shorten(sent["conclusion"], 142, placeholder="…")
    figure.text(0.016, level(0.52), conclusion[:1].upper() + conclusion[1:], color=INK, **text)
    _strip(figure.add_axes((0.016, level(1.5), 0.968, 0.85 / height)), sent)
    if sent["kind"] == "cleaning":
        _gauge(figure, sent, level(1.72), height)
    for number, (rule, verdict, value, threshold, reason, _, _) in enumerate(rules):
        y = level(2.0 + _RULE_LINE * number)
        color = DAMAGE if verdict == "blocks" else INK
        small: dict[str, Any] = {"va": "center", "size": 7.5}
        figure.text(0.016, y, rule, color=INK, **small)
        figure.text(0.2, y, verdict, color=color, weight="bold" if color == DAMAGE else "normal",
                    **small)  # fmt: skip
        figure.text(0.35, y, value[:18], color=DIM, ha="right", **small)
        figure.text(0.43, y, threshold[:18], color=DIM, ha="right", **small)
        figure.text(0.445, y, textwrap.shorten(reason, 98, placeholder="…"), color=DIM, **small)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


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


def _gauge(figure: Figure, sent: dict[str, Any], y: float, height: float) -> None:
    axes = figure.add_axes((0.1, y - 0.05 / height, 0.25, 0.1 / height))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.add_patch(Rectangle((0, 0), 1, 1, facecolor=_FILLS["clean"], lw=0))
    axes.add_patch(Rectangle((0, 0), sent["ratio"], 1, facecolor=_DIRTY, lw=0))
    threshold = min(1, sent["threshold"])
    axes.plot([threshold, threshold], [-0.4, 1.4], color=INK, lw=1.8, clip_on=False)
    figure.text(0.016, y, "Dirty ratio", size=8, color=DIM, va="center")
    words = "above" if sent["ratio"] > sent["threshold"] else "not above"
    text = f"{sent['ratio']:.2f} {words} {sent['threshold']:g}"
    figure.text(0.365, y, text, size=8.5, color=INK, va="center", weight="bold")
