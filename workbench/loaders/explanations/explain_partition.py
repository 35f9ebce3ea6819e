"""Why a partition is cleaned or not, and why its segments are deleted or not.

Kafka: LogCleanerManager.grabFilthiestCompactedLog, UnifiedLog.deleteOldSegments (4.2)
"""

import errno
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from workbench.cleaner.cleaner import plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import (
    FIRST_UNSTABLE,
    LogToClean,
    cleaning_order,
    log_to_clean,
)
from workbench.errors import LogDirectoryError, WorkbenchError
from workbench.file_system.source import absolute
from workbench.files.names import CLEANER_OFFSETS, TopicPartition
from workbench.foresight.dry_logs import DryLogs
from workbench.foresight.explain.cleaning import (
    NEVER,
    TIED,
    Policy,
    explain_cleaning,
    explain_uncleanable,
    what_changes,
)
from workbench.foresight.explain.retention import explain_retention
from workbench.foresight.rehearse.rounds import clean_rounds
from workbench.inspection.partition import DiskPartition
from workbench.loaders.explanations.cleaning_plan import CleaningPlan
from workbench.loaders.explanations.explanation import Explanation
from workbench.log.log import Log
from workbench.runtime.times import due_text
from workbench.tables.foresight import RuleRow


class Explainer:
    """Explain partitions of the same log directories at one time.

    Args:
        dry: their logs, loaded on demand.
        now: ms.
        tries: whether a cleaning that is due is planned, to see whether it fails.
    """

    def __init__(self, dry: DryLogs, now: int, *, tries: bool = True) -> None:
        self._dry = dry
        self._now = now
        self._tries = tries

    @cached_property
    def _order(self) -> list[LogToClean]:
        """The compacted logs that are due, in the order in which they are cleaned."""
        return order_of_cleaning(self._dry, self._now)

    @cached_property
    def _end(self) -> "CleanerEnd | None":
        return end_of_cleaner(self._dry, self._order, self._now) if self._tries else None

    def cleaning(self, partition: DiskPartition) -> Explanation:
        """Return why a partition is cleaned, or is not; see `Partition.explain_cleaning`."""
        dry, now = self._dry, self._now
        log = load_one(dry, partition)
        name = log.topic_partition
        policy, found = policy_of(dry, name), dirt_of(dry, log, now)
        if isinstance(found, str):
            rows = explain_uncleanable(dry.settings.broker, policy, found, dry.meant.rules)
        else:
            rows = explain_cleaning(
                found,
                dry.cleaner_offsets.get(name),
                now,
                broker=dry.settings.broker,
                policy=policy,
                order=self._order,
                problem=(
                    cleaning_problem(found, now, dry)
                    if self._tries and policy.is_compacted
                    else None
                ),
                ended="" if self._end is None else self._end.reason_for(found),
            )
        return self._explained(partition, name, cleaning_conclusion(rows), rows)

    def retention(self, partition: DiskPartition) -> Explanation:
        """Return why segments are deleted, or not; see `Partition.explain_retention`."""
        log = load_one(self._dry, partition)
        state = log.retention_state()
        rows = explain_retention(state, policy_of(self._dry, log.topic_partition).source)
        sizes = {segment.base_offset: segment.size for segment in state.segments}
        conclusion = retention_conclusion(rows, sizes)
        return self._explained(partition, log.topic_partition, conclusion, rows)

    def _explained(
        self,
        partition: DiskPartition,
        where: TopicPartition,
        conclusion: str,
        rows: Sequence[RuleRow],
    ) -> Explanation:
        return Explanation(
            "partition",
            partition.name,
            conclusion,
            tuple(row._replace(topic=where.topic, partition=where.partition) for row in rows),
            self._now,
            str(self._dry.high_watermarks[where]),
            self._dry.meant,
        )


def plan_partition(
    dry: DryLogs,
    partition: DiskPartition,
    times: Sequence[int],
    *,
    everything: bool,
    workers: int | None = None,
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
        workers=workers,
    )
    high_watermark = str(dry.high_watermarks[log.topic_partition])
    return CleaningPlan(partition, rounds, problem, size, high_watermark, dry.meant)


