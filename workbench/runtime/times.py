"""Times and ages as people write and read them; numbers are milliseconds since the epoch."""

import datetime as dt
import math
import re
from functools import lru_cache
from typing import Any, Final

from workbench.errors import ConfigError
from workbench.layout.integers import INT64_MAX
from workbench.runtime.clock import Clock, SystemClock
from workbench.runtime.words import in_units

Time = int | str | dt.datetime
"""A time as a person gives it, see `milliseconds`."""

FIRST_TIME: Final = -62_135_596_800_000  # ms; the year 1, the first that Python can write
LAST_IN_MICROS: Final = INT64_MAX // 1000  # ms, in the year 294247
LONGEST_TIME: Final = 253_402_300_799_999  # ms; the year 9999, the last that Python can write
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MINUTE: Final = 60_000  # ms
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
_SINCE: Final = 946_684_800_000  # ms; 2000-01-01: earlier, seconds and ms look alike
_UNTIL: Final = 4_102_444_800_000  # ms; 2100-01-01
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"(\d+)(ms|[smhdw])")
_OF_NAMES: Final = {"ms": 1, "seconds": 1000, "minutes": MINUTE, "hours": HOUR}
_DURATIONS: Final = (
    ("ms", 1000, 1000), ("s", 60, 60), ("min", 60, 60), ("h", 48, 24), ("days", math.inf, 1)
)  # fmt: skip
_UNITS: Final = (("microseconds", 1000), ("nanoseconds", 1_000_000), ("seconds", -1000))
"""Units that producers use by mistake, and how many of them are a ms; negative: the reverse."""

clock: Clock = SystemClock()
"""Says what time it is where none is given."""


def milliseconds(time: Time | float, zone: dt.tzinfo = dt.UTC) -> int:
    """Return a time as ms since the epoch.

    Args:
        time: ms, a datetime, or text: ms; ISO 8601, ``2026-11-21`` or
            ``2026-11-21T15:00:00+01:00``; before now, ``-1h``, ``-30m``, ``-7d``; ``now``,
            ``today`` and ``yesterday``, which begin at midnight.
        zone: that of a time, and of midnight, for which the text names none.

    Raises:
        ValueError: the text is not a time.
    """
    if isinstance(time, str):
        time = _moment(time.strip(), zone)
    if isinstance(time, dt.datetime):
        aware = time if time.tzinfo else time.replace(tzinfo=zone)
        since = aware - EPOCH
        return since // dt.timedelta(milliseconds=1)
    return int(time)


def ms_of(time: Time | None) -> int | None:
    """Return a time as `milliseconds` does; None for None."""
    return None if time is None else milliseconds(time)


def time_or_now(now: Time | None) -> int:
    """Return a time, ms; that of the machine if None."""
    return clock.now() if now is None else milliseconds(now)


def _moment(text: str, zone: dt.tzinfo) -> int | dt.datetime:
    """Return the time that a text names, as ms or a datetime."""
    if text == "now":
        return clock.now()
    if text in {"today", "yesterday"}:
        today = dt.datetime.fromtimestamp(clock.now() / 1000, zone).replace(
            hour=0, minute=0, second=0, microsecond=0, tzinfo=None
        )  # without its zone: the day before may be longer
        return today - dt.timedelta(days=text == "yesterday")
    if ago := re.fullmatch(r"-(\d+)([smhdw])", text):
        return clock.now() - int(ago[1]) * _SECONDS[ago[2]] * 1000
    if re.fullmatch(r"-?\d{9,}", text):  # shorter ones are years and dates
        return int(text)
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time (expected ISO 8601 such as 2026-03-01T12:00:00Z, ms since the "
            "epoch, -1h, yesterday)"
        ) from None


def given_ms(text: str) -> int:
    """Return the time that an option gives: a whole number of ms, or as `milliseconds` reads it.

    Raises:
        ValueError: the text is not a time.
    """
    return int(text) if re.fullmatch(r"-?\d+", text.strip()) else milliseconds(text)


def span_ms(text: str) -> int:
    """Return the ms of a span of time such as ``500ms``, ``15m`` or ``7d``.

    Raises:
        ValueError: the text is not one.
    """
    given = _SPAN.fullmatch(text.strip())
    if given is None:
        raise ValueError(f"{text!r} is not a span of time (expected such as 500ms, 30s, 15m)")
    return int(given[1]) * (1 if given[2] == "ms" else _SECONDS[given[2]] * 1000)


