"""Every public reading call and every command, each as a callable that takes a directory.

`CALLS` is Python, `COMMANDS` the command line in its own process. A call may refuse: then it raises
what its docstring names, and `Call.run` returns that error. Whatever else is raised is a fault.
"""

import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from click.testing import CliRunner

import workbench as wb
from workbench.cli.main import main
from workbench.decoders.registry import DECODERS
from workbench.inspection.bytes.fields import explain_batch
from workbench.inspection.lookups.record_window import RecordWindow

NOW: Final = 1_800_000_000_000
"""The time that ages are measured by, ms: every call gives the same answer on every day."""

DOCUMENTED: Final = (wb.WorkbenchError, OSError)
"""What may leave a public call."""

MOST_SEGMENTS: Final = 20  # of a partition that are gone through one by one
MOST_BATCHES: Final = 40  # of a segment that are explained byte by byte

_ESCAPES: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class Call(NamedTuple):
    """One call; `run` it.

    Attributes:
        name: what is called, and how.
        function: takes the directory and an empty folder for what it writes.
        allowed: errors that the docstring of what is called names.
    """

    name: str
    function: Callable[[Path, Path], object]
    allowed: tuple[type[Exception], ...] = DOCUMENTED

    def run(self, directory: Path) -> Exception | None:
        """Call it; return the documented error it ended with, None if it returned.

        Raises:
            Exception: what no docstring names.
        """
        with tempfile.TemporaryDirectory(prefix="campaign-out-") as out, warnings.catch_warnings():
            warnings.simplefilter("ignore", wb.CorruptDataWarning)
            try:
                self.function(directory, Path(out))
            except self.allowed as error:
                return error
        return None


def each(things: Iterable[Any], call: Callable[[Any], object]) -> None:
    """Call it with each thing; one that is refused does not keep the others from their turn."""
    for thing in things:
        try:
            call(thing)
        except DOCUMENTED:
            continue


def _compared_with_a_copy(directory: Path, out: Path) -> None:
    """Compare a directory with a copy of it that lacks the last bytes of every log."""
    copy = out / "copy"
    shutil.copytree(directory, copy, symlinks=True)
    for log in copy.rglob("*.log"):
        if log.is_file() and not log.is_symlink():
            os.truncate(log, max(0, log.stat().st_size - 10))
    for deep in (True, False):
        repr(wb.compare_replicas({1: directory, 2: copy}, deep=deep).to_arrow())


def _listing(name: str, use: Callable[[wb.LogDirectory], object], **options: Any) -> Call:
    return Call(name, lambda directory, _: use(wb.open_log_directory(directory)), **options)


def _partition(name: str, use: Callable[[wb.Partition], object]) -> Call:
    return _listing(f"Partition.{name}", lambda logs: each(logs.values(), use))


def _segment(name: str, use: Callable[[wb.Segment], object]) -> Call:
    return _listing(f"Segment.{name}", lambda logs: each(_segments(logs), use))


def _segments(logs: wb.LogDirectory) -> Iterator[wb.Segment]:
    for partition in logs.values():
        yield from partition.segments[:MOST_SEGMENTS]


def _logs(logs: wb.LogDirectory) -> Iterator[str]:
    """Yield the names of the partitions that can be scanned; others wait for their end."""
    return (name for name, partition in logs.items() if partition.kind == "log")


def _scan(name: str, use: Callable[[wb.Scan], object] = wb.Scan.to_arrow, **options: Any) -> Call:
    return _listing(f"scan {name}", lambda logs: use(logs.scan(**options)))


# LogDirectory, and what is beside it.


def _look(logs: wb.LogDirectory) -> None:
    """Use everything about a directory that costs no more than names."""
    repr(logs)
    logs._repr_html_()
    assert len(logs) == len(logs.partitions) == len(list(logs))
    for root in logs.roots:
        assert len({file.name for file in root.files}) == len(root.files)
    repr(logs.topics)


def _alone(use: Callable[[wb.LogDirectory], object]) -> Callable[[Path, Path], object]:
    """Open each file and folder of a directory by itself."""

    def call(directory: Path, _: Path) -> None:
        within = sorted(directory.rglob("*"), key=str)
        each(within, lambda path: use(wb.open_log_directory(path)))

    return call


