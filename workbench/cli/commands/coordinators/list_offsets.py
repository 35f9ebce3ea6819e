"""`kafka-workbench offsets`: the committed offsets that a restarted broker would return."""

from collections.abc import Iterable

import click

from workbench.cli.command import Command, as_json
from workbench.cli.output import print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import load_groups, loads_groups, report
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.loaders.tables.coordinator_rows import offset_rows
from workbench.tables.columns import json_of
from workbench.tables.groups import CommittedOffsetRow


@click.command("offsets", cls=Command, fields={"--json": CommittedOffsetRow})
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--group", "-g", metavar="NAME", help="Only offsets of this group.")
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
    everything: bool,
    era: CoordinatorEra | None,
    now: int | None,
    retention_minutes: int | None,
    as_json: bool,
) -> int:
    """List the committed offsets that a broker would return after a restart.

    Each offset is compared with its log: fine, beyond the end, below the start, topic gone,
    recreated; unknown if that log is not in these directories.

    Exit codes: 0 done, 1 something could not be read, or is in a wrong partition.

    With --json: a list of objects with the fields below.
    """
    coordinator = load_groups(paths, era, now, retention_minutes)
    rows = offset_rows(coordinator.offsets(group))
    shown = [each for each in rows if everything or each.unserved is None]
    if as_json:
        print_json([json_of(each) for each in shown])
    else:
        print_offsets(shown, everything=everything)
    return report(coordinator.findings())


def print_offsets(offsets: Iterable[CommittedOffsetRow], *, everything: bool) -> None:
    """Print offsets as a table."""
    names = ("group", "topic", "partition", "offset", "log_end_offset", "lag", "state")
    print_table(
        [
            "group", "topic", "partition", "offset", "log end", "lag", "state",
            "committed", "expires", *(["not served"] if everything else []),
        ],
        [
            [
                *(getattr(each, name) for name in names),
                time_of(each.commit_time),
                time_of(each.expires_at),
                *([each.unserved] if everything else []),
            ]
            for each in offsets
        ],
        spare=("expires", "committed", "log end"),
    )  # fmt: skip
