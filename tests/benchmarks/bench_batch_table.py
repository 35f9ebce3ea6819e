"""The batch table of a 1 GiB segment: against the JVM's header loop and DumpLogSegments."""

from tests.benchmarks.measure import best_of, dump_log_segments, generated, peer, table
from workbench.inspection.listing import list_log_directories

SIZE = 1 << 30


def main() -> None:
    """Print the table."""
    file = generated("none", 1000, SIZE)

    def first_look() -> int:
        (partition,) = list_log_directories(file.parent).partitions.values()
        return len(partition.segments[0].batches)

    (partition,) = list_log_directories(file.parent).partitions.values()
    mine, jvm = best_of(first_look), peer("headers", str(file))
    again = best_of(lambda: len(partition.segments[0].batches))
    assert mine.records == jvm.records
    tool = dump_log_segments(file)
    columns = ["batches", "ours", "JVM loop", "DumpLogSegments (wall)", "second look"]
    row = [
        mine.records,
        f"{mine.cpu * 1000:.0f} ms CPU, {mine.wall * 1000:.0f} ms wall",
        f"{jvm.cpu / mine.cpu:.2f}x CPU, {jvm.wall / mine.wall:.2f}x wall",
        f"{tool.wall / mine.wall:.0f}x",
        f"{again.wall * 1000:.2f} ms",
    ]
    table("batch table of 1 GiB: times faster than", columns, [row])


if __name__ == "__main__":
    main()
