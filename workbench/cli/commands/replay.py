"""`kafka-workbench replay`: write records into a running cluster."""

from pathlib import Path
from typing import Final, get_args

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_partitions,
    is_strict,
    name_and_value,
    numbers_of,
    open_logs,
    takes_mask,
)
from workbench.cli.output import note, print_json, print_table
from workbench.cli.progress import progress
from workbench.cli.show.decoded_text import asked_formats, value_format
from workbench.cli.show.value_text import Formats
from workbench.loaders.exports.replay import OtherSource
from workbench.loaders.scan.not_searched import summary
from workbench.loaders.scan.scan import Scan
from workbench.runtime.words import plural
from workbench.tables.columns import json_of
from workbench.tables.replay import ReplayRow

_DAMAGED: Final = 2


@click.command("replay", cls=Command, fields={"--json": ReplayRow})
@chooses_partitions
@click.option("--to", "target", required=True, metavar="HOST:PORT", help="A broker of the cluster.")
@click.option(
    "-X",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A configuration of librdkafka, such as security.protocol=SSL; repeatable.",
)
@click.option(
    "--name",
    default="replay",
    show_default=True,
    help="Name of the replay; a second run of it continues where the first stopped.",
)
@click.option(
    "--other-source",
    type=click.Choice(get_args(OtherSource)),
    default="fail",
    show_default=True,
    help="Where the replay of this name read another cluster, topic or directory: refuse, begin at "
    "the log start, or go on at its offset.",
)
@click.option("--create-topics", is_flag=True, help="Create the topics that are missing.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Records per second at the most.",
)
@takes_mask
@value_format("What masked values are, such as json; they are written as JSON.")
@click.option("--read-uncommitted", is_flag=True, help="Also write aborted records.")
@is_strict
@as_json  # fmt: skip
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    target: str,
    settings: tuple[str, ...],
    name: str,
    other_source: "OtherSource",
    create_topics: bool,
    rate: float | None,
    mask: str | None,
    value_format: Formats,
    read_uncommitted: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Write the records of log directories into a running cluster, each once.

    Records keep topic, partition, order, key, value, headers and time, and get new offsets. Only
    what was committed is written; internal topics are not. How far it came is committed in the
    cluster together with the records, as offsets of the group kafka-workbench-replay.NAME: after a
    kill, the same command continues, and writes no record twice.

    Example: replay DIR --to localhost:9092 -t orders --create-topics --rate 5000

    Exit codes: 0 done, 2 with --strict: data was left out.
    """
    from workbench.loaders.exports.replay import COLUMNS, replay

    scan = Scan(
        open_logs(paths).listing,
        topics=topics or None,
        partitions=numbers_of(partitions) or None,
        columns=COLUMNS,
        decode=asked_formats({"value": value_format}) or None,
        mask=() if mask is None else Path(mask),
        isolation_level="read_uncommitted" if read_uncommitted else "read_committed",
    )
    total = sum(each.log_end_offset - (each.log_start_offset or 0) for each in scan.partitions)
    with progress("replaying", total, unit="records", quiet=as_json) as meter:
        rows = replay(
            scan,
            {"bootstrap.servers": target, **dict(map(name_and_value, settings))},
            name=name,
            create_topics=create_topics,
            rate=rate,
            progress=meter.advance,
            other_source=other_source,
        )
    if as_json:
        print_json([json_of(row) for row in rows])
    else:
        names = [ReplayRow._fields[0], *(each.replace("_", " ") for each in ReplayRow._fields[1:])]
        print_table(names, [list(row) for row in rows])
        note(f"{plural(sum(row.records for row in rows), 'record')} written to {target}")
    if text := summary(scan.left_out, "--everything"):
        note(text)
    is_whole = not any(row.damaged + row.undecoded + row.incomplete for row in rows)
    return _DAMAGED if strict and not is_whole else 0
