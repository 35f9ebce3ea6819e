"""Pairs of paths that answer one question, each pair compared on a directory.

What may differ is named here with its reason. Whatever else differs is a fault of one of the two.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import workbench as wb
from tests.campaign import face_pairs
from tests.campaign.calls import DOCUMENTED, Call
from tests.campaign.readings import DifferentAnswersError, printed_by, same, small
from workbench.pipelines import to_table


def counts(directory: Path) -> None:
    """How many records are there?"""
    logs = wb.open_log_directory(directory)
    by_name = {(row["topic"], row["partition"]): row for row in _record_counts(logs)}
    listed = _listed(directory)
    for partition, read in small(logs):
        where = partition.topic, partition.partition
        row = by_name.get(where)
        if row is None or not read.is_plain:
            continue  # unreadable, or counted by headers that show no damage
        name = partition.name
        same(
            f"{name}: records",
            scan=len(read.offsets),
            count=logs.scan(partitions=name).count(),
            record_counts=row["records"],
            ls=listed.get(partition.path, {}).get("records", row["records"]),
        )
        committed = listed.get(partition.path, {}).get("records_read_committed")
        wanted = len(read.committed) if read.is_ordered else row["records_read_committed"]
        same(
            f"{name}: committed records",
            scan=wanted,
            record_counts=row["records_read_committed"],
            ls=wanted if committed is None else committed,
        )
        same(f"{name}: control records", scan=len(read.controls), counts=row["control_records"])
        told = json.loads(printed_by("describe", directory, "-p", name, "--json") or "null")
        if told is not None and told.get("partition") == name and partition.remote is None:
            same(
                f"{name}: records of describe",
                scan=(len(read.offsets), len(read.controls)),
                describe=(told["records"], told["control_records"]),
                segments=(sum(each["records"] for each in told["segments"]), len(read.controls)),
            )


def _record_counts(logs: wb.LogDirectory) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = logs.inspect.record_counts().to_pylist()
    return rows


def _listed(directory: Path) -> dict[str, dict[str, Any]]:
    """Return path → row of `ls`."""
    printed = printed_by("ls", directory, "--records", "--json")
    rows = json.loads(printed)["partitions"] if printed else []
    return {row["path"]: row for row in rows}


def ends(directory: Path) -> None:
    """Where does a log begin, and where does it end?"""
    logs = wb.open_log_directory(directory)
    listed = _listed(directory)
    rows = {(row["topic"], row["partition"]): row for row in _record_counts(logs)}
    for partition, read in small(logs):
        name, start, end = partition.name, partition.log_start_offset, partition.log_end_offset
        row = listed.get(partition.path)
        counted = rows.get((partition.topic, partition.partition))
        if row is not None:
            same(f"{name}: ends by ls", here=(start, end), ls=_ends(row))
        if counted is not None:
            wanted = start, max(start, end)
            same(f"{name}: ends by record_counts", here=wanted, record_counts=_ends(counted))
        for segment in partition.segments:
            near_the_end = segment.next_offset
            assert len(segment.batches) >= 0  # walks all of it, and keeps the table
            same(f"{segment.path}: next offset", near=near_the_end, walked=segment.next_offset)
        every = sorted([*read.offsets, *read.controls])
        if every and not start <= every[0]:
            raise DifferentAnswersError(f"{name}: record {every[0]} is below the log start {start}")
        if partition.broker_log_end_offset > end:
            raise DifferentAnswersError(f"{name}: a broker's log end is above the readable {end}")


def _ends(row: dict[str, Any]) -> tuple[int, int]:
    return row["log_start_offset"], row["log_end_offset"]


def fates(directory: Path) -> None:
    """What became of each offset?"""
    logs = wb.open_log_directory(directory)
    for partition, read in small(logs):
        of: dict[str, list[int]] = {}
        after = 0
        for row in partition.fates().to_pylist():
            first, last = row["first_offset"], row["last_offset"]
            if first != after:
                raise DifferentAnswersError(f"{partition.name}: no fate of offset {after}")
            after = last + 1
            if row["fate"] in {"record", "open", "aborted", "control"}:
                of.setdefault(row["fate"], []).extend(range(first, last + 1))
        data = sorted([*of.get("record", []), *of.get("open", []), *of.get("aborted", [])])
        same(f"{partition.name}: records", fates=data, scan=read.offsets)
        same(f"{partition.name}: control", fates=of.get("control", []), scan=read.controls)
        stable = min([*of.get("open", []), partition.committed_end])
        committed = [offset for offset in of.get("record", []) if offset < stable]
        if read.is_ordered:
            same(f"{partition.name}: committed", fates=committed, scan=read.committed)
        for offset in (read.offsets[:1], read.offsets[-1:]):
            if offset and partition.fate(offset[0]).fate not in {"record", "open", "aborted"}:
                raise DifferentAnswersError(f"{partition.name}: {offset} is no record by fate")


def loaded(directory: Path, out: Path) -> None:
    """What is loaded into a table, and what becomes of the other offsets?"""
    logs = wb.open_log_directory(directory)
    read = {
        (partition.topic, partition.partition): (partition, found)
        for partition, found in small(logs)
    }
    names = [partition.name for partition, _ in read.values()]
    if not names:
        return
    try:
        rows = to_table(directory, out / "lake", partitions=names).to_pylist()
    except DOCUMENTED:
        return
    for row in rows:
        partition, found = read[row["topic"], row["partition"]]
        if found.is_ordered:
            same(f"{partition.name}: records", to_table=row["records"], scan=len(found.committed))
        fields = (
            "before", "records", "superseded", "tombstones", "undecoded", "aborted", "control",
            "compacted", "deleted", "damaged", "unread", "missing", "waiting",
        )  # fmt: skip
        same(
            f"{partition.name}: offsets",
            sum=sum(row[field] for field in fields),
            log_end_offset=row["log_end_offset"],
            here=max(partition.log_end_offset, partition.log_start_offset),
        )


def started(directory: Path, out: Path) -> None:
    """What does a start make of a directory: as `predict` says, and as `recover` does?"""
    told = printed_by("predict", directory, "--json")
    done = printed_by("recover", directory, "--to", out / "copy", "--json")
    if not told or not done:
        return
    # `recover` sets nothing aside: a log that a broker makes a stray one is recovered as it is.
    fields = ("recovered_from", "bytes_cut", "log_start_offset", "log_end_offset")
    rows = [
        {
            each["name"]: tuple(each[name] for name in fields)
            for each in json.loads(text)["partitions"]
            if each["verdict"] in {"loads", "recovers", "stray"}
        }
        for text in (told, done)
    ]
    for name in rows[0].keys() & rows[1].keys():
        same(f"{name}: a start", predict=rows[0][name], recover=rows[1][name])


_COMMIT: Final = ("group", "topic", "partition", "offset", "producer_id")
"""Without times: those beyond the year 9999 are none of Python's."""


