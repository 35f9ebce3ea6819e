"""Checkpoints as a static picture: the directories, and partitions with contradictions first."""

import textwrap
from typing import Any, Final

from widgets.pictures import DIM, INK, LEFT, WARN, Cell, Heading, SheetTable, sheet

_TOP, _DIRECTORY = 0.51, 0.24  # inches
_MOST_ROWS: Final = 14
_MOST_DIRECTORIES: Final = 4
_OFFSETS: Final = ("log_start", "recovery_point", "high_watermark", "cleaner_offset")
_COLUMNS: Final = (
    Heading("Partition", LEFT, most=32), Heading("Log in segments", 0.29, "right"),
    Heading("Log start", 0.355, "right"), Heading("Recovery point", 0.445, "right"),
    Heading("High watermark", 0.53, "right"), Heading("Cleaner", 0.59, "right"),
    Heading("Epoch", 0.63, "right"), Heading("Contradiction", 0.645, most=56),
)  # fmt: skip


def checkpoint_picture(sent: dict[str, Any]) -> bytes:
    """Return a PNG of the contents of a `CheckpointTable`."""
    directories = sent["directories"][:_MOST_DIRECTORIES]
    table = SheetTable.of(_COLUMNS, sent["rows"], _cells, most=_MOST_ROWS, noun="partition")
    top = _TOP + _DIRECTORY * len(directories)
    with sheet(top + table.height, sent["title"], f"{sent['summary']} · {_told(sent)}") as page:
        for number, directory in enumerate(directories):
            facts = " · ".join(f"{name} {text}" for name, text in directory["facts"][:6])
            bad = [each for each in directory["findings"] if each["severity"] != "info"]
            text = f"{bad[0]['found']}: {bad[0]['broker']}" if bad else facts
            text = textwrap.shorten(text, 172, placeholder="…")
            page.text(LEFT, _TOP + _DIRECTORY * number, text, color=WARN if bad else DIM)
        page.table(top, table)
        return page.png()


def _told(sent: dict[str, Any]) -> str:
    if not sent["is_checked"]:
        return "not checked"
    return f"{sent['found']} contradictions" if sent["found"] else "no contradictions"


def _cells(row: dict[str, Any]) -> list[str | Cell]:
    is_bad = row["weight"] < 2
    held = row["kind"] or "no segments"
    if row["end"] is not None:
        held = f"{int(row['first']):,} – {int(row['end']):,}"
    first = next((each for found in row["findings"].values() for each in found), None)
    text = ""
    if first is not None:
        text = first["found"] + (f"; expected {first['expected']}" if first["expected"] else "")
    return [
        Cell(row["name"], weight="bold" if is_bad else "normal"),
        held,
        *(_offset(row["offsets"].get(name), row["findings"].get(name)) for name in _OFFSETS),
        _offset(row["epoch"], row["findings"].get("leader_epoch")),
        Cell(text, WARN if is_bad else DIM),
    ]


def _offset(value: str | None, found: Any) -> Cell:
    is_bad = any(each["severity"] != "info" for each in found or ())
    text = f"{int(value):,}" if value is not None else "?" if found else "–"
    return Cell(text, WARN if is_bad else INK, "bold" if is_bad else "normal")
