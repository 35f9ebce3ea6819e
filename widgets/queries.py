"""Python code that gives what each view of the explorer shows."""

import json
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from workbench.inspection.facts.file_facts import is_small_file_name
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment

HEAD = "import workbench as wb"


def opening(paths: Sequence[str], tier: Mapping[str, Any]) -> str:
    """Return the Python expression that opens paths, with the remote tier if there is one."""
    given: dict[str, Any] = {"remote": os.fspath(tier["remote"])} if tier else {}
    keys = tier.get("remote_keys") or {}
    if keys:
        given["remote_keys"] = {key_id: os.fspath(path) for key_id, path in keys.items()}
    named = "".join(
        f", {name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items()
    )
    path = json.dumps(paths[0] if len(paths) == 1 else list(paths), ensure_ascii=False)
    return f"wb.open_log_directory({path}{named})"


def view_queries(
    paths: Sequence[str],
    *,
    tier: Mapping[str, Any] = MappingProxyType({}),
    partition: str | None = None,
    topic: tuple[str, int] | None = None,
    segment: int | None = None,
    batch: int | None = None,
    offsets: tuple[int, int] | None = None,
    file: str | None = None,
) -> dict[str, str]:
    """Return the Python code of every view that has something to show.

    Args:
        paths: the opened paths.
        tier: see `LogDirectory.tier`.
        partition: the partition's name in the listing.
        topic: the partition's topic and number, if a scan can name it so.
        segment: the segment's index among those of the log; remote ones come first.
        batch: the batch's row in the segment's batch table.
        offsets: the records' offsets: [first, second).
        file: the path of the file that is shown.
    """
    opened = f"logs = {opening(paths, tier)}\n"
    start = f"{HEAD}\n\n{opened}"
    queries = {"directory": f"{start}logs"} | ({"file": _file(file)} if file else {})
    if partition is None:
        return queries
    chosen = f"partition = logs[{json.dumps(partition)}]\n"
    start += chosen
    segments = "segments_of_log" if tier else "segments"
    queries["segments"] = f"{start}partition.{segments}"
    queries["findings"] = (
        f"import os\n\n{HEAD}\n\n{opened}findings = logs.verify()\n{chosen}"
        "[each for each in findings if partition.path in (each.path, os.path.dirname(each.path))]"
    )
    if segment is None:
        return queries
    start += f"segment = partition.{segments}[{segment}]\n"
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
            f"from workbench.inspection.bytes.fields import explain_batch\n{start}{position}"
        )
    return queries


def _file(path: str) -> str:
    """Return code that decodes a small file, reads the batches of a log, or reads the bytes."""
    quoted, name = json.dumps(path), os.path.basename(path)
    if is_small_file_name(name):
        start = "from workbench.inspection.facts.file_facts import small_file_facts\n\n"
        return f"{start}small_file_facts({quoted}, 1000)"
    if ".log" in name or ".checkpoint" in name:
        opened = f"(partition,) = wb.open_log_directory({quoted}).values()\n"
        return f"{HEAD}\n\n{opened}partition.segments[0].batches.rows"
    return f'with open({quoted}, "rb") as file:\n    data = file.read(4096)\ndata'


def _zipped(first: str, second: str) -> str:
    return f"list(zip(index.{first}, index.{second}, strict=True))"


def _records(topic: tuple[str, int] | None, offsets: tuple[int, int] | None) -> str:
    """Return a scan if it can name the records, otherwise code that reads them by row."""
    if topic is None or offsets is None:
        return "next(segment.read(), None)"
    return (
        f"logs.scan(topics=[{json.dumps(topic[0])}], partitions=[{topic[1]}], "
        f"offsets=({offsets[0]}, {offsets[1]})).to_pandas()"
    )