def is_compacted(dry: DryLogs, partition: DiskPartition) -> bool:
    """Return whether the cleaner works on a log, as far as is known."""
    return dry.is_compacted(TopicPartition(partition.topic, partition.partition))


def load_one(dry: DryLogs, partition: DiskPartition) -> Log:
    """Load the log of a partition directory.

    Raises:
        FileNotFoundError: a broker has deleted it since it was listed.
        LogDirectoryError: a broker does not serve it.
        WorkbenchError, OSError: it cannot be loaded; a broker would not start, or not with it.
    """
    path = absolute(partition.path)
    if partition.only is not None:
        raise LogDirectoryError(
            path, "a single file was opened; open its partition directory instead"
        )
    dry.load_directory(path)
    name = TopicPartition(partition.topic, partition.partition)
    problem, log = dry.problems.get(name), dry.logs.get(name)
    if log is None and partition.is_here and not os.path.lexists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if problem is not None:
        raise problem
    if log is None or log.directory != path:
        what = "KRaft manages it" if partition.kind == "log" else "the directory is not in use"
        raise LogDirectoryError(path, f"not a log that the log manager serves: {what}")
    return log


def policy_of(dry: DryLogs, name: TopicPartition) -> Policy:
    """Return whether a log is compacted, and the source of that."""
    settings, is_compacted = dry.settings, dry.is_compacted(name)
    if settings.knows(name.topic, "cleanup.policy"):
        policy = ",".join(sorted(settings.config_of(name.topic).cleanup_policy)) or "none"
        source = settings.source(name.topic, "cleanup.policy")
        return Policy(is_compacted, policy, source)
    if is_compacted:
        return Policy(
            is_compacted, "compact", f"known only from {CLEANER_OFFSETS}, which names the log"
        )
    return Policy(is_compacted, None, "Kafka's default; no configuration is known")


def dirt_of(dry: DryLogs, log: Log, now: int) -> LogToClean | str:
    """Return how dirty a log is; or why that is unknown: a broker calls such a log uncleanable."""
    try:
        return log_to_clean(log, dry.cleaner_offsets.get(log.topic_partition), now)
    except (WorkbenchError, OSError) as error:
        return str(error)


def order_of_cleaning(dry: DryLogs, now: int) -> list[LogToClean]:
    """Return the compacted logs that are due, in the order in which they are cleaned."""
    dry.load(lambda folder: dry.is_compacted(folder.topic_partition))
    found = (dirt_of(dry, log, now) for name, log in dry.logs.items() if dry.is_compacted(name))
    known = (one for one in found if isinstance(one, LogToClean))
    return cleaning_order(known)


class CleanerEnd(NamedTuple):
    """The log at which the cleaner's threads end.

    Attributes:
        found: the log.
        problem: why cleaning it fails.
        tied: the other logs that are as dirty, so that any of them may be cleaned before.
        left: the logs that are less dirty, and not cleaned.
    """

    found: LogToClean
    problem: str
    tied: list[TopicPartition]
    left: list[TopicPartition]

    def reason_for(self, other: LogToClean) -> str:
        """Return why the cleaner does not come to a log; empty if it does."""
        where = other.topic_partition
        if where not in {*self.tied, *self.left}:
            return ""
        how = "as dirty, perhaps before it" if where in self.tied else "dirtier"
        return (
            f"the cleaner ends at {self.found.topic_partition}, which is {how}, and cleans no "
            f"other log until the broker restarts: {self.problem}"
        )


def end_of_cleaner(dry: DryLogs, order: Sequence[LogToClean], now: int) -> CleanerEnd | None:
    """Return where the cleaner's threads end; None if they do not, as since 2.1.

    Args:
        dry: the logs.
        order: see `order_of_cleaning`.
        now: ms.

    Kafka: LogCleaner.CleanerThread.doWork (0.8.2 to 2.0)
    """
    if dry.meant.rules.marks_uncleanable or not dry.settings.broker.log_cleaner_enable:
        return None
    for found in order:
        problem = cleaning_problem(found, now, dry)
        if problem:
            ratio = found.cleanable_ratio
            others = [each for each in order if each is not found]
            tied = [each.topic_partition for each in others if each.cleanable_ratio == ratio]
            left = [each.topic_partition for each in others if each.cleanable_ratio < ratio]
            return CleanerEnd(found, problem, tied, left)
    return None