def duration(name: str, value: Any) -> Any:
    """Return the value of a configuration whose name ends in a unit; ``7d`` as a number of it.

    ``retention.ms`` of ``7d`` is 604,800,000, ``log.retention.hours`` 168. Other values are kept.

    Raises:
        ConfigError: it is not a whole number of the unit.
    """
    unit = _OF_NAMES.get(name.rpartition(".")[2])
    if unit is None or not isinstance(value, str) or not _SPAN.fullmatch(value.strip()):
        return value
    number, rest = divmod(span_ms(value), unit)
    if rest:
        raise ConfigError(name, f"{value} is not a whole number of {name.rpartition('.')[2]}")
    return number


def time_range(times: Any) -> tuple[int | None, int | None]:
    """Return a range of times as ms [first, end), None where it is open.

    Args:
        times: a pair of times as `milliseconds` takes them, either None; or one text that names a
            day, ``2026-11-21``, ``today`` or ``yesterday``; None: all times.

    Raises:
        ValueError: it is neither.
    """
    if times is None:
        return None, None
    if isinstance(times, str):
        first = milliseconds(times)
        if len(times.strip()) == len("2026-11-21") or times.strip() in {"today", "yesterday"}:
            return first, first + _SECONDS["d"] * 1000
    if isinstance(times, str | int | float | dt.datetime) or len(times) != 2:
        raise ValueError(
            f"times are {times!r} (expected a pair such as ('2026-11-21', None), or a day)"
        )
    low, high = (None if each is None else milliseconds(each) for each in times)
    return low, high


def time_text(milliseconds: int | None, timespec: str = "milliseconds") -> str:
    """Return a time as ISO 8601 in UTC; what is not one, in ms with the likely unit.

    ``2026-11-21T14:54:04.123Z``; ``none`` for None and -1;
    ``1,764,086,400,000,000 ms (in microseconds: 2025-11-25T16:00:00.000Z)``. The front end's
    `timestamp` writes the same.

    Args:
        milliseconds: since the epoch.
        timespec: "milliseconds", "seconds" or "minutes": the last part that is shown.
    """
    if milliseconds is None or milliseconds == -1:
        return "none"
    if not 0 <= milliseconds <= LONGEST_TIME:
        unit = likely_unit(milliseconds)
        return f"{milliseconds:,} ms{f' ({unit})' if unit else ''}"
    moment = dt.datetime.fromtimestamp(milliseconds // 1000, dt.UTC)
    moment = moment.replace(microsecond=milliseconds % 1000 * 1000, tzinfo=None)
    return f"{moment.isoformat(timespec=timespec)}Z"


def due_text(milliseconds: int) -> str:
    """Return when something is due as `time_text` does, also beyond the years of a calendar."""
    if milliseconds > LONGEST_TIME:
        return "a time after the year 9999"
    return time_text(milliseconds)


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


def is_likely_time(number: int) -> bool:
    """Whether a number is a time of these decades, in ms since the epoch."""
    return _SINCE <= number <= _UNTIL


def ms_and_time(milliseconds: int) -> str:
    """Return a time as a file holds it, and as `time_text`: ``1732853441587 (2024-11-29T…)``."""
    return f"{milliseconds} ({time_text(milliseconds)})"


def duration_text(milliseconds: float) -> str:
    """Return a duration in the largest unit of which there is one: ``0.5 ms``, ``12 h``.

    Digits are those of `in_units`; hours go up to two days, then ``2 days``. The front end's
    `duration` writes the same.
    """
    return in_units(milliseconds, _DURATIONS)


def age_text(milliseconds: int) -> str:
    """Return an age: ``3,600,000 ms (1 h) old``; a negative one is in the future."""
    if milliseconds < 0:
        return f"{ms_text(-milliseconds, ' ms')} in the future"
    return f"{ms_text(milliseconds, ' ms')} old"


@lru_cache(256)  # the explanations of a directory repeat a few durations thousands of times
def ms_text(milliseconds: int, unit: str = "") -> str:
    """Return an exact duration in ms, with `duration_text` if it is an hour or more.

    ``43,200,000 (12 h)``.

    Args:
        milliseconds: the duration.
        unit: the text after the ms; empty after the name of a setting in ms.
    """
    text = f"{milliseconds:,}{unit}"
    return text if milliseconds < HOUR else f"{text} ({duration_text(milliseconds)})"
