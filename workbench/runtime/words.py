"""Counts with the right word, and the name that somebody meant."""

import difflib
from collections.abc import Iterable


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
