"""Colors of what a terminal shows, and JSON in them.

There are none in a pipe or a file, with NO_COLOR (https://no-color.org), or where the terminal has
none. Text is shortened to a width before it gets colors, so every escape sequence stays whole.
"""

import os
import re
import sys
from collections.abc import Callable
from typing import Any, Final

import click

_TOKEN: Final = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z))(?P<name>\s*:)?'
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)"
    r"|(?P<word>\b(?:true|false|null)\b)",
    re.DOTALL,
)
_NAME: Final = "blue"
_STRING: Final = "green"
_NUMBER: Final = "cyan"
_WORD: Final = "magenta"


def has_color() -> bool:
    """Return whether stdout is a terminal that shows colors to somebody who wants them."""
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return is_wanted and sys.stdout.isatty()


def styled(text: str, **how: Any) -> str:
    """Return text in a style of `click.style`, if there are colors."""
    return click.style(text, **how) if has_color() else text


def painted(text: str) -> str:
    """Return JSON, also the beginning of some, with colors of names, strings, numbers and words."""
    return _TOKEN.sub(_paint, text)


def line_painter() -> Callable[[str], str]:
    """Return what gives whole lines of JSON colors, if there are any; pieces of one stay plain."""
    return _painted_line if has_color() else str


def _painted_line(text: str) -> str:
    return painted(text) if text.startswith("{") and text.endswith("\n") else text


def painted_part(line: str, first: int, end: int) -> str:
    """Return a line with colors in [first, end), if JSON begins there."""
    if not line.startswith(("{", "["), first):
        return line
    return line[:first] + painted(line[first:end]) + line[end:]


def _paint(found: re.Match[str]) -> str:
    if found["string"] is not None:
        colon = found["name"]
        name = click.style(found["string"], fg=_STRING if colon is None else _NAME)
        return name + (colon or "")
    return click.style(found[0], fg=_WORD if found["word"] else _NUMBER)
