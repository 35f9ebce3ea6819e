"""The lanes of a compared partition as a static picture."""

import textwrap
from typing import Any

from widgets.pictures import (
    ACCENT,
    DAMAGE,
    DIM,
    GOOD,
    GREEN,
    HAIR,
    INK,
    LEFT,
    PINK,
    Sheet,
    color_of_epoch,
    sheet,
)

_HEAD, _LANE, _ROW, _MOST_LINES = 0.85, 0.86, 0.18, 10
_LEFT, _RIGHT = 0.13, 0.93
_DIFFERS = {"different": DAMAGE, "extra": PINK}
_LATE, _WIDE = 0.8, 0.07  # parts of the axis


def _x(part: float) -> float:
    return _LEFT + part * (_RIGHT - _LEFT)


def _box(page: Sheet, start: float, end: float, y: float, tall: float, **options: Any) -> None:
    """Draw a rectangle between two parts of the axis."""
    page.box(_x(start), y, max(0.002, _x(end) - _x(start)), tall, **options)


def lanes_picture(shown: dict[str, Any]) -> bytes:
    """Return a PNG of what `lane_state.lanes_of` made; an empty picture of nothing."""
    lanes = shown.get("lanes", [])
    lines = _words(shown) if lanes else []
    bottom = _HEAD + _LANE * len(lanes)
    height = bottom + _ROW * len(lines) + 0.25
    title, about = shown.get("name", "No partition"), shown.get("verdict", "")
    with sheet(height, title, about, dpi=92) as page:
        if shown.get("lost"):
            start, end, _ = shown["lost"]
            top, tall = _HEAD - 0.05, bottom - _HEAD
            _box(page, start, end, top, tall, lw=0, facecolor=DAMAGE, alpha=0.12)
        for part, text in shown.get("ticks", []):
            page.line(_x(part), _HEAD - 0.08, _x(part), bottom, color=HAIR)
            page.text(_x(part), _HEAD - 0.15, text, ha="center", size=6.8, color=DIM)
        for number, lane in enumerate(lanes):
            _lane(page, lane, shown, _HEAD + number * _LANE)
        if shown.get("divergence"):
            place, text = shown["divergence"]
            page.line(_x(place), _HEAD - 0.08, _x(place), bottom, color=DAMAGE, lw=1.4, ls="--")
            is_late = place > _LATE
            page.text(_x(place) + (-0.005 if is_late else 0.005), 0.47, f"differ from {text}",
                      color=DAMAGE, ha="right" if is_late else "left")  # fmt: skip
        for number, text in enumerate(lines):
            page.text(LEFT, bottom + 0.18 + _ROW * number, text)
        return page.png()


def _lane(page: Sheet, lane: dict[str, Any], shown: dict[str, Any], top: float) -> None:
    y, tall = top + 0.28, 0.26
    page.text(LEFT, top + 0.24, f"Broker {lane['broker']}", weight="bold")
    roles = [lane["broker"] == shown["leader"] and "leads", lane["is_ahead"] and "ahead"]
    page.text(LEFT, top + 0.41, ", ".join(each for each in roles if each), color=ACCENT)
    page.text(LEFT, top + 0.57, lane["stopped"], color=DIM, size=6.8)
    for epoch, start, end, _ in lane["epochs"]:
        color = color_of_epoch(shown["epochs"], epoch)
        _box(page, start, end, y, tall, facecolor=color, alpha=0.35, lw=0)
        _box(page, start, end, y, tall, fill=False, edgecolor=color, lw=1)
        if end - start > _WIDE:
            page.text(_x(start) + 0.008, y + tall / 2, f"epoch {epoch}" if epoch >= 0 else "")
    if lane["cut"]:
        start, end, _ = lane["cut"]
        _box(page, start, end, y, tall, fill=False, hatch="////", lw=1.2, ec=DAMAGE, ls="--")
    place, text = lane["end"]
    page.line(_x(place), y - 0.14, _x(place), y + tall, color=INK, lw=1.3)
    page.text(_x(place) + 0.004, y - 0.09, f"LEO {text}", size=6.8)
    place, text = lane["start"]
    if text != "0":
        page.line(_x(place), y - 0.14, _x(place), y + tall, ls=":")
        page.text(_x(place) + 0.004, y - 0.09, f"start {text}", size=6.8)
    for kind, start, end, _ in lane["differs"]:
        style = {"fc": _DIFFERS[kind], "lw": 0} if kind != "missing" else {"fill": False, "ls": ":"}
        _box(page, start, end, y + tall - 0.055, 0.055, **style)
    if lane["high"]:
        place, text = lane["high"]
        _box(page, lane["start"][0], place, y + tall + 0.02, 0.035, fc=GREEN, alpha=0.6, lw=0)
        page.line(_x(place), y + tall, _x(place), y + tall + 0.18, color=GREEN, lw=1.8)
        page.text(_x(place) + 0.004, y + tall + 0.13, f"HW {text}", size=6.8, color=GOOD)
    page.line(0, top + _LANE, 1, top + _LANE)


def _words(shown: dict[str, Any]) -> list[str]:
    """Return what happens under the leader and the findings, in lines."""
    texts = [shown["advice"], shown["outcome"]]
    texts += [f"Broker {each[0]}, {each[3]}" for each in shown["differs"] or ()]
    texts += [f"{kind}: {found}" for _, kind, found, _ in shown["findings"]]
    lines = [part for text in texts for part in textwrap.wrap(text, 165)]
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]
