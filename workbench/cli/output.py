"""What goes to stdout and stderr: JSON, tables, and numbers as people read them."""

import datetime as dt
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.inspection.field_list import LONGEST_TIME

if TYPE_CHECKING:
    from rich.console import Console

WIDE: Final = 500  # columns of a table that no terminal cuts
_MOST_RICH_ROWS: Final = 500
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
    spare: Sequence[str] = (),
) -> None:
    """Print rows under headings; numbers flush right, None as a dash.

    Long tables, and those that no terminal gets, are only padded: laying out 10,000 rows takes rich
    ten seconds.

    Args:
        columns: headings.
        rows: as many values each as there are headings.
        title: a line above; empty for none.
        footer: values of a last row.
        spare: headings of columns to leave out, in this order, where the terminal is too narrow.
    """
    values = [list(row) for row in rows]
    if is_terminal():
        kept = _fitting(columns, values, spare)
        columns = [columns[at] for at in kept]
        values = [[row[at] for at in kept] for row in values]
        footer = None if footer is None else [footer[at] for at in kept]
    cells = [[cell(value) for value in row] for row in values]
    last = None if footer is None else ["" if value is None else cell(value) for value in footer]
    numeric = [
        bool(values) and all(isinstance(row[at], int | None) for row in values)
        for at in range(len(columns))
    ]
    if not is_terminal() or len(cells) > _MOST_RICH_ROWS:
        if title:
            click.echo(title)
        click.echo("\n".join(_padded([[*columns], *cells, *([last] if last else [])], numeric)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None,
        title=title or None,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        footer_style="bold",
        show_footer=last is not None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for at, name in enumerate(columns):
        justify: Any = "right" if numeric[at] else "left"
        table.add_column(name, last[at] if last else "", justify=justify, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console().print(table)


def _fitting(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], spare: Sequence[str]
) -> list[int]:
    """Return the places of the columns that fit the terminal, or that cannot be spared."""
    widths = [
        2 + max([len(name), *(len(cell(row[at])) for row in rows[:_MOST_RICH_ROWS])])
        for at, name in enumerate(columns)
    ]
    room = shutil.get_terminal_size().columns + 2
    kept = list(range(len(columns)))
    for name in spare:
        if sum(widths[at] for at in kept) <= room:
            break
        kept = [at for at in kept if columns[at] != name]
    return kept


def _padded(rows: list[list[str]], flush_right: list[bool]) -> list[str]:
    """Return rows as lines whose cells stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(
        f"{{:{'>' if right else '<'}{width}}}"
        for right, width in zip(flush_right, widths, strict=True)
    )
    return [form.format(*row).rstrip() for row in rows]


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
