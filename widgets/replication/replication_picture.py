"""A moment of a cluster as a static picture: lanes with logs and messages, and the table so far."""

import textwrap

from widgets.pictures import (
    ACCENT,
    DAMAGE,
    DIM,
    GOOD,
    GREEN,
    HAIR,
    INK,
    LEFT,
    LINE,
    ORANGE,
    PICK,
    RIGHT,
    Sheet,
    color_of_epoch,
    sheet,
)
from widgets.replication.playback_steps import first_offset, label_of
from workbench.replication.simulation.playback import CLIENT, Moment, Playback
from workbench.replication.simulation.snapshots import ReplicaSnapshot, Snapshot
from workbench.runtime.error_codes import ErrorCode

_LANE, _ROW, _MOST_ROWS, _MOST_LINES = 0.92, 0.19, 9, 4
_LEFT, _RIGHT = 0.13, 0.64
_MOST_CELL = 0.055


def replication_picture(played: Playback, at: int, title: str, about: str) -> bytes:
    """Return a PNG of a moment of a `ReplicationPlayer`."""
    moment = played.moments[at] if played.moments else None
    state = played.start if moment is None else moment.after
    broken = () if moment is None else moment.violations
    lanes = len(state.replicas) * _LANE
    rows = min(_MOST_ROWS, at + 1)
    words = [] if moment is None else _words(moment)
    top = 1.05 + 0.17 * len(words)
    stage = top + 0.05 + lanes + 0.2 * len(broken)
    place = f"step {at + 1:,} of {len(played.moments):,}" if moment else "no steps"
    height = stage + 0.35 + _ROW * (rows + 1)
    with sheet(height, title, f"{about}, {place}", dpi=92) as page:
        for number, line in enumerate(words):
            page.text(LEFT, 0.53 + 0.17 * number, line, size=8)
        _clients(page, state, top - 0.27)
        tops = {CLIENT: top - 0.27}
        epochs = sorted(
            {r.epoch for m in played.moments for e in m.after.replicas for r in e.records}
        )
        cell = min(_MOST_CELL, (_RIGHT - _LEFT) / (_slots(played) + 1))
        for number, replica in enumerate(state.replicas):
            y = top + number * _LANE
            tops[replica.broker] = y + 0.3
            _lane(page, replica, state, y, cell, epochs)
        if moment is not None:
            _messages(page, moment, tops)
        for number, each in enumerate(broken):
            text = f"× {each.kind}: {each.text}"[:175]
            page.text(LEFT, top + lanes + 0.08 + 0.2 * number, text, color=DAMAGE)
        if moment is not None:
            _table(page, played, at, stage + 0.2)
        return page.png()


def _words(moment: Moment) -> list[str]:
    """Return the event and why it happens, in lines; its outcome if no reason was given."""
    lines = textwrap.wrap(f"{moment.event}: {moment.why or moment.outcome}", 165)
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]


def _slots(played: Playback) -> int:
    return max(
        [4]
        + [
            each.log_end_offset - first_offset(moment.after)
            for moment in played.moments
            for each in moment.after.replicas
        ]
    )


def _clients(page: Sheet, state: Snapshot, y: float) -> None:
    page.text(LEFT, y, "Clients", weight="bold")
    marks = {None: ("…", ORANGE), ErrorCode.NONE: ("✓", GREEN)}
    for number, sent in enumerate(state.produced[-9:]):
        mark, color = marks.get(sent.answer, ("×", DAMAGE))
        page.text(_LEFT + number * 0.056, y, f"{label_of(sent.value)[:8]} {mark}", color=color)
    page.line(0, y + 0.2, _RIGHT, y + 0.2, color=HAIR)


