"""The versions of Kafka whose brokers are modeled: their names, in order, and how one is asked for.

A version is a series, such as 2.8; a bug-fix release such as 2.8.2 is of its series. Before 1.0 a
series has three numbers.
"""

from typing import Final

from workbench.errors import ConfigError

SERIES: Final = (
    "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1",
    "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8",
    "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9",
    "4.0", "4.1", "4.2", "4.3", "4.4",
)  # fmt: skip
"""Every series, ascending."""

LATEST: Final = SERIES[-1]
MODELED: Final = "4.2"
"""The version that the engine follows by default."""

Number = tuple[int, ...]

_LAST: Final = 99  # of a series whose bug-fix release is not named
_SHORT: Final = {"0.8": "0.8.2", "0.9": "0.9.0", "0.10": "0.10.2", "0.11": "0.11.0"}
_MOST_PARTS: Final = 4


def series_of(version: str) -> str:
    """Return the series that a version belongs to.

    Args:
        version: "2.8", "2.8.2", "2.8.x", "0.9" or "0.10.2.1"; "0.10" is the last of its series.

    Raises:
        ConfigError: the version is not one of Kafka's, or not modeled; the known ones are named.
    """
    text = str(version)
    parts = text.removesuffix(".x").split(".")
    if all(part.isdecimal() and part.isascii() for part in parts) and len(parts) <= _MOST_PARTS:
        exact = ".".join(str(int(part)) for part in parts)
        exact = _SHORT.get(exact, exact)
        parts = exact.split(".")
        length = 3 if parts[0] == "0" else 2
        found = ".".join(parts[:length])
        if found in SERIES and len(parts) <= length + 1:
            return found
    raise ConfigError(
        "kafka", f"{text!r} is not a known version of Kafka; known are {', '.join(SERIES)}"
    )


def first_of(series: str) -> Number:
    """Return the numbers of the first release of a series, to compare with `number_of`."""
    return number_of(series)[: len(series.split("."))]


def number_of(version: str) -> Number:
    """Return a version's numbers, to compare with ``(2, 8)``: ``(2, 8, 2)``.

    A bug-fix release that is not named is the last of its series.

    Raises:
        ConfigError: see `series_of`.
    """
    series = series_of(version).split(".")
    rest = str(version).removesuffix(".x").split(".")[len(series) :]
    return (*map(int, series), int(rest[0]) if rest else _LAST)
