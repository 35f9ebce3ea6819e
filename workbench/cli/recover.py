"""`kafka-workbench recover`: do what a starting broker does with a log directory, on a copy."""

from typing import Any

import click

from workbench.cli.changing import chosen_target, folder_count, loading, takes_target
from workbench.cli.command import Command, as_json
from workbench.cli.output import cell, console, note, plural, print_json
from workbench.cli.settings import settings_for, takes_settings
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.copying import copy_log_directory
from workbench.log_manager.repair import Recovery, recover_directory


@click.command("recover", cls=Command, short_help="Recover a log directory, into a copy.")
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@click.option(
    "--full", is_flag=True, help="Read every segment, whatever marker and checkpoint say."
)
@takes_settings
@as_json
def command(
    *,
    path: str,
    target: str | None,
    in_place: bool,
    full: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Load a log directory as a starting broker does, tell what was done, and close it.

    What the clean-shutdown marker and the checkpoints leave to be recovered is read batch by batch:
    indexes and producer state are built anew, and a log is cut at the first batch that is not
    whole. Interrupted replacements are finished or undone. OUT is ready for a broker afterwards.

    DIR is a log directory that no broker uses, or the folder of one partition. It is only read,
    unless --in-place is given.

    With --json: an object with path, had_clean_shutdown and partitions.
    """
    where = chosen_target(path, target, in_place=in_place)
    found = settings_for(list_log_directories(path), settings)
    if not in_place:
        copy_log_directory(path, where)
    with loading("recovering", folder_count(where)) as advance:
        recovery = recover_directory(
            where,
            found.broker,
            topic_configs=found.topic_configs,
            everything=full,
            progress=advance,
        )
    if as_json:
        print_json(_as_dict(recovery))
    else:
        _print(recovery)
    return 0


def _as_dict(recovery: Recovery) -> dict[str, Any]:
    partitions = [row.as_dict() for row in recovery.partitions]
    for row in partitions:
        del row["unnoticed"], row["consumers"]
    return {
        "path": recovery.path,
        "had_clean_shutdown": recovery.had_clean_shutdown,
        "partitions": partitions,
    }


def _print(recovery: Recovery) -> None:
    from rich.text import Text

    out = console()
    if recovery.had_clean_shutdown:
        note("the directory was closed in order: only what --full asks for is read again")
    untouched = 0
    for row in recovery.partitions:
        if not row.changes and row.verdict == "loads":
            untouched += 1
            continue
        ends = f"offsets {cell(row.log_start_offset)} to {cell(row.log_end_offset)}"
        out.print(Text(f"{row.name}  {row.reason or row.verdict}, {ends}", style="bold"))
        for change in row.changes:
            out.print(Text(f"  {change}"))
    cut = sum(row.bytes_cut for row in recovery.partitions)
    recovered = sum(row.verdict == "recovers" for row in recovery.partitions)
    out.print(
        Text(
            f"{plural(recovered, 'log')} recovered, {plural(cut, 'byte')} cut, "
            f"{plural(untouched, 'log')} as it was: {recovery.path}",
            style="bold",
        )
    )
