"""Requests as static pictures: a step of one of them with its bytes, and the table of all."""

from collections.abc import Sequence
from typing import Any, Final

from widgets.pictures import (
    ACCENT,
    BLUE,
    DAMAGE,
    DIM,
    GREEN,
    HAIR,
    INK,
    LEFT,
    ORANGE,
    PICK,
    PINK,
    ROW,
    Cell,
    Heading,
    Sheet,
    SheetTable,
    sheet,
)
from widgets.players.player_picture import player_picture, write_step
from widgets.requests.request_rows import request_rows
from widgets.requests.story_rows import PRIVATE
from widgets.view.bytes import places
from workbench.runtime.steps import Step
from workbench.runtime.times import duration_text, time_text
from workbench.runtime.words import size_text
from workbench.server.watching.frame_fields import NamedFrame
from workbench.server.watching.request_steps import RequestStory, ShownBytes
from workbench.server.watching.watch import WatchedRequest

_WIDTH, _MOST_LINES, _MOST_FIELDS, _MOST_ROWS = 16, 9, 9, 16
_TONES = ("#d6e6f1", "#fbeccc", "#d0ebe2", "#f3e3ec")
_TIMES: Final = (
    ("queue", ORANGE),
    ("local", BLUE),
    ("remote", PINK),
    ("send", GREEN),
)
_COLUMNS: Final = (
    Heading("#", 0.04, "right"), Heading("Time", 0.055),
    Heading("Request", 0.16), Heading("Client", 0.29, most=22),
    Heading("Topic or group", 0.43, most=27), Heading("In", 0.605, "right"),
    Heading("Out", 0.665, "right"), Heading("Total", 0.735, "right"),
    Heading("Error", 0.85, most=19),
)  # fmt: skip


def story_picture(player: Any) -> bytes:
    """Return a PNG of a `RequestPlayer`: the bytes that the step is about, or the segment."""
    story: RequestStory | None = player.story
    placed = None if story is None or player.at < 0 else story.steps[player.at]
    if story is None or placed is None or placed.place is None:
        return player_picture(player)
    frame = story.request if placed.place.side == "request" else story.response
    return _frame_picture(player, frame, placed.step, placed.place)


