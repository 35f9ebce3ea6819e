"""What is stuck: not deleted, not compacted, not readable, not consumed, and what holds it.

Kafka: UnifiedLog.deleteOldSegments, LogCleanerManager, UnifiedLog.lastStableOffset (4.2)
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from workbench.cleaner.schedule.log_to_clean import FIRST_UNSTABLE, LogToClean
from workbench.coordinator.groups.group_explanation import STARTS_OVER
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.offsets.group_lag import (
    BEHIND,
    STALLED,
    WINDOW_MS,
    group_lags,
)
from workbench.coordinator.runtime.era import era_of
from workbench.coordinator.transactions.stored_transactions import (
    HANGS,
    OpenProducer,
    StoredTransactions,
)
from workbench.coordinator.transactions.transaction_explanation import abort_command
from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition
from workbench.foresight.dry_listing import Config, open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.inspection.listing import Listing, opened_paths
from workbench.inspection.lookups.unread_part import unread_part
from workbench.loaders.explanations.explain_partition import cleaning_problem, dirt_of
from workbench.loaders.explanations.offset_fates import retention_ms_of
from workbench.log.log import Log
from workbench.log.retention import LogState, by_time
from workbench.log.segments.segment import LogSegment
from workbench.runtime.times import HOUR, LONGEST_TIME, duration_text, time_or_now
from workbench.runtime.words import plural
from workbench.tables.stuck import GroupLagRow, StuckRow

NOT_DELETED: Final = "not deleted"
NOT_COMPACTED: Final = "not compacted"
NOT_READABLE: Final = "not readable"
NOT_CONSUMED: Final = "not consumed"
_AHEAD: Final = HOUR  # the default of message.timestamp.after.max.ms
_RESET: Final = "; kafka-consumer-groups.sh --reset-offsets chooses where it continues"


def stuck_rows(
    listing: Listing,
    config: Config = None,
    *,
    now: int | None = None,
    window_ms: int = WINDOW_MS,
    kafka: str | None = None,
) -> Iterator[StuckRow]:
    """Yield what is stuck in opened directories; see `LogDirectory.stuck`.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LogDirectoryError: a single file was opened.
        OSError: a file cannot be read.
    """
    moment = time_or_now(now)
    with open_dry(listing.log_directories, config, moment, kafka, listing.fs) as dry:
        dry.load(lambda _folder: True)
        yield from stuck_logs(dry, moment)
    yield from not_readable(listing, StoredTransactions(listing).open_producers())
    lags = lags_at(listing, config, now=now, window_ms=window_ms, kafka=kafka)
    yield from not_consumed(listing, lags)


def lags_at(
    listing: Listing,
    config: Config = None,
    *,
    now: int | None = None,
    window_ms: int = WINDOW_MS,
    kafka: str | None = None,
) -> list[GroupLagRow]:
    """Return how far groups are behind, and what has expired.

    Args:
        listing: the directories.
        config: `offsets.retention.minutes` counts.
        now: ms. None: lags by the newest commit, and what has expired by the machine's time, as a
            broker judges that starts now.
        window_ms: see `group_lags`.
        kafka: the version whose coordinator expires offsets; None: that which wrote the records.

    Raises:
        ConfigError: the retention of offsets is not allowed.
        OSError: a file cannot be read.
    """
    retention_ms = retention_ms_of(config if isinstance(config, Mapping) else {}, kafka)
    era = None if kafka is None else era_of(kafka)
    coordinator = StoredGroups(listing, now=time_or_now(now), retention_ms=retention_ms, era=era)
    return [*group_lags(coordinator, now, window_ms)]


def stuck_logs(
    dry: DryLogs, now: int, progress: Callable[[], None] = lambda: None
) -> Iterator[StuckRow]:
    """Yield what is not deleted and not compacted of loaded logs.

    Args:
        dry: the logs, all of them loaded.
        now: ms.
        progress: a callback before each log; what it raises ends the work.
    """
    for name, log in sorted(dry.logs.items()):
        progress()
        with suppress(WorkbenchError, OSError):  # `predict` and `verify` say what is wrong
            yield from _not_deleted(name, log.retention_state())
    for name, log in sorted(dry.logs.items()):
        if dry.is_compacted(name):
            progress()
            yield from _not_compacted(dry, name, log, now)


def _not_deleted(name: TopicPartition, state: LogState) -> Iterator[StuckRow]:
    """Yield the segment that `retention.ms` stops at, if a record of a time to come keeps it.

    Or if later ones would be deleted on their own.
    """
    if not state.config.delete or not state.limits_age or not state.is_retained:
        return
    verdicts = by_time(state)
    stopper = next((each for each in verdicts if not each.is_deleted), None)
    if stopper is None:
        return
    at = state.segments.index(stopper.segment)
    held = [
        segment
        for number, segment in enumerate(state.segments[at + 1 : -1], at + 1)
        if by_time(state._replace(segments=state.segments[number:]))[0].is_deleted
    ]
    offset, time = _newest_record(stopper.segment)
    is_ahead = time is not None and time > state.now + _AHEAD
    if not held and not is_ahead:
        return
    reason = (
        f"{state.time_limit.name} stops at segment {stopper.segment.base_offset}: {stopper.reason}"
    )
    if held:
        reason += f"; {plural(len(held), 'later segment')} would be deleted on their own"
        until = held[-1].base_offset
    else:
        assert offset is not None
        until = offset + 1
        reason += f"; a record of the batch that ends at offset {offset} has a time to come"
    action = (
        f"kafka-delete-records.sh with the offset {until} of {name.topic}-"
        f"{name.partition} deletes what is before it; message.timestamp.after.max.ms (since 3.6) "
        "refuses such timestamps"
    )
    size = stopper.segment.size + sum(segment.size for segment in held)
    holder = f"segment {stopper.segment.base_offset}"
    if time is not None and time > LONGEST_TIME:  # the reason says it
        time = None
    yield StuckRow(NOT_DELETED, *name, holder, offset, time, size, reason, action)


def _newest_record(segment: LogSegment) -> tuple[int | None, int | None]:
    """Return offset and timestamp, ms, of the record with the largest timestamp."""
    largest = segment.max_timestamp_so_far
    if largest.timestamp < 0:
        return None, None
    return largest.offset, largest.timestamp


def _not_compacted(dry: DryLogs, name: TopicPartition, log: Log, now: int) -> Iterator[StuckRow]:
    found = dirt_of(dry, log, now)
    if not isinstance(found, LogToClean):
        action = "Mend or replace the log; kafka-workbench verify shows the damage"
        yield StuckRow(NOT_COMPACTED, *name, "the log", None, None, log.size, found, action)
        return
    problem = cleaning_problem(found, now, dry)
    if problem:
        reason = f"cleaning fails, and the cleaner leaves the log alone: {problem}"
        action = "Mend or replace the log; kafka-workbench explain shows the rule"
        size = found.cleanable_bytes + found.uncleanable_bytes
        at = found.first_dirty_offset
        yield StuckRow(NOT_COMPACTED, *name, "damage", at, None, size, reason, action)
    elif not dry.settings.broker.log_cleaner_enable and found.cleanable_bytes:
        reason = "log.cleaner.enable is false"
        size, action = found.cleanable_bytes, "Set log.cleaner.enable to true and restart"
        yield StuckRow(NOT_COMPACTED, *name, "log.cleaner.enable", None, None, size, reason, action)
    elif found.offsets.least_bound.name == FIRST_UNSTABLE:
        at = found.offsets.least_bound.offset
        size = found.uncleanable_bytes - log.active_segment.size  # which is never cleaned
        if size <= 0:
            return
        reason = f"the cleaner stops at the first unstable offset {at}, of an open transaction"
        action = f"End the transaction that is open from offset {at}: see not readable"
        yield StuckRow(NOT_COMPACTED, *name, "an open transaction", at, None, size, reason, action)


def not_readable(listing: Listing, producers: Iterable[OpenProducer]) -> Iterator[StuckRow]:
    """Yield the oldest open transaction of each partition, which holds the last stable offset."""
    where = shlex.join(opened_paths(listing))
    for each in producers:
        if not each.blocked:
            continue
        transaction = each.transaction
        partition = listing.partitions.get(str(each.where))
        size = 0
        if partition is not None:
            with suppress(OSError):
                size = unread_part(partition, each.last_stable_offset).size
        named = each.transactional_id or f"producer {transaction.producer_id}"
        time = transaction.first_timestamp if transaction.first_timestamp >= 0 else None
        reason = (
            f"read_committed consumers end at the last stable offset {each.last_stable_offset}, "
            f"{plural(each.blocked, 'offset')} before the end; the transaction "
            f"{each.verdict or 'may hang'}: {each.reason}"
        )
        shown = each.transactional_id or transaction.producer_id
        action = (
            abort_command(each)
            if each.verdict == HANGS
            else f"kafka-workbench transaction {shlex.quote(str(shown))} {where} says what ends it"
        )
        yield StuckRow(
            NOT_READABLE, *each.where, named, transaction.first_offset, time, size, reason, action
        )


def not_consumed(listing: Listing, lags: Iterable[GroupLagRow]) -> Iterator[StuckRow]:
    """Yield the offsets with records to consume whose group falls behind, stalls or starts over."""
    where = shlex.join(opened_paths(listing))
    for row in lags:
        if row.verdict not in {STALLED, BEHIND, STARTS_OVER} or row.lag == 0:
            continue
        late = "" if row.lag_ms is None else f"; the oldest is {duration_text(row.lag_ms)} old"
        yield StuckRow(
            NOT_CONSUMED,
            row.topic,
            row.partition,
            f"group {row.group}",
            row.offset,
            row.commit_time,
            row.lag_bytes or 0,
            f"{row.verdict}: {row.reason}{late}",
            f"kafka-workbench group {shlex.quote(row.group)} {where} shows the group's history"
            + _RESET * (row.verdict == STARTS_OVER),
        )
