"""RetentionView: which segments of a log a broker would delete now, and why it keeps the others."""

from typing import Any

from widgets.decisions.cleaner_rows import rule_rows
from widgets.decisions.log_rules import Judged, LogRules
from workbench.foresight.dry_logs import DryLogs
from workbench.loaders.explanations.explain_partition import Explainer, load_one
from workbench.loaders.explanations.explanation import Explanation
from workbench.log.retention import LogState, by_time
from workbench.runtime.times import duration_text, time_text
from workbench.runtime.words import size_text
from workbench.tables.foresight import RuleRow


class RetentionView(LogRules):
    """Show which segments of a partition retention deletes, what that frees, and what keeps others.

    Attributes:
        selected, partition: see `LogRules`.
        explanation: each rule's verdict on each segment; see `Partition.explain_retention`.

    Args:
        partition: the partition, or the path of its directory.
        config, now, kafka: see `Partition.explain_retention`.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: the path is not a partition directory, or no broker would serve it.
        WorkbenchError: the log cannot be loaded.

    Kafka: UnifiedLog.deleteOldSegments (4.2)
    """

    _call = "explain_retention"

    def judge(self, dry: DryLogs, explainer: Explainer, now: int) -> Judged:
        """Apply retention's rules to the partition."""
        state = load_one(dry, self.partition).retention_state()
        explanation = explainer.retention(self.partition)
        segments = _segment_rows(state, explanation, now)
        gone = [each for each in segments if each["region"] == "deleted"]
        return Judged(
            explanation,
            {
                "kind": "retention",
                "segments": segments,
                "end_offset": str(state.log_end_offset),
                "markers": [
                    ["log start offset", str(state.log_start_offset)],
                    ["high watermark", str(state.high_watermark)],
                ],
                "freed": sum(each["size"] for each in gone),
                "size": sum(each["size"] for each in segments),
                "deleted": len(gone),
                "rules": rule_rows(explanation),
            },
        )


def _segment_rows(state: LogState, explanation: Explanation, now: int) -> list[dict[str, Any]]:
    """Return the segments as they are sent: "deleted", "held" or "kept", with facts."""
    by_segment: dict[int | None, list[RuleRow]] = {}
    for row in explanation:
        by_segment.setdefault(row.segment, []).append(row)
    ages = state.config.delete and state.limits_age
    rows = []
    for at, segment in enumerate(state.segments):
        verdicts = by_segment.get(segment.base_offset, [])
        region = "kept"
        if any(row.verdict == "deleted" for row in verdicts):
            region = "deleted"
        elif ages and at + 1 < len(state.segments):
            alone = by_time(state._replace(segments=state.segments[at : at + 2]))
            region = "held" if alone[0].is_deleted else "kept"
        facts = [
            ["bytes", f"{segment.size:,} ({size_text(segment.size)})"],
            ["largest timestamp", time_text(segment.largest_timestamp)],
            ["age", duration_text(now - segment.largest_timestamp)],
            *([row.rule, f"{row.verdict}: {row.reason}"] for row in verdicts),
        ]
        rows.append({"base_offset": str(segment.base_offset), "size": segment.size,
                     "region": region, "facts": facts})  # fmt: skip
    return rows
