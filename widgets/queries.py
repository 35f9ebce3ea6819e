"""What each view of the explorer shows, as Python that gives it again."""

import json
from collections.abc import Sequence

HEAD = "import workbench as wb"


def view_queries(
    paths: Sequence[str],
    *,
    partition: str | None = None,
    topic: tuple[str, int] | None = None,
    segment: int | None = None,
    batch: int | None = None,
    offsets: tuple[int, int] | None = None,
) -> dict[str, str]:
    """Return the Python text of every view that has something to show.

    Args:
        paths: what was opened.
        partition: the name by which the listing knows the partition.
        topic: topic and number of the partition, when a scan can name it so.
        segment: place of the segment in the partition.
        batch: row of the batch in the segment's batch table.
        offsets: offsets of the records, from the first to below the second.
    """
    opened = json.dumps(paths[0] if len(paths) == 1 else list(paths))
    start = f"{HEAD}\n\nlogs = wb.open_log_directory({opened})\n"
    queries = {"directory": f"{start}logs"}
    if partition is None:
        return queries
    start += f"partition = logs[{json.dumps(partition)}]\n"
    queries["segments"] = f"{start}partition.segments"
    queries["findings"] = start.replace("partition =", "findings = logs.verify()\npartition =")
    queries["findings"] += "[found for found in findings if found.path.startswith(partition.path)]"
    if segment is None:
        return queries
    start += f"segment = partition.segments[{segment}]\n"
    chosen = f"segment.batches[{batch}]" if batch is not None else "segment.batches.rows"
    queries |= {
        "batches": f"{start}{chosen}",
        "offset_index": f"{start}index = segment.offset_index\n{_zipped('offsets', 'positions')}",
        "time_index": f"{start}index = segment.time_index\n{_zipped('timestamps', 'offsets')}",
        "records": f"{start}{_records(topic, offsets)}",
    }
    if batch is not None:
        position = f"explain_batch(segment, segment.batches[{batch}].position)"
        queries["bytes"] = (
            f"from workbench.inspection.fields import explain_batch\n{start}{position}"
        )
    return queries


def _zipped(first: str, second: str) -> str:
    return f"list(zip(index.{first}, index.{second}, strict=True))"


def _records(topic: tuple[str, int] | None, offsets: tuple[int, int] | None) -> str:
    """A scan where it can say which records; else the records by row."""
    if topic is None or offsets is None:
        return "next(segment.read(), None)"
    return (
        f"logs.scan(topics=[{json.dumps(topic[0])}], partitions=[{topic[1]}], "
        f"offsets=({offsets[0]}, {offsets[1]})).to_pandas()"
    )
