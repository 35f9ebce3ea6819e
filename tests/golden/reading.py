"""What we read of a golden case, in the plain shapes in which the cases tell it."""

import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import workbench
from tests.golden.cases import Case, Isolation
from workbench.errors import CorruptDataWarning
from workbench.inspection.findings import Finding
from workbench.inspection.segment import Segment
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES, codec_name
from workbench.record.columns import HeaderColumn
from workbench.record.reading.reader import Problem

Row = dict[str, Any]
TopicPartition = tuple[str, int]

_COLUMNS: Final = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "producer_id",
    "producer_epoch",
    "partition_leader_epoch",
)


def directories(case: Case, label: str) -> list[Path]:
    """Return the log directories below a label: several for several brokers or log.dirs."""
    if label in case.labels:
        return [case.directory(label)]
    return [case.directory(name) for name in case.labels if name.startswith(f"{label}/")]


@dataclass(frozen=True)
class Reading:
    """The records of all partitions in use, as a scan gives them, and what it left out."""

    records: dict[TopicPartition, list[Row]]
    findings: list[Finding]

    def findings_in(self, where: TopicPartition) -> list[Finding]:
        """Return the findings in the files of one partition."""
        folder = f"{os.sep}{where[0]}-{where[1]}{os.sep}"
        return [finding for finding in self.findings if folder in finding.path]


def read(paths: Path | Iterable[Path], isolation: Isolation = "read_uncommitted") -> Reading:
    """Scan one or more log directories with all columns that a client sees."""
    logs = workbench.open_log_directory(paths)
    scan = logs.scan(columns=_COLUMNS, isolation_level=isolation, include_internal=True)
    records: dict[TopicPartition, list[Row]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        for batch in scan.batches():
            times = batch.column("timestamp").cast("int64")
            for row in batch.set_column(3, "timestamp", times).to_pylist():
                records[row["topic"], row["partition"]].append(row)
    return Reading(dict(records), scan.findings)


@dataclass(frozen=True)
class LogContents:
    """One `.log` file, read batch by batch and record by record.

    Attributes:
        batches: one dict a batch, by the names of DumpLogSegments.
        records: by position of the batch, the records of those that can be read.
        problems: those of the record reader.
        segment: what was read.
    """

    batches: list[Row]
    records: dict[int, list[Row]]
    problems: list[Problem]
    segment: Segment


def open_segment(path: Path) -> Segment:
    """Return the segment of one file, opened by itself."""
    (partition,) = workbench.open_log_directory(path).values()
    (segment,) = partition.segments
    return segment


def read_log(segment: Segment) -> LogContents:
    """Return the batches and records of a segment by the names of DumpLogSegments."""
    table = segment.batches.rows
    names = table.dtype.names or ()
    rows = [dict(zip(names, row, strict=True)) for row in table.tolist()]
    records: dict[int, list[Row]] = {}
    problems: list[Problem] = []
    for chunk in segment.read():
        problems += chunk.problems
        _add_records(records, chunk)
    bad = {problem.position: problem for problem in problems}
    return LogContents(
        [_batch(row, bad.get(row["position"])) for row in rows], records, problems, segment
    )


def _batch(row: Row, problem: Problem | None) -> Row:
    return {
        "baseOffset": row["base_offset"],
        "lastOffset": row["last_offset"],
        "offset": row["last_offset"],  # of a message
        "count": row["record_count"],
        "baseSequence": row["base_sequence"],
        "lastSequence": row["last_sequence"],
        "producerId": row["producer_id"],
        "producerEpoch": row["producer_epoch"],
        "partitionLeaderEpoch": row["partition_leader_epoch"],
        "isTransactional": row["is_transactional"],
        "isControl": row["is_control"],
        "deleteHorizonMs": row["delete_horizon"],
        "position": row["position"],
        "timestampType": TIMESTAMP_TYPE_NAMES.get(row["timestamp_type"], "NoTimestampType"),
        "timestamp": row["max_timestamp"],
        "size": row["size"],
        "magic": row["magic"],
        "compresscodec": codec_name(row["codec"]),
        "crc": row["crc"],
        "problem": problem,
    }


def _add_records(records: dict[int, list[Row]], chunk: Any) -> None:
    columns, rows = chunk.columns, chunk.rows
    keys, values, headers = columns.keys, columns.values, columns.headers
    key_sizes = _sizes(keys)
    value_sizes = _sizes(values)
    names = rows.dtype.names or ()
    batches = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    for batch in batches:
        records.setdefault(batch["position"], [])
    for at, number in enumerate(columns.batch.tolist()):
        batch = batches[number]
        offset = int(columns.offsets[at])
        base = batch["base_sequence"]
        record = {
            "offset": offset,
            "timestampType": TIMESTAMP_TYPE_NAMES.get(batch["timestamp_type"], "NoTimestampType"),
            "timestamp": int(columns.timestamps[at]),
            "keySize": key_sizes[at],
            "valueSize": value_sizes[at],
            "sequence": -1 if base < 0 else (base + offset - batch["base_offset"]) % 2**31,
            "headerKeys": _header_keys(headers, at),
            "producerId": batch["producer_id"],
            "producerEpoch": batch["producer_epoch"],
            "isTransactional": batch["is_transactional"],
            "magic": batch["magic"],
            "position": batch["position"],
            "compresscodec": codec_name(batch["codec"]),
        }
        if batch["is_control"] and batch["is_transactional"]:
            key, value = keys.item(at), values.item(at)
            record["endTxnMarker"] = {0: "ABORT", 1: "COMMIT"}[int.from_bytes(key[2:4])]
            record["coordinatorEpoch"] = int.from_bytes(value[2:6], signed=True)
        records[batch["position"]].append(record)


def _sizes(column: Any) -> list[int]:
    sizes = column.sizes()
    sizes[column.is_null()] = -1
    return [int(size) for size in sizes]


def _header_keys(headers: HeaderColumn, at: int) -> list[str]:
    if headers.offsets[at] == headers.offsets[at + 1]:
        return []
    # The tool joins them with commas, so an only key that is empty looks like none at all.
    joined = ",".join(key.decode() for key, _ in headers.item(at))
    return joined.split(",") if joined else []


def log_files(case: Case, label: str, version: str) -> Iterator[str]:
    """Yield the `.log` files that a dump lists, as paths below the log directory."""
    for file in case.dump(label, version).files:
        if file.endswith(".log"):
            yield file


class LogBounds(NamedTuple):
    """Log start offset and log end offset of a partition; the end is exclusive."""

    start: int
    end: int


def log_bounds(directory: Path) -> dict[TopicPartition, LogBounds]:
    """Return where the log of every partition in use starts and ends."""
    logs = workbench.open_log_directory(directory)
    return {
        (p.topic, p.partition): LogBounds(p.log_start_offset, p.log_end_offset)
        for p in logs.values()
        if p.kind == "log"
    }
