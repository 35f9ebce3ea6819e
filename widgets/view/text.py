"""Titles of directories, offsets or times as people type them, and texts as a query takes them."""

import json
import os
from collections.abc import Sequence

from workbench.runtime.times import milliseconds


def title_of(paths: Sequence[str]) -> dict[str, str]:
    """Return how opened directories are called: ``title``, and ``path``, with a line for each."""
    name = os.path.basename(os.path.abspath(paths[0]))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return {"title": f"{name}{more}", "path": "\n".join(paths)}


def short_names(paths: Sequence[str]) -> list[str]:
    """Return each path's last folders, as few as make all of them different."""
    parts = [os.path.abspath(path).strip("/").split("/") for path in paths]
    most = max(map(len, parts), default=1)
    for count in range(1, most + 1):
        names = ["/".join(each[-count:]) for each in parts]
        if len(set(names)) == len(set(paths)):
            return names
    return [*paths]


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


def quoted(text: str) -> str:
    """Return a text as a query has it, whatever signs it has."""
    return json.dumps(text, ensure_ascii=False)