def usage_query(
    paths: Sequence[str],
    topic: str | None,
    partition: DiskPartition | None,
    segment: Segment | None,
) -> str:
    """Return the Python code for the sizes of what is open in `DiskUsage`.

    Sizes of files come from their names alone; those of a segment's parts from its records.
    """
    opened = json.dumps(paths[0] if len(paths) == 1 else list(paths))
    start = f"{HEAD}\n\nlogs = wb.open_log_directory({opened})\n"
    if segment is not None and partition is not None:
        scope = f"partitions=[{json.dumps(partition.name)}]"
        return (
            f"{start}usage = logs.inspect.disk_usage({scope}).to_pandas()\n"
            f"usage[usage.segment == {segment.base_offset}]"
        )
    if partition is not None:
        chosen = f"files[files.folder == {json.dumps(os.path.basename(partition.path))}]"
        return f"{start}files = logs.inspect.files().to_pandas()\n{chosen}"
    if topic is not None:
        names = f"[name for name in logs if logs[name].topic == {json.dumps(topic)}]"
        chosen = f"files[files.folder.isin({names})]"
        sizes = f'{chosen}.groupby("folder")[["size", "occupied_bytes"]].sum()'
    else:
        sizes = 'files.groupby("folder", dropna=False)[["size", "occupied_bytes"]].sum()'
    return f"{start}files = logs.inspect.files().to_pandas()\n{sizes}"


def checkpoint_query(paths: Sequence[str]) -> str:
    """Return the Python code for what `CheckpointTable` shows."""
    opened = json.dumps(paths[0] if len(paths) == 1 else list(paths))
    return (
        f"{HEAD}\nfrom workbench.inspection.facts.checkpoint_table import checkpoint_table\n\n"
        f"logs = wb.open_log_directory({opened})\n"
        "found = logs.verify(deep=False, info=True)\n"
        "checkpoint_table(logs.listing).with_findings(found).partitions"
    )


def cluster_query(paths: Sequence[str], offset: int) -> str:
    """Return the Python code for what `ClusterView` shows at an offset."""
    opened = json.dumps(paths[0] if len(paths) == 1 else list(paths))
    return (
        f"{HEAD}\n\nlogs = wb.open_log_directory({opened})\n"
        f"logs.inspect.topics(at={offset}).to_pandas()"
    )


def group_query(paths: Sequence[str], group: str, options: Mapping[str, Any]) -> str:
    """Return the Python code for what `GroupView` shows.

    Args:
        paths: the opened paths.
        group: the group; empty: there is none.
        options: of `LogDirectory.explain_group`, without those that have their default.
    """
    start = f"{HEAD}\n\nlogs = {opening(paths, {})}\n"
    if not group:
        return f"{start}logs.inspect.groups().to_pandas()"
    name = json.dumps(group, ensure_ascii=False)
    given = "".join(f", {key}={json.dumps(value)}" for key, value in options.items())
    version = f", version={json.dumps(options['version'])}" if "version" in options else ""
    return (
        f"{start}commits = logs.inspect.commits({name}{version}).to_pandas()\n"
        f"rebalances = logs.inspect.rebalances({name}{version}).to_pandas()\n"
        f"why = logs.explain_group({name}{given})\n"
        f"logs.inspect.group_offsets({name}{given}).to_pandas()"
    )


def transaction_query(paths: Sequence[str], topic: tuple[str, int] | None) -> str:
    """Return the Python code for what `TransactionLanes` shows.

    Args:
        paths: the opened paths.
        topic: the topic and number of the partition shown; None: there is none.
    """
    start = (
        f"{HEAD}\n\nlogs = {opening(paths, {})}\nids = logs.inspect.transactions().to_pandas()\n"
    )
    if topic is not None:
        scope = f"topics=[{json.dumps(topic[0])}], partitions=[{topic[1]}]"
        start += f"markers = logs.inspect.transaction_markers({scope}).to_pandas()\n"
    return f"{start}logs.inspect.open_producers().to_pandas()"


def finding_query(paths: Sequence[str], topic: str, asked: Mapping[str, str]) -> str:
    """Return the Python code for what `FindingView` lists.

    Args:
        paths: the opened paths.
        topic: the only topic; empty: all, and other files.
        asked: column → the only value; empty: any.
    """
    opened = json.dumps(paths[0] if len(paths) == 1 else list(paths))
    scope = f"topics=[{json.dumps(topic)}]" if topic else ""
    code = (
        f"{HEAD}\n\nlogs = wb.open_log_directory({opened})\n"
        f"found = logs.inspect.findings({scope}).to_pandas()\n"
    )
    terms = [f"(found.{name} == {json.dumps(value)})" for name, value in asked.items() if value]
    return code + (f"found[{' & '.join(terms)}]" if terms else "found")
