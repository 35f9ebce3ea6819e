"""Parse the values of options: Spark gives texts, and names in any case."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from workbench.file_system.source import URI
from workbench.runtime.several import several

_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30}

Given = Mapping[str, str]
"""Options by their names in small letters."""

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]


def joined(paths: Paths) -> str:
    """Return paths as the option ``path`` takes them."""
    return ",".join(os.fspath(each) for each in several(paths))


def small_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return options by their names in small letters."""
    return {name.lower(): value for name, value in options.items()}


def flag(given: Given, name: str, *, default: bool) -> bool:
    """Return true or false.

    Raises:
        ValueError: the option is neither.
    """
    text = given.get(name.lower(), str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise ValueError(f"{name} is {text!r}, not true or false")
    return text == "true"


def size(text: str) -> int:
    """Return bytes from ``134217728`` or ``128m``.

    Raises:
        ValueError: the text is not a size.
    """
    found = re.fullmatch(r"(\d+)([kmg]?)b?", text.lower())
    if not found:
        raise ValueError("not a size like 128m")
    return int(found[1]) << _UNITS[found[2]]


def positive(given: Given, name: str, parse: Callable[[str], int] = int) -> int | None:
    """Return a number above 0; None when the option was not given.

    Raises:
        ValueError: the text is not a number above 0.
    """
    text = given.get(name.lower())
    if text is None:
        return None
    try:
        number = parse(text.strip())
    except ValueError as error:
        raise ValueError(f"{name} is {text!r}: {error}") from error
    if number <= 0:
        raise ValueError(f"{name} must be positive, not {number}")
    return number


def split_paths(text: str) -> list[str]:
    """Return paths that are separated by commas, but for commas within braces."""
    return [each.strip() for each in re.split(r",(?![^{}]*\})", text)]


def paths(given: Given) -> list[str]:
    """Return the paths of ``path``, separated by commas as in Kafka's ``log.dirs``.

    Raises:
        ValueError: the option is missing.
    """
    if "path" not in given:
        raise ValueError("kafka-log needs a path: give one to load or save, or option('path', …)")
    return [plain_path(path) for path in split_paths(given["path"])]


def plain_path(text: str) -> str:
    """Return a path of this machine in full, without ``file:``; other URIs as they are.

    Executors work in other directories than the driver.
    """
    path = re.sub(r"^file:(//)?(?=/)", "", text.strip())
    return path if URI.match(path) else os.path.abspath(path)
