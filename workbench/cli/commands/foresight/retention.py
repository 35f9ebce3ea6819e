"""`kafka-workbench retention`: apply retention once to a copy, at a chosen time."""

from dataclasses import asdict
from typing import Any

import click

from workbench.cli.changing import changing, chosen_change, takes_target
from workbench.cli.command import Command, as_json, chooses_rows, read_time
from workbench.cli.output import Size, print_json, print_table, say, time_of
from workbench.cli.settings import say_meant, takes_kafka, takes_settings
from workbench.foresight.copies.copying import SkippedFile
from workbench.foresight.copies.retaining import Retention
from workbench.runtime.words import plural


@click.command("retention", cls=Command)
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@chooses_rows
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; write nothing.")
@click.option(
    "--now", metavar="TIME", required=True, callback=read_time,
    help="Measure ages from this time: ISO 8601, or ms since the epoch.",
)  # fmt: skip
@takes_settings
@takes_kafka
@as_json
def command(
    *,
    dry_run: bool,
    now: int,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Apply retention once, as a broker's periodic task does, and explain it for each segment.

    A segment's age is measured from its largest timestamp or, if it has none, from the modification
    time of its file, which the copy keeps. Logs with cleanup.policy=compact do not change, nor do
    the logs that brokers keep for themselves. Without --set and __cluster_metadata, Kafka's
    defaults apply: seven days, any size.

    With --topic or --partition, retention works on these logs alone; OUT has the others as they
    are.

    Example: --set retention.ms=3600000 --set orders:retention.bytes=1000000

    Every record is taken as committed; the output names the logs for which
    replication-offset-checkpoint does not confirm that.

    Exit codes: 0 done. After an error there is no OUT.

    With --json: an object with broker, path, now, dry_run, segments, log_start_offsets,
    high_watermarks and left_out (links and others that were not copied).
    """
    change = chosen_change(is_dry=dry_run, **chosen)
    with changing(change, "loading") as (left_out, advance):
        result = change.retain(now, is_dry=dry_run, progress=advance)
    if as_json:
        print_json(
            {"broker": change.meant._asdict(), **_as_dict(result, left_out, dry_run=dry_run)}
        )
    else:
        say_meant(change.meant)
        _print(result, dry_run=dry_run)
    return 0


def _as_dict(result: Retention, left_out: list[SkippedFile], *, dry_run: bool) -> dict[str, Any]:
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
        "left_out": [each._asdict() for each in left_out],
        "high_watermarks": {name: str(high) for name, high in result.high_watermarks.items()},
    }


def _print(result: Retention, *, dry_run: bool) -> None:
    goes = "would be deleted" if dry_run else "deleted"
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
    for name, high in result.high_watermarks.items():
        if high.is_assumed:
            say(f"{name}: {high}")
    gone = [fate for fate in result.segments if fate.is_deleted]
    size = Size(sum(fate.size for fate in gone))
    say(
        f"at {time_of(result.now)}: {plural(len(gone), 'segment')} {goes}, "
        f"{size:,} bytes; {result.path}"
    )
