"""What one of Kafka's rules says of a log or of a segment: a row of an explanation."""

from typing import Any, Literal, NamedTuple

Word = Literal[
    "allows",     # the rule lets it be done
    "demands",    # it is done, whatever other rules of the kind say
    "limits",     # it is done, but not to all of the log
    "blocks",     # it is not done
    "unknown",    # the disk does not tell
    "deleted",    # the segment goes
    "kept",       # the segment stays, and those behind it are not asked about
    "not asked",  # a segment before it stays
]  # fmt: skip

Value = str | int | float | None


class RuleVerdict(NamedTuple):
    """What a rule says.

    Attributes:
        rule: its name: that of a configuration where it has one.
        verdict: see `Word`.
        value: what was looked at: an offset, bytes, ms or a word; None: there is none.
        threshold: what it was held against.
        reason: in words, with the figures.
        kafka: where Kafka 4.2 has the rule: class and method.
        segment: base offset of the segment that it was asked about; None: the whole log.
        due: when at the earliest the verdict will be another one if nothing is written, ms.
    """

    rule: str
    verdict: Word
    value: Value
    threshold: Value
    reason: str
    kafka: str
    segment: int | None = None
    due: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes by name, for JSON."""
        return self._asdict()
