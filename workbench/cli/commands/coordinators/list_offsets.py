"""`kafka-workbench offsets`: the committed offsets that a restarted broker would return."""

from collections.abc import Iterable

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_rows,
    chooses_times,
    chosen_rows,
    complete_groups,
    rows_between,
)
from workbench.cli.output import print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import load_groups, loads_groups, report
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.loaders.tables.coordinator_rows import all_offset_rows
from workbench.tables.columns import json_of
from workbench.tables.groups import CommittedOffsetRow


@click.command("offsets", cls=Command, fields={"--json": CommittedOffsetRow})
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--group", "-g", metavar="NAME", help="Only offsets of this group.",
    shell_complete=complete_groups,
)  # fmt: skip
@chooses_rows
@chooses_times("offsets that were committed")
@click.option(
    "--all", "everything", is_flag=True,
    help="Also show offsets that a broker would not return: pending, expired, misplaced.",
)  # fmt: skip
@loads_groups
@as_json
def command(
    *,
    paths: tuple[str, ...],
    group: str | None,
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    since: int | None,
    until: int | None,
    everything: bool,
    era: CoordinatorEra | None,
    now: int | None,
    retention_minutes: int | None,
    as_json: bool,
) -> int:
    """List the committed offsets that a broker would return after a restart.

    Each offset is compared with its log: in the log, beyond the end, below the start, topic gone,
    recreated; unknown if that log is not in these directories. "epoch" is the leader epoch that was
    committed with it, – where the client committed none. A partition that is assigned to a member,
    and for which nothing is committed, is listed without an offset.

    Exit codes: 0 done, 1 something could not be read, or is in a wrong partition.

    With --json: a list of objects with the fields below.
    """
    coordinator = load_groups(paths, era, now, retention_minutes)
    rows = all_offset_rows(coordinator, group)
    served = [each for each in rows if everything or each.unserved is None]
    chosen = chosen_rows(served, coordinator.logs.listing, topics, partitions)
    shown = rows_between(chosen, since, until, lambda each: each.commit_time)
    if as_json:
        print_json([json_of(each) for each in shown])
    else:
        print_offsets(shown, everything=everything)
    return report(coordinator.findings())


def print_offsets(offsets: Iterable[CommittedOffsetRow], *, everything: bool) -> None:
    """Print offsets as a table."""
    names = ("group", "topic", "partition", "offset", "leader_epoch", "log_end_offset")
    states = ("lag", "state")
    print_table(
        [
            "group", "topic", "partition", "offset", "epoch", "log end", "lag", "state",
            "committed", "expires", *(["not served"] if everything else []),
        ],
        [
            [
                *(getattr(each, name) for name in (*names, *states)),
                time_of(each.commit_time),
                time_of(each.expires_at),
                *([each.unserved] if everything else []),
            ]
            for each in offsets
        ],
        spare=("expires", "committed", "log end", "epoch"),
    )  # fmt: skip
