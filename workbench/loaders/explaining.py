"""Why a partition is cleaned or not, and why its segments are deleted or not.

Kafka: LogCleanerManager.grabFilthiestCompactedLog, UnifiedLog.deleteOldSegments (4.2)
"""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

from workbench.cleaner.cleaner import plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.explanation import Policy, explain_cleaning, explain_uncleanable
from workbench.cleaner.log_to_clean import LogToClean, log_to_clean
from workbench.cleaner.rounds import clean_rounds
from workbench.errors import LogDirectoryError, WorkbenchError
from workbench.files.names import CLEANER_OFFSETS, TopicPartition
from workbench.inspection.field_list import time_text
from workbench.inspection.partition import Partition
from workbench.loaders.cleaning_plan import CleaningPlan
from workbench.loaders.explanation import Explanation
from workbench.log.log import Log
from workbench.log.retention_explanation import explain_retention
from workbench.log.rule_verdict import RuleVerdict
from workbench.log_manager.dry_logs import DryLogs


class Explainer:
    """Explains partitions of the same log directories at one time.

    Args:
        dry: their logs; loaded as they are asked for.
        now: ms.
    """

    def __init__(self, dry: DryLogs, now: int) -> None:
        self._dry = dry
        self._now = now

    @cached_property
    def _compacted(self) -> list[LogToClean]:
        """How dirty all compacted logs are."""
        dry = self._dry
        dry.load(lambda folder: dry.is_compacted(folder.topic_partition))
        found = (
            dirt_of(dry, log, self._now) for name, log in dry.logs.items() if dry.is_compacted(name)
        )
        return [one for one in found if isinstance(one, LogToClean)]

    def cleaning(self, partition: Partition) -> Explanation:
        """Return why a partition is cleaned, or is not; see `Partition.explain_cleaning`."""
        dry, now = self._dry, self._now
        log = load_one(dry, partition)
        name = log.topic_partition
        policy, found = policy_of(dry, name), dirt_of(dry, log, now)
        if isinstance(found, str):
            rows = explain_uncleanable(dry.settings.broker, policy, found)
        else:
            rows = explain_cleaning(
                found,
                dry.cleaner_offsets.get(name),
                now,
                broker=dry.settings.broker,
                policy=policy,
                others=self._compacted,
                problem=cleaning_problem(found, now, dry) if policy.is_compacted else None,
            )
        return Explanation(partition.name, now, cleaning_conclusion(rows), tuple(rows))

    def retention(self, partition: Partition) -> Explanation:
        """Return why segments are deleted, or not; see `Partition.explain_retention`."""
        log = load_one(self._dry, partition)
        state = log.retention_state()
        rows = explain_retention(state, policy_of(self._dry, log.topic_partition).source)
        sizes = {segment.base_offset: segment.size for segment in state.segments}
        return Explanation(
            partition.name, self._now, retention_conclusion(rows, sizes), tuple(rows)
        )


def plan_partition(
    dry: DryLogs, partition: Partition, times: Sequence[int], *, everything: bool
) -> CleaningPlan:
    """Return what cleaning a partition would do; see `Partition.plan_cleaning`.

    The dry log is changed where there is more than one round.
    """
    log = load_one(dry, partition)
    size = log.size
    rounds, problem = clean_rounds(
        log,
        dry.cleaner_offsets.get(log.topic_partition),
        times,
        dry.clock,
        CleanerConfig.of(dry.settings.broker),
        everything=everything,
        writes_last=False,
    )
    return CleaningPlan(partition, rounds, problem, size)


def load_one(dry: DryLogs, partition: Partition) -> Log:
    """Load the log of a partition's folder.

    Raises:
        LogDirectoryError: it is none that a broker serves.
        WorkbenchError, OSError: it cannot be loaded; a broker would not start, or not with it.
    """
    path = os.path.abspath(partition.path)
    if partition.only is not None:
        raise LogDirectoryError(path, "a single file was opened; this asks for the whole folder")
    dry.load(lambda folder: folder.path == path)
    name = TopicPartition(partition.topic, partition.partition)
    problem = dry.problems.get(name)
    if problem is not None:
        raise problem
    log = dry.logs.get(name)
    if log is None or log.directory != path:
        what = "KRaft keeps it itself" if partition.kind == "log" else "the folder is not in use"
        raise LogDirectoryError(path, f"no log of the log manager's: {what}")
    return log