_LOG_DIRECTORY = (
    _listing("open_log_directory", _look),
    _listing("LogDirectory.verify", lambda logs: [str(f) for f in logs.verify(info=True)]),
    _listing(
        "LogDirectory.verify each topic",
        lambda logs: [
            logs.verify(topics=[topic], deep=False)
            for topic in sorted({p.topic for p in logs.values() if p.kind == "log"})[:3]
        ],
    ),
    _listing("LogDirectory.verify shallow", lambda logs: logs.verify(deep=False, info=True)),
    _listing("LogDirectory.predict_startup", lambda logs: repr(logs.predict_startup().as_dict())),
    _listing(
        "LogDirectory.predict_startup no consumers",
        lambda logs: list(logs.predict_startup(consumers=False, kafka="4.2", node_id=1)),
    ),
    _listing("LogDirectory.preflight", lambda logs: repr(logs.preflight(kafka="4.3").as_dict())),
    _listing("LogDirectory.stuck", lambda logs: logs.stuck(now=NOW).to_pylist()),
    _listing("LogDirectory.report", lambda logs: logs.report(now=NOW)),
    _listing("LogDirectory.to_duckdb", lambda logs: logs.to_duckdb().close()),
    Call(
        "compare_replicas",
        lambda directory, _: repr(wb.compare_replicas({1: directory}).as_dict()),
    ),
    Call("compare_replicas with a shorter copy", _compared_with_a_copy),
    Call(
        "what_if retention",
        lambda directory, _: repr(wb.what_if(directory, {"retention.ms": 1}, now=NOW).as_dict()),
    ),
    Call(
        "what_if compact",
        lambda directory, _: (
            wb.what_if(directory, {"cleanup.policy": "compact"}, now=NOW).to_arrow(),
        ),
    ),
    Call("open each file, look", _alone(_look)),
    Call("open each file, verify", _alone(lambda logs: logs.verify(info=True))),
    Call("open each file, scan", _alone(lambda logs: logs.scan(include_control=True).count())),
)


# `logs.inspect`.


def _table(name: str) -> Call:
    return _listing(f"inspect.{name}", lambda logs: getattr(logs.inspect, name)())


_INSPECT = (
    *(
        _table(table)
        for table in (
            "aborted_transactions",
            "batches",
            "checkpoints",
            "commits",
            "damaged_ranges",
            "disk_usage",
            "files",
            "findings",
            "gaps",
            "group_offsets",
            "groups",
            "keys",
            "leader_epochs",
            "offset_index",
            "producers",
            "record_counts",
            "segments",
            "time_index",
        )
    ),
    _listing("inspect.producers every", lambda logs: logs.inspect.producers(every=True)),
    _listing("inspect.keys all", lambda logs: logs.inspect.keys(limit=None)),
    _listing("inspect.cleaning", lambda logs: logs.inspect.cleaning(now=NOW)),
    _listing(
        "inspect.cleaning compact",
        lambda logs: logs.inspect.cleaning(config={"cleanup.policy": "compact"}, now=NOW),
    ),
)


# Scans.


def _iterate(scan: wb.Scan) -> None:
    assert sum(1 for _ in scan) <= 100


def _stream(scan: wb.Scan) -> None:
    read = sum(batch.num_rows for batch in scan.to_arrow_batch_reader())
    assert read == scan.count()


def _stream_limited(scan: wb.Scan) -> None:
    assert sum(batch.num_rows for batch in scan.to_arrow_batch_reader()) <= 3


def _decoded(name: str, **decode: Any) -> Call:
    def use(logs: wb.LogDirectory) -> None:
        each(_logs(logs), lambda name: logs.scan(partitions=name, decode=decode).to_arrow())

    return _listing(f"scan decode {name}", use, allowed=(*DOCUMENTED, ValueError))