def cleaning_problem(found: LogToClean, now: int, dry: DryLogs) -> str | None:
    """Return why cleaning a log would fail; empty if it would not; None: nothing to clean."""
    start, end = found.first_dirty_offset, found.first_uncleanable_offset
    if start >= end:
        return None
    try:
        config = CleanerConfig.of(dry.settings.broker)
        plan_cleaning(found.log, start, end, now, config, workers=None)
    except (WorkbenchError, OSError) as error:
        return str(error)
    return ""


def is_cleaned(rows: Sequence[RuleRow]) -> bool:
    """Return whether the rules about cleaning let a log be cleaned now."""
    verdicts = [(row.rule, row.verdict) for row in rows]
    if ("cleanup.policy", "unknown") in verdicts:
        return False
    found = {verdict for _, verdict in verdicts}
    if "demands" in found and rows[-1].value is not None:
        return True
    return "blocks" not in found


def cleaning_conclusion(rows: Sequence[RuleRow]) -> str:
    """Return the conclusion from the rules about cleaning, in one sentence."""
    blocking = next((row for row in rows if row.verdict == "blocks"), None)
    unknown = next((row for row in rows if row.rule == "cleanup.policy"), None)
    order = rows[-1]
    if unknown is not None and unknown.verdict == "unknown":
        return f"the log is not cleaned, as far as is known: {unknown.reason}"
    if blocking is None or is_cleaned(rows):
        if order.threshold == 1:
            return "the log is cleaned"
        place = "first" if order.value == 1 else f"as number {order.value}"
        tied = order.reason.partition(TIED)[2]
        text = f"the log is cleaned {place} of {order.threshold} logs"
        return f"{text}: {tied}" if tied else text
    named = "" if blocking.reason.startswith(blocking.rule) else f"{blocking.rule}: "
    text = f"the log is not cleaned: {named}{blocking.reason}"
    if blocking.rule in {"log.cleaner.enable", "cleanup.policy", "uncleanable"}:
        return text
    if order.due is None:
        never = order.reason.endswith(NEVER)
        held = (row for row in rows if row.rule == FIRST_UNSTABLE)
        unstable = next((row.value for row in held if row.verdict in {"blocks", "limits"}), None)
        return f"{text}; {NEVER if never else what_changes(unstable)}"
    return f"{text}; if nothing is written, the log can be cleaned at {due_text(order.due)}"


def retention_conclusion(rows: Sequence[RuleRow], sizes: Mapping[int, int]) -> str:
    """Return the conclusion from the rules about retention, in one sentence.

    Args:
        rows: the rows of all segments.
        sizes: base offset → bytes.
    """
    gone = {row.segment for row in rows if row.verdict == "deleted"}
    size = sum(sizes[base] for base in gone if base is not None)
    text = (
        f"retention deletes {len(gone)} of {len(sizes)} segments, "
        f"{size:,} of {sum(sizes.values()):,} bytes"
    )
    reason = why_retained(rows, sizes)
    return f"{text}; {reason}" if reason else text


def why_retained(rows: Sequence[RuleRow], sizes: Mapping[int, int]) -> str:
    """Return why the first segment that is kept is kept; empty if none is.

    Args:
        rows, sizes: see `retention_conclusion`.
    """
    if rows[-1].rule == "log.cleaner.enable":
        return rows[-1].reason
    gone = {row.segment for row in rows if row.verdict == "deleted"}
    left = [base for base in sizes if base not in gone]
    decisive = [row for row in rows if left and row.segment == left[0]]
    if not decisive:
        return ""
    row = decisive[-1]
    text = f"segment {row.segment} is kept: {row.reason}"
    if row.due is None:
        return text
    return f"{text}; it can be deleted at {due_text(row.due)} at the earliest"
