"""What a broker would delete and compact under another configuration, partition by partition.

Retention and one cleaning of each log that is due run on a dry copy; nothing is written. Committed
offsets expire by `offsets.retention.minutes`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from workbench.cleaner.cleaner import clean_log, plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Longs
from workbench.cleaner.schedule.log_to_clean import CleaningPlace, place_of
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.runtime.era import era_of
from workbench.errors import WorkbenchError
from workbench.file_system.source import absolute
from workbench.files.names import TopicPartition
from workbench.foresight.dry_listing import Config, open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.foresight.explain.cleaning import Policy, explain_cleaning, explain_uncleanable
from workbench.foresight.explain.retention import explain_retention
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.listing import Listing, list_log_directories
from workbench.loaders.explanations.explain_partition import (
    CleanerEnd,
    cleaning_conclusion,
    dirt_of,
    end_of_cleaner,
    order_of_cleaning,
    policy_of,
    why_retained,
)
from workbench.loaders.explanations.offset_fates import (
    fate_sentence,
    fates_of_offsets,
    retention_ms_of,
)
from workbench.loaders.scan.plan import choose_partitions
from workbench.loaders.tables.rows import ArrowTable, table_of
from workbench.log.log import Log
from workbench.log.retention import LOG_START
from workbench.runtime.times import MINUTE, time_or_now, time_text
from workbench.runtime.words import plural, safe, safe_lines
from workbench.tables.columns import json_of
from workbench.tables.foresight import RuleRow, WhatIfRow
from workbench.tables.groups import OffsetFateRow

COLUMNS: Final = (
    "partition",
    "policy",
    "before",
    "deleted",
    "compacted",
    "with the change",
    "as configured",
    "difference",
)
"""The names of what `PartitionFate.totals` returns: bytes from the third on."""

_SHOWN: Final = 100  # rows of the table in a notebook
_NAMED: Final = 5  # topics that a sentence names
_CLEANED_FIRST: Final = 64 << 20  # bytes of a log that is cleaned in memory
_MAY_BE_FIRST: Final = (
    "; if the cleaner cleans this log before, retention asks about what is left in fewer segments"
)


@dataclass(frozen=True, slots=True)
class PartitionFate:
    """The fate of one partition.

    Attributes:
        topic, partition: the topic's name and the partition's number.
        policy: its `cleanup.policy`.
        size: bytes of the log before the change.
        deleted_bytes: bytes of the segments that retention deletes.
        compacted_bytes: bytes that cleaning removes from the other segments.
        segments: the number of segments before the change.
        deleted_segments: the number of them that retention deletes.
        dropped_records: the records that cleaning drops.
        log_start_offset: log start offset afterwards.
        retention: why the first kept segment is kept; empty without one, or if segments are never
            deleted by age or size.
        cleaning: why the log is cleaned, or is not.
        problem: why the log could not be loaded; empty if it was.
        high_watermark: the assumed high watermark of the log, and why; empty where
            `replication-offset-checkpoint` gives it.
        size_as_configured: bytes of the log afterwards without the change.
        is_config_known: whether the directories, or what is given, name the topic's configuration;
            otherwise Kafka's defaults are assumed.
    """

    topic: str
    partition: int
    policy: str
    size: int = 0
    deleted_bytes: int = 0
    compacted_bytes: int = 0
    segments: int = 0
    deleted_segments: int = 0
    dropped_records: int = 0
    log_start_offset: int = 0
    retention: str = ""
    cleaning: str = ""
    problem: str = ""
    high_watermark: str = ""
    size_as_configured: int = 0
    is_config_known: bool = True

    @property
    def name(self) -> str:
        """Topic and number of the partition, the name of its directory."""
        return f"{self.topic}-{self.partition}"

    @property
    def size_after(self) -> int:
        """Bytes of the log afterwards."""
        return self.size - self.deleted_bytes - self.compacted_bytes

    @property
    def difference(self) -> int:
        """Bytes that the change adds to the log; negative: that it saves."""
        return self.size_after - self.size_as_configured

    @property
    def reasons(self) -> list[str]:
        """The explanations of the fate: sentences."""
        deleted = (
            f"retention deletes {self.deleted_segments:,} of {plural(self.segments, 'segment')}"
        )
        every = (
            deleted if self.deleted_segments else "",
            self.retention, self.cleaning, self.high_watermark, self.problem,
        )  # fmt: skip
        return [why for why in every if why]

    def totals(self) -> list[Cell]:
        """Return the cells of a table, as `COLUMNS` names them."""
        return [
            self.name,
            self.policy,
            self.size,
            self.deleted_bytes,
            self.compacted_bytes,
            self.size_after,
            self.size_as_configured,
            self.difference,
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        sizes = {"size_after": self.size_after, "difference": self.difference}
        return {**asdict(self), **sizes}


@dataclass(frozen=True, slots=True)
class WhatIf(ArrowTable):
    """The fates of all partitions; iterating gives them.

    Attributes:
        config: the given configuration.
        now: ms; the time that ages were measured by.
        partitions: sorted by topic and number.
        verdicts: partition → the verdicts of retention on its segments, rule by rule.
        broker: the broker that is assumed, and why that one.
        offsets: the fates of committed offsets, by `offsets.retention.minutes`, sorted by group.
    """

    config: dict[str, Any]
    now: int
    partitions: tuple[PartitionFate, ...]
    verdicts: Mapping[tuple[str, int], tuple[RuleRow, ...]]
    broker: MeantBroker
    offsets: tuple[OffsetFateRow, ...] = ()

    def __iter__(self) -> Iterator[PartitionFate]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, name: str) -> PartitionFate:
        """Return the fate of a partition: ``"orders-0"``.

        Raises:
            KeyError: the partition does not exist.
        """
        for fate in self.partitions:
            if fate.name == name:
                return fate
        raise KeyError(name)

    def to_arrow(self) -> pa.Table:
        """Return one row per partition (`WhatIfRow`)."""
        return table_of(WhatIfRow, self)

    def offsets_to_arrow(self) -> pa.Table:
        """Return one row per committed offset (`OffsetFateRow`)."""
        return table_of(OffsetFateRow, self.offsets)

    @property
    def summary(self) -> str:
        """One sentence."""
        deleted = sum(fate.deleted_bytes for fate in self)
        compacted = sum(fate.compacted_bytes for fate in self)
        size = sum(fate.size for fate in self)
        text = (
            f"at {time_text(self.now)}: {size:,} bytes become {size - deleted - compacted:,}: "
            f"retention deletes {deleted:,}, cleaning removes {compacted:,}"
        )
        configured = sum(fate.size_as_configured for fate in self)
        text += f"; as it is configured, {configured:,} remain"
        about_offsets = fate_sentence(self.offsets)
        return f"{text}; {about_offsets}" if about_offsets else text

    @property
    def unknown_configs(self) -> list[str]:
        """The topics whose configuration is not known: Kafka's defaults are assumed for them."""
        return sorted({fate.topic for fate in self if not fate.is_config_known})

    @property
    def about_configs(self) -> str:
        """What is assumed about configurations; empty if all are known."""
        topics = self.unknown_configs
        if not topics:
            return ""
        named = ", ".join(topics[:_NAMED]) + (", …" if len(topics) > _NAMED else "")
        return (
            f"the configuration of {plural(len(topics), 'topic')} is not in these directories, and "
            f"Kafka's defaults are assumed: {named}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "broker": self.broker._asdict(),
            "config": self.config,
            "now": self.now,
            "partitions": [
                {
                    **fate.as_dict(),
                    "verdicts": [
                        json_of(row) for row in self.verdicts.get((fate.topic, fate.partition), ())
                    ],
                }
                for fate in self
            ],
            "unknown_configs": self.unknown_configs,
            "offsets": [json_of(fate) for fate in self.offsets],
        }

    def __repr__(self) -> str:
        return safe(f"<WhatIf {self.summary}>")

    def __str__(self) -> str:
        lines = [str(self.broker), self.summary, *filter(None, [self.about_configs])]
        for fate in self:
            lines.append(f"  {fate.name}: {fate.size:,} -> {fate.size_after:,}")
            lines += [f"    {why}" for why in fate.reasons]
        return safe_lines(lines)

    def _repr_html_(self) -> str:
        shown = self.partitions[:_SHOWN]
        rows = [[*fate.totals(), "; ".join(fate.reasons)] for fate in shown]
        left = len(self) - _SHOWN
        columns = [*COLUMNS, "why"]
        more = f"{left} more partitions" if left > 0 else ""
        note = "; ".join(filter(None, [str(self.broker), more, self.about_configs]))
        return table_html(self.summary, columns, rows, note, sentences=["why"])


