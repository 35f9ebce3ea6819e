"""CleanerView: a partition as the cleaner sees it, and what a cleaning would drop."""

from typing import Any, Final

import traitlets

from widgets._file import Answer
from widgets._widget import error_text
from widgets.decisions.cleaner_rows import (
    MOST_READ,
    SegmentState,
    marker_rows,
    reason_rows,
    rule_rows,
    segment_rows,
    segment_states,
)
from widgets.decisions.log_rules import Judged, LogRules
from workbench.cleaner.schedule.log_to_clean import LogToClean, log_to_clean
from workbench.foresight.dry_logs import DryLogs
from workbench.loaders.explanations.cleaning_plan import CleaningPlan
from workbench.loaders.explanations.explain_partition import Explainer, load_one
from workbench.runtime.job import Job

WAITS: Final = {"state": "waits"}


_NEVER: Final = (
    "This log is never cleaned: its cleanup.policy does not contain compact. If it were compacted: "
)


class _Planning(Job):
    """Plan the cleaning of a log in a thread."""

    def __init__(self, view: "CleanerView") -> None:
        super().__init__("cleaning plan")
        self._view, self._partition, self._given = view, view.partition, view.conditions

    def _work(self) -> None:
        given = self._given
        config = given["config"] or None
        plan = self._partition.plan_cleaning(config, now=given["now"], kafka=given["kafka"])
        self._view._take_plan(self, plan, reason_rows(plan))  # noqa: SLF001 - its own view

    def _end(self) -> None:
        if self.error is not None:
            self._view._fail_plan(self, self.error)  # noqa: SLF001 - its own view


class CleanerView(LogRules):
    """Show what of a partition is clean and dirty, what bounds the cleaner, and what it waits for.

    And what a cleaning would drop, if the broker did not wait: of a log of up to 64 MiB at once, of
    a larger one when a button is pressed.

    Attributes:
        selected, partition: see `LogRules`.
        explanation: each rule's verdict; see `Partition.explain_cleaning`.
        to_clean: how dirty the log is.
        states: the log's segments.
        plan: what a cleaning would drop, once it is known; see `Partition.plan_cleaning`.

    Args:
        partition: the partition, or the path of its directory.
        config, now, kafka: see `Partition.explain_cleaning`.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: the path is not a partition directory, or no broker would serve it.
        CorruptRecordError: the log is too damaged to find how dirty it is.

    Kafka: LogCleanerManager.cleanableOffsets, LogToClean (4.2)
    """

    _plan: Any = traitlets.Dict(WAITS).tag(sync=True)
    _call = "explain_cleaning"
    _is_of_compacted = True
    plan: CleaningPlan | None = None
    _planning: _Planning | None = None
    _is_compacted = False

    def judge(self, dry: DryLogs, explainer: Explainer, now: int) -> Judged:
        """Apply the cleaner's rules to the partition."""
        partition = self.partition
        log = load_one(dry, partition)
        checkpoint = dry.cleaner_offsets.get(log.topic_partition)
        found: LogToClean = log_to_clean(log, checkpoint, now)
        threshold = log.config.min_cleanable_dirty_ratio
        is_compacted = self._is_compacted = dry.is_compacted(log.topic_partition)
        explanation = explainer.cleaning(partition)
        self.to_clean = found
        self.states: list[SegmentState] = segment_states(partition, found)
        return Judged(
            explanation,
            {
                "kind": "cleaning",
                "segments": segment_rows(self.states, now),
                "end_offset": str(partition.log_end_offset),
                "markers": marker_rows(found, checkpoint),
                "clean_bytes": found.clean_bytes,
                "cleanable_bytes": found.cleanable_bytes,
                "uncleanable_bytes": found.uncleanable_bytes,
                "ratio": found.cleanable_ratio,
                "threshold": threshold,
                "is_compacted": is_compacted,
                "rules": rule_rows(explanation),
            },
        )

    def under(self, given: dict[str, Any]) -> None:
        """Apply the rules under conditions, and plan a cleaning under them."""
        super().under(given)
        self.plan, self._planning = None, None
        self._plan = WAITS
        if self.partition.size <= MOST_READ:
            self._start_plan()

    def _start_plan(self) -> None:
        self._plan = {"state": "running"}
        self._planning = _Planning(self)
        self._planning.start()

    def _take_plan(self, planning: _Planning, plan: CleaningPlan, rows: list[list[Any]]) -> None:
        if planning is not self._planning:
            return
        self.plan = plan
        self._plan = {
            "state": "done",
            "lead": "" if self._is_compacted else _NEVER,
            "summary": plan.summary,
            "rounds": plan.round_texts(),
            "size": plan.size,
            "size_after": plan.size_after,
            "reasons": rows,
        }

    def _fail_plan(self, planning: _Planning, error: BaseException) -> None:
        if planning is self._planning:
            self._plan = {"state": "failed", "error": error_text(error)}

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the cleaning is planned."""
        if self._planning is not None:
            self._planning.wait(seconds)

    def answer_plan(self) -> Answer:
        """Plan a cleaning of a large log."""
        if self._plan["state"] in {"waits", "failed"}:
            self._start_plan()
        return {}, []
