"""The verdict of one of Kafka's rules: on a log or a segment, on a group or a transaction."""

from contextlib import suppress
from typing import Literal, NamedTuple

from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition
from workbench.files.text import INT64_MAX
from workbench.log.segments.segment import LogSegment
from workbench.runtime.times import LONGEST_TIME, likely_unit

Word = Literal[
    "allows",     # the rule allows cleaning, or deletion
    "demands",    # the rule requires cleaning, whatever the dirty ratio
    "limits",     # the rule limits it to a part of the log
    "blocks",     # the rule prevents it
    "unknown",    # the files do not say
    "deleted",    # retention deletes the segment
    "kept",       # retention keeps the segment, and the rule stops there
    "not asked",  # the rule stopped at an earlier segment
]  # fmt: skip

Value = str | int | float | None


class RuleVerdict(NamedTuple):
    """The verdict of one rule: on a log or a segment, on a group or a transaction.

    Of a group, "allows" is that it resumes, "limits" that it resumes elsewhere than one might
    think, and "blocks" that it starts over. Of a transaction, "blocks" is that it holds back the
    last stable offset, and "limits" that something is open.

    Attributes:
        rule: its name: that of a configuration where it has one.
        verdict: see `Word`.
        value: the value that the rule compares: an offset, bytes, ms or a word; None: no value.
        threshold: the value that it is compared with.
        reason: the reason as a sentence, with the numbers.
        kafka: the class and method of the rule in Kafka 4.2.
        segment: base offset of the segment that the rule judged; None: the whole log.
        due: when at the earliest the verdict changes if nothing is written, ms; None: never.
        where: the partition; None: the whole group or transaction.
    """

    rule: str
    verdict: Word
    value: Value
    threshold: Value
    reason: str
    kafka: str
    segment: int | None = None
    due: int | None = None
    where: TopicPartition | None = None


def time_or_never(moment: int) -> int | None:
    """Return a time in ms; None beyond 64 bits, as after a damaged timestamp."""
    return moment if moment <= INT64_MAX else None


def odd_timestamp(segment: LogSegment) -> str:
    """Return ``; the record …`` about a segment's largest timestamp if it is hardly one in ms.

    Producers that give microseconds, nanoseconds or seconds make such records: ages are measured
    by them all the same.
    """
    largest = segment.max_timestamp_so_far.timestamp
    unit = likely_unit(largest)
    if unit is None and largest <= LONGEST_TIME:
        return ""
    found = None
    with suppress(OSError, WorkbenchError):  # where it cannot be read, the offset is not named
        found = segment.find_offset_by_timestamp(largest)
    record = "a record" if found is None else f"the record at offset {found.offset}"
    seems = f", which seems to be {unit}" if unit else ", past the year 9999"
    return f"; {record} has the timestamp {largest}{seems}; a broker takes it as ms"
