"""Pairs of paths that answer one question, each pair compared on a directory.

What may differ is named here with its reason. Whatever else differs is a fault of one of the two.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

import workbench as wb
from tests.campaign.calls import DOCUMENTED, Call
from workbench.cli.main import main
from workbench.pipelines import to_table

LARGEST: Final = 1 << 20  # bytes of the logs of a partition that is compared
HIDDEN: Final = frozenset({
    # What batch headers do not show: `record_counts` counts these records, and says so.
    "crc", "compression", "record", "record-count", "batch-too-large", "record-offset",
})  # fmt: skip


class DifferentAnswersError(AssertionError):
    """Two paths answer one question differently."""


class Read(NamedTuple):
    """What a scan reads of a partition.

    Attributes:
        offsets: of the records that a read_uncommitted consumer gets, ascending.
        committed: of those that a read_committed consumer gets.
        controls: of control records.
        is_plain: whether nothing was damaged that batch headers do not show.
        is_ordered: whether no batches contradict each other: which of them is left out depends on
            the batches that are read.
    """

    offsets: list[int]
    committed: list[int]
    controls: list[int]
    is_plain: bool
    is_ordered: bool


def _same(question: str, **answers: Any) -> None:
    """Raise if answers to a question differ."""
    first, *others = answers.values()
    if any(each != first for each in others):
        told = ", ".join(f"{name}: {_short(answer)}" for name, answer in answers.items())
        raise DifferentAnswersError(f"{question}: {told}")


def _short(answer: object) -> str:
    text = repr(answer)
    return text if len(text) < 120 else f"{text[:100]} … ({len(text)} characters)"


def _run(*arguments: str | Path) -> str:
    """Return what a command prints, whatever it exits with; empty if it refuses."""
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    return "" if result.exit_code == 1 else result.stdout


def _read(logs: wb.LogDirectory, name: str) -> Read:
    """Read a partition with scans."""

    def offsets(**options: Any) -> tuple[list[int], list[bool], set[str]]:
        scan = logs.scan(partitions=name, columns=["offset", "is_control"], **options)
        table = scan.to_arrow()
        offsets, is_control = (column.to_pylist() for column in table.columns)
        return offsets, is_control, {finding.kind for finding in scan.findings}

    every, is_control, kinds = offsets(include_control=True)
    committed, _, _ = offsets(isolation_level="read_committed")
    return Read(
        [offset for offset, control in zip(every, is_control, strict=True) if not control],
        committed,
        [offset for offset, control in zip(every, is_control, strict=True) if control],
        not kinds & HIDDEN,
        not kinds & {"offset-order", "offset-range"},
    )


def _small(logs: wb.LogDirectory) -> Iterator[tuple[wb.Partition, Read]]:
    """Yield the logs that are compared, with what a scan reads of each."""
    for name, partition in logs.items():
        if partition.kind == "log" and partition.size <= LARGEST and partition.segments:
            try:
                yield partition, _read(logs, name)
            except DOCUMENTED:
                continue


def counts(directory: Path) -> None:
    """How many records are there?"""
    logs = wb.open_log_directory(directory)
    by_name = {(row["topic"], row["partition"]): row for row in _record_counts(logs)}
    listed = _listed(directory)
    for partition, read in _small(logs):
        where = partition.topic, partition.partition
        row = by_name.get(where)
        if row is None or not read.is_plain:
            continue  # unreadable, or counted by headers that show no damage
        name = partition.name
        _same(
            f"{name}: records",
            scan=len(read.offsets),
            count=logs.scan(partitions=name).count(),
            record_counts=row["records"],
            ls=listed.get(partition.path, {}).get("records", row["records"]),
        )
        committed = listed.get(partition.path, {}).get("records_read_committed")
        wanted = len(read.committed) if read.is_ordered else row["records_read_committed"]
        _same(
            f"{name}: committed records",
            scan=wanted,
            record_counts=row["records_read_committed"],
            ls=wanted if committed is None else committed,
        )
        _same(f"{name}: control records", scan=len(read.controls), counts=row["control_records"])
        told = json.loads(_run("describe", directory, "-p", name, "--json") or "null")
        if told is not None and told.get("partition") == name and partition.remote is None:
            _same(
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
    printed = _run("ls", directory, "--records", "--json")
    rows = json.loads(printed)["partitions"] if printed else []
    return {row["path"]: row for row in rows}


def ends(directory: Path) -> None:
    """Where does a log begin, and where does it end?"""
    logs = wb.open_log_directory(directory)
    listed = _listed(directory)
    rows = {(row["topic"], row["partition"]): row for row in _record_counts(logs)}
    for partition, read in _small(logs):
        name, start, end = partition.name, partition.log_start_offset, partition.log_end_offset
        row = listed.get(partition.path)
        counted = rows.get((partition.topic, partition.partition))
        if row is not None:
            _same(f"{name}: ends by ls", here=(start, end), ls=_ends(row))
        if counted is not None:
            wanted = start, max(start, end)
            _same(f"{name}: ends by record_counts", here=wanted, record_counts=_ends(counted))
        for segment in partition.segments:
            near_the_end = segment.next_offset
            assert len(segment.batches) >= 0  # walks all of it, and keeps the table
            _same(f"{segment.path}: next offset", near=near_the_end, walked=segment.next_offset)
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
    for partition, read in _small(logs):
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
        _same(f"{partition.name}: records", fates=data, scan=read.offsets)
        _same(f"{partition.name}: control", fates=of.get("control", []), scan=read.controls)
        stable = min([*of.get("open", []), partition.committed_end])
        committed = [offset for offset in of.get("record", []) if offset < stable]
        if read.is_ordered:
            _same(f"{partition.name}: committed", fates=committed, scan=read.committed)
        for offset in (read.offsets[:1], read.offsets[-1:]):
            if offset and partition.fate(offset[0]).fate not in {"record", "open", "aborted"}:
                raise DifferentAnswersError(f"{partition.name}: {offset} is no record by fate")


def printed(directory: Path) -> None:
    """Which records do `dump`, `export` and `sql` give?"""
    logs = wb.open_log_directory(directory)
    for partition, read in _small(logs):
        name = partition.name
        if list(logs).count(name) != 1:
            continue
        levels = {"read_uncommitted": read.offsets, "read_committed": read.committed}
        for level, wanted in levels.items():
            lines = _run("dump", directory, "-p", name, "--isolation-level", level, "--json")
            offsets = [json.loads(line)["offset"] for line in lines.splitlines()]
            _same(f"{name}: {level}", scan=wanted, dump=offsets)


def loaded(directory: Path, out: Path) -> None:
    """What is loaded into a table, and what becomes of the other offsets?"""
    logs = wb.open_log_directory(directory)
    read = {
        (partition.topic, partition.partition): (partition, found)
        for partition, found in _small(logs)
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
            _same(f"{partition.name}: records", to_table=row["records"], scan=len(found.committed))
        fields = (
            "before", "records", "superseded", "tombstones", "undecoded", "aborted", "control",
            "compacted", "deleted", "damaged", "unread", "missing", "waiting",
        )  # fmt: skip
        _same(
            f"{partition.name}: offsets",
            sum=sum(row[field] for field in fields),
            log_end_offset=row["log_end_offset"],
            here=max(partition.log_end_offset, partition.log_start_offset),
        )


def started(directory: Path, out: Path) -> None:
    """What does a start make of a directory: as `predict` says, and as `recover` does?"""
    told = _run("predict", directory, "--json")
    done = _run("recover", directory, "--to", out / "copy", "--json")
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
        _same(f"{name}: a start", predict=rows[0][name], recover=rows[1][name])


def commits(directory: Path) -> None:
    """Which offsets are committed: by the groups, and by the history of the commits?"""
    inspect = wb.open_log_directory(directory).inspect
    try:
        history = {
            _commit(row, row["fate"] == "pending"): (row["log_offset"], row["offset"])
            for row in inspect.commits().to_pylist()
            if row["fate"] in {"in force", "pending"}
        }
        groups = {
            _commit(row, row["producer_id"] is not None): (row["record_offset"], row["offset"])
            for row in inspect.group_offsets().to_pylist()
        }
    except DOCUMENTED:
        return
    for key in history.keys() & groups.keys():
        _same(f"{key}: committed offset", history=history[key], groups=groups[key])


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
    _pair(printed),
    _pair(loaded, writes=True),
    _pair(started, writes=True),
    _pair(commits),
)
