"""Times and ages as people write and read them; numbers are milliseconds since the epoch."""

import datetime as dt
from typing import Final

LONGEST_TIME: Final = 253_402_300_799_999  # ms; the year 9999, the last that Python can write
_HOUR: Final = 3_600_000  # ms
_SINCE: Final = 946_684_800_000  # ms; 2000-01-01: earlier, seconds and ms cannot be told apart
_UNTIL: Final = 4_102_444_800_000  # ms; 2100-01-01
_UNITS: Final = (("microseconds", 1000), ("nanoseconds", 1_000_000), ("seconds", -1000))
"""Units that producers use by mistake, and how many of them are a ms; negative: the reverse."""


def milliseconds(time: str | float | dt.datetime) -> int:
    """Return a time as ms since the epoch.

    Args:
        time: ms, a datetime, or ISO 8601 text, ``2026-11-21`` or ``2026-11-21T15:00:00+01:00``;
            UTC if it has no zone.

    Raises:
        ValueError: the text is not a time.
    """
    if isinstance(time, str):
        time = dt.datetime.fromisoformat(time)
    if isinstance(time, dt.datetime):
        aware = time if time.tzinfo else time.replace(tzinfo=dt.UTC)
        since = aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        return since // dt.timedelta(milliseconds=1)
    return int(time)


def time_text(milliseconds: int) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds; what is not one, with the likely unit.

    ``none`` for -1; ``1,764,086,400,000,000 ms (in microseconds: 2025-11-25T16:00:00.000Z)``.
    """
    if milliseconds == -1:
        return "none"
    if not 0 <= milliseconds <= LONGEST_TIME:
        unit = likely_unit(milliseconds)
        return f"{milliseconds:,} ms{f' ({unit})' if unit else ''}"
    moment = dt.datetime.fromtimestamp(milliseconds // 1000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def likely_unit(timestamp: int) -> str | None:
    """Return the unit that a timestamp seems to have instead of ms, with the time it is then.

    ``in microseconds: 2025-11-25T16:00:00.000Z``; None if it is a time of these decades in ms, or
    of no unit.
    """
    for unit, per_ms in _UNITS:
        milliseconds = timestamp // per_ms if per_ms > 0 else timestamp * -per_ms
        if _SINCE <= milliseconds <= _UNTIL:
            return f"in {unit}: {time_text(milliseconds)}"
    return None


def ms_and_time(milliseconds: int) -> str:
    """Return a time as a file holds it, and as `time_text`: ``1732853441587 (2024-11-29T…)``."""
    return f"{milliseconds} ({time_text(milliseconds)})"


def age_text(milliseconds: int) -> str:
    """Return an age: ``3,600,000 ms (1 h) old``; a negative one is in the future."""
    if milliseconds < 0:
        return f"{with_hours(-milliseconds, ' ms')} in the future"
    return f"{with_hours(milliseconds, ' ms')} old"


def with_hours(milliseconds: int, unit: str = "") -> str:
    """Return a duration in ms, with hours if it is that long: ``43,200,000 (12 h)``.

    Args:
        milliseconds: the duration.
        unit: the text after the ms; empty after the name of a setting in ms.
    """
    text = f"{milliseconds:,}{unit}"
    if milliseconds < _HOUR:
        return text
    return f"{text} ({f'{milliseconds / _HOUR:,.1f}'.removesuffix('.0')} h)"
