"""Which segments are cleaned into one.

Kafka: Cleaner.groupSegmentsBySize (4.2)
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from workbench.files.indexes.entry_run import MAX_RELATIVE_OFFSET
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import Step


def group_segments(
    segments: Sequence[LogSegment], most_bytes: int, most_index_bytes: int, upper_bound: int
) -> list[list[LogSegment]]:
    """Return the segments in groups, each of which fits into one segment.

    Args:
        segments: ascending.
        most_bytes: limit for the batches of a group.
        most_index_bytes: limit for its offset index, and for its time index.
        upper_bound: first offset that the round does not clean.

    Kafka: Cleaner.groupSegmentsBySize (4.2)
    """
    starts: list[int] = []  # of the groups, in the list of segments
    room = (0, 0, 0)
    for number, segment in enumerate(segments):
        sizes = _sizes(segment)
        following = segments[number + 1] if number + 1 < len(segments) else None
        last_offset = (upper_bound if following is None else following.base_offset) - 1
        is_fitting = (
            bool(starts)
            and all(size <= left for size, left in zip(sizes, room, strict=True))
            and (
                segment.size == 0
                or last_offset - segments[starts[-1]].base_offset <= MAX_RELATIVE_OFFSET
            )
        )
        if not is_fitting:
            starts.append(number)
            room = (most_bytes, most_index_bytes, most_index_bytes)
        room = (room[0] - sizes[0], room[1] - sizes[1], room[2] - sizes[2])
    return [list(segments[start:end]) for start, end in pairwise([*starts, len(segments)])]


def steps_of_groups(groups: Sequence[Sequence[LogSegment]]) -> Iterator[Step]:
    """Yield which segments are cleaned into one, for an observer."""
    for group in groups:
        bases = [segment.base_offset for segment in group]
        size = sum(segment.size for segment in group)
        together = "the segment is cleaned by itself"
        if len(group) > 1:
            together = f"{len(group)} segments of {size} bytes together fit into one"
        numbers = {"base_offsets": bases, "bytes": size}
        yield Step("segments grouped", group[0].log.path, together, numbers)


def _sizes(segment: LogSegment) -> tuple[int, int, int]:
    return segment.size, segment.offset_index.size_in_bytes, segment.time_index.size_in_bytes
