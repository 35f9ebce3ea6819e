"""What the first minutes after a start take: of logs by retention and cleaning, and of groups.

Retention and the cleaner judge the logs as the start leaves them, on a dry copy; committed offsets
are compared with those logs.

Kafka: LogManager.startup (4.2)
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from workbench.config.changed_defaults import has_config
from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.config.settings import Settings
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.members import assigned_partitions
from workbench.coordinator.groups.stored_groups import CommittedOffset, StoredGroups
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.positions import (
    BELOW_START,
    BEYOND_END,
    IN_THE_LOG,
    RECREATED,
    TOPIC_GONE,
    LogPositions,
)
from workbench.coordinator.runtime.era import era_of
from workbench.coordinator.transactions.states import TransactionState
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.file_system.source import absolute
from workbench.files.names import TopicPartition, directory_name, parse_directory_name
from workbench.foresight.dry_listing import open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.foresight.preflight.first_minutes import (
    EndedTransaction,
    FirstMinutes,
    GroupRestart,
    LogPass,
)
from workbench.foresight.startup.prediction import SERVED, PartitionStart, StartupPrediction
from workbench.inspection.listing import Listing
from workbench.inspection.lookups.record_counts import records_below
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.loaders.answers.tier_after_start import tier_after_start
from workbench.loaders.explanations.explain_partition import CleanerEnd
from workbench.loaders.explanations.offset_fates import fates_of_offsets
from workbench.loaders.explanations.what_if import PartitionFate, logs_outcome
from workbench.log.log import Log
from workbench.log.retention import LOG_START, all_verdicts
from workbench.runtime.times import time_text
from workbench.runtime.words import named_or_more
from workbench.tables.foresight import RuleRow

Judge = Callable[[DryLogs], None]
"""What looks at loaded logs without changing them."""

NOT_COMMITTED: Final = "not committed"
COMMIT_LOST: Final = "commit lost"
EXPIRED: Final = "expired"
_LOOKED_AHEAD_MS: Final = 120_000  # after a start: transactions that are over their time then
_LOST: Final = frozenset({"stray", "deleted", "offline"})


class LosingLogs:
    """Finds the logs of which the first passes may take something, as a prediction loads them.

    Only these are loaded again, with their changes. A prediction calls `look`.

    Args:
        at: ms; when the first pass of retention begins.

    Attributes:
        paths: their partition directories.
    """

    def __init__(self, at: int) -> None:
        self._at = at
        self.paths: set[str] = set()

    def look(self, log: Log, is_compacted: bool) -> None:  # noqa: FBT001 - as `predict.Look`
        """Note a log if it is compacted or tiered, or if a rule deletes of it."""
        state = log.retention_state()._replace(high_watermark=log.log_end_offset, now=self._at)
        if (
            is_compacted
            or log.config.copies_to_remote
            or any(each.is_deleted for each in all_verdicts(state))
        ):
            self.paths.add(log.directory)


def first_minutes(
    listing: Listing,
    settings: Settings,
    prediction: StartupPrediction,
    *,
    losing: Collection[str],
    now: int,
    kafka: str | None,
    progress: Callable[[], None] = lambda: None,
    judge: Judge | None = None,
) -> FirstMinutes:
    """Return what happens after a start; nothing if the broker does not start.

    Args:
        listing: the log directories.
        settings: the configuration of the broker and its topics.
        prediction: of the start.
        losing: the directories of `LosingLogs`.
        now: ms; when the broker starts.
        kafka: the version that is assumed; None: the newest that the directories show.
        progress: a callback before each log; what it raises ends the work.
        judge: a callback with all logs as the start leaves them, if they are loaded for this.
    """
    if not prediction.starts:
        return FirstMinutes()
    logs = _served(prediction)
    judged = {path: log for path, log in logs.items() if path in losing}
    replaced = {
        f"{row.directory}/{row.name}": row
        for row in prediction
        if row.records_lost and row.removed_from is not None and not row.offsets_lost
    }
    passes: tuple[LogPass, ...] = ()
    end: CleanerEnd | None = None
    if judged:
        passes, end = _passes(
            listing, settings, judged, replaced,
            now=now, kafka=kafka, progress=progress, judge=judge,
        )  # fmt: skip
    topics = {where.topic for where, _ in logs.values()}
    assumed = {each for each in topics if not settings.knows(each, "cleanup.policy")}
    has_tier = settings.rules.has_remote_tier
    without_tier = filter(settings.has_lost_tier, sorted(topics) if has_tier else ())
    assumed_tier = (
        each
        for each in (sorted(topics) if has_tier and not settings.is_tier_given else ())
        if settings.config_of(each).remote_storage_enable
    )
    expires_at = now + settings.broker.offsets_retention_check_interval_ms
    ends = _ends(prediction, logs, passes)
    lost, starts = tier_after_start(listing, settings, prediction, ends.keys(), now)
    for where, begin in starts.items():
        ends[where] = ends[where]._replace(start=min(ends[where].start, begin))
    for each in lost:
        if each.rule and each.segments:
            where = TopicPartition(each.topic, each.partition)
            begin = max(ends[where].start, each.last_offset + 1)
            ends[where] = ends[where]._replace(start=begin)
    ended = tuple(_ended(listing, settings, ends, now))
    markers = Counter(name for each in ended for name in each.partitions)
    restarts = (
        _begun(each, ends, markers)
        for each in _restarts(listing, settings, ends, _lost_logs(prediction), expires_at, kafka)
    )
    return FirstMinutes(
        passes, tuple(restarts), ended, expires_at, frozenset(assumed), lost, _told(end),
        tuple(without_tier), tuple(assumed_tier),
    )  # fmt: skip


def _told(end: CleanerEnd | None) -> str:
    """Return where the cleaner ends, and what it does not come to: a clause, empty if nowhere."""
    if end is None:
        return ""
    text = f"ends at {end.found.topic_partition}: {end.problem}"
    if end.left:
        text += f". It does not come to {named_or_more(list(map(str, end.left)))}, less dirty"
    if end.tied:
        text += f". It may come before to {named_or_more(list(map(str, end.tied)))}, as dirty"
    return text


class _Ends(NamedTuple):
    """The ends of a log as the start and the first pass of retention leave it."""

    start: int
    end: int


def _served(prediction: StartupPrediction) -> dict[str, tuple[TopicPartition, int]]:
    """Return path → partition and log end offset of the logs that the broker loads and keeps."""
    gone = {each.path for each in prediction.directories if each.verdict != "online"}
    found = {}
    for row in prediction:
        name = parse_directory_name(row.name)
        is_copy = row.verdict == "future" and not row.becomes_log
        if name is None or row.verdict not in SERVED or is_copy or row.directory in gone:
            continue
        where = TopicPartition(name.topic, name.partition)
        found[f"{row.directory}/{row.name}"] = where, row.log_end_offset or 0
    return found


def _passes(
    listing: Listing,
    settings: Settings,
    logs: Mapping[str, tuple[TopicPartition, int]],
    replaced: Mapping[str, PartitionStart],
    *,
    now: int,
    kafka: str | None,
    progress: Callable[[], None],
    judge: Judge | None,
) -> tuple[tuple[LogPass, ...], CleanerEnd | None]:
    """Return what retention and the cleaner take of logs, and where the cleaner ends.

    Args:
        listing, settings, now, kafka, progress, judge: see `first_minutes`.
        logs: path → partition and log end offset.
        replaced: path → row of the logs that lose records below their end at the start.
    """
    at = now + settings.broker.log_initial_task_delay_ms
    cleaned_at = min(at, now + settings.broker.log_cleaner_backoff_ms)
    outcome_at = partial(
        logs_outcome, listing, settings,
        now=at, folders=logs, kafka=kafka, progress=progress, cleaned_at=cleaned_at,
    )  # fmt: skip
    outcome = None
    if judge is not None:
        with open_dry(listing.log_directories, settings, now, kafka, listing.fs, listing) as dry:
            dry.load(lambda _folder: True, progress)
            judge(dry)
            # Of a partition that has two directories, the other one may have been loaded.
            if logs.keys() <= {log.directory for log in dry.logs.values()}:
                dry.clock.set(cleaned_at)
                outcome = outcome_at(loaded=dry)
    if outcome is None:
        outcome = outcome_at()
    by_where = {where: path for path, (where, _) in logs.items()}
    partitions = {absolute(each.path): each for root in listing.roots for each in root.partitions}
    found: list[LogPass] = []
    for fate in outcome.fates:
        path = by_where.get(TopicPartition(fate.topic, fate.partition))
        disk = None if path is None else partitions.get(path)
        if disk is None:
            continue
        rows = outcome.verdicts.get((fate.topic, fate.partition), ())
        # What is below the log start offset is gone already: DeleteRecords was asked for it.
        every = (row for row in rows if row.verdict == "deleted" and row.rule != LOG_START)
        deleted = next(every, None)
        if deleted is not None:
            is_cleaners = "compact" in fate.policy
            retained = _retained(
                fate, disk, replaced.get(path or ""), settings, deleted,
                at=cleaned_at if is_cleaners else at, is_cleaners=is_cleaners,
            )  # fmt: skip
            below = outcome.dropped_below[fate.topic, fate.partition]
            found += (each._replace(records=each.records - below) for each in retained)
        if fate.dropped_records:
            source = settings.source(fate.topic, "cleanup.policy")
            is_own = "cleanup.policy" in settings.own(fate.topic)
            found.append(LogPass(
                fate.topic, fate.partition, "compaction", fate.dropped_records,
                fate.compacted_bytes, fate.log_start_offset, now, "cleanup.policy", source,
                is_own, fate.cleaning, is_cleaners=True,
            ))  # fmt: skip
    return tuple(found), outcome.cleaner_end


def _retained(
    fate: PartitionFate,
    disk: DiskPartition,
    replaced: PartitionStart | None,
    settings: Settings,
    deleted: RuleRow,
    *,
    at: int,
    is_cleaners: bool,
) -> Iterator[LogPass]:
    """Yield what retention takes of a log; the cleaner may have dropped some of it."""
    rule, reason = deleted.rule, deleted.reason
    is_local = fate.log_start_offset <= disk.log_start_offset
    records = 0
    if not is_local:
        records = if_readable(partial(records_below, disk, fate.log_start_offset)) or 0
        if replaced is not None and (replaced.removed_from or 0) < fate.log_start_offset:
            records = max(records - (replaced.records_lost or 0), 0)  # gone since the start
    elif not rule.startswith("local."):
        return
    source, is_own = settings.source(fate.topic, rule), rule in settings.own(fate.topic)
    yield LogPass(
        fate.topic, fate.partition, "local retention" if is_local else "retention", records,
        fate.deleted_bytes, fate.log_start_offset, at, rule, source, is_own, reason, is_cleaners,
    )  # fmt: skip


def _ends(
    prediction: StartupPrediction,
    logs: Mapping[str, tuple[TopicPartition, int]],
    passes: Iterable[LogPass],
) -> dict[TopicPartition, _Ends]:
    """Return the ends of each log once retention has run; those that are made are empty."""
    rows = {f"{row.directory}/{row.name}": row for row in prediction}
    found = {
        where: _Ends(rows[path].log_start_offset or 0, end) for path, (where, end) in logs.items()
    }
    for each in passes:
        where = TopicPartition(each.topic, each.partition)
        if each.what == "retention":
            found[where] = _Ends(each.log_start_offset, found[where].end)
    created = () if prediction.metadata is None else prediction.metadata.created
    emptied = (row.name for row in prediction if row.is_emptied)
    for name in map(parse_directory_name, (*created, *emptied)):
        if name is not None:
            found.setdefault(TopicPartition(name.topic, name.partition), _Ends(0, 0))
    return found


def _lost_logs(prediction: StartupPrediction) -> Mapping[TopicPartition, str]:
    """Return partition → why the broker does not read, or removes, its log."""
    found = {}
    for row in prediction:
        name = parse_directory_name(row.name)
        if name is None or name.kind != "log":
            continue
        if row.verdict in _LOST or row.has_later_format:
            why = "its format is later" if row.has_later_format else row.verdict
            found[TopicPartition(name.topic, name.partition)] = why
    return found


def _ended(
    listing: Listing, settings: Settings, ends: Mapping[TopicPartition, _Ends], now: int
) -> Iterator[EndedTransaction]:
    """Yield the transactions of which the coordinator sends the markers soon after the start.

    Those that are prepared, when it loads them; those that are over their time, when it next looks.

    Kafka: TransactionMarkerChannelManager.addTxnMarkersToSend,
    TransactionCoordinator.abortTimedOutTransactions (4.2)
    """
    logs = (log for where, log in ends.items() if where.topic == TRANSACTIONS_TOPIC)
    has_coordinator = has_config("transaction.max.timeout.ms", settings.rules.version)
    if not has_coordinator or not any(log.end > log.start for log in logs):
        return
    stored = if_readable(partial(StoredTransactions, listing))
    every = settings.broker.transaction_abort_timed_out_transaction_cleanup_interval_ms
    for name, each in () if stored is None else stored.transactions.items():
        partitions = sorted(where for where in each.partitions if where in ends)
        if not partitions or TopicPartition(TRANSACTIONS_TOPIC, each.log_partition) not in ends:
            continue
        if each.phase == "prepared":
            at, reason = now, f"it is {each.state}"
        elif (over := each.times_out_at) is not None and over < now + _LOOKED_AHEAD_MS:
            at = now + every * max(1, -((now - over - 1) // every))
            reason = f"its transaction.timeout.ms = {each.timeout_ms} is over at {time_text(over)}"
        else:
            continue
        is_committed = each.phase == "prepared" and each.state is TransactionState.PREPARE_COMMIT
        yield EndedTransaction(
            name, tuple(directory_name(*where) for where in partitions), is_committed, at, reason
        )


def _begun(
    each: GroupRestart, ends: Mapping[TopicPartition, _Ends], markers: Mapping[str, int]
) -> GroupRestart:
    """Return the restart with where the consumer begins; ``markers`` are those that logs get."""
    where = TopicPartition(each.topic, each.partition)
    log = ends.get(where)
    if log is None or each.state == TOPIC_GONE:
        return each
    latest = log.end + markers.get(directory_name(*where), 0)
    return each._replace(earliest=log.start, latest=latest)


def _restarts(
    listing: Listing,
    settings: Settings,
    ends: Mapping[TopicPartition, _Ends],
    lost: Mapping[TopicPartition, str],
    expires_at: int,
    kafka: str | None,
) -> Iterator[GroupRestart]:
    """Yield where groups do not go on where they stopped."""
    retention_ms = OffsetConfig.of(settings.broker).retention_ms
    era = None if kafka is None else era_of(kafka)
    groups = if_readable(partial(StoredGroups, listing, era=era, retention_ms=retention_ms))
    if groups is None or not groups.loads:
        return
    fates = fates_of_offsets(listing, now=expires_at, retention_ms=retention_ms, era=era)
    expired = {
        (each.group, each.topic, each.partition): each.reason for each in fates if each.is_gone
    }
    committed: dict[str, set[TopicPartition]] = {}
    for each in groups.offsets():
        if each.unserved is not None:
            continue
        committed.setdefault(each.group, set()).add(each.where)
        state, reason = _state(each, ends, lost, groups.logs)
        if state == IN_THE_LOG and (why := expired.get((each.group, *each.where))) is not None:
            state, reason = EXPIRED, f"its offset {each.committed.offset} {why}"
        if state != IN_THE_LOG:
            yield GroupRestart(each.group, *each.where, each.committed.offset, state, reason)
    for name, (group, _, unserved) in groups.groups.items():
        if unserved is None and group.kind in {"classic", "consumer"}:
            assigned = assigned_partitions(group, groups.logs.topic_names)
            for where in sorted(assigned - committed.get(name, set())):
                reason = "a member has the partition, and no offset is committed"
                yield GroupRestart(name, *where, None, NOT_COMMITTED, reason)


def _state(
    each: CommittedOffset,
    ends: Mapping[TopicPartition, _Ends],
    lost: Mapping[TopicPartition, str],
    logs: LogPositions,
) -> tuple[str, str]:
    """Return the state of a committed offset after the start, and why."""
    record = each.committed.record_offset
    where = TopicPartition(GROUPS_TOPIC, each.log_partition)
    log = ends.get(where)
    if log is None and where in lost:
        return COMMIT_LOST, (
            f"its commit of {each.committed.offset} is in {directory_name(*where)}, which the "
            f"broker does not read ({lost[where]})"
        )
    if log is not None and not log.start <= record < log.end:
        return COMMIT_LOST, (
            f"its commit of {each.committed.offset} is record {record} of {GROUPS_TOPIC}-"
            f"{each.log_partition}, which has {log.start} to {log.end} after the start"
        )
    state, reason = each.position.state or IN_THE_LOG, each.position.reason
    if each.where not in ends and each.where in lost:
        gone, why = logs.absence(each.where)
        return gone or IN_THE_LOG, why
    if each.where not in ends or state not in {IN_THE_LOG, BEYOND_END, BELOW_START}:
        return state, reason
    topic_ids = {} if logs.cluster is None else logs.cluster.topic_ids
    known = topic_ids.get(each.where.topic)
    if known is not None and each.committed.topic_id not in {None, known}:
        return RECREATED, f"the commit is for topic id {each.committed.topic_id}, not {known}"
    return _in(ends[each.where], each.committed.offset)


def _in(ends: _Ends, offset: int) -> tuple[str, str]:
    """Return the state of an offset in a log as it is after the first pass of retention."""
    if offset > ends.end:
        return BEYOND_END, f"its offset {offset} is beyond the log end offset {ends.end}"
    if offset < ends.start:
        return BELOW_START, f"its offset {offset} is below the log start offset {ends.start}"
    return IN_THE_LOG, ""
