"""`kafka-workbench spark`: Spark jobs over log directories, on two cores or a cluster."""

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import wraps
from typing import Any, Final

import click

from workbench.cli.command import Command, as_json, chooses_topics, is_quick, read_time, spark_conf
from workbench.cli.commands import to_table
from workbench.cli.commands.verify import CODES
from workbench.cli.output import note, print_json, print_table, say, time_of
from workbench.inspection.listing import require_logs
from workbench.runtime.extras import missing
from workbench.runtime.times import EPOCH, MINUTE
from workbench.runtime.words import plural
from workbench.tables.lake import LoadedRow

Job = Callable[..., int]

DIFFERENT: Final = 1
"""Exit code if replicas differ, or a rescue had to leave something out."""


_DAMAGE_HINT: Final = "; the job needs every record, and `rescue-to-parquet` saves the others"

_SETTINGS: Final[dict[str, Any]] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_PATHS: Final = click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path()
)


_MASTER: Final = click.option(
    "--master", default="local[2]", metavar="URL", show_default=True,
    help="Run the job on this master, as in spark-submit.",
)  # fmt: skip
_PACKAGES: Final = click.option(
    "--packages", metavar="LIST",
    help="Jars and what they need, as GROUP:NAME:VERSION, with commas between.",
)  # fmt: skip


def _takes_logs(function: Job) -> Job:
    """Add PATH, --topic, --master, --conf, --packages and --json."""
    return _PATHS(_choices(function))


def _choices(job: Job) -> Job:
    """Add all options but PATH."""
    return chooses_topics(_in_session(as_json(job)))


def _in_session(job: Job) -> Job:
    """Add --master, --conf and --packages, which the job gets as ``conf``."""

    @wraps(job)
    def function(*, master: str, packages: str | None, conf: dict[str, str], **others: Any) -> int:
        named = {"spark.master": master} | ({"spark.jars.packages": packages} if packages else {})
        return job(conf=conf | named, **others)

    return _MASTER(spark_conf(_PACKAGES(function)))


@click.group("spark")
def command() -> None:
    """Run a Spark job over log directories, without writing to them.

    A PATH is local to every executor, or a URI such as s3://bucket/broker-1; the driver expands a
    pattern such as 's3://bucket/broker-*'. Several PATHs are the log.dirs of one broker, or of
    several: then the replica that is ahead is read. For cluster-verify each is a broker's. With
    --master local[N], the job runs in N tasks on this machine.

    Every job has --help, and takes --master, --conf, --packages, --json and --debug.
    """


@command.command("topic-profile", cls=Command, short_help="Rates, sizes, keys, gaps, late data.")
@_takes_logs
@click.option("--late", "late_ms", type=click.IntRange(min=0), default=MINUTE, metavar="MS",
    show_default=True, help="A record is late if it is more than MS older than one before it.",
)  # fmt: skip
def topic_profile(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    conf: dict[str, str],
    as_json: bool,
    late_ms: int,
) -> int:
    """Profile the records by partition and by hour of their timestamps (UTC).

    Exit codes: 0 done.

    With --json: a list of objects, one per partition and hour.
    """
    with _job(conf, [paths], topics) as spark:
        from workbench.pipelines import topic_profile

        frame = topic_profile.topic_profile(spark, paths, topics, late_ms=late_ms)
        _show(frame.toArrow().to_pylist(), as_json=as_json)
    return 0


@command.command("compaction-savings", cls=Command, short_help="What compaction would drop.")
@_takes_logs
@click.option("--now", metavar="TIME", callback=read_time,
    help="Compare delete horizons with this time: ISO 8601, or ms since the epoch; default: now.",
)  # fmt: skip
def compaction_savings(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    conf: dict[str, str],
    as_json: bool,
    now: int | None,
) -> int:
    """Show how many records and bytes compaction from the log start would drop, and why.

    The job decides as `plan --everything` does, for logs of any size and number of keys.

    Exit codes: 0 done.

    With --json: a list of objects with topic, partition, fate, is_kept, records and bytes.
    """
    with _job(conf, [paths], topics) as spark:
        from workbench.pipelines import compaction_savings

        frame = compaction_savings.compaction_savings(spark, paths, topics, now=now)
        _show(frame.toArrow().to_pylist(), as_json=as_json)
    return 0


@command.command("cluster-verify", cls=Command, short_help="Check the disks of a whole cluster.")
@_takes_logs
@is_quick
def cluster_verify(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    conf: dict[str, str],
    as_json: bool,
    quick: bool,
) -> int:
    """Check log directories as `verify` does; each PATH is one broker's, with commas between them.

    Exit codes: 0 nothing wrong, 1 warnings, 2 errors, 3 there is nothing to check.

    With --json: a list of findings as `verify --json` gives them.
    """
    with _job(conf, [(path,) for path in paths], topics) as spark:
        from workbench.pipelines import cluster_verify

        found = cluster_verify.cluster_verify(spark, paths, topics, deep=not quick)
        rows = found.findings.orderBy("severity", "path", "position").toArrow().to_pylist()
        found.findings.unpersist()
    _show(rows, as_json=as_json, spare=("broker", "expected"))
    if not as_json:
        counts = dict.fromkeys(("error", "warning"), 0)
        for severity, _, count in found.summary:
            counts[severity] += count
        words = [plural(count, name) for name, count in counts.items() if count]
        say(", ".join(words) or "nothing wrong")
    return CODES[found.worst]


