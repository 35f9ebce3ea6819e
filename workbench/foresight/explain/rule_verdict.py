"""The verdict of one of Kafka's rules: on a log or a segment, on a group or a transaction."""

from contextlib import suppress

from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition
from workbench.layout.integers import INT64_MAX
from workbench.log.segments.segment import LogSegment
from workbench.runtime.times import LONGEST_TIME, likely_unit
from workbench.tables.foresight import RuleRow, Value, Word


def rule_row(
    rule: str,
    verdict: Word,
    value: Value | None,
    threshold: Value | None,
    reason: str,
    kafka: str,
    *,
    segment: int | None = None,
    due: int | None = None,
    where: TopicPartition | None = None,
) -> RuleRow:
    """Return the row of a verdict; ``where`` is the partition, None the whole group or transaction.

    The others are columns of `RuleRow`.
    """
    topic, partition = (None, None) if where is None else where
    return RuleRow(rule, topic, partition, segment, verdict, value, threshold, reason, due, kafka)


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
