"""`kafka-workbench compact`: clean compacted logs in a copy, at chosen times."""

from typing import Any

import click

from workbench.cli.changing import changing, chosen_change, takes_target
from workbench.cli.command import Command, as_json, chooses_rows
from workbench.cli.explain_options import chosen_times, takes_rounds
from workbench.cli.output import Size, print_json, print_table, say
from workbench.cli.settings import say_meant, takes_kafka, takes_settings
from workbench.foresight.copies.compacting import Compaction
from workbench.runtime.words import plural


@click.command("compact", cls=Command)
@click.argument("path", metavar="DIR", type=click.Path())
@takes_target
@chooses_rows
@takes_rounds
@takes_settings
@takes_kafka
@as_json
def command(
    *,
    times: list[int],
    passes: int,
    everything: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Clean logs as a broker's cleaner does, even if they are not due, and count their records.

    A topic or partition that is named is cleaned whatever its policy; without names, all logs are
    that are known to be compacted from __cluster_metadata, --set or the cleaner's checkpoint. OUT
    has the others as they are. The checkpoint is updated, so OUT is ready for a broker. `plan`
    shows the same without a copy, and why each record is kept or dropped. Every record is taken as
    committed; the output names the logs for which
    replication-offset-checkpoint does not confirm that.

    Example: --topic customers --now 2026-03-01T12:00:00Z --set delete.retention.ms=0

    Exit codes: 0 done. After an error there is no OUT.

    With --json: an object with broker, path, logs and left_out (links and others that were not
    copied).
    """
    moments = chosen_times(times, passes)
    change = chosen_change(**chosen)
    with changing(change, "loading") as (left_out, advance):
        done = change.compact(moments, everything=everything, progress=advance)
    if as_json:
        logs = [_as_dict(each) for each in done]
        left = [each._asdict() for each in left_out]
        about = {"broker": change.meant._asdict(), "path": change.where}
        print_json({**about, "logs": logs, "left_out": left})
    else:
        say_meant(change.meant, "cleaning")
        _print(done, change.where)
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
        "high_watermark": str(done.high_watermark),
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
            say(f"{each.partition}: {each.rounds.problem}")
        if each.high_watermark.is_assumed:
            say(f"{each.partition}: {each.high_watermark}")
    saved = sum(each.size - each.size_after for each in done)
    cleaned = sum(bool(each.rounds.rounds) for each in done)
    say(f"{plural(cleaned, 'log')} cleaned, {plural(saved, 'byte')} less: {path}")