def what_would_be(
    listing: Listing,
    config: Config,
    now: int | None,
    topics: Collection[str] | None,
    partitions: Collection[int | str] | None = None,
    *,
    kafka: str | None = None,
    progress: Callable[[], None] = lambda: None,
) -> WhatIf:
    """Return what a broker would delete and compact; see `log_directory.what_if`.

    ``progress`` is called before each log is loaded, and judged; what it raises ends the work.
    """
    moment = time_or_now(now)
    given = config if isinstance(config, Mapping) else {}
    retention_ms = retention_ms_of(given)
    chosen = choose_partitions(listing, topics, partitions)
    folders = {absolute(partition.path) for partition in chosen if partition.kind == "log"}
    whole = list_log_directories(map(absolute, listing.log_directories), fs=listing.fs)
    judge = partial(
        logs_outcome, whole, now=moment, folders=folders, kafka=kafka, progress=progress
    )
    outcome = judge(config)
    before = judge(None) if config else outcome
    sizes = {fate.name: fate.size_after for fate in before.fates}
    fates = (
        replace(fate, size_as_configured=sizes.get(fate.name, fate.size)) for fate in outcome.fates
    )
    offsets: tuple[OffsetFateRow, ...] = ()
    if all(root.is_log_directory for root in listing.roots):
        listing = whole  # of which the metadata log was read
    is_named = topics is not None or partitions is not None
    if not is_named or any(partition.topic == GROUPS_TOPIC for partition in chosen):
        era = None if kafka is None else era_of(kafka)
        if kafka is not None:
            retention_ms = outcome.offsets_retention_minutes * MINUTE
        with suppress(OSError):  # then the fate of its log has the problem
            offsets = fates_of_offsets(listing, now=moment, retention_ms=retention_ms, era=era)
    return WhatIf(dict(given), moment, tuple(fates), outcome.verdicts, outcome.meant, offsets)


