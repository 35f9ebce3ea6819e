"""Requests as static pictures: a step of one of them with its bytes, and the table of all.

Drawn with matplotlib, which takes half a second to import: the mime bundle alone imports this.
"""

import io
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from widgets.pictures import ACCENT, DAMAGE, DIM, HAIR, INK, LINE, plain_text
from widgets.players.player_picture import player_picture
from widgets.requests.request_rows import request_rows
from widgets.requests.story_rows import PRIVATE
from widgets.view.bytes import places
from workbench.runtime.steps import Step
from workbench.runtime.times import duration_text, time_text
from workbench.runtime.words import size_text
from workbench.server.watching.frame_fields import NamedFrame
from workbench.server.watching.request_steps import Place, RequestStory
from workbench.server.watching.watch import WatchedRequest

_INCHES, _DPI = 10.0, 110
_WIDTH, _MOST_LINES, _MOST_FIELDS, _MOST_ROWS = 16, 9, 9, 16
_TONES = ("#d6e6f1", "#fbeccc", "#d0ebe2", "#f3e3ec")
_TIMES: Final = (
    ("queue", "#E69F00"),
    ("local", "#0072B2"),
    ("remote", "#CC79A7"),
    ("send", "#009E73"),
)


def story_picture(player: Any) -> bytes:
    """Return a PNG of a `RequestPlayer`: the bytes that the step is about, or the segment."""
    story: RequestStory | None = player.story
    told = None if story is None or player.at < 0 else story.steps[player.at]
    if story is None or told is None or told.place is None:
        return player_picture(player)
    frame = story.request if told.place.side == "request" else story.response
    return _frame_picture(player, frame, told.step, told.place)


