"""A squarified treemap: rectangles whose areas are the values, as near to squares as can be.

The same as ``static/disk/treemap.js``, for static pictures.

Bruls, Huizing, van Wijk: Squarified Treemaps (2000)
"""

from collections.abc import Sequence
from typing import NamedTuple


class Rect(NamedTuple):
    """A rectangle: left, top, width and height."""

    left: float
    top: float
    width: float
    height: float


def squarify(values: Sequence[float], box: Rect) -> list[Rect]:
    """Return a rectangle for each of the values, which descend and are positive."""
    total = sum(values)
    if total <= 0 or box.width <= 0 or box.height <= 0:
        return [Rect(box.left, box.top, 0, 0) for _ in values]
    areas = [value * box.width * box.height / total for value in values]
    rects: list[Rect] = []
    x, y, w, h = box
    first = 0
    while first < len(areas):
        side = min(w, h)
        end, row = first + 1, areas[first]
        while end < len(areas):
            more = row + areas[end]
            if _worst(areas[first], areas[end], more, side) > _worst(
                areas[first], areas[end - 1], row, side
            ):
                break
            row, end = more, end + 1
        deep = min(row / side, max(w, h)) if side > 0 else 0.0
        along = 0.0
        for area in areas[first:end]:
            length = area / deep if deep > 0 else 0.0
            rects.append(
                Rect(x, y + along, deep, length) if w >= h else Rect(x + along, y, length, deep)
            )
            along += length
        if w >= h:
            x, w = x + deep, max(0.0, w - deep)
        else:
            y, h = y + deep, max(0.0, h - deep)
        first = end
    return rects


def _worst(most: float, least: float, row: float, side: float) -> float:
    """Return the worst ratio of sides in a row of areas from ``most`` to ``least``."""
    if side <= 0 or row <= 0:
        return float("inf")
    return max(side * side * most / (row * row), row * row / (side * side * least))
