"""What was committed, as far as disks show, and which of it is lost.

A checkpointed high watermark lags, but never leads: what is below it was committed once. What is
above it may have been.

Kafka: Partition.maybeIncrementLeaderHW, ReplicaManager.checkpointHighWatermarks (4.2)
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.comparison.pairs import Pairs
from workbench.comparison.replica import Replica


@dataclass(frozen=True, slots=True)
class LostRange:
    """Committed offsets [start, end) that the replica ahead does not have.

    Attributes:
        broker: whose high watermark says that they were committed.
        start, end: the offsets.
        is_on_disk: whether that broker still has them.
    """

    broker: str
    start: int
    end: int
    is_on_disk: bool


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed prefix of the replica ahead.

    Attributes:
        at_least: everything before this offset was committed.
        at_most: nothing from this offset on can have been.
        lost: what was committed and is not on the replica ahead.
    """

    at_least: int
    at_most: int
    lost: tuple[LostRange, ...]


def committed_prefix(
    replicas: Sequence[Replica], ahead: Replica, pairs: Pairs, isr: Collection[str] | None
) -> Committed:
    """Return what disks show about the committed prefix.

    Args:
        replicas: all that are known.
        ahead: the one whose log survives if nothing is lost: the largest `Replica.rank`.
        pairs: their comparisons.
        isr: names of the brokers in sync by the cluster's metadata; None if it is not known: the
            replica ahead may then have been alone.
    """
    at_least, lost = ahead.log_start_offset, []
    for replica in replicas:
        shared = pairs.of(replica, ahead).common_end
        at_least = max(at_least, min(replica.restart_high_watermark, shared))
        # Records below the start of a log were committed before they were deleted.
        start = max(shared, replica.log_start_offset)
        if replica.known_committed > start:
            lost.append(LostRange(replica.broker, start, replica.known_committed, is_on_disk=True))
    furthest = max(each.log_end_offset for each in replicas)
    highest = max(replicas, key=lambda replica: replica.high_watermark or 0)
    if (highest.high_watermark or 0) > furthest:
        end = highest.high_watermark or 0
        lost.append(LostRange(highest.broker, furthest, end, is_on_disk=False))
    ends = [
        pairs.of(replica, ahead).common_end
        for replica in replicas
        if isr is not None and replica.broker in isr
    ]
    at_most = max(at_least, min([ahead.log_end_offset, *ends]))
    return Committed(at_least, at_most, tuple(lost))