class LogsOutcome(NamedTuple):
    """What a broker does with some logs.

    Attributes:
        meant: the broker.
        fates: of the logs, sorted.
        verdicts: of retention, by partition.
        dropped_below: partition → how many of the records that its cleaning drops are below its
            log start offset, because it is cleaned before retention deletes of it.
        offsets_retention_minutes: as it is configured.
        cleaner_end: where the cleaner ends; None if it does not.
    """

    meant: MeantBroker
    fates: list[PartitionFate]
    verdicts: dict[tuple[str, int], tuple[RuleRow, ...]]
    offsets_retention_minutes: int
    cleaner_end: CleanerEnd | None
    dropped_below: dict[tuple[str, int], int]


def logs_outcome(
    listing: Listing,
    config: Config,
    *,
    now: int,
    folders: Collection[str],
    kafka: str | None,
    progress: Callable[[], None],
    loaded: DryLogs | None = None,
    cleaned_at: int | None = None,
) -> LogsOutcome:
    """Let retention and cleaning work on the logs in some folders.

    Args:
        cleaned_at: ms, not after ``now``; when the cleaner works, which also deletes the segments
            of compacted logs; None: at ``now``.
        loaded: the logs of the same directories as configured, with a clock at ``cleaned_at``, if
            they are loaded; None loads them.

    Kafka: LogManager.cleanupLogs, LogCleaner.cleanFilthiestLog (4.2)
    """
    began = now if cleaned_at is None else cleaned_at
    with (
        open_dry(listing.log_directories, config, began, kafka, listing.fs, listing)
        if loaded is None
        else nullcontext(loaded)
    ) as dry:
        dry.load(lambda folder: folder.path in folders, progress)
        fates = [_failed(dry, name, error) for name, error in dry.problems.items()]
        end = None
        if not dry.meant.rules.marks_uncleanable:
            end = end_of_cleaner(dry, order_of_cleaning(dry, began), began)
        verdicts, below = {}, {}
        compacted: list[tuple[TopicPartition, Log]] = []
        others: list[tuple[TopicPartition, Log]] = []
        for item in dry.logs.items():
            if item[1].directory in folders:
                (compacted if item[1].context.config.compact else others).append(item)
        dirty = len(compacted)
        for number, (name, log) in enumerate([*compacted, *others]):
            progress()
            if number == dirty:
                dry.clock.set(now)
            try:
                fate, rows, below[name.topic, name.partition] = _fate(
                    dry, log, began if number < dirty else now, end
                )
            except (WorkbenchError, OSError) as error:  # the log has changed since it was loaded
                fates.append(_failed(dry, name, error))
            else:
                fates.append(fate)
                verdicts[name.topic, name.partition] = tuple(rows)
        fates = [
            replace(fate, is_config_known=dry.settings.knows(fate.topic, "cleanup.policy"))
            for fate in fates
        ]
        minutes = dry.settings.broker.offsets_retention_minutes
    fates.sort(key=lambda fate: (fate.topic, fate.partition))
    return LogsOutcome(dry.meant, fates, verdicts, minutes, end, below)


def _failed(dry: DryLogs, name: TopicPartition, error: Exception) -> PartitionFate:
    policy = policy_of(dry, name).text or "unknown"
    return PartitionFate(name.topic, name.partition, policy, problem=str(error))


