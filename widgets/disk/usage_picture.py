"""What fills the disk as a static picture: the treemap of what is open, and the largest sizes."""

import textwrap
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from widgets.disk.usage_nodes import KEY, KIND, NAME, OCCUPIED, PARENT, SIZE, Node
from widgets.pictures import (
    BLUE,
    DAMAGE,
    DIM,
    GREEN,
    INK,
    LEFT,
    ORANGE,
    PINK,
    RIGHT,
    SKY,
    VIOLET,
    WIDTH,
    Sheet,
    color_of_rank,
    sheet,
    shortened,
)
from workbench.runtime.words import share_text, size_text


class Rect(NamedTuple):
    """A rectangle: left, top, width and height."""

    left: float
    top: float
    width: float
    height: float


def squarify(values: Sequence[float], box: Rect) -> list[Rect]:
    """Return a rectangle for each of the values, which descend and are positive.

    Rectangles have the values as areas, and are as near to squares as can be, as in
    ``static/disk/treemap.js``.

    Bruls, Huizing, van Wijk: Squarified Treemaps (2000)
    """
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


_HEIGHT = 4.2  # inches
_MAP = Rect(LEFT, 0.714, 0.6, 3.255)  # of the page
_QUIET: Final = "#8b949e"
_COLORS: Final = {
    "keys": BLUE,
    "values": GREEN,
    "headers": PINK,
    "record overhead": ORANGE,
    "batch overhead": VIOLET,
    "index": SKY,
    "timeindex": SKY,
    "txnindex": SKY,
    "entries": SKY,
    "unreadable": DAMAGE,
}
_PLAIN: Final = {"preallocated", "whole", "file", "files"}
_MOST_TILES, _MOST_ROWS, _NARROW, _LOW = 80, 16, 26, 11
_HEADER = 15.0
_ROW = 0.197  # inches


def usage_picture(
    usage: dict[str, Any],
    partition: dict[str, Any] | None,
    segment: dict[str, Any] | None,
    at: Sequence[str],
) -> bytes:
    """Return a PNG of what is open.

    Args:
        usage, partition, segment: as they are sent to the front end.
        at: the path of what is open.
    """
    tree = _Tree(usage["nodes"], partition, segment)
    nodes, hue = tree.children(at)
    top = [node for node in usage["nodes"] if node[PARENT] < 0]
    with sheet(_HEIGHT, usage["title"], _both(top)) as page:
        place = " / ".join([usage["title"], *at])
        page.text(LEFT, 0.55, textwrap.shorten(place, 110), size=8.5)
        page.text(RIGHT, 0.55, _both(nodes), size=8.5, color=DIM, ha="right")
        _draw_map(page.axes(*_MAP), nodes, tree, at, hue)
        _draw_list(page, nodes, tree, at, with_parts=tuple(at) == tree.segment)
        return page.png()