_SCANS = (
    _scan("to_arrow"),
    _scan("to_pandas", wb.Scan.to_pandas),
    _scan("to_pandas pyarrow", lambda scan: scan.to_pandas("pyarrow")),
    _scan("to_polars", wb.Scan.to_polars),
    _scan(
        "to_duckdb", lambda scan: scan.to_duckdb().sql("select count(*) from records").fetchall()
    ),
    _scan("stream", _stream),
    _scan("count", wb.Scan.count, include_control=True),
    _scan("head", wb.Scan.head),
    _scan("iterate", _iterate, limit=100),
    _scan("plan", wb.Scan.plan, isolation_level="read_committed"),
    _scan("read_committed", isolation_level="read_committed"),
    _scan("control", include_control=True),
    _scan("rescue", rescue=True),
    _scan("offsets", offsets=(3, 90)),
    _scan("no offsets", offsets=(5, 5)),
    _scan("timestamps", timestamps=(1_500_000_000_000, "2027-01-01")),
    _scan("limit", limit=5),
    _scan("columns", columns=["offset", "key"]),
    _scan("raise", on_corrupt="raise"),
    _scan(
        "committed control range",
        isolation_level="read_committed",
        include_control=True,
        offsets=(3, 500),
        timestamps=(1, None),
    ),
    _scan("raise and rescue", on_corrupt="raise", rescue=True, columns=["value", "headers"]),
    _scan("committed limit", _stream_limited, isolation_level="read_committed", limit=3),
    _decoded("utf8", key="utf8", value="utf8"),
    _decoded("json", value="json"),
    Call(
        "scan to_parquet",
        lambda directory, out: (
            wb.open_log_directory(directory).scan().to_parquet(out / "records.parquet")
        ),
    ),
)


# Partitions.


def _look_at_partition(partition: wb.Partition) -> None:
    repr(partition)
    partition._repr_html_()
    for name in (
        "files", "segments", "snapshots", "metadata_snapshots", "leftovers", "orphans", "unknown",
        "folders", "size", "log_start_offset", "log_end_offset", "leader_epochs", "metadata",
        "topic_id",
    ):  # fmt: skip
        each([name], lambda name: repr(getattr(partition, name)))
    each(partition.snapshots, lambda entry: repr(partition.producer_snapshot(entry)))
    each([0, 1, 2**31, 2**62, -1], partition.segment_of)


def _plan(partition: wb.Partition) -> None:
    plan = partition.plan_cleaning(now=NOW, passes=2, everything=True)
    repr(plan.as_dict())
    plan._repr_html_()
    for table in (plan.decisions, plan.batches, plan.reasons(), plan.keys(5)):
        assert table.num_rows >= 0
    for offset in plan.decisions["offset"].to_pylist()[:3]:
        plan.why(offset)


def _explanation(explanation: Any) -> None:
    str(explanation)
    explanation.to_arrow()
    explanation._repr_html_()


_PARTITIONS = (
    _partition("look", _look_at_partition),
    _partition(
        "offset_for_timestamp",
        lambda p: [p.offset_for_timestamp(time) for time in (-1, 0, 1_700_000_000_000, 2**62)],
    ),
    _partition("explain_cleaning", lambda p: _explanation(p.explain_cleaning(now=NOW))),
    _partition(
        "explain_cleaning compact",
        lambda p: _explanation(p.explain_cleaning({"cleanup.policy": "compact"}, now=NOW)),
    ),
    _partition(
        "explain_retention",
        lambda p: _explanation(p.explain_retention({"retention.bytes": 1}, now=NOW)),
    ),
    _partition("plan_cleaning", _plan),
    _partition(
        "plan_cleaning rounds",
        lambda p: repr(
            p.plan_cleaning(
                {"cleanup.policy": "compact,delete", "delete.retention.ms": 0},
                now=[NOW, NOW + 86_400_000],
            ).as_dict()
        ),
    ),
    _listing(
        "LogDirectory.explain_cleaning",
        lambda logs: each(
            logs.explain_cleaning({"cleanup.policy": "compact"}, now=NOW).values(), _explanation
        ),
    ),
)


# Segments, their batches, indexes and records.


