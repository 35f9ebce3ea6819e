"""`kafka-workbench recover`: do to a copy of a log directory what a starting broker does."""

from typing import Any

import click

from workbench.cli.changing import (
    changing,
    chosen_change,
    first_to_see,
    print_starts,
    shows_all,
    takes_target,
)
from workbench.cli.command import Command, as_json, chooses_rows, read_time
from workbench.cli.output import console, note, print_json, rich_text
from workbench.cli.settings import say_meant, takes_kafka, takes_settings
from workbench.foresight.copies.copying import SkippedFile
from workbench.foresight.copies.repair import Recovery
from workbench.runtime.words import plural


@click.command("recover", cls=Command)
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@chooses_rows
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
@shows_all("logs of which nothing is truncated")
@takes_settings
@takes_kafka
@as_json
def command(
    *,
    full: bool,
    now: int | None,
    show_all: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Load a log directory as a starting broker does, report the changes, and shut it down cleanly.

    After an unclean shutdown, recovery reads the segments from the recovery point batch by batch:
    it rebuilds indexes and producer state, and truncates the log at the first batch that is
    incomplete or invalid. It finishes or undoes interrupted replacements. Afterwards, OUT is ready
    for a broker.

    DIR is a log directory that no broker uses, or a partition directory. It is only read, unless
    --in-place is given. With --topic or --partition, OUT has the logs of these alone, and is no
    whole directory of a broker: read it, serve it, or copy its partitions where they are missing.

    Exit codes: 0 done. After an error there is no OUT.

    With --json: an object with broker, path, had_clean_shutdown, partitions and left_out (links and
    others that were not copied).
    """
    change = chosen_change(**chosen)
    with changing(change, "recovering", change.only) as (left_out, advance):
        recovery = change.recover(everything=full, now=now, progress=advance)
    if as_json:
        print_json({"broker": change.meant._asdict(), **_as_dict(recovery, left_out)})
    else:
        say_meant(change.meant, "start")
        _print(recovery, show_all=show_all)
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


def _print(recovery: Recovery, *, show_all: bool) -> None:
    out = console()
    if recovery.had_clean_shutdown:
        note("the directory was shut down cleanly: recovery reads only what --full asks for")
    every = recovery.partitions
    read = [row for row in every if show_all or row.verdict != "loads" or row.changes]
    rows = first_to_see(read, show_all=show_all)
    if read:
        print_starts(rows, read, "are recovered with all that they have")
    for row in rows:
        out.print("", rich_text(f"{row.name}  {row.reason or row.verdict}", "bold"), sep="\n")
        for text in filter(None, [row.loss, *row.changes]):
            out.print(rich_text(f"  {text}"))
    out.print()
    cut = sum(row.bytes_cut for row in every)
    lost = sum(row.records_lost or 0 for row in every)
    cut_logs = sum(bool(row.bytes_cut) for row in every)
    where = f" in {plural(cut_logs, 'log')}" if cut_logs else ""
    recovered = sum(row.verdict == "recovers" for row in every)
    untouched = sum(row.verdict == "loads" and not row.changes for row in every)
    out.print(
        rich_text(
            f"{plural(recovered, 'log')} recovered, {plural(cut, 'byte')} truncated{where}, "
            f"{plural(lost, 'readable record')} removed, "
            f"{plural(untouched, 'log')} unchanged: {recovery.path}",
            "bold",
        )
    )
