"""Output to stdout and stderr: JSON, tables, and numbers as people read them.

Names, keys, values and messages come from disks of unknown origin. A terminal obeys the escape
sequences in them, and a newline in them makes a line that looks like ours. So all text for people
passes through `safe`; JSON is exact and has its own escapes.
"""

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.cli.colors import has_color, painted
from workbench.inspection.facts.text_table import numeric_columns, padded
from workbench.runtime.times import time_text
from workbench.runtime.words import json_text, safe, size_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STDOUT: Final = "-"  # in place of the path of a file
DEBUG_HELP: Final = "Show the traceback of an error."
WIDE: Final = 500  # columns of output that is not a terminal
_MOST_RICH_ROWS: Final = 500
SEVERITY_COLORS: Final = {"info": "blue", "warning": "yellow", "error": "red"}
"""Severity of a finding → its color."""


def say(text: str, *, err: bool = False) -> None:
    """Print one line; its text is made `safe`."""
    click.echo(safe(text), err=err)


def rich_text(text: str, style: str = "") -> "Text":
    """Return a line for a `rich` console; its text is made `safe`, and is not markup."""
    from rich.text import Text

    return Text(safe(text), style)


def print_json(value: Any) -> None:
    """Print one JSON value, indented."""
    text = json_text(value, indent=2)
    click.echo(painted(text) if has_color() else text)


def is_terminal() -> bool:
    """Return whether stdout is a terminal, which a person reads."""
    return sys.stdout.isatty()


def note(text: str) -> None:
    """Print one line on stderr."""
    say(f"kafka-workbench: {text}", err=True)


def console() -> "Console":
    """Return a console on stdout, `WIDE` columns wide if that is not a terminal."""
    from rich.console import Console
    from rich.text import Text

    class PipeConsole(Console):
        """A console that leaves a closed pipe to `main`; rich would exit with 1.

        Lines that nobody sees in color are written whole and at once: rich folds them, and takes
        a millisecond for each.
        """

        def print(self, *objects: Any, sep: str = " ", **options: Any) -> None:
            if (
                self.is_terminal
                or options
                or not all(isinstance(each, str | Text) for each in objects)
            ):
                super().print(*objects, sep=sep, **options)
            else:
                self.file.write(sep.join(map(str, objects)) + "\n")

        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - called by rich where it handles the BrokenPipeError

    width = None if is_terminal() else WIDE
    return PipeConsole(file=sys.stdout, width=width, highlight=False, soft_wrap=False)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    footer: Sequence[Any] | None = None,
    spare: Sequence[str] = (),
    styles: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print rows under headings; numbers flush right, None as a dash.

    Long tables, and those that do not go to a terminal, are only padded, because rich takes ten
    seconds for 10,000 rows.

    Args:
        columns: the headings.
        rows: the rows, each with one value per heading.
        title: a line above the table; empty for none.
        footer: the values of a last row.
        spare: headings of columns to leave out, in this order, if the terminal is too narrow; a
            line on stderr names those that are.
        styles: the text of a cell → its style on a terminal.
    """
    values = [list(row) for row in rows]
    left_out: list[str] = []
    if is_terminal():
        kept = _fitting(columns, values, spare)
        left_out = [name for at, name in enumerate(columns) if at not in kept]
        columns = [columns[at] for at in kept]
        values = [[row[at] for at in kept] for row in values]
        footer = None if footer is None else [footer[at] for at in kept]
    cells = [[cell(value) for value in row] for row in values]
    last = None if footer is None else ["" if value is None else cell(value) for value in footer]
    numeric = numeric_columns(len(columns), values)
    if not is_terminal() or len(cells) > _MOST_RICH_ROWS:
        if title:
            say(title)
        headings = [safe(name) for name in columns]
        click.echo("\n".join(padded([headings, *cells, *([last] if last else [])], numeric)))
        _name(left_out)
        return
    from rich.table import Table

    table = Table(
        box=None,
        title=rich_text(title) if title else None,
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
        foot = rich_text(last[at] if last else "")
        table.add_column(rich_text(name), foot, justify=justify, overflow="fold")
    for row in cells:
        table.add_row(*(rich_text(text, styles.get(text, "")) for text in row))
    console().print(table)
    _name(left_out)


def _name(left_out: Sequence[str]) -> None:
    if left_out:
        names = ", ".join(map(safe, left_out))
        say(f"the terminal is too narrow for {names}; --json has all", err=True)


def _fitting(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], spare: Sequence[str]
) -> list[int]:
    """Return the numbers of the columns that fit the terminal, or that cannot be left out."""
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


class Size(int):
    """A number of bytes, shown with a unit."""


def cell(value: Any) -> str:
    """Return a cell's text, which is `safe`."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Size):
        return size_text(value)
    return f"{value:,}" if isinstance(value, int) else safe(str(value))


def time_of(milliseconds: int | None) -> str | None:
    """Return a time as `time_text` does; None for none."""
    return None if milliseconds is None or milliseconds == -1 else time_text(milliseconds)


def label(name: str) -> str:
    """Return a name of JSON as people read it: ``state time`` for state_time."""
    return name.replace("_", " ")