def _look_at_segment(segment: wb.Segment) -> None:
    repr(segment)
    for name in ("path", "size", "modified_ms", "next_offset", "largest_timestamp"):
        each([name], lambda name: repr(getattr(segment, name)))
    segment._repr_html_()


def _batches(segment: wb.Segment) -> None:
    for number in range(len(segment.batches)):
        batch = segment.batches[number]
        repr(batch)
        assert batch.codec


def _index(name: str) -> Callable[[wb.Segment], None]:
    def use(segment: wb.Segment) -> None:
        index = getattr(segment, name)
        if index is not None:
            repr(index)
            for number, entry in enumerate(index):
                if number == 1000:
                    break
                repr(entry)

    return use


def _read(segment: wb.Segment) -> None:
    for offset in (segment.base_offset, segment.base_offset + 2, 2**62):
        each([offset], lambda offset: sum(1 for _ in segment.read(segment.position_of(offset))))


def _explain(segment: wb.Segment) -> None:
    rows = segment.batches.rows[:MOST_BATCHES]
    each(rows, lambda row: repr(explain_batch(segment, int(row["position"]))))


def _window(segment: wb.Segment) -> None:
    window = RecordWindow(segment)
    each(
        [(0, 3), (len(window) - 3, len(window))], lambda rows: window.read(max(rows[0], 0), rows[1])
    )
    each([segment.base_offset, -1, 2**62], window.row_of_offset)


_SEGMENTS = (
    _segment("look", _look_at_segment),
    _segment("batches", _batches),
    _segment("offset_index", _index("offset_index")),
    _segment("time_index", _index("time_index")),
    _segment("transaction_index", _index("transaction_index")),
    _segment("read", _read),
    _segment("explain_batch", _explain),
    _segment("RecordWindow", _window),
)


# Decoders of records.


def _decode(logs: wb.LogDirectory) -> None:
    """Give the first records of each partition to every decoder: none raises, all give JSON."""
    for name in _logs(logs):
        for record in logs.scan(partitions=name, limit=200):
            for decoder in DECODERS.values():
                json.dumps(decoder.key(record["key"]))
                json.dumps(decoder.value(record["key"], record["value"]))


_DECODERS = (_listing("decoders", _decode),)


# Widgets, without a browser.


def _explore(logs: wb.LogDirectory) -> None:
    from widgets import LogExplorer

    explorer = LogExplorer(logs)
    for partition in logs.values():
        for segment in partition.segments[:2]:
            here = {"partition": partition.name, "segment": segment.base_offset}
            explorer.selected = here
            of = (partition.name, str(segment.base_offset))
            explorer.answer_records(*of, 0, 20)
            explorer.answer_row(*of, str(segment.base_offset))
            explorer.answer_fates(*of)
            for row in segment.batches.rows[:2]:
                at = int(row["position"])
                for inside in (False, True):
                    explorer.answer_bytes(
                        partition=of[0], segment=of[1], position=at, inside=inside, start=0, stop=99
                    )
    each(list(logs)[:3], explorer.verify)
    explorer.describe()
    explorer.close()


def _show(partition: wb.Partition) -> None:
    from widgets import CleanerView, CompactionPlayer, LookupPlayer, RecoveryPlayer

    def planned() -> CleanerView:
        view = CleanerView(partition, now=NOW)
        view.wait()
        return view

    each(
        [
            planned,
            lambda: CompactionPlayer(partition, now=NOW),
            lambda: LookupPlayer(partition, offset=partition.log_start_offset),
            lambda: LookupPlayer(partition, timestamp=1_700_000_000_000),
            lambda: RecoveryPlayer(partition),
        ],
        lambda make: make().close(),
    )


_WIDGETS = (
    _listing("widgets.LogExplorer", _explore),
    _listing("widgets of partitions", lambda logs: each(list(logs.values())[:4], _show)),
)


CALLS: Final[tuple[Call, ...]] = (
    *_LOG_DIRECTORY,
    *_INSPECT,
    *_SCANS,
    *_PARTITIONS,
    *_SEGMENTS,
    *_DECODERS,
    *_WIDGETS,
)


# Commands.


class BadOutputError(AssertionError):
    """A command printed what it must not, or ended with a code that it does not have."""


