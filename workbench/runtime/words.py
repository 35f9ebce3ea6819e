"""Counts with the right word, sizes, the name that somebody meant, text that is safe to print."""

import difflib
from collections.abc import Iterable
from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return the count with the right word: ``1 batch``, ``2 batches``.

    Args:
        count: how many.
        one: the word for one.
        many: the word for any other count; by default ``one`` with s or es.
    """
    if many is None:
        many = one + ("es" if one.endswith(("ch", "x", "s")) else "s")
    return f"{count:,} {one if count == 1 else many}"


def size_text(size: int) -> str:
    """Return bytes with a unit of at most four digits: ``1.5 MiB``."""
    number = float(size)
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{size:d} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError(size)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``; did you mean orders?``; empty if no known name resembles the given one.

    Args:
        name: the given name.
        known: the known names.
        cutoff: how near a name must be: 1 is equal.
    """
    near = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"; did you mean {near[0]}?" if near else ""


def unknown_column(name: str, known: Iterable[str]) -> str:
    """Return ``unknown column vlaue; did you mean value?``, or the list if none resembles it."""
    names = list(known)
    return f"unknown column {name}{did_you_mean(name, names) or '; columns: ' + ', '.join(names)}"


def safe(text: str) -> str:
    r"""Return text with every character escaped that is not visible: ``\x1b``, ``\n``.

    Such characters control a terminal, end a line, or change the direction of writing. Safe text
    does not change.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def safe_lines(lines: Iterable[str]) -> str:
    """Return lines, each made `safe`, as one text."""
    return "\n".join(map(safe, lines))
