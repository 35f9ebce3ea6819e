"""`kafka-workbench groups`: the groups that a restarted broker would know."""

import click

from workbench.cli.command import Command, as_json
from workbench.cli.output import print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import group_facts, load_groups, loads_groups, report
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.loaders.tables.coordinator_rows import group_row
from workbench.tables.groups import GroupRow, MemberRow


@click.command("groups", cls=Command, fields={"--json": GroupRow, "--json, in members": MemberRow})
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--all", "everything", is_flag=True, help="Also show groups that a broker would not serve."
)
@loads_groups
@as_json
def command(
    *,
    paths: tuple[str, ...],
    everything: bool,
    era: CoordinatorEra | None,
    now: int | None,
    retention_minutes: int | None,
    as_json: bool,
) -> int:
    """List the groups in __consumer_offsets as a broker would after a restart.

    Members come from the group's newest record; no record says whether they are still alive.

    Exit codes: 0 done, 1 something could not be read, or is in a wrong partition.

    With --json: a list of objects with the fields below; members is not their number, but a list of
    objects with the fields of a member.
    """
    coordinator = load_groups(paths, era, now, retention_minutes)
    shown = coordinator.groups.values() if everything else coordinator.served_groups()
    found = [group_row(each) for each in shown]
    if as_json:
        print_json([group_facts(each, coordinator) for each in found])
        return report(coordinator.findings())
    names = ("group", "kind", "state", "protocol", "generation", "members", "offsets")
    print_table(
        [
            *names,
            "last commit",
            *(["not served"] if everything else []),
        ],
        [
            [
                *(getattr(each, name) for name in names),
                time_of(each.last_commit_time),
                *([each.unserved] if everything else []),
            ]
            for each in found
        ],
        spare=("protocol", "generation", "last commit"),
    )
    click.echo(f"rules of Kafka {coordinator.era}")
    return report(coordinator.findings())