def _run(*arguments: str | Path) -> str:
    """Run a command; return what it printed.

    Raises:
        Exception: what the command raised and does not report as one of its own errors.
        BadOutputError: see there.
    """
    given = [str(each) for each in arguments]
    result = CliRunner().invoke(main, [*given, "--debug"])
    error = result.exception
    known = (SystemExit, click.ClickException, *DOCUMENTED)
    if error is not None and not isinstance(error, known):
        raise error
    finished = error is None or isinstance(error, SystemExit)
    if finished and result.exit_code not in {0, 1, 2, 3}:
        raise BadOutputError(f"{given[0]} ends with {result.exit_code}")
    if raw := _ESCAPES.search(result.stdout + result.stderr):
        raise BadOutputError(f"{given[0]} prints {raw[0]!r} raw")
    return result.stdout if finished else ""


def _text(*arguments: str) -> Call:
    command, *options = arguments
    return Call(" ".join(arguments), lambda directory, _: _run(command, directory, *options))


def _json(*arguments: str, lines: bool = False) -> Call:
    command, *options = arguments

    def call(directory: Path, _: Path) -> None:
        printed = _run(command, directory, *options)
        for value in printed.splitlines() if lines else [printed] if printed else []:
            json.loads(value)

    return Call(" ".join(arguments), call)


def _copying(*arguments: str) -> Call:
    command, *options = arguments
    name = f"{' '.join(arguments)} --to OUT"
    return Call(
        name, lambda directory, out: _run(command, directory, "--to", out / "copy", *options)
    )


def _exporting(file: str, *options: str) -> Call:
    name = f"export --to {file} {' '.join(options)}".rstrip()
    return Call(
        name, lambda directory, out: _run("export", directory, "--to", out / file, *options)
    )


def _describing(directory: Path, _: Path) -> None:
    """Describe every file, and the first batch of each log."""
    for path in sorted(directory.rglob("*"), key=str):
        if not path.is_dir():
            _run("describe", path)
            if path.suffix == ".log":
                _run("describe", path, "--batch", "0", "--show-values")


_AT = ("--now", str(NOW))

COMMANDS: Final[tuple[Call, ...]] = (
    _text("ls"),
    _text("ls", "--topics"),
    _json("ls", "--json"),
    _json("ls", "--records", "--json"),
    Call("sql", lambda directory, _: _run("sql", directory, "select * from record_counts")),
    Call("to-table", lambda directory, out: _run("to-table", directory, "--to", out / "lake")),
    _text("describe"),
    _json("describe", "--json"),
    Call("describe each file", _describing),
    _text("dump", "--format", "text", "--show-values", "--control"),
    _json("dump", "--format", "jsonl", "--batches", "--control", "--decode", lines=True),
    _json("dump", "--isolation-level", "read_committed", "--json", lines=True),
    _json("dump", "--isolation-level", "read_committed", "--batches", "--json", lines=True),
    _text("search", "--key", "a", "--count"),
    _text("search", "--since", "2020-01-01", "--show-values"),
    _text("verify"),
    _text("verify", "--quick", "--info"),
    _json("verify", "--json"),
    _text("predict"),
    _json("predict", "--json"),
    _text("preflight", "--deep"),
    _text("stuck"),
    _json("stuck", "--now", "0", "--json"),
    _json("preflight", "--kafka", "2.8", "--json"),
    _text("explain", *_AT),
    _json("explain", *_AT, "--json"),
    _text("plan", "--batches", "--records", *_AT),
    _json("plan", "--set", "cleanup.policy=compact", "--keys", "3", *_AT, "--json"),
    _text("what-if", "--set", "retention.ms=1", "--why", *_AT),
    _json("what-if", "--set", "cleanup.policy=compact", *_AT, "--json"),
    _text("retention", "--dry-run", *_AT),
    _exporting("records.parquet"),
    _exporting("records.csv"),
    _exporting("records.jsonl", "--control"),
    _copying("recover"),
    _copying("recover", "--full", "--json"),
    _copying("retention", *_AT),
    _copying("compact", "--set", "cleanup.policy=compact", *_AT),
)
