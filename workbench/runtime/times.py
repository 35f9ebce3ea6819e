"""Times as people write them, in milliseconds since the epoch: one parser for every interface."""

import datetime as dt


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
