"""`kafka-workbench retention`: apply retention once, at a time that one chooses, on a copy."""

from dataclasses import asdict
from typing import Any

import click

from workbench.cli.changing import chosen_target, folder_count, loading, takes_target
from workbench.cli.command import Command, as_json, read_time
from workbench.cli.output import Size, plural, print_json, print_table, time_of
from workbench.cli.settings import settings_for, takes_settings
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.copying import copy_log_directory
from workbench.log_manager.repair import Retention, retain


@click.command("retention", cls=Command, short_help="Delete old segments, in a copy.")
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@click.option("--dry-run", is_flag=True, help="Only tell what would go; nothing is written.")
@click.option(
    "--now", metavar="TIME", required=True, callback=read_time,
    help="The time that ages are measured by: ISO 8601, or ms.",
)  # fmt: skip
@takes_settings
@as_json
def command(
    *,
    path: str,
    target: str | None,
    in_place: bool,
    dry_run: bool,
    now: int,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Apply retention once, as a broker's periodic task does, and tell of each segment why.

    Ages count from the largest timestamp in a segment; where it has none from the time of its file,
    which the copy keeps. Logs with cleanup.policy=compact are left alone, as are those that brokers
    keep for themselves. What neither --set nor __cluster_metadata tells is Kafka's default: seven
    days, any size.

    Example: --set retention.ms=3600000 --set orders:retention.bytes=1000000

    With --json: an object with path, now, dry_run, segments and log_start_offsets.
    """
    found = settings_for(list_log_directories(path), settings)
    if dry_run:
        where = path
    else:
        where = chosen_target(path, target, in_place=in_place)
        if not in_place:
            copy_log_directory(path, where)
    with loading("loading", folder_count(where)) as advance:
        result = retain(
            where,
            now,
            found.broker,
            topic_configs=found.topic_configs,
            fs=DryFileSystem() if dry_run else LOCAL,
            progress=advance,
        )
    if as_json:
        print_json(_as_dict(result, dry_run=dry_run))
    else:
        _print(result, dry_run=dry_run)
    return 0


def _as_dict(result: Retention, *, dry_run: bool) -> dict[str, Any]:
    starts = {
        name: {"before": before, "after": after}
        for name, (before, after) in result.log_start_offsets.items()
    }
    return {
        "path": result.path,
        "now": result.now,
        "dry_run": dry_run,
        "segments": [asdict(fate) for fate in result.segments],
        "log_start_offsets": starts,
    }


def _print(result: Retention, *, dry_run: bool) -> None:
    goes = "would go" if dry_run else "deleted"
    print_table(
        ["partition", "segment", "size", "rule", "fate", "why"],
        [
            [
                fate.partition,
                fate.base_offset,
                Size(fate.size),
                fate.rule,
                goes if fate.is_deleted else "kept",
                fate.reason,
            ]
            for fate in result.segments
        ],
        spare=["size", "rule"],
    )
    gone = [fate for fate in result.segments if fate.is_deleted]
    size = Size(sum(fate.size for fate in gone))
    click.echo(
        f"at {time_of(result.now)}: {plural(len(gone), 'segment')} {goes}, "
        f"{size:,} bytes; {result.path}"
    )
