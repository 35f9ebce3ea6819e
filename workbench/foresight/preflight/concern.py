"""Hold one thing to know before a start, and what to do about it."""

from dataclasses import dataclass

from workbench.inspection.findings import Severity


@dataclass(frozen=True, slots=True)
class Concern:
    """Something to know before the start, and what to do about it.

    Attributes:
        kind: a kind of findings, or of the reasons of a start, or one of a preflight:
            "unclean-shutdown", "later-format", "old-format", "removed-config", "changed-default",
            "topics-unknown", "topics-in-zookeeper", "no-migration", "metadata-behind",
            "unserved", "stray", "vanished", "created", "deleted", "undetected",
            "first-retention", "local-retention", "tier-lost", "tier-retention",
            "tier-off", "tier-assumed", "moves", "first-compaction", "cleaner-ends",
            "transactions", "groups", "commits-lost", "shorter", "truncated", "copy-alone",
            "transactions-lost", "share-state-lost", "unread-format", "producers-forgotten",
            "unreadable", "follows".
        severity: "error": the node does not start, or topics are not served; "warning": records
            may be lost, or the start is slow; "info".
        what: a sentence.
        action: the step to take; empty if there is none.
    """

    kind: str
    severity: Severity
    what: str
    action: str = ""
