"""`kafka-workbench preflight`: whether topics will be served after a start on these directories."""

from dataclasses import replace
from typing import Final

import click

from workbench.cli.changing import loading
from workbench.cli.command import Command, as_json, chooses_topics, chosen_rows, open_logs
from workbench.cli.output import Size, console, print_json, print_table, rich_text, say
from workbench.cli.settings import named_values, say_meant, takes_start
from workbench.files.names import TopicPartition
from workbench.foresight.preflight.results import COLUMNS, Preflight, TopicPreflight
from workbench.inspection.listing import Listing

_SERVED: Final = 0
_WARNS: Final = 1
_FAILS: Final = 2
_COLORS: Final = {"error": "red", "warning": "yellow", "info": ""}
_LESS: Final = {"damaged", "expiring", "empty", "empty in part", "unknown"}
_NOT: Final = {"not served", "served in part"}


@click.command("preflight", cls=Command)
@click.argument("paths", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@chooses_topics
@takes_start
@click.option("--cluster-id", help="The cluster's id; default: that of meta.properties.")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="MB",
    help="Megabytes per second that one recovery thread reads; default: as measured here.",
)  # fmt: skip
@click.option("--deep", is_flag=True, help="Read every record, for damage no broker detects.")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    settings: tuple[str, ...],
    kafka: str | None,
    node_id: int | None,
    cluster_id: str | None,
    rate: float | None,
    now: int | None,
    deep: bool,
    as_json: bool,
) -> int:
    """Check before a start whether topics will be served with their data, and what to do first.

    After a restore, an upgrade, a migration from ZooKeeper or a move of disks. Give the entries of
    log.dirs in their order, with the version, node and cluster that are to take them. The verdict
    per topic follows from what predict says of each log, and from the first minutes after the
    start: what the first check of retention deletes and the first round of the cleaner drops, which
    transactions are ended, and which groups do not go on where they stopped. It also names formats
    and configurations that the version no longer has, defaults that it changed, and how long
    recovery takes. Nothing is written. With --topic, what concerns the whole start is shown as
    always, and the verdicts, the first minutes and the exit code are those of these topics.

    Exit codes: 0 every topic is served with its data, 1 with a warning, 2 the broker does not
    start, or a topic is not served.

    With --json: an object with broker, shown, starts, summary, directories, topics, concerns,
    recovery, passes (what retention and the cleaner take of each log), tiers (what the remote tier
    loses), groups (where they start over), transactions (that the coordinator ends) and steps.
    """
    logs = open_logs(paths, of_a_start=True)
    with loading("loading", len(logs)) as advance:
        found = logs.preflight(
            named_values(settings),
            kafka=kafka,
            node_id=node_id,
            cluster_id=cluster_id,
            now=now,
            rate=None if rate is None else rate * 1e6,
            deep=deep,
            progress=advance,
        )
    found = _chosen(found, logs.listing, topics)
    if as_json:
        print_json(found.as_dict())
    else:
        say_meant(found.broker, "start")
        if found.shown.version != found.broker.version:
            say(f"The directories show Kafka {found.shown.version}: {found.shown.reason}.")
        _print(found, deep=deep, code=_code(found, is_chosen=bool(topics)))
    return _code(found, is_chosen=bool(topics))


def _chosen(found: Preflight, listing: Listing, topics: tuple[str, ...]) -> Preflight:
    """Return the answer for the topics that the option names.

    Raises:
        LookupError: there is no such topic.
    """
    if not topics:
        return found

    def place(row: TopicPreflight) -> tuple[TopicPartition]:
        return (TopicPartition(row.topic, 0),)

    minutes = found.first_minutes
    if minutes is not None:
        minutes = minutes._replace(
            passes=tuple(each for each in minutes.passes if each.topic in topics),
            restarts=tuple(each for each in minutes.restarts if each.topic in topics),
            transactions=tuple(
                each
                for each in minutes.transactions
                if any(name.rpartition("-")[0] in topics for name in each.partitions)
            ),
        )
    rows = chosen_rows(found.topics, listing, topics, of=place)
    return replace(found, topics=tuple(rows), first_minutes=minutes)


def _code(found: Preflight, *, is_chosen: bool) -> int:
    verdicts = {row.verdict for row in found.topics}
    severities = set() if is_chosen else {each.severity for each in found.concerns}
    if not found.prediction.starts or "error" in severities or verdicts & _NOT:
        return _FAILS
    return _WARNS if "warning" in severities or verdicts & _LESS else _SERVED


def _print(found: Preflight, *, deep: bool, code: int) -> None:
    out = console()
    print_table(
        ["log directory", "start", "cluster", "node", "directory id", "clean", "recovery reads"],
        [
            [
                row.path,
                row.verdict,
                row.cluster_id,
                None if row.node_id is None else str(row.node_id),
                row.directory_id,
                row.had_clean_shutdown,
                Size(row.recovery_bytes),
            ]
            for row in found.directories
        ],
        spare=["directory id", "recovery reads"],
    )
    say("")
    print_table(
        COLUMNS,
        [
            [*row[:3], *(Size(int(str(size))) for size in row[3:6]), *row[6:]]
            for row in found.cells()
        ],
        spare=["recovery reads", "bytes cut", "compacted"],
    )
    say("")
    for each in found.concerns:
        out.print(rich_text(f"{each.severity}: {each.what}", _COLORS[each.severity]))
    if found.steps:
        out.print("", rich_text("What to do:", "bold"), sep="\n")
    for number, step in enumerate(found.steps, 1):
        out.print(rich_text(f"  {number}. {step}."))
    say("")
    say(f"{str(found.recovery)[0].upper()}{str(found.recovery)[1:]}.")
    if not deep:
        say("Records were not read; --deep looks for damage that a broker does not detect.")
    color = {_SERVED: "green", _WARNS: "yellow", _FAILS: "red"}[code]
    out.print(rich_text(found.summary, f"bold {color}"))