@command.command("rescue-to-parquet", cls=Command, short_help="Save what can still be read.")
@_takes_logs
@click.option("--to", "out", required=True, metavar="DIR", type=click.Path(file_okay=False),
    help="Write to this folder, which driver and executors share.",
)  # fmt: skip
def rescue_to_parquet(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    conf: dict[str, str],
    as_json: bool,
    out: str,
) -> int:
    """Write every readable record to DIR/topic=T/partition=N, and count it against the batches.

    A partition is in DIR only when it is complete. Run again, the job writes what is missing.

    Exit codes: 0 everything was read, 1 damage was left out.

    With --json: a list of objects with topic, partition, records, missing, damage and was_done.
    """
    with _job(conf, [paths], topics) as spark:
        from workbench.pipelines import rescue_to_parquet

        done = []
        for each in rescue_to_parquet.rescue_to_parquet(spark, paths, out, topics):
            done.append(each)
            note(f"{each.topic}-{each.partition}: {plural(each.records, 'record')}")
    rows = [asdict(each) for each in done]
    if not as_json:
        rows = [{**row, "damage": len(row["damage"])} for row in rows]
    _show(rows, as_json=as_json)
    return DIFFERENT if any(each.damage for each in done) else 0


@command.command("replica-diff", cls=Command, short_help="Compare two copies, record by record.")
@click.argument("left", type=click.Path())
@click.argument("right", type=click.Path())
@_choices
@click.option("--everywhere", is_flag=True, help="Also compare offsets that only one copy covers.")
@click.option("--each", is_flag=True, help="Show one row per offset.")
def replica_diff(
    *,
    left: str,
    right: str,
    topics: tuple[str, ...],
    conf: dict[str, str],
    as_json: bool,
    everywhere: bool,
    each: bool,
) -> int:
    """Show which records of LEFT are missing or different in RIGHT, and which are extra there.

    Both are log directories; several of one broker have commas between them. How records are
    divided into batches makes no difference.

    Exit codes: 0 no difference, 1 some.

    With --json: a list of objects, one per partition and kind of difference, or with --each one per
    offset.
    """
    with _job(conf, [(left,), (right,)], topics) as spark:
        from workbench.pipelines.replica_diff import replica_diff, summarize

        found = replica_diff(spark, left, right, topics, everywhere=everywhere)
        rows = (found if each else summarize(found)).toArrow().to_pylist()
    _show(rows, as_json=as_json)
    return DIFFERENT if rows else 0


@command.command("pack", cls=Command, short_help="What executors of a cluster need, in a file.")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--with", "packages", multiple=True, metavar="PACKAGE",
    help="Add this installed package, with what it requires; repeatable.",
)  # fmt: skip
def pack(*, file: str, packages: tuple[str, ...]) -> int:
    """Write FILE (.tar.gz), an archive of the workbench and what it imports, as installed here.

    Executors unpack it with --conf spark.archives=FILE#workbench and
    --conf spark.executorEnv.PYTHONPATH=workbench; besides, they need Python of this minor version.

    Exit codes: 0 done.
    """
    from workbench.spark import pack_executors

    pack_executors(file, packages)
    return 0


@command.command("to-table", cls=Command, short_help=to_table.command.short_help,
    fields={"--json": LoadedRow},
)  # fmt: skip
@to_table.chooses_table
@_in_session
def load_table(*, conf: dict[str, str], **given: Any) -> int:
    """Load log directories into a table, each record once, as `kafka-workbench to-table` does.

    Tasks read the logs and write the files, and the driver commits them. Directories and table are
    where driver and executors reach them. With --upsert, the driver merges what tasks have found.

    Exit codes: 0 done, 2 with --strict: damaged data was left out, 3 a log or topic could not be
    loaded; the others were.
    """
    with _job(conf, [given["paths"]], ()) as spark:
        return to_table.load(spark=spark, **given)


@contextmanager
def _job(
    conf: dict[str, str], brokers: Sequence[Sequence[str]], topics: tuple[str, ...]
) -> Iterator[Any]:
    """Yield a session; paths and topics are checked before it starts, which takes seconds.

    Raises:
        MissingDependencyError: pyspark or a Java is missing.
        LogDirectoryError: a path does not exist, or nothing there looks like Kafka's.
        LookupError: a topic is not there.
        ClickException: the job failed.
    """
    try:
        from pyspark.errors import PySparkException

        from workbench.pipelines.source_options import source_options
        from workbench.spark_source.options import parse_options
        from workbench.spark_source.plan.planning import SKIP_HINT, Plan
    except ImportError as error:
        raise missing("pyspark") from error
    for paths in brokers:
        require_logs(Plan(parse_options(source_options(paths, topics))).listing)
    try:
        yield _session(conf)
    except PySparkException as error:
        told = _told(str(error)).replace(SKIP_HINT, _DAMAGE_HINT)
        raise click.ClickException(told) from error


def _session(conf: dict[str, str]) -> Any:
    """Return a session with these settings."""
    from workbench.spark import session

    spark = session(**{**_SETTINGS, **conf})
    spark.sparkContext.setLogLevel("FATAL")  # a failure is reported in one line
    return spark


def _told(text: str) -> str:
    """Return the message of a task or of the source, without Spark's traces around it."""
    found = re.findall(r"^(?:\w+\.)+?\w*(?:Error|Exception): (.+)$", text, re.MULTILINE)
    return str(found[-1] if found else text.partition("\n")[0])


def _show(rows: list[dict[str, Any]], *, as_json: bool, spare: Sequence[str] = ()) -> None:
    """Print rows as a table, or as JSON."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    if as_json:
        print_json(plain)
    elif plain:
        names = list(plain[0])
        titles = {name: name.replace("_", " ") for name in names}
        print_table(
            list(titles.values()),
            [list(row.values()) for row in plain],
            spare=[titles[name] for name in spare],
        )


def _plain(value: Any) -> Any:
    """Return a time as text, everything else as it is."""
    if isinstance(value, dt.datetime):
        return time_of((value - EPOCH) // dt.timedelta(milliseconds=1))
    return value