def _lane(
    page: Sheet, replica: ReplicaSnapshot, state: Snapshot, y: float, cell: float, epochs: list[int]
) -> None:
    first, runs = first_offset(state), replica.runs
    leaders = [e for e in state.replicas if e.broker == state.leader and e.role == "leader"]
    theirs = {record.offset: record for leader in leaders for record in leader.records}
    ink = INK if runs else DIM
    page.text(LEFT, y + 0.12, f"Broker {replica.broker}", weight="bold", color=ink)
    role = f"{replica.role}, isolated" if replica.is_isolated else replica.role
    color = ACCENT if replica.role == "leader" else DAMAGE if not runs else DIM
    page.text(LEFT, y + 0.29, role, color=color)
    member = "in sync" if replica.broker in state.isr else "not in sync"
    epoch = f", epoch {replica.leader_epoch}" if runs and replica.leader_epoch >= 0 else ""
    page.text(LEFT, y + 0.45, f"{member}{epoch}", color=DIM, size=6.8)
    low, tall = y + 0.17, 0.27
    page.line(_LEFT, low + tall, _RIGHT, low + tall)

    def x(offset: int) -> float:
        return _LEFT + max(0, offset - first) * cell

    for record in replica.records:
        if record.offset < first:
            continue
        color = color_of_epoch(epochs, record.epoch) if epochs else DIM
        is_in = runs and record.offset < replica.high_watermark
        other = theirs.get(record.offset)
        differs = other is not None and other != record
        page.box(x(record.offset) + 0.002, low, cell - 0.004, tall, lw=0,
                   facecolor=color, alpha=0.42 if is_in else 0.16 if runs else 0.1)  # fmt: skip
        page.box(x(record.offset) + 0.002, low, cell - 0.004, tall, fill=False,
                   edgecolor=DAMAGE if differs else color if runs else LINE,
                   lw=1.6 if differs else 0.9, ls="--" if differs else "-")  # fmt: skip
        if cell > 0.02:
            name = label_of(record.value)[: int(cell * 110)]
            page.text(x(record.offset) + cell / 2, low + 0.1, name, ha="center", size=7, color=ink)
            page.text(x(record.offset) + cell / 2, low + 0.205, f"e{record.epoch}", ha="center",
                        size=5.5, color=DIM)  # fmt: skip
    end = replica.log_end_offset
    page.line(x(end), low - 0.12, x(end), low + tall, color=ink, lw=1.3)
    page.text(x(end) + 0.004, low - 0.07, f"LEO {end}", size=6.8, color=ink)
    if not runs or replica.high_watermark < 0:
        return
    high = replica.high_watermark
    page.box(x(replica.log_start_offset), low + tall + 0.02,
               max(0, x(high) - x(replica.log_start_offset)), 0.035, lw=0, facecolor=GREEN,
               alpha=0.6)  # fmt: skip
    page.line(x(high), low + tall, x(high), low + tall + 0.17, color=GREEN, lw=1.8)
    page.text(x(high) + 0.004, low + tall + 0.12, f"HW {high}", size=6.8, color=GOOD)
    if replica.remote:
        known = ", ".join(f"{id_}: {end if end >= 0 else '?'}" for id_, end in replica.remote)
        page.text(x(high) + 0.06, low + tall + 0.12, f"remote LEO {known}", size=6.8, color=DIM)


def _messages(page: Sheet, moment: Moment, tops: dict[int, float]) -> None:
    """Draw arrows for what moved, dashed ones for answers that travel."""
    moves = [(m.sender, m.receiver, m.text, "x" if m.is_lost else "-") for m in moment.moves]
    moves += [(m.leader, m.follower, m.answers, "--") for m in moment.after.under_way if m.answers]
    moves = moves[:4]
    step = min(0.17, (RIGHT - _RIGHT - 0.02) / max(1, len(moves)))
    for number, (sender, receiver, text, style) in enumerate(moves):
        x, begin, end = _RIGHT + 0.03 + number * step, tops[sender], tops[receiver]
        if style == "x":
            end = begin + (end - begin) * 0.6
            page.text(x, end, "×", color=DAMAGE, size=10, ha="center")
        page.arrow(
            (x, begin), (x, end), "-" if style == "x" else "-|>",
            color=DAMAGE if style == "x" else ACCENT, lw=1.3, ls="--" if style == "--" else "-",
        )  # fmt: skip
        words, lines = text.split(), [""]
        room = max(8, int(step * 110))
        for word in words:
            if len(lines[-1]) + len(word) + 1 > room and lines[-1]:
                lines.append("")
            lines[-1] = f"{lines[-1]} {word}".strip()
        page.text(x + 0.007, (begin + end) / 2, "\n".join(lines[:4]), size=6.5)


def _table(page: Sheet, played: Playback, at: int, y: float) -> None:
    """Write the rows up to the moment, the newest last."""
    rows = played.rows()[: at + 1][-_MOST_ROWS:]
    names = [name for name in rows[0] if name not in {"step", "event", "leader", "ISR"}]
    width = min(0.075, 0.6 / len(names))
    page.text(LEFT, y, "after", color=DIM)
    for column, name in enumerate(names):
        page.text(0.36 + (column + 1) * width, y, name, color=DIM, ha="right")
    for number, row in enumerate(rows, 1):
        line = y + number * _ROW
        if number == len(rows):
            page.box(0.008, line - 0.08, 0.984, 0.16, color=PICK, lw=0)
        page.text(LEFT, line, f"{row['step']}  {row['event']}"[:48])
        for column, name in enumerate(names):
            value = row[name]
            page.text(0.36 + (column + 1) * width, line, "–" if value is None else str(value),
                        ha="right")  # fmt: skip
