"""Counts with the right word, sizes, the name that somebody meant, text that is safe to print."""

import difflib
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

_BEYOND_ASCII: Final = re.compile("[^\x00-\x7f]+")
_NO_MORE: Final = (math.inf, 1)
_SIZES: Final = (
    *((unit, 1024, 1024) for unit in ("B", "KiB", "MiB", "GiB", "TiB")), ("PiB", *_NO_MORE)
)  # fmt: skip
_NAMED: Final = 5  # names of a sentence
_PERCENT: Final = (("%", *_NO_MORE),)


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


def named_or_more(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return separator.join(names[:_NAMED]) + more


def size_text(size: float) -> str:
    """Return bytes in the largest unit of which there is one, as `in_units` does: ``1.5 MiB``."""
    return in_units(size, _SIZES)


def bytes_of(text: str) -> int:
    """Return the bytes of a size as people write it: ``1.5 MiB``, ``100MB``, ``4096``.

    Raises:
        ValueError: it is not a size.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *(?:([KMGTP])(i)?)?B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is not a size (expected one such as 128MiB)")
    number, prefix, is_binary = found.groups()
    power = "KMGTP".index(prefix.upper()) + 1 if prefix else 0
    return int(float(number) * (1024 if is_binary else 1000) ** power)


def share_text(part: float) -> str:
    """Return a part of a whole in percent, as `in_units` does: ``12 %``, ``1.5 %``, ``<0.1 %``."""
    return in_units(100 * part, _PERCENT)


def in_units(value: float, units: Sequence[tuple[str, float, float]]) -> str:
    """Return a quantity in the largest unit of which there is one: ``9.5 KiB``, ``12 h``.

    Below 10, it has a digit after the point unless that is 0, and what rounds to 0 is ``<0.1``. The
    front end's `inUnits` writes the same.

    Args:
        value: the quantity, in the first unit.
        units: from small to large: a name, the quantity from which the next unit is used, and how
            many make one of the next, which may be fewer.
    """
    rest, at = abs(value), 0
    while math.floor(rest + 0.5) >= units[at][1]:
        rest /= units[at][2]
        at += 1
    tenths = math.floor(rest * 10 + 0.5)
    if tenths >= 100:
        text = f"{math.floor(rest + 0.5):,}"
    elif tenths == 0 and rest > 0:
        text = "<0.1"
    else:
        text = f"{tenths // 10}.{tenths % 10}".removesuffix(".0")
    return f"{'-' if value < 0 else ''}{text} {units[at][0]}"


def first_few(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are: ``a, b and 3 more``."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left:,} more" if left > 0 else "")


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``; did you mean orders?``; empty if no known name resembles the given one.

    Args:
        name: the given name.
        known: the known names.
        cutoff: how near a name must be: 1 is equal.
    """
    near = nearest(name, known, cutoff)
    return "" if near is None else f"; did you mean {near}?"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that resembles a given one most, as in `did_you_mean`; None: none."""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def no_attribute(module: str, name: str, names: Sequence[str], hint: str = "") -> AttributeError:
    """Return the error for a name that a module does not have, with the one that was meant.

    Args:
        module: its name.
        name: the name that it does not have.
        names: those that it has.
        hint: the end of the message, if it is known what was meant.
    """
    whole = next((f"; did you mean {each}?" for each in names if name in each), "")
    hint = hint or whole or did_you_mean(name, names)
    text = f"module {module!r} has no attribute {name!r}{hint}"
    return AttributeError(text, name=name, obj=None)  # of a module, Python guesses, too


def unknown_column(name: str, known: Iterable[str]) -> str:
    """Return ``unknown column vlaue; did you mean value?``, or the list if none resembles it."""
    names = list(known)
    return f"unknown column {name}{did_you_mean(name, names) or '; columns: ' + ', '.join(names)}"


def short_name(name: str) -> str:
    """Return the name of a segment's file without the zeros in front: ``…18.log``."""
    return re.sub(r"^0{8,}(?=\d)", "…", name)


def safe(text: str) -> str:
    r"""Return text with every character escaped that is not visible: ``\x1b``, ``\n``.

    Such characters control a terminal, end a line, or change the direction of writing. Safe text
    does not change.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def json_text(value: Any, **options: Any) -> str:
    """Return a value as JSON with the letters of every language; `escaped_json` says what is not.

    Args:
        value: what `json.dumps` takes.
        **options: of `json.dumps`.
    """
    return escaped_json(json.dumps(value, ensure_ascii=False, **options))


def escaped_json(text: str) -> str:
    r"""Return JSON with every character beyond ASCII escaped that is not visible: ``\u202e``."""
    if text.isascii() or text.isprintable():
        return text
    return _BEYOND_ASCII.sub(lambda run: "".join(map(_escaped, run[0])), text)


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() else json.dumps(letter)[1:-1]


def safe_lines(lines: Iterable[str]) -> str:
    """Return lines, each made `safe`, as one text."""
    return "\n".join(map(safe, lines))