class _Tree:
    """The nodes that were sent, by the path of what holds them."""

    def __init__(
        self, nodes: list[Node], partition: dict[str, Any] | None, segment: dict[str, Any] | None
    ) -> None:
        self.below: dict[tuple[str, ...], list[Node]] = {}
        self.hues: dict[tuple[str, ...], str] = {}
        self.segment: tuple[str, ...] | None = None
        topics: dict[str, int] = {}
        for node in nodes:
            if node[KIND] == "topic" and not node[KEY].startswith("__"):
                topics[node[KEY]] = topics.get(node[KEY], 0) + node[OCCUPIED]
        ranked = sorted(topics, key=lambda name: -topics[name])
        colors = {name: color_of_rank(at) for at, name in enumerate(ranked)}
        paths = self._add(nodes, ())
        for node, path in zip(nodes, paths, strict=True):
            if node[KIND] == "topic":
                self.hues[path] = colors.get(node[KEY], _QUIET)
        if partition is not None:
            where = next(
                path
                for node, path in zip(nodes, paths, strict=True)
                if node[KIND] == "partition" and node[KEY] == partition["name"]
            )
            self._add(partition["nodes"], where)
            if segment is not None:
                self.segment = (*where, segment["base"])
                self._add(segment["nodes"], self.segment)
                self.hues[(*self.segment, "log")] = _QUIET  # its parts have colors of their own
        for held in self.below.values():
            held.sort(key=lambda node: (-node[OCCUPIED], -node[SIZE]))

    def _add(self, nodes: list[Node], above: tuple[str, ...]) -> list[tuple[str, ...]]:
        self.below[above] = []
        paths: list[tuple[str, ...]] = []
        for node in nodes:
            parent = above if node[PARENT] < 0 else paths[node[PARENT]]
            path = (*parent, node[KEY])
            paths.append(path)
            self.below[path] = []
            self.below[parent].append(node)
        return paths

    def children(self, at: Sequence[str]) -> tuple[list[Node], str]:
        """Return the nodes inside of a path, the largest first, and the color of its topic."""
        path = tuple(at)
        hue = next(
            (self.hues[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.hues), _QUIET
        )
        return self.below.get(path, []), hue

    def hue(self, path: tuple[str, ...], node: Node, inherited: str) -> str:
        """Return the color of a node."""
        own = _COLORS.get(node[KIND]) or self.hues.get(path)
        return own or (_QUIET if node[KIND] in _PLAIN else inherited)


def _both(nodes: list[Node]) -> str:
    size, occupied = sum(n[SIZE] for n in nodes), sum(n[OCCUPIED] for n in nodes)
    if size == occupied:
        return size_text(size)
    return f"{size_text(occupied)} on the disk, {size_text(size)} long"


def _draw_map(axes: Axes, nodes: list[Node], tree: _Tree, at: Sequence[str], hue: str) -> None:
    wide, high = WIDTH * _MAP.width * 100, _MAP.height * 100
    axes.set_axis_off()
    axes.set_xlim(0, wide)
    axes.set_ylim(high, 0)
    shown = [node for node in nodes if node[OCCUPIED] > 0][:_MOST_TILES]
    if not shown:
        axes.text(wide / 2, high / 2, "nothing here", color=DIM, ha="center", size=8.5)
    boxes = squarify([node[OCCUPIED] for node in shown], Rect(0, 0, wide, high))
    for node, box in zip(shown, boxes, strict=True):
        path = (*at, node[KEY])
        own = tree.hue(path, node, hue)
        inside, _ = tree.children(path)
        inside = [each for each in inside if each[OCCUPIED] > 0][:_MOST_TILES]
        is_box = bool(inside) and node[KIND] != "files" and box.width > 74 and box.height > 50
        _tile(axes, node, box, own, is_box=is_box)
        if is_box:
            x, y, w, h = box
            within = Rect(x + 4, y + _HEADER + 2, w - 8, h - _HEADER - 6)
            smaller = squarify([each[OCCUPIED] for each in inside], within)
            for each, place in zip(inside, smaller, strict=True):
                _tile(axes, each, place, tree.hue((*path, each[KEY]), each, own), is_box=False)


def _tile(axes: Axes, node: Node, box: Rect, hue: str, *, is_box: bool) -> None:
    x, y, w, h = box
    hatched = node[KIND] in {"preallocated", "unreadable"}
    axes.add_patch(
        Rectangle((x + 1, y + 1), max(w - 2, 0.5), max(h - 2, 0.5), facecolor=_light(hue, is_box),
                  edgecolor=hue, lw=0.7, hatch="////" if hatched else None)
    )  # fmt: skip
    if w < _NARROW or h < _LOW:
        return
    small: dict[str, Any] = {"size": 6.8, "color": INK, "va": "center", "clip_on": True}
    room = int((w - 8) / 4.6)
    axes.text(x + 5, y + 9, shortened(node[NAME], room), **small,
              weight="bold" if is_box else "normal")  # fmt: skip
    size = size_text(node[OCCUPIED])
    if not is_box and h > 2 * _LOW and len(size) <= room:
        axes.text(x + 5, y + 20, size, **small)
    elif is_box and room > len(node[NAME]) + len(size) + 4:
        axes.text(x + w - 6, y + 9, size, ha="right", **small)


def _light(hue: str, is_box: bool) -> tuple[float, float, float]:  # noqa: FBT001
    share = 0.1 if is_box else 0.28
    red, green, blue = (int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))


def _draw_list(
    page: Sheet, nodes: list[Node], tree: _Tree, at: Sequence[str], *, with_parts: bool
) -> None:
    """List what is open with its bytes; of a segment also the parts of its files."""
    total = max(1, sum(node[OCCUPIED] for node in nodes))
    rows = [(node, 0.0) for node in nodes]
    if with_parts:
        rows = []
        for node in nodes:
            parts, _ = tree.children([*at, node[KEY]])
            rows += [(node, 0.0), *((part, 0.012) for part in parts)]
    for number, (node, indent) in enumerate(rows[:_MOST_ROWS]):
        y = 0.84 + _ROW * number
        page.text(0.635 + indent, y, shortened(node[NAME], 24))
        page.text(0.83, y, size_text(node[OCCUPIED]), ha="right")
        page.text(0.875, y, share_text(node[OCCUPIED] / total), color=DIM, ha="right")
        note = f"of {size_text(node[SIZE])}" if node[SIZE] != node[OCCUPIED] else node[6]
        note = note.replace("before compression", "before")
        page.text(0.884, y, shortened(note, 21), color=DIM)
    if len(rows) > _MOST_ROWS:
        more = f"and {len(rows) - _MOST_ROWS:,} more"
        page.text(0.635, 0.84 + _ROW * _MOST_ROWS, more, color=DIM)