def _fate(
    dry: DryLogs, log: Log, now: int, end: CleanerEnd | None
) -> tuple[PartitionFate, list[RuleRow], int]:
    """Let retention and cleaning work on a log; also return what `LogsOutcome.dropped_below` has.

    The cleaner cleans the dirtiest log, then deletes segments of all compacted ones, and so on. As
    long as their high watermarks are not known, it deletes none.
    """
    name = log.topic_partition
    policy = policy_of(dry, name)
    rows = explain_retention(log.retention_state(), policy.source)
    sizes = left = {segment.base_offset: segment.size for segment in log.segments}
    cleaned = _NOT_CLEANED
    place = _place(dry, log, now) if policy.is_compacted and _deletes(rows) else None
    at_load = dry.settings.rules.cleans_at_load
    if place is None or (place.place > 1 and not at_load):
        pass
    elif (at_load or not place.tied) and sum(sizes.values()) <= _CLEANED_FIRST:
        cleaned = _clean(dry, log, policy, now, end, writes=True)
        left = {segment.base_offset: segment.size for segment in log.segments}
        rows = explain_retention(log.retention_state(), policy.source)
    else:
        rows = [
            row._replace(reason=row.reason + _MAY_BE_FIRST) if _deletes([row]) else row
            for row in rows
        ]
    rows = [row._replace(topic=name.topic, partition=name.partition) for row in rows]
    deleted = [verdict.segment for verdict in log.delete_old_segments() if verdict.is_deleted]
    gone = [segment.base_offset for segment in deleted]
    for segment in deleted:  # their removal is delayed, and nothing here waits for it
        segment.close_handlers()
    if policy.is_compacted and not cleaned.why:
        cleaned = _clean(dry, log, policy, now, end)
    fate = PartitionFate(
        name.topic,
        name.partition,
        policy.text or "delete",
        size=sum(sizes.values()),
        deleted_bytes=sum(left[base] for base in gone),
        compacted_bytes=cleaned.saved,
        segments=len(sizes),
        deleted_segments=len(gone),
        dropped_records=len(cleaned.dropped),
        log_start_offset=log.log_start_offset,
        retention=why_retained(rows, sizes) if log.config.delete or gone else "",
        cleaning=cleaned.why,
        high_watermark=str(high) if (high := dry.high_watermarks[name]).is_assumed else "",
    )
    below = 0 if place is None else int((cleaned.dropped < log.log_start_offset).sum())
    return fate, rows, below


def _deletes(rows: Iterable[RuleRow]) -> bool:
    return "deleted" in [row.verdict for row in rows if row.rule != LOG_START]


def _place(dry: DryLogs, log: Log, now: int) -> CleaningPlace | None:
    """Return where a log is in the order of cleaning; None: it is not cleaned."""
    if not dry.settings.broker.log_cleaner_enable:
        return None
    return place_of(log.topic_partition, order_of_cleaning(dry, now))


class _Cleaned(NamedTuple):
    """What a cleaning saves: bytes; the offsets of the records that it drops; and why, or why not.

    The text is empty before the log was judged.
    """

    saved: int
    dropped: Longs
    why: str


_NOTHING: Final[Longs] = np.empty(0, np.int64)
_NOT_CLEANED: Final = _Cleaned(0, _NOTHING, "")


def _clean(
    dry: DryLogs,
    log: Log,
    policy: Policy,
    now: int,
    cleaner_end: CleanerEnd | None,
    *,
    writes: bool = False,
) -> _Cleaned:
    """Return what cleaning saves, if the log is due; ``writes`` lets the log change."""
    found = dirt_of(dry, log, now)
    if isinstance(found, str):
        rows = explain_uncleanable(dry.settings.broker, policy, found, dry.meant.rules)
        return _Cleaned(0, _NOTHING, cleaning_conclusion(rows))
    cleaned = _NOT_CLEANED
    problem: str | None = None
    is_due = found.is_cleanable and dry.settings.broker.log_cleaner_enable
    ended = cleaner_end.reason_for(found) if cleaner_end is not None and is_due else ""
    if is_due and not ended:
        problem = ""
        start, end = found.first_dirty_offset, found.first_uncleanable_offset
        try:
            config = CleanerConfig.of(dry.settings.broker)
            cleaning = (
                clean_log(log, start, end, now, config)
                if writes
                else plan_cleaning(log, start, end, now, config, workers=None)
            )
        except (WorkbenchError, OSError) as error:
            problem = str(error)
        else:
            batches, decisions = cleaning.decisions.batches, cleaning.decisions
            saved = int((batches["size"] - batches["new_size"]).sum())
            cleaned = _Cleaned(saved, decisions.offsets[~decisions.is_kept], "")
    rows = explain_cleaning(
        found,
        dry.cleaner_offsets.get(log.topic_partition),
        now,
        broker=dry.settings.broker,
        policy=policy,
        order=[found] if is_due else [],
        problem=problem,
        ended=ended,
    )
    return cleaned._replace(why=cleaning_conclusion(rows))