@plain_text()
def _frame_picture(player: Any, frame: NamedFrame, step: Step, place: Place) -> bytes:
    first = place.start // _WIDTH
    lines = min(_MOST_LINES, -(-len(frame.data) // _WIDTH) - first)
    height = 1.62 + 0.19 * max(lines, _MOST_FIELDS)
    figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")

    def level(inches: float) -> float:
        return 1 - inches / height

    _head(figure, level, player.title, player.about)
    _times(figure, level(0.56), height, player.request)
    size = f"{frame.full_size:,} bytes" + (f", {len(frame.data):,} kept" if frame.is_cut else "")
    name = place.side.capitalize()
    figure.text(0.016, level(0.86), name, color=INK, weight="bold", size=8.5, va="center")
    figure.text(0.09, level(0.86), size, color=DIM, size=8, va="center")
    _hex(figure, level, frame, place, lines)
    _fields(figure, level, frame, place)
    bottom = 0.19 * max(lines, _MOST_FIELDS) + 1.12
    figure.text(0.016, level(bottom), step.kind, color=INK, weight="bold", size=9, va="center")
    at = f"step {player.at + 1:,} of {len(player.steps):,}"
    figure.text(0.984, level(bottom), at, color=DIM, size=8.5, va="center", ha="right")
    reason = textwrap.wrap(step.reason, 150)[:1]
    figure.text(0.016, level(bottom + 0.2), "".join(reason), color=INK, size=8.5, va="center")
    return _png(figure)


def _head(figure: Figure, level: Any, title: str, about: str) -> None:
    figure.text(0.016, level(0.17), title, color=INK, weight="bold", size=10.5, va="center")
    figure.text(0.984, level(0.17), about[:110], color=DIM, size=8.5, va="center", ha="right")
    figure.add_artist(Line2D([0, 1], [level(0.34)] * 2, color=LINE, lw=0.8))


def _times(figure: Figure, y: float, height: float, request: WatchedRequest | None) -> None:
    """Draw where the time went, as parts of a bar."""
    if request is None:
        return
    done = request.done
    values = (
        done.request_queue_time_ms, done.local_time_ms, done.remote_time_ms,
        done.response_send_time_ms,
    )  # fmt: skip
    total, at = max(sum(values), 1e-6), 0.016
    for (_, color), value in zip(_TIMES, values, strict=True):
        wide = 0.4 * value / total
        figure.add_artist(
            Rectangle((at, y - 0.055 / height), wide, 0.11 / height, color=color, lw=0)
        )
        at += wide
    x = 0.44
    for (name, color), value in zip(_TIMES, values, strict=True):
        figure.add_artist(
            Rectangle((x, y - 0.04 / height), 0.008, 0.08 / height, color=color, lw=0)
        )
        figure.text(x + 0.013, y, f"{name} {duration_text(value)}", color=DIM, size=8, va="center")
        x += 0.135


def _hex(figure: Figure, level: Any, frame: NamedFrame, place: Place, lines: int) -> None:
    """Draw the bytes from the step's on, each in the color of its field."""
    first = place.start // _WIDTH * _WIDTH
    owners = {}
    for each in places(frame.fields, 0):
        if each.owns:
            end = min(each.start + each.field.size, first + lines * _WIDTH)
            for at in range(max(each.start, first), end):
                owners[at] = each
    mono: dict[str, Any] = {"family": "monospace", "size": 7.5, "va": "center"}
    wide, tall = 0.0215, level(0) - level(0.17)
    for line in range(lines):
        y = level(1.07 + 0.19 * line)
        figure.text(0.016, y, f"{first + line * _WIDTH:08x}", color=DIM, **mono)
        for column in range(_WIDTH):
            at = first + line * _WIDTH + column
            if at >= len(frame.data):
                break
            x, owner = 0.094 + wide * column, owners.get(at)
            is_now = place.start <= at < place.end
            if owner is not None:
                figure.add_artist(
                    Rectangle((x - wide / 2, y - tall / 2), wide, tall, color=_TONES[owner.tone],
                              lw=0, alpha=1 if is_now else 0.35)
                )  # fmt: skip
            hidden = owner is not None and owner.field.name in PRIVATE
            text = "··" if hidden else f"{frame.data[at]:02x}"
            figure.text(x, y, text, color=INK if is_now else DIM, ha="center", **mono)


def _fields(figure: Figure, level: Any, frame: NamedFrame, place: Place) -> None:
    """Write the fields of the step's bytes."""
    found = [
        each
        for each in frame.fields
        if each.position >= place.start and each.position + each.size <= place.end and each.size
    ]
    found = [each for each in found if each.level or len(found) == 1]
    for number, each in enumerate(found[:_MOST_FIELDS]):
        y, inset = level(1.07 + 0.19 * number), 0.012 * max(0, each.level - found[0].level)
        if number == _MOST_FIELDS - 1 and len(found) > _MOST_FIELDS:
            figure.text(
                0.47, y, f"{len(found) - number} more fields", color=DIM, size=8, va="center"
            )
            break
        value = "" if each.value is None or each.name in PRIVATE else f"{each.value}"
        text = ", ".join(part for part in (value[:40], each.note[:40]) if part)
        figure.text(0.47 + inset, y, each.name, color=DIM, size=8, va="center")
        figure.text(0.69, y, text, color=INK, size=8, va="center")


@plain_text()
def table_picture(requests: Sequence[WatchedRequest], total: int, selected: int) -> bytes:
    """Return a PNG of a `RequestView`: the newest requests, the newest first."""
    rows = request_rows(requests[-_MOST_ROWS:])[::-1]
    height = 0.95 + 0.21 * max(1, len(rows))
    figure = Figure(figsize=(_INCHES, height), dpi=_DPI, facecolor="white")

    def level(inches: float) -> float:
        return 1 - inches / height

    about = f"{total:,} in all" + (f", the last {len(rows):,} shown" if total > len(rows) else "")
    _head(figure, level, "Requests", about)
    columns = (
        ("#", 0.04, "right"), ("Time", 0.055, "left"), ("Request", 0.16, "left"),
        ("Client", 0.29, "left"), ("Topic or group", 0.43, "left"), ("In", 0.605, "right"),
        ("Out", 0.665, "right"), ("Total", 0.735, "right"), ("", 0.75, "left"),
        ("Error", 0.85, "left"),
    )  # fmt: skip
    for name, x, side in columns:
        figure.text(x, level(0.52), name, color=DIM, size=8, va="center", ha=side)
    largest = max((row[13] for row in rows), default=1.0) or 1.0
    for number, row in enumerate(rows):
        y = level(0.76 + 0.21 * number)
        if row[0] == selected:
            tall = 0.2 / height
            figure.add_artist(Rectangle((0.008, y - tall / 2), 0.984, tall, color="#e2ecf8", lw=0))
        what = "unknown" if row[2] is None else f"{row[2]} v{row[3]}"
        cells = (
            f"{row[0]:,}", time_text(row[1])[11:23], what, (row[5] or row[4])[:22], row[6][:27],
            size_text(row[7]), size_text(row[8]), duration_text(row[13]), "", row[14][:22],
        )  # fmt: skip
        for (name, x, side), cell in zip(columns, cells, strict=True):
            color = DAMAGE if name == "Error" else ACCENT if name == "Request" else INK
            figure.text(x, y, cell, color=color, size=8, va="center", ha=side)
        at = 0.75
        figure.add_artist(Line2D([at, at + 0.09], [y, y], color=HAIR, lw=3))
        for (_, color), value in zip(_TIMES, row[9:13], strict=True):
            wide = 0.09 * value / largest
            figure.add_artist(
                Line2D([at, at + wide], [y, y], color=color, lw=3, solid_capstyle="butt")
            )
            at += wide
    if not rows:
        figure.text(
            0.5, level(0.78), "No requests yet.", color=DIM, size=9, ha="center", va="center"
        )
    return _png(figure)


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
