"""The verdict of a coordinator's rule on a group or a transaction: a row of an explanation."""

from typing import NamedTuple

from workbench.files.names import TopicPartition
from workbench.foresight.explain.rule_verdict import Value, Word


class CoordinatorVerdict(NamedTuple):
    """What a rule says of a group or transaction, or of one of its partitions.

    Attributes:
        rule: its name.
        where: the partition; None: the whole group or transaction.
        verdict: a `Word` of `rule_verdict`: "allows" (a group resumes; nothing is open), "blocks"
            (a group starts over; the last stable offset is held back), "limits" (a group resumes
            elsewhere than one might think; something is open), or "unknown".
        value: what was looked at.
        threshold: the value that it was compared with.
        reason: in words, with the figures.
        kafka: where Kafka has the rule.
        due: when at the earliest the verdict changes if nothing more happens, ms; None: never.
    """

    rule: str
    where: TopicPartition | None
    verdict: Word
    value: Value
    threshold: Value
    reason: str
    kafka: str
    due: int | None = None
