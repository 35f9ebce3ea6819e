"""The explorer as a static picture: the directory, and a segment with batches, index and times."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widgets.pictures import (
    ACCENT,
    CONTROL,
    DAMAGE,
    DIM,
    HAIR,
    INK,
    LEFT,
    LINE,
    PALETTE,
    PICK,
    RIGHT,
    Sheet,
    sheet,
)
from widgets.view.packing import unpack
from workbench.runtime.times import time_text
from workbench.runtime.words import plural, size_text

CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
_BINS = 1200
_HEIGHT = 3.7  # inches
_LEFT, _WIDE = 0.262, 0.722


def explorer_picture(
    directory: dict[str, Any], strip: dict[str, Any] | None, segment: dict[str, Any] | None
) -> bytes:
    """Return a PNG of the explorer: summary, segments, batches, index entries, times.

    Args:
        directory: title, summary and nodes as they are sent to the front end.
        strip: the segments of the selected partition, or None.
        segment: the selected segment, or None.
    """
    with sheet(_HEIGHT, directory["title"], directory["summary"], dpi=120) as page:
        _draw_tree(page, directory, strip)
        if strip and strip["size"]:
            page.text(_LEFT, 0.555, f"{strip['name']}   {strip['about']}", size=8.5)
            _draw_strip(page.axes(_LEFT, 0.76, _WIDE, 0.315), strip, segment)
        if segment:
            page.text(_LEFT, 1.46, segment["name"], size=8.5)
            page.text(RIGHT, 1.46, _about(segment), size=8, color=DIM, ha="right")
            _draw_segment(page, segment)
        return page.png()


def _draw_tree(page: Sheet, directory: dict[str, Any], strip: dict[str, Any] | None) -> None:
    """The first topics and partitions, as many as there is room for."""
    nodes = [node for node in directory["nodes"] if node["kind"] in {"topic", "partition"}]
    room, step = 14, 0.216
    for at, node in enumerate(nodes[:room]):
        y = 0.555 + at * step
        if at == room - 1 and len(nodes) > room:
            page.text(LEFT, y, f"and {len(nodes) - at} more", size=8, color=DIM)
            return
        inner = node["kind"] == "partition"
        if strip and inner and node["key"] == strip["partition"]:
            page.box(0.008, y - step / 2, 0.232, step, color=PICK, lw=0)
        color = DIM if node["quiet"] else INK
        page.text(0.034 if inner else LEFT, y, node["name"], size=8, color=color)
        if node["size"] is not None:
            page.text(0.234, y, size_text(node["size"]), color=DIM, ha="right")


def _bare(axes: Axes, *, ticks: bool = False) -> None:
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(
        axis="x", length=2.5 if ticks else 0, width=0.6, color=LINE, labelbottom=ticks,
        labelcolor=DIM, labelsize=7, pad=2,
    )  # fmt: skip


def _thinned(values: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """At most that many of the values, evenly spread."""
    return values[:: max(1, -(-len(values) // most))]


def _draw_strip(axes: Axes, strip: dict[str, Any], segment: dict[str, Any] | None) -> None:
    """Segments by their bytes; the selected one is dark."""
    _bare(axes)
    ends = np.cumsum(strip["size"])
    total = max(1, int(ends[-1]))
    axes.set_xlim(0, total)
    axes.set_ylim(0, 1)
    columns = (strip[name] for name in ("base_offset", "size", "findings", "remote"))
    for base, size, findings, remote, end in zip(*columns, ends, strict=True):
        chosen = segment is not None and base == segment["segment"]
        axes.bar(
            end - size, 1, max(size - total * 0.002, total * 0.0008), align="edge",
            color="#aecbea" if chosen else "#dbe8f6",
            edgecolor=INK if chosen else "#8b949e" if remote else "none", lw=1,
            linestyle="--" if remote else "-",
        )  # fmt: skip
        if findings:
            axes.bar(end - size, 0.1, size, align="edge", color=DAMAGE)
        if size > total * 0.07:
            axes.text(end - size + total * 0.008, 0.5, f"{int(base):,}", size=7, va="center")


def _draw_segment(page: Sheet, segment: dict[str, Any]) -> None:
    """Batches, offset index and times of a segment over the bytes of the file."""
    size = max(1, segment["file_size"])
    column = {name: unpack(packed) for name, packed in segment["batches"].items()}
    position, width = column["position"], column["size"]
    batches = page.axes(_LEFT, 1.63, _WIDE, 0.63)
    index = page.axes(_LEFT, 2.295, _WIDE, 0.22, sharex=batches)
    times = page.axes(_LEFT, 2.59, _WIDE, 0.63, sharex=batches)
    for axes in (batches, index):
        _bare(axes)
    _bare(times, ticks=True)
    batches.set_xlim(0, size)
    kinds = _kinds(column)
    if len(position) <= _BINS // 3:
        colors = [_color(kind) for kind in kinds]
        gap = size * 0.0012 if len(position) < 250 else 0
        wide = np.maximum(width - gap, size * 0.0008)
        batches.bar(position, 1, wide, align="edge", color=colors, lw=0)
    else:
        batches.imshow(
            _bins(position, width, kinds, size)[None], aspect="auto", extent=(0, size, 0, 1)
        )
    batches.set_ylim(0, 1)
    damaged = column["problem"] != 0
    if damaged.any():
        batches.bar(
            position[damaged], 1, width[damaged], align="edge",
            color="none", edgecolor="#ffffff88", hatch="/////", lw=0,
        )  # fmt: skip
        centres = (position + width / 2)[damaged]
        heights = np.full(len(centres), 1.1)
        batches.plot(centres, heights, "x", color=DAMAGE, ms=4.5, mew=1.5, clip_on=False)
    if segment["file_size"] > segment["valid_size"]:
        rest = segment["file_size"] - segment["valid_size"]
        batches.bar(
            segment["valid_size"], 1, rest, align="edge", color="white", hatch="////",
            edgecolor=DAMAGE if segment["stop"] == "bad size" else DIM, lw=0.8,
        )  # fmt: skip
    entries = _thinned(unpack(segment["offset_index"]["position"]), 240)
    index.vlines(entries, 0.25, 1, color=ACCENT, lw=0.8)
    if len(entries) < 80:
        index.plot(entries, np.full(len(entries), 0.25), "o", color=ACCENT, ms=2.5)
    index.set_ylim(0, 1)
    _draw_times(times, segment, column)
    _label_bytes(times, size)
    _draw_legend(page.figure, set(kinds.tolist()), segment)


def _about(segment: dict[str, Any]) -> str:
    """How much a segment holds, and from when to when."""
    column = {name: unpack(packed) for name, packed in segment["batches"].items()}
    times = column["max_timestamp"]
    known = times[_timed(column)]
    text = f"{plural(len(times), 'batch', 'batches')}, {size_text(segment['file_size'])}"
    if not len(known):
        return text
    first, last = (time_text(int(each), "seconds") for each in (known.min(), known.max()))
    return f"{text}, {first} to {last}"


def _timed(column: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
    """Mark the batches with times of their own: markers carry the coordinator's clock."""
    known: npt.NDArray[np.bool_] = (column["max_timestamp"] >= 0) & (column["problem"] == 0)
    ordinary = known & ((column["attributes"] & 0x20) == 0)
    return ordinary if ordinary.any() else known