def commits(directory: Path) -> None:
    """Which offsets are committed: by the groups, and by the history of the commits?"""
    inspect = wb.open_log_directory(directory).inspect
    try:
        history = {
            _commit(row, row["fate"] == "pending"): (row["log_offset"], row["offset"])
            for row in inspect.commits().select([*_COMMIT, "log_offset", "fate"]).to_pylist()
            if row["fate"] in {"in force", "pending"}
        }
        groups = {
            _commit(row, row["producer_id"] is not None): (row["record_offset"], row["offset"])
            for row in inspect.group_offsets().select([*_COMMIT, "record_offset"]).to_pylist()
        }
    except DOCUMENTED:
        return
    for key in history.keys() & groups.keys():
        same(f"{key}: committed offset", history=history[key], groups=groups[key])


def _commit(row: dict[str, Any], is_pending: bool) -> tuple[Any, ...]:  # noqa: FBT001 - private
    """Return what a commit is about; those of open transactions are beside the one in force."""
    producer = row["producer_id"] if is_pending else None
    return row["group"], row["topic"], row["partition"], producer


def _pair(check: Callable[..., None], *, writes: bool = False) -> Call:
    def call(directory: Path, out: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(*((directory, out) if writes else (directory,)))

    return Call(f"pair {check.__name__}", call)


PAIRS: Final[tuple[Call, ...]] = (
    _pair(counts),
    _pair(ends),
    _pair(fates),
    _pair(loaded, writes=True),
    _pair(started, writes=True),
    _pair(commits),
    _pair(face_pairs.printed, writes=True),
    _pair(face_pairs.exported, writes=True),
    _pair(face_pairs.shown),
    _pair(face_pairs.found),
    _pair(face_pairs.grouped),
    _pair(face_pairs.served),
    _pair(face_pairs.looked_up),
    _pair(face_pairs.retained, writes=True),
    _pair(face_pairs.timed),
    _pair(face_pairs.cleaned, writes=True),
)