def _frame_picture(player: Any, frame: NamedFrame, step: Step, place: ShownBytes) -> bytes:
    first = place.start // _WIDTH
    lines = min(_MOST_LINES, -(-len(frame.data) // _WIDTH) - first)
    tall = 0.19 * max(lines, _MOST_FIELDS)
    with sheet(1.62 + tall, player.title, player.about[:110]) as page:
        _times(page, 0.56, player.request)
        kept = f", {len(frame.data):,} kept" if frame.is_cut else ""
        page.text(LEFT, 0.86, place.side.capitalize(), weight="bold", size=8.5)
        page.text(0.09, 0.86, f"{frame.full_size:,} bytes{kept}", color=DIM, size=8)
        _hex(page, frame, place, lines)
        _fields(page, frame, place)
        write_step(page, tall + 1.12, step, player.at, len(player.steps))
        return page.png()


def _times(page: Sheet, y: float, request: WatchedRequest | None) -> None:
    """Draw where the time went, as parts of a bar."""
    if request is None:
        return
    done = request.done
    values = (
        done.request_queue_time_ms, done.local_time_ms, done.remote_time_ms,
        done.response_send_time_ms,
    )  # fmt: skip
    total, at = max(sum(values), 1e-6), LEFT
    for (_, color), value in zip(_TIMES, values, strict=True):
        wide = 0.4 * value / total
        page.box(at, y - 0.055, wide, 0.11, color=color, lw=0)
        at += wide
    x = 0.44
    for (name, color), value in zip(_TIMES, values, strict=True):
        page.box(x, y - 0.04, 0.008, 0.08, color=color, lw=0)
        page.text(x + 0.013, y, f"{name} {duration_text(value)}", color=DIM, size=8)
        x += 0.135


def _hex(page: Sheet, frame: NamedFrame, place: ShownBytes, lines: int) -> None:
    """Draw the bytes from the step's on, each in the color of its field."""
    first = place.start // _WIDTH * _WIDTH
    owners = {}
    for each in places(frame.fields, 0):
        if each.owns:
            end = min(each.start + each.field.size, first + lines * _WIDTH)
            for at in range(max(each.start, first), end):
                owners[at] = each
    wide, tall = 0.0215, 0.17
    for line in range(lines):
        y = 1.07 + 0.19 * line
        page.text(LEFT, y, f"{first + line * _WIDTH:08x}", color=DIM, family="monospace")
        for column in range(_WIDTH):
            at = first + line * _WIDTH + column
            if at >= len(frame.data):
                break
            x, owner = 0.094 + wide * column, owners.get(at)
            is_now = place.start <= at < place.end
            if owner is not None:
                page.box(x - wide / 2, y - tall / 2, wide, tall, color=_TONES[owner.tone], lw=0,
                         alpha=1 if is_now else 0.35)  # fmt: skip
            hidden = owner is not None and owner.field.name in PRIVATE
            text = "··" if hidden else f"{frame.data[at]:02x}"
            color = INK if is_now else DIM
            page.text(x, y, text, color=color, ha="center", family="monospace")


def _fields(page: Sheet, frame: NamedFrame, place: ShownBytes) -> None:
    """Write the fields of the step's bytes."""
    found = [
        each
        for each in frame.fields
        if each.position >= place.start and each.position + each.size <= place.end and each.size
    ]
    found = [each for each in found if each.level or len(found) == 1]
    for number, each in enumerate(found[:_MOST_FIELDS]):
        y, inset = 1.07 + 0.19 * number, 0.012 * max(0, each.level - found[0].level)
        if number == _MOST_FIELDS - 1 and len(found) > _MOST_FIELDS:
            page.text(0.47, y, f"{len(found) - number} more fields", color=DIM, size=8)
            break
        value = "" if each.value is None or each.name in PRIVATE else f"{each.value}"
        text = ", ".join(part for part in (value[:40], each.note[:40]) if part)
        page.text(0.47 + inset, y, each.name, color=DIM, size=8)
        page.text(0.69, y, text, size=8)


def requests_picture(requests: Sequence[WatchedRequest], total: int, selected: int) -> bytes:
    """Return a PNG of a `RequestView`: the newest requests, the newest first."""
    rows = request_rows(requests[-_MOST_ROWS:])[::-1]
    about = f"{total:,} in all" + (f", the last {len(rows):,} shown" if total > len(rows) else "")
    table = SheetTable.of(_COLUMNS, rows, _cells, most=_MOST_ROWS, noun="request")
    with sheet(0.52 + table.height, "Requests", about) as page:
        largest = max((row[13] for row in rows), default=1.0) or 1.0
        for row, y in zip(rows, table.places(0.52), strict=True):
            if row[0] == selected:
                page.box(0.008, y - ROW / 2, 0.984, ROW, color=PICK, lw=0)
            _bar(page, y, row[9:13], largest)
        page.table(0.52, table)
        return page.png()


def _cells(row: Any) -> list[str | Cell]:
    what = "unknown" if row[2] is None else f"{row[2]} v{row[3]}"
    return [
        f"{row[0]:,}", time_text(row[1])[11:23], Cell(what, ACCENT), row[5] or row[4], row[6],
        size_text(row[7]), size_text(row[8]), duration_text(row[13]), Cell(row[14], DAMAGE),
    ]  # fmt: skip


def _bar(page: Sheet, y: float, times: Sequence[float], largest: float) -> None:
    """Draw where a request's time went."""
    at = 0.75
    page.line(at, y, at + 0.09, y, color=HAIR, lw=3)
    for (_, color), value in zip(_TIMES, times, strict=True):
        wide = 0.09 * value / largest
        page.line(at, y, at + wide, y, color=color, lw=3, solid_capstyle="butt")
        at += wide
