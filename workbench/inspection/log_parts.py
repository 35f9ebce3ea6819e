"""Where the records of a partition's log are: in remote segments, then in local ones.

Kafka: RemoteLogManager.read, UnifiedLog.read (4.2)
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workbench.files.names import MAX_OFFSET
from workbench.inspection.remote_tier.remote_log import Gap, RemoteRead
from workbench.inspection.segment import Segment


class LogPart(NamedTuple):
    """Offsets [low, high) of a log, which one segment has.

    Attributes:
        segment: the segment; None: it should be in the remote tier and is not.
        low, high: the offsets. A remote segment may hold others that are not the log's.
        following: batches of the segment that end there or later are out of place.
        is_remote: whether it is in the remote tier.
        max_timestamp: no record is later, ms; None: unknown.
    """

    segment: Segment | None
    low: int
    high: int
    following: int = MAX_OFFSET
    is_remote: bool = False
    max_timestamp: int | None = None


def log_parts(remote: Iterable[RemoteRead | Gap], local: Sequence[Segment]) -> tuple[LogPart, ...]:
    """Return the parts of a log, ascending.

    Args:
        remote: what a broker reads from the remote tier, ascending.
        local: the local segments, ascending by base offset.
    """
    found = []
    for part in remote:
        segment, stamp = None, None
        if isinstance(part, RemoteRead):
            segment, stamp = part.segment, part.metadata.max_timestamp
        found.append(LogPart(segment, part.low, part.high, is_remote=True, max_timestamp=stamp))
    for at, segment in enumerate(local, 1):
        following = local[at].base_offset if at < len(local) else MAX_OFFSET
        found.append(LogPart(segment, segment.base_offset, following, following))
    return tuple(found)
