"""Describe damage that a broker does not detect when it loads a log, and its consequences.

Kafka: what LogLoader (4.2) does not look at
"""

from collections.abc import Iterable

from workbench.foresight.startup.consumer import ConsumerView
from workbench.log.log import Log
from workbench.record.reading.recovery import whole_batches
from workbench.runtime.words import plural


def unnoticed_damage(
    log: Log, views: Iterable[ConsumerView], *, is_compacted: bool
) -> tuple[str, ...]:
    """Return a sentence for each thing wrong with a loaded log.

    Args:
        log: the loaded log, whose files are open.
        views: the views of consumers that read it.
        is_compacted: whether it is compacted, or was: then offsets may be missing.

    Raises:
        OSError: a file cannot be read.
    """
    found = [*_beyond_the_end(log)]
    for view in views:
        found += _of_consumer(view, is_compacted=is_compacted or view.is_compacted)
    return tuple(dict.fromkeys(found))


def _beyond_the_end(log: Log) -> list[str]:
    """Describe records in the last segment that the broker does not know about."""
    segment, end = log.active_segment, log.log_end_offset
    last = end - 1
    for batches in whole_batches(segment.log.file, segment.size):
        if len(batches.rows):
            last = max(last, int(batches.rows["last_offset"].max()))
    if last < end:
        return []
    found = f"offsets {end} to {last} are in the file, past the log end offset {end}"
    return [f"{found}: no consumer can read them, and the next append gets the same offsets"]


def _of_consumer(view: ConsumerView, *, is_compacted: bool) -> list[str]:
    who = f"a {view.isolation} consumer"
    found = []
    if view.holes and not is_compacted:
        first, end = view.holes[0]
        more = f" (and {len(view.holes) - 1} more such holes)" if len(view.holes) > 1 else ""
        found.append(f"consumers jump from offset {first} to {end}: there is a hole{more}")
    if view.out_of_range is not None:
        found.append(
            f"{who} reaches offset {view.out_of_range}, past the end {view.end}, and is reset"
        )
    if view.error_at_end:
        found.append(f"{who} fails at the end, {view.end}, or after it: {view.error_at_end}")
    if view.error:
        found.append(f"{who} fails at offset {view.position}: {view.error}")
    elif view.position < view.end:
        found.append(f"{who} gets no record from offset {view.position} to the end, {view.end}")
    if view.aborted_served:
        count = view.aborted_served
        found.append(f"{who} receives {count} records of aborted transactions")
    if view.open_served:
        served = plural(view.open_served, "record")
        found.append(
            f"{who} receives {served} of open transactions, even after they are aborted: the "
            "producer state does not have them"
        )
    return found
