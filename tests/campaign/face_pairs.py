"""Pairs of faces that answer one question: commands, tables, widgets, files and clients.

Pairs of readers are in `tests.campaign.pairs`, which also says what a difference is.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import workbench as wb
from tests.campaign.calls import DOCUMENTED, NOW
from tests.campaign.readings import Read, offsets_of, printed_by, same, small
from widgets import DiskUsage, LogExplorer, RecordBrowser, SqlBox
from workbench.files.names import MAX_OFFSET
from workbench.pipelines import to_table
from workbench.record.memory_records import MemoryRecords
from workbench.server.logs.served_log import ServedLog

MOST: Final = 3  # partitions of a directory that every face is asked about
PAGE: Final = 1000  # rows that a widget gives at once
COLUMNS: Final = ("offset", "timestamp", "key", "value")
LEVELS: Final = ("read_uncommitted", "read_committed")


def _chosen(directory: Path) -> tuple[wb.LogDirectory, list[tuple[wb.Partition, Read]]]:
    """Return a directory, and logs of which a name is enough to find them."""
    logs = wb.open_log_directory(directory)
    names = Counter(list(logs))
    found = [(log, read) for log, read in small(logs) if names[log.name] == 1]
    return logs, found[:MOST]


def printed(directory: Path, out: Path) -> None:
    """Which records do `dump`, `export` and `sql` give?"""
    _, chosen = _chosen(directory)
    for at, (partition, read) in enumerate(chosen):
        name = partition.name
        for level, wanted in zip(LEVELS, (read.offsets, read.committed), strict=True):
            one = (directory, "-p", name, "--isolation-level", level)
            lines = printed_by("dump", *one, "--json").splitlines()
            given = {"scan": wanted, "dump": [json.loads(line)["offset"] for line in lines]}
            for ending in ("parquet", "csv", "jsonl"):
                file = out / f"{at}-{level}.{ending}"
                printed_by("export", *one, "--to", file)
                if file.exists():
                    given[ending] = _offsets_in(file)
            same(f"{name}: {level}", **given)
        query = 'select topic, partition, count(*) n, sum("offset") s from records group by all'
        for row in _sql_rows(directory, query):
            if (row["topic"], row["partition"]) == (partition.topic, partition.partition):
                wanted = read.offsets
                same(f"{name}: sql", scan=[len(wanted), sum(wanted)], sql=[row["n"], int(row["s"])])


def _offsets_in(file: Path) -> list[int]:
    if file.suffix == ".jsonl":
        return [json.loads(line)["offset"] for line in file.read_text().splitlines()]
    if file.suffix == ".csv":
        options = pa.csv.ParseOptions(newlines_in_values=True)
        found: list[int] = pa.csv.read_csv(file, parse_options=options)["offset"].to_pylist()
        return found
    return offsets_of(pq.read_table(file))


def exported(directory: Path, out: Path) -> None:
    """Which rows are in a table, and which in a file?"""
    _, chosen = _chosen(directory)
    for at, (partition, read) in enumerate(chosen):
        lake, file = out / f"lake-{at}", out / f"{at}.parquet"
        try:
            to_table(directory, lake, partitions=[partition.name])
        except DOCUMENTED:
            continue
        printed_by(
            "export", directory, "-p", partition.name, "--isolation-level", "read_committed",
            "--to", file, "--columns", ",".join(COLUMNS),
        )  # fmt: skip
        if not file.exists() or not read.is_ordered:
            continue
        parts = [
            pq.ParquetFile(each).read([*COLUMNS])
            for each in sorted(lake.rglob("*.parquet"))
            if not any(part.startswith(("_", ".")) for part in each.relative_to(lake).parts)
        ]
        rows = sorted(row for part in parts for row in _rows(part))
        same(f"{partition.name}: rows", to_table=rows, export=sorted(_rows(pq.read_table(file))))


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows as what can be sorted: texts of keys and values, times in ms."""
    times = table["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    texts = [map(repr, table[name].to_pylist()) for name in ("key", "value")]
    offsets = table["offset"].to_pylist()
    return [
        (offset, -1 if time is None else time, key, value)
        for offset, time, key, value in zip(offsets, times, *texts, strict=True)
    ]


def shown(directory: Path) -> None:
    """What do widgets show, and what do tables have?"""
    logs, chosen = _chosen(directory)
    explorer = LogExplorer(logs)
    for partition, read in chosen:
        name = partition.name
        for level, wanted in zip(LEVELS, (read.offsets, read.committed), strict=True):
            browser = RecordBrowser(logs, partition=name, isolation_level=level)
            browser.wait(60)
            run, result = browser.result["run"], browser.result
            if result["status"] != "done":
                continue
            rows = browser.answer_rows(run, 0, PAGE)[0]["rows"]
            listed = sorted(int(row[1]) for row in rows)
            same(f"{name}: {level}", scan=len(wanted), browser=result["count"])
            if len(wanted) <= PAGE and read.is_ordered:
                same(f"{name}: {level}, offsets", scan=wanted, browser=listed)
            browser.close()
        held: set[int] = set()
        for segment in partition.segments:
            of = name, str(segment.base_offset)
            explorer.selected = {"partition": name, "segment": segment.base_offset}
            start = 0
            while page := explorer.answer_records(*of, start, start + PAGE)[0]["rows"]:
                held.update(int(row[0]) for row in page if row[0])
                start += len(page)
        start_offset = partition.log_start_offset
        missing = [each for each in read.offsets if each >= start_offset and each not in held]
        if read.is_plain and read.is_ordered:
            same(f"{name}: offsets that the explorer lacks", scan=[], explorer=missing)
    explorer.close()
    usage = DiskUsage(logs)
    sizes = logs.inspect.disk_usage()
    told = sum(row["bytes"] for row in sizes.to_pylist())
    same("bytes on the disk", widget=usage.sizes[0], table=told)
    usage.close()
    query = "select topic, partition, records from record_counts order by all"
    box = SqlBox(logs, query=query)
    box.wait(60)
    if box.answer_state()[0]["status"] == "done" and box.run is not None:
        rows = [
            dict(zip(("topic", "partition", "records"), row, strict=True)) for row in box.run.rows
        ]
        same("rows of a query", widget=rows, command=_sql_rows(directory, query))
    box.close()


def _sql_rows(directory: Path, query: str) -> list[dict[str, Any]]:
    said = printed_by("sql", directory, query, "--format", "jsonl")
    return [json.loads(line) for line in said.splitlines()]


def found(directory: Path) -> None:
    """What is wrong: by the call, the command and the table?"""
    logs = wb.open_log_directory(directory)
    by_call = Counter((each.kind, each.severity) for each in logs.verify())
    said = printed_by("verify", directory, "--json")
    rows = json.loads(said) if said else None
    by_table = Counter(
        (row["kind"], row["severity"]) for row in logs.inspect.findings().to_pylist()
    )
    by_command = by_call
    if rows is not None:
        by_command = Counter((row["kind"], row["severity"]) for row in rows)
    same("findings", call=by_call, command=by_command, table=by_table)


def grouped(directory: Path) -> None:
    """Which groups, offsets and transactions are there: by the commands and the tables?"""
    inspect = wb.open_log_directory(directory).inspect
    for command, table, field in (
        (("groups",), inspect.groups, "group"),
        (("offsets", "--all"), inspect.group_offsets, "group"),
        (("transactions",), inspect.transactions, "transactional_id"),
    ):
        said = printed_by(*command, directory, "--json")
        if not said:
            continue
        try:
            named = table()[field].to_pylist()
        except DOCUMENTED:
            continue
        told = json.loads(said)
        same(
            command[0],
            table=sorted(str(each) for each in named if each is not None),
            command=sorted(str(row[field]) for row in told),
        )


def served(directory: Path) -> None:
    """Which records does a client get, and where does a log end for it?

    It ends before the last batch where that is not sound, and says so.
    """
    for partition, read in _chosen(directory)[1]:
        noted: list[Any] = []
        log = ServedLog(partition, noted.append)
        start, end = partition.log_start_offset, log.high_watermark
        same(f"{partition.name}: start", served=log.log_start_offset, here=start)
        if end < partition.log_end_offset and not noted:
            same(f"{partition.name}: end", served=end, here=partition.log_end_offset)
        given: list[int] = []
        at = start
        while at < end:
            part = log.read(at, end, 1 << 20, committed=False, first=True, zstd=True)
            if part.next_offset <= at:
                same(f"{partition.name}: a client waits", at=at, next=part.next_offset)
                break
            for records in part.parts:
                given += [
                    each.offset
                    for each in MemoryRecords.copy_of(records).records()
                    if each.offset >= at
                ]
            at = part.next_offset
        controls = set(read.controls)
        if read.is_plain and read.is_ordered:
            wanted = [offset for offset in read.offsets if start <= offset < end]
            data = [offset for offset in given if offset not in controls]
            same(f"{partition.name}: records", scan=wanted, served=data)


def looked_up(directory: Path) -> None:
    """What became of an offset: by the command and the call?"""
    _, chosen = _chosen(directory)
    for partition, read in chosen:
        name = partition.name
        for offset in (*read.offsets[:1], *read.offsets[-1:], partition.log_end_offset):
            said = printed_by("offset", name, offset, directory, "--json")
            if said:
                fate = partition.fate(offset).fate
                same(f"{name} {offset}", command=json.loads(said)["fate"], call=fate)


def retained(directory: Path, out: Path) -> None:
    """What does retention delete: as `what-if` says, and as `retention` does?"""
    given = ("--set", "retention.ms=1", "--set", "cleanup.policy=delete", "--now", str(NOW))
    told = printed_by("what-if", directory, *given, "--json")
    done = printed_by("retention", directory, *given, "--to", out / "copy", "--json")
    if not told or not done:
        return
    foreseen = {
        f"{row['topic']}-{row['partition']}": row["deleted_segments"]
        for row in json.loads(told)["partitions"]
        if not row["problem"]
    }
    changed = json.loads(done)
    if changed["left_out"]:  # as in `cleaned`
        return
    deleted = Counter(row["partition"] for row in changed["segments"] if row["is_deleted"])
    for name, count in foreseen.items():
        same(f"{name}: deleted segments", **{"what-if": count, "retention": deleted[name]})


def timed(directory: Path) -> None:
    """Which record is the first at or after a time: by the lookup, and by a scan?

    The lookup, as a broker's, takes the first segment whose largest timestamp reaches the time, and
    looks into no other. So it finds less than a scan where a segment reaches times that none of its
    records has: an empty one by the time of its file, one whose records are deleted or damaged by
    its batches. `verify` says so (time-lookup-blind), and such logs are left out here.
    """
    logs, chosen = _chosen(directory)
    for partition, read in chosen:
        if not read.is_plain or not read.is_ordered or partition.remote is not None:
            continue
        columns = ["offset", "timestamp"]
        scan = logs.scan(partitions=partition.name, columns=columns, include_control=True)
        table = scan.to_arrow()
        stamps = table["timestamp"].cast(pa.int64()).fill_null(-1).to_pylist()
        records = [*zip(table["offset"].to_pylist(), stamps, strict=True)]
        ends = [*(each.base_offset for each in partition.segments[1:]), MAX_OFFSET]
        largest = [
            max((stamp for at, stamp in records if each.base_offset <= at < end), default=None)
            for each, end in zip(partition.segments, ends, strict=True)
        ]
        if None in largest or largest != [each.largest_timestamp for each in partition.segments]:
            continue
        for _, stamp in (records[0], records[len(records) // 2], records[-1]):
            for time in (stamp, stamp + 1):
                same(
                    f"{partition.name}: the first record at or after {time}",
                    lookup=partition.offset_for_timestamp(time),
                    scan=next((at for at, stamp in records if stamp >= time), None),
                )


def cleaned(directory: Path, out: Path) -> None:
    """What does a cleaning leave: as `plan` says, and as `compact` does?

    Not compared where the copy says that it lacks something, as a FIFO that is a broker's file.
    """
    given = ("--set", "cleanup.policy=compact", "--everything", "--now", str(NOW), "--json")
    told = printed_by("plan", directory, *given)
    done = printed_by("compact", directory, *given, "--to", out / "copy")
    if not told or not done:
        return
    changed = json.loads(done)
    if changed["left_out"]:
        return
    fields = ("size", "size_after", "problem", "rounds")
    planned, compacted = (
        {row["partition"]: tuple(row[name] for name in fields) for row in rows}
        for rows in (json.loads(told), changed["logs"])
    )
    for name in planned.keys() & compacted.keys():
        same(f"{name}: a cleaning", plan=planned[name], compact=compacted[name])