def policy_of(dry: DryLogs, name: TopicPartition) -> Policy:
    """Return whether a log is compacted, and who says so."""
    settings, is_compacted = dry.settings, dry.is_compacted(name)
    if settings.knows(name.topic, "cleanup.policy"):
        policy = ",".join(sorted(settings.config_of(name.topic).cleanup_policy)) or "none"
        source = settings.source(name.topic, "cleanup.policy")
        return Policy(is_compacted, policy, source)
    if is_compacted:
        return Policy(is_compacted, "compact", f"told only by {CLEANER_OFFSETS}, which names it")
    return Policy(is_compacted, None, "Kafka's default; no configuration is known")


def dirt_of(dry: DryLogs, log: Log, now: int) -> LogToClean | str:
    """Return how dirty a log is; or why that cannot be told: for a broker it is uncleanable."""
    try:
        return log_to_clean(log, dry.cleaner_offsets.get(log.topic_partition), now)
    except (WorkbenchError, OSError) as error:
        return str(error)


def cleaning_problem(found: LogToClean, now: int, dry: DryLogs) -> str | None:
    """Return why cleaning a log would fail; empty if it would not, None: nothing is to clean."""
    start, end = found.first_dirty_offset, found.first_uncleanable_offset
    if start >= end:
        return None
    try:
        plan_cleaning(found.log, start, end, now, CleanerConfig.of(dry.settings.broker))
    except (WorkbenchError, ValueError, OSError) as error:
        return str(error)
    return ""


def cleaning_conclusion(rows: Sequence[RuleVerdict]) -> str:
    """Return in one sentence what rules about cleaning come to."""
    blocking = next((row for row in rows if row.verdict == "blocks"), None)
    unknown = next((row for row in rows if row.rule == "cleanup.policy"), None)
    order = rows[-1]
    if unknown is not None and unknown.verdict == "unknown":
        return f"not cleaned, as far as is known: {unknown.reason}"
    demanded = any(row.verdict == "demands" for row in rows) and order.value is not None
    if blocking is None or demanded:
        if order.threshold == 1:
            return "it is cleaned"
        place = "next" if order.value == 1 else f"as number {order.value}"
        return f"it is cleaned {place}, of {order.threshold} logs"
    named = "" if blocking.reason.startswith(blocking.rule) else f"{blocking.rule}: "
    text = f"it is not cleaned: {named}{blocking.reason}"
    if blocking.rule in {"log.cleaner.enable", "cleanup.policy", "uncleanable"}:
        return text
    if order.due is None:
        return f"{text}; nothing changes unless something is written"
    return f"{text}; without anything written, from {time_text(order.due)} on"


def retention_conclusion(rows: Sequence[RuleVerdict], sizes: Mapping[int, int]) -> str:
    """Return in one sentence what rules about retention come to.

    Args:
        rows: of all segments.
        sizes: base offset → bytes.
    """
    gone = {row.segment for row in rows if row.verdict == "deleted"}
    size = sum(sizes[base] for base in gone if base is not None)
    text = f"{len(gone)} of {len(sizes)} segments go, {size:,} of {sum(sizes.values()):,} bytes"
    reason = why_retained(rows, sizes)
    return f"{text}; {reason}" if reason else text


def why_retained(rows: Sequence[RuleVerdict], sizes: Mapping[int, int]) -> str:
    """Return why the first segment that stays does; empty if none stays.

    Args:
        rows, sizes: as of `retention_conclusion`.
    """
    gone = {row.segment for row in rows if row.verdict == "deleted"}
    left = [base for base in sizes if base not in gone]
    decisive = [row for row in rows if left and row.segment == left[0]]
    if not decisive:
        return ""
    row = decisive[-1]
    text = f"segment {row.segment} stays: {row.reason}"
    return text if row.due is None else f"{text}; it goes at {time_text(row.due)} at the earliest"
