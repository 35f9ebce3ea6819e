"""The lanes of a compared partition as a static picture.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
import textwrap
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from widgets.pictures import ACCENT, DAMAGE, DIM, HAIR, INK, LINE, PALETTE, plain_text

_INCHES, _DPI = 10.0, 92
_HEAD, _LANE, _ROW, _MOST_LINES = 0.85, 0.86, 0.18, 10
_LEFT, _RIGHT = 0.13, 0.93
_GREEN = "#009E73"
_DIFFERS = {"different": DAMAGE, "extra": "#CC79A7"}
_LATE, _WIDE = 0.8, 0.07  # parts of the axis


class _Axes:
    """A picture whose vertical positions are inches from the top; along it, parts of the axis."""

    def __init__(self, height: float) -> None:
        self.figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, 1)
        self.axes.set_ylim(height, 0)

    def write(self, x: float, y: float, text: str, **options: Any) -> None:
        self.axes.text(x, y, text, **{"color": INK, "size": 7.5, "va": "center", **options})

    def line(self, x: float, y: float, to_x: float, to_y: float, **options: Any) -> None:
        style = {"color": LINE, "lw": 0.8, **options}
        self.axes.add_line(Line2D([x, to_x], [y, to_y], **style))

    def box(self, start: float, end: float, y: float, tall: float, **options: Any) -> None:
        left = _x(start)
        self.axes.add_patch(Rectangle((left, y), max(0.002, _x(end) - left), tall, **options))


def _x(part: float) -> float:
    return _LEFT + part * (_RIGHT - _LEFT)


@plain_text()
def lanes_picture(shown: dict[str, Any]) -> bytes:
    """Return a PNG of what `lane_state.lanes_of` made; an empty picture of nothing."""
    lanes = shown.get("lanes", [])
    lines = _words(shown) if lanes else []
    bottom = _HEAD + _LANE * len(lanes)
    pen = _Axes(bottom + _ROW * len(lines) + 0.25)
    pen.write(0.016, 0.17, shown.get("name", "No partition"), weight="bold", size=10.5)
    pen.write(0.984, 0.17, shown.get("verdict", ""), ha="right", size=8.5, color=DIM)
    pen.line(0, 0.34, 1, 0.34)
    if shown.get("lost"):
        start, end, _ = shown["lost"]
        pen.box(start, end, _HEAD - 0.05, bottom - _HEAD, lw=0, facecolor=DAMAGE, alpha=0.12)
    for part, text in shown.get("ticks", []):
        pen.line(_x(part), _HEAD - 0.08, _x(part), bottom, color=HAIR)
        pen.write(_x(part), _HEAD - 0.15, text, ha="center", size=6.8, color=DIM)
    for number, lane in enumerate(lanes):
        _lane(pen, lane, shown, _HEAD + number * _LANE)
    if shown.get("divergence"):
        place, text = shown["divergence"]
        pen.line(_x(place), _HEAD - 0.08, _x(place), bottom, color=DAMAGE, lw=1.4, ls="--")
        is_late = place > _LATE
        pen.write(_x(place) + (-0.005 if is_late else 0.005), 0.47, f"differ from {text}",
                  color=DAMAGE, ha="right" if is_late else "left")  # fmt: skip
    for number, text in enumerate(lines):
        pen.write(0.016, bottom + 0.18 + _ROW * number, text)
    out = io.BytesIO()
    pen.figure.savefig(
        out, format="png", metadata={"Software": None}, pil_kwargs={"optimize": True}
    )
    return out.getvalue()


def _lane(pen: _Axes, lane: dict[str, Any], shown: dict[str, Any], top: float) -> None:
    y, tall = top + 0.28, 0.26
    pen.write(0.016, top + 0.24, f"Broker {lane['broker']}", weight="bold")
    roles = [lane["broker"] == shown["leader"] and "leads", lane["is_ahead"] and "ahead"]
    pen.write(0.016, top + 0.41, ", ".join(each for each in roles if each), color=ACCENT)
    pen.write(0.016, top + 0.57, lane["stopped"], color=DIM, size=6.8)
    for epoch, start, end, _ in lane["epochs"]:
        place = shown["epochs"].index(epoch) if epoch in shown["epochs"] else 0
        color = PALETTE[place % len(PALETTE)]
        pen.box(start, end, y, tall, facecolor=color, alpha=0.35, lw=0)
        pen.box(start, end, y, tall, fill=False, edgecolor=color, lw=1)
        if end - start > _WIDE:
            pen.write(_x(start) + 0.008, y + tall / 2, f"epoch {epoch}" if epoch >= 0 else "")
    if lane["cut"]:
        start, end, _ = lane["cut"]
        pen.box(start, end, y, tall, fill=False, hatch="////", lw=1.2, ec=DAMAGE, ls="--")
    place, text = lane["end"]
    pen.line(_x(place), y - 0.14, _x(place), y + tall, color=INK, lw=1.3)
    pen.write(_x(place) + 0.004, y - 0.09, f"LEO {text}", size=6.8)
    place, text = lane["start"]
    if text != "0":
        pen.line(_x(place), y - 0.14, _x(place), y + tall, ls=":")
        pen.write(_x(place) + 0.004, y - 0.09, f"start {text}", size=6.8)
    for kind, start, end, _ in lane["differs"]:
        style = {"fc": _DIFFERS[kind], "lw": 0} if kind != "missing" else {"fill": False, "ls": ":"}
        pen.box(start, end, y + tall - 0.055, 0.055, **style)
    if lane["high"]:
        place, text = lane["high"]
        pen.box(lane["start"][0], place, y + tall + 0.02, 0.035, fc=_GREEN, alpha=0.6, lw=0)
        pen.line(_x(place), y + tall, _x(place), y + tall + 0.18, color=_GREEN, lw=1.8)
        pen.write(_x(place) + 0.004, y + tall + 0.13, f"HW {text}", size=6.8, color="#00795a")
    pen.line(0, top + _LANE, 1, top + _LANE)


def _words(shown: dict[str, Any]) -> list[str]:
    """Return what happens under the leader and the findings, in lines."""
    texts = [shown["advice"], shown["outcome"]]
    texts += [f"Broker {each[0]}, {each[3]}" for each in shown["differs"] or ()]
    texts += [f"{kind}: {found}" for _, kind, found, _ in shown["findings"]]
    lines = [part for text in texts for part in textwrap.wrap(text, 165)]
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]
