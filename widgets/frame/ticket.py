"""Ticket: what a reader has pinned of what is shown, with notes, and the report with it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from workbench.loaders.answers.report_page import Cell, Section, Tile, page
from workbench.runtime.times import time_or_now, time_text

MOST_PINS: Final = 50
MOST_TABLES: Final = 12
MOST_ROWS: Final = 200
MOST_TEXT: Final = 2000
"""Of a pin: tables, rows of each, and characters of a text."""

_NUMBER: Final = re.compile(r"-?\d{1,3}(,\d{3})*")


class SeenTable(NamedTuple):
    """A table as a page shows it: without keys, values and headers of records."""

    label: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


class Ticket:
    """The pins of a reader.

    Attributes:
        pins: the sections of each pin.
    """

    def __init__(self) -> None:
        self.pins: list[list[Section]] = []

    def pin(
        self,
        place: Mapping[str, str],
        paths: Sequence[str],
        note: str,
        told: Sequence[str],
        tables: Sequence[SeenTable],
    ) -> None:
        """Pin what is shown.

        Args:
            place: the address in the app.
            paths: what is shown in it.
            note: what the reader says of it.
            told: numbers and sentences of the view.
            tables: its tables.

        Raises:
            ValueError: there are too many pins.
        """
        if len(self.pins) >= MOST_PINS:
            raise ValueError(f"there are {MOST_PINS} pins: download the report and remove some")
        at = ", segment ".join(
            text for name, text in place.items() if name in {"partition", "segment"}
        )
        title = f"{place['tab']}{f': {at}' if at else ''}"
        command = f"kafka-workbench app {shlex.join(paths)}"
        address = f"In the app, the address ends in #{urlencode(place)}"
        notes = [f"Note: {note.strip()[:MOST_TEXT]}"] if note.strip() else []
        notes += [each[:MOST_TEXT] for each in told[:MOST_TABLES]]
        first, *others = [*tables[:MOST_TABLES], SeenTable("", (), ())]
        sections = [_section(title, [*notes, address], first, command)]
        sections += [
            _section(f"{title}: {each.label}", [], each, command) for each in others if each.rows
        ]
        self.pins.append(sections)

    def remove(self, number: int) -> None:
        """Remove a pin.

        Raises:
            LookupError: there is none of that number.
        """
        if not 0 <= number < len(self.pins):
            raise LookupError(f"no pin {number}")
        del self.pins[number]

    def told(self) -> list[str]:
        """Return what a list of the pins says: title, and note."""
        return [
            " · ".join([first.title, *(n for n in first.notes if n.startswith("Note: "))])
            for first, *_ in self.pins
        ]

    def html(
        self, paths: Sequence[str], numbers: Sequence[Mapping[str, Any]], made: Sequence[Section]
    ) -> str:
        """Return the report with the pins first.

        Args:
            paths: of the log directories.
            numbers: tiles of the overview.
            made: the sections of the overview that are there.
        """
        pinned = [each for pin in self.pins for each in pin]
        tiles = [Tile(**each) for each in numbers]
        verdict = " ".join(each.verdict for each in made if each.verdict)
        told = (
            f"Made {time_text(time_or_now(None))} in the app; keys and values are not in it, "
            "except in notes and queries."
        )
        return page(", ".join(paths), verdict, told, tiles, [*pinned, *made])


def _section(title: str, notes: Sequence[str], table: SeenTable, command: str) -> Section:
    width = len(table.headings)
    rows = [[_cell(str(text)) for text in row[:width]] for row in table.rows[:MOST_ROWS]]
    whole = [[*row, *[None] * (width - len(row))] for row in rows]
    left = "These are the rows that were in sight." if rows else ""
    return Section(title, command, notes, [*map(str, table.headings)], whole, left)


def _cell(text: str) -> Cell:
    text = text[:MOST_TEXT]
    return int(text.replace(",", "")) if _NUMBER.fullmatch(text) else text
