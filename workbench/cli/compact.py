"""`kafka-workbench compact`: clean compacted logs at times that one chooses, in a copy."""

from typing import Any

import click

from workbench.cli.changing import chosen_target, folder_count, loading, takes_target
from workbench.cli.command import Command, as_json
from workbench.cli.explaining import chosen_times, takes_rounds
from workbench.cli.output import Size, plural, print_json, print_table
from workbench.cli.settings import settings_for, takes_settings
from workbench.inspection.listing import list_log_directories
from workbench.loaders.plan import choose_partitions
from workbench.log_manager.compacting import Compaction, compact_directory
from workbench.log_manager.copying import copy_log_directory


@click.command("compact", cls=Command, short_help="Compact logs, in a copy.")
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    metavar="NAME",
    help="Clean the logs of this topic, whatever its policy; repeatable.",
)
@takes_rounds
@takes_settings
@as_json
def command(
    *,
    path: str,
    target: str | None,
    in_place: bool,
    topics: tuple[str, ...],
    times: list[int],
    passes: int,
    everything: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Clean logs as a broker's cleaner does, due or not, and tell what became of their records.

    Without --topic, all logs are cleaned that are known to be compacted: __cluster_metadata or
    --set tell, or the cleaner's checkpoint. That is written, and OUT is ready for a broker. `plan`
    tells the same without a copy, and of each record why it goes or stays.

    Example: --topic customers --now 2026-03-01T12:00:00Z --set delete.retention.ms=0

    With --json: an object with path and logs.
    """
    where = chosen_target(path, target, in_place=in_place)
    moments = chosen_times(times, passes)
    listing = list_log_directories(path)
    choose_partitions(listing, topics or None, None)
    found = settings_for(listing, settings)
    if not in_place:
        copy_log_directory(path, where)
    with loading("loading", folder_count(where)) as advance:
        done = compact_directory(
            where, moments, found, topics=topics, everything=everything, progress=advance
        )
    if as_json:
        print_json({"path": where, "logs": [_as_dict(each) for each in done]})
    else:
        _print(done, where)
    return 0


def _as_dict(done: Compaction) -> dict[str, Any]:
    return {
        "partition": done.partition,
        "size": done.size,
        "size_after": done.size_after,
        "segments": list(done.segments),
        "segments_after": list(done.segments_after),
        "clean_offset": done.clean_offset,
        "problem": done.rounds.problem,
        "rounds": [each.as_dict() for each in done.rounds.rounds],
    }


def _print(done: list[Compaction], path: str) -> None:
    print_table(
        ["partition", "rounds", "before", "after", "segments", "dropped", "kept", "clean up to"],
        [
            [
                each.partition,
                len(each.rounds.rounds),
                Size(each.size),
                Size(each.size_after),
                f"{len(each.segments)} to {len(each.segments_after)}",
                sum(one.dropped for one in each.rounds.rounds),
                int(each.rounds.rounds[-1].decisions.is_kept.sum()) if each.rounds.rounds else None,
                each.clean_offset,
            ]
            for each in done
        ],
        spare=["segments", "kept"],
    )
    for each in done:
        if each.rounds.problem:
            click.echo(f"{each.partition}: {each.rounds.problem}")
    saved = sum(each.size - each.size_after for each in done)
    cleaned = sum(bool(each.rounds.rounds) for each in done)
    click.echo(f"{plural(cleaned, 'log')} cleaned, {plural(saved, 'byte')} less: {path}")