def _kinds(column: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Codec of each batch, 8 for control batches, 9 for damaged ones."""
    kinds = np.where(column["attributes"] & 0x20, 8, column["attributes"] & 7)
    return np.where(column["problem"] != 0, 9, kinds)


def _color(kind: int) -> str:
    return {8: CONTROL, 9: DAMAGE}.get(int(kind)) or PALETTE[int(kind)]


def _bins(
    position: npt.NDArray[np.int64],
    width: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.int64],
    size: int,
) -> npt.NDArray[np.float64]:
    """Return the mean color of each of `_BINS` pieces of the file, by bytes: float[n, 3]."""
    colors = np.array(
        [[int(_color(k)[at : at + 2], 16) / 255 for at in (1, 3, 5)] for k in range(10)]
    )
    weight = colors[kinds] * width[:, None]
    sums = np.vstack([np.zeros(3), np.cumsum(weight, axis=0)])

    def upto(place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        row = np.clip(np.searchsorted(position, place, "right") - 1, 0, len(position) - 1)
        part = np.clip(place - position[row], 0, width[row])
        result: npt.NDArray[np.float64] = sums[row] + colors[kinds[row]] * part[:, None]
        return result

    edges = np.linspace(0, size, _BINS + 1)
    mean: npt.NDArray[np.float64] = np.clip(
        np.diff(upto(edges), axis=0) / np.diff(edges)[:, None], 0, 1
    )
    return mean


def _draw_times(
    axes: Axes, segment: dict[str, Any], column: dict[str, npt.NDArray[np.int64]]
) -> None:
    """The latest time of each batch, with the entries of the time index."""
    known = _timed(column)
    entries = segment["time_index"]
    axes.axhline(0, color=HAIR, lw=0.8)
    if not known.any():
        axes.text(
            0, 0.5, "no timestamps", size=7.5, color=DIM, va="center", transform=axes.transAxes
        )
        return
    stamps = column["max_timestamp"][known]
    axes.step(column["position"][known], stamps - stamps.min(), where="post", color=INK, lw=1.1)
    places, times = unpack(entries["position"]), unpack(entries["timestamp"])
    shown = (times >= stamps.min()) & (times <= stamps.max())
    axes.plot(
        _thinned(places[shown], 60), _thinned(times[shown], 60) - stamps.min(),
        "D", color=ACCENT, ms=3.4, mec="white", mew=0.6,
    )  # fmt: skip
    axes.margins(y=0.14)


def _label_bytes(axes: Axes, size: int) -> None:
    step = 2 ** max(0, int(np.ceil(np.log2(size / 8))))
    axes.set_xticks(
        list(range(0, size + 1, step)), [size_text(at) for at in range(0, size + 1, step)]
    )


def _draw_legend(figure: Figure, kinds: set[int], segment: dict[str, Any]) -> None:
    """Draw one line with the meaning of the colors in use."""
    names = dict(enumerate(CODECS)) | {8: "control", 9: "damaged"}
    entries = [(_color(kind), names.get(kind, f"codec {kind}"), "s") for kind in sorted(kinds)]
    if segment["offset_index"]["position"]["length"]:
        entries.append((ACCENT, "offset index entry", "o"))
    if segment["time_index"]["offset"]["length"]:
        entries.append((ACCENT, "time index entry", "D"))
    marks = [
        Line2D(
            [], [], ls="", marker=marker, color=color, ms=5 if marker == "s" else 3.5, label=text
        )
        for color, text, marker in entries
    ]
    figure.legend(
        handles=marks, loc="lower left", bbox_to_anchor=(0.253, -0.005), ncols=8, frameon=False,
        fontsize=7.5, labelcolor=DIM, handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip
