"""Sizes, counts and times in readable form, for summaries and pictures. Times are UTC."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from workbench.runtime.times import milliseconds

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def title_of(paths: Sequence[str]) -> dict[str, str]:
    """Return how opened directories are called: ``title``, and ``path``, with a line for each."""
    name = os.path.basename(os.path.abspath(paths[0]))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return {"title": f"{name}{more}", "path": "\n".join(paths)}


def size_text(size: float) -> str:
    """Return a size in the largest unit that gives at least 1: ``1.2 MiB``."""
    unit = 0
    while abs(size) >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    text = f"{size:.1f}".removesuffix(".0") if unit and abs(size) < 9.95 else f"{size:.0f}"
    return f"{text} {_UNITS[unit]}"


def time_text(ms: int | None) -> str:
    """Return epoch ms as a UTC time; the number itself if it is outside the calendar."""
    if ms is None or ms == -1:
        return "no timestamp"
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{ms:,} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}"


def offset_or_time(text: str) -> tuple[int | None, int | None]:
    """Return the offset, or the time in epoch ms, that a text names; the other one is None.

    Raises:
        ValueError: the text is neither an offset nor a UTC time in an ISO form.
    """
    digits = text.strip().replace(",", "").replace("_", "")
    if digits.isdecimal():
        return int(digits), None
    try:
        return None, milliseconds(text.strip())
    except ValueError:
        raise ValueError(
            f"{text!r} is neither an offset nor a time like 2026-01-31 12:00"
        ) from None
