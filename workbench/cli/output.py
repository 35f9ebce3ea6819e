"""What goes to stdout and stderr: JSON, tables, and numbers as people read them."""

import datetime as dt
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.inspection.field_list import LONGEST_TIME

if TYPE_CHECKING:
    from rich.console import Console

WIDE: Final = 500  # columns of a table that no terminal cuts
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def print_json(value: Any) -> None:
    """Print one JSON value, indented."""
    click.echo(json.dumps(value, indent=2))


def is_terminal() -> bool:
    """Return whether stdout is one: a person reads it."""
    return sys.stdout.isatty()


def note(text: str) -> None:
    """Print one line on stderr."""
    click.echo(f"kafka-workbench: {text}", err=True)


def console() -> "Console":
    """Return a console on stdout; not as narrow as 80 columns when nobody looks at it."""
    from rich.console import Console

    width = None if is_terminal() else WIDE
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    footer: Sequence[Any] | None = None,
) -> None:
    """Print rows under headings; numbers flush right, None as a dash."""
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    has_footer = footer is not None
    table = Table(
        box=None,
        title=title or None,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        footer_style="bold",
        show_footer=has_footer,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for at, name in enumerate(columns):
        numeric = all(isinstance(row[at], int | None | Size) for row in cells)
        last = "" if footer is None or footer[at] is None else cell(footer[at])
        table.add_column(
            name, last, justify="right" if numeric and cells else "left", overflow="fold"
        )
    for row in cells:
        table.add_row(*(Text(cell(value)) for value in row))
    console().print(table)


class Size(int):
    """A number of bytes, shown with a unit."""


def cell(value: Any) -> str:
    """Return a cell's text."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Size):
        return size_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def size_text(size: int) -> str:
    """Return bytes with a unit of at most four digits: ``1.5 MiB``."""
    number = float(size)
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{size:d} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError(size)


def time_of(milliseconds: int | None) -> str | None:
    """Return a time in UTC as ISO 8601; None for none; in ms where it is beyond year 9999."""
    if milliseconds is None or milliseconds == -1:
        return None
    if not 0 <= milliseconds <= LONGEST_TIME:
        return f"{milliseconds} ms"
    moment = dt.datetime.fromtimestamp(milliseconds // 1000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def plural(count: int, word: str) -> str:
    """Return ``1 batch``, ``2 batches``."""
    ending = "" if count == 1 else "es" if word.endswith(("ch", "x", "s")) else "s"
    return f"{count:,} {word}{ending}"
