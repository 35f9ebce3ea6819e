"""Check a log directory and tell what is not as a broker would leave it.

Kafka: LogSegment.recover, LogLoader.load, DumpLogSegments (4.2)
"""

from collections.abc import Iterator

from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.listing import Listing
from workbench.inspection.segment import Segment


def verify_segment(segment: Segment) -> Iterator[Finding]:
    """Yield what is wrong with the batches and records of one segment, ascending by position."""
    for chunk in segment.read(options=0):
        for problem in chunk.problems:
            yield finding_of(problem, segment.path)


def verify_listing(listing: Listing) -> list[Finding]:
    """Return every finding, by root, partition and position."""
    return [
        finding
        for root in listing.roots
        for partition in root.partitions
        for segment in partition.segments
        for finding in verify_segment(segment)
    ]
