"""`kafka-workbench stuck`: what is not deleted, not compacted, not readable, not consumed."""

import click

from workbench.cli.command import Command, as_json, chooses_rows, chosen_rows, open_logs, read_time
from workbench.cli.output import Size, console, print_json, print_table, rich_text, time_of
from workbench.cli.settings import named_values, takes_kafka, takes_settings
from workbench.coordinator.groups.group_explanation import STARTS_OVER
from workbench.coordinator.offsets.group_lag import WINDOW_MS
from workbench.loaders.answers.stuck import lags_at, stuck_rows
from workbench.runtime.times import MINUTE, duration_text
from workbench.runtime.words import named_or_more, plural
from workbench.tables.columns import json_of
from workbench.tables.stuck import GroupLagRow, StuckRow


@click.command(
    "stuck", cls=Command, fields={"--json, in stuck": StuckRow, "--json, in groups": GroupLagRow}
)
@click.argument("paths", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@chooses_rows
@takes_settings
@takes_kafka
@click.option(
    "--now", metavar="TIME", callback=read_time,
    help="Judge at this time: ISO 8601, or ms since the epoch. Default: retention and expired "
    "offsets by this machine's time, lags by the newest commit.",
)  # fmt: skip
@click.option(
    "--window", type=click.IntRange(min=1), default=WINDOW_MS // MINUTE, metavar="MINUTES",
    show_default=True, help="Commits of this time decide whether a group progresses.",
)  # fmt: skip
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    settings: tuple[str, ...],
    kafka: str | None,
    now: int | None,
    window: int,
    as_json: bool,
) -> int:
    """Find what is stuck over all partitions and groups, what holds it, and the bytes behind it.

    Not deleted: retention stops at a segment, and would delete later ones. Not compacted: cleaning
    fails, or an open transaction stops it. Not readable: an open transaction holds the last stable
    offset. Not consumed: a group has stalled, or falls behind, over a window of its commits. Each
    with the step to take. Then the lag of every group, in records, time and bytes.

    Exit codes: 0 nothing is stuck, 1 something is.

    With --json: an object with stuck and groups, lists of objects with the fields below.
    """
    logs = open_logs(paths)
    window_ms = window * MINUTE
    config = named_values(settings)
    rows = stuck_rows(logs.listing, config, now=now, window_ms=window_ms, kafka=kafka)
    found = chosen_rows(rows, logs.listing, topics, partitions)
    found.sort(key=lambda row: -row.bytes)
    lags = lags_at(logs.listing, config, now=now, window_ms=window_ms, kafka=kafka)
    groups = chosen_rows(lags, logs.listing, topics, partitions)
    if as_json:
        print_json({"stuck": [*map(json_of, found)], "groups": [*map(json_of, groups)]})
    else:
        _print(found, groups)
    return 1 if found else 0


def _print(found: list[StuckRow], groups: list[GroupLagRow]) -> None:
    out = console()
    if found:
        print_table(
            ["partition", "what", "held by", "offset", "time", "bytes behind"],
            [
                [
                    f"{row.topic}-{row.partition}", row.what, row.holder, row.offset,
                    time_of(row.time), Size(row.bytes),
                ]
                for row in found
            ],
            spare=["time", "offset"],
        )  # fmt: skip
    for row in found:
        out.print("", rich_text(f"{row.topic}-{row.partition}: {row.what}", "bold"), sep="\n")
        out.print(rich_text(f"  {row.reason}."))
        out.print(rich_text(f"  To do: {row.action}."))
    if groups:
        out.print()
        print_table(
            ["group", "partition", "verdict", "lag", "time behind", "bytes behind", "why"],
            [
                [
                    row.group, f"{row.topic}-{row.partition}", row.verdict, row.lag,
                    None if row.lag_ms is None else duration_text(row.lag_ms),
                    None if row.lag_bytes is None else Size(row.lag_bytes), row.reason,
                ]
                for row in groups
            ],
            spare=["why", "bytes behind"],
        )  # fmt: skip
    out.print()
    text = f"{plural(len(found), 'thing')} stuck" if found else "nothing is stuck"
    over = sorted({row.group for row in groups if row.verdict == STARTS_OVER and row.lag == 0})
    if over:
        text += f"; {named_or_more(over)} consumed every record, and nevertheless may start over"
    out.print(rich_text(text, f"bold {'yellow' if found else 'green'}"))
