"""`kafka-workbench recover`: do to a copy of a log directory what a starting broker does."""

from typing import Any

import click

from workbench.cli.changing import (
    chosen_target,
    copied,
    folder_count,
    loading,
    takes_target,
)
from workbench.cli.command import Command, as_json, read_time
from workbench.cli.output import cell, console, note, print_json, rich_text
from workbench.cli.settings import meant_for, say_meant, takes_kafka, takes_settings
from workbench.foresight.copies.copying import SkippedFile
from workbench.foresight.copies.repair import Recovery, recover_directory
from workbench.loaders.changes import listed
from workbench.loaders.remote import opened
from workbench.runtime.words import plural


@click.command("recover", cls=Command)
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@click.option(
    "--full",
    is_flag=True,
    help="Read every segment, even after a clean shutdown or below the recovery point.",
)
@click.option(
    "--now", metavar="TIME", callback=read_time,
    help="Expire producers as of this time: ISO 8601, or ms since the epoch; default: this "
    "machine's. The time of the broker's own stop gives the snapshots that it would have written.",
)  # fmt: skip
@takes_settings
@takes_kafka
@as_json
def command(
    *,
    path: str,
    target: str | None,
    in_place: bool,
    full: bool,
    now: int | None,
    settings: tuple[str, ...],
    kafka: str | None,
    as_json: bool,
) -> int:
    """Load a log directory as a starting broker does, report the changes, and shut it down cleanly.

    After an unclean shutdown, recovery reads the segments from the recovery point batch by batch:
    it rebuilds indexes and producer state, and truncates the log at the first batch that is
    incomplete or invalid. It finishes or undoes interrupted replacements. Afterwards, OUT is ready
    for a broker.

    DIR is a log directory that no broker uses, or a partition directory. It is only read, unless
    --in-place is given.

    Exit codes: 0 done. After an error there is no OUT.

    With --json: an object with broker, path, had_clean_shutdown, partitions and left_out (links and
    others that were not copied).
    """
    path, fs = opened(path)
    where = chosen_target(path, target, in_place=in_place)
    meant, found = meant_for(listed(path, fs), settings, kafka)
    with (
        copied(path, fs, where) as left_out,
        loading("recovering", folder_count(path, fs)) as advance,
    ):
        recovery = recover_directory(
            where,
            found.broker,
            topic_configs=found.topic_configs,
            everything=full,
            now=now,
            progress=advance,
            kafka=meant.version,
        )
    if as_json:
        print_json({"broker": meant._asdict(), **_as_dict(recovery, left_out)})
    else:
        say_meant(meant, "start")
        _print(recovery)
    return 0


def _as_dict(recovery: Recovery, left_out: list[SkippedFile]) -> dict[str, Any]:
    partitions = [row.as_dict() for row in recovery.partitions]
    for row in partitions:
        del row["unnoticed"], row["consumers"]
    return {
        "path": recovery.path,
        "had_clean_shutdown": recovery.had_clean_shutdown,
        "partitions": partitions,
        "left_out": [each._asdict() for each in left_out],
    }


def _print(recovery: Recovery) -> None:
    out = console()
    if recovery.had_clean_shutdown:
        note("the directory was shut down cleanly: recovery reads only what --full asks for")
    untouched = 0
    for row in recovery.partitions:
        if not row.changes and row.verdict == "loads":
            untouched += 1
            continue
        ends = f"offsets {cell(row.log_start_offset)} to {cell(row.log_end_offset)}"
        out.print(rich_text(f"{row.name}  {row.reason or row.verdict}, {ends}", "bold"))
        for change in row.changes:
            out.print(rich_text(f"  {change}"))
    cut = sum(row.bytes_cut for row in recovery.partitions)
    recovered = sum(row.verdict == "recovers" for row in recovery.partitions)
    out.print(
        rich_text(
            f"{plural(recovered, 'log')} recovered, {plural(cut, 'byte')} truncated, "
            f"{plural(untouched, 'log')} unchanged: {recovery.path}",
            "bold",
        )
    )
