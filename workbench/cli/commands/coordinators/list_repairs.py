"""`kafka-workbench repairs`: what must be written so that a broker's coordinators serve on."""

import click

from workbench.cli.command import Command, as_json, chooses_rows, chosen_rows, open_logs
from workbench.cli.output import print_json, print_table
from workbench.coordinator.repair.plan import plan_repairs
from workbench.coordinator.repair.repair import REPAIR
from workbench.loaders.tables.coordinator_rows import repair_rows
from workbench.tables.columns import json_of
from workbench.tables.transactions import RepairRow

SOMETHING_TO_DO = 1


@click.command("repairs", cls=Command, fields={"--json": RepairRow})
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--show-values", is_flag=True, help="Print keys and values in hex, not their sizes.")
@chooses_rows
@as_json
def command(
    *,
    paths: tuple[str, ...],
    show_values: bool,
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    as_json: bool,
) -> int:
    """Plan what must be written so that a broker's coordinators serve on; write nothing.

    Records of __consumer_offsets and __transaction_state, transaction markers, and cleanings that
    drop damaged records, in the order in which they are needed. What a starting broker does by
    itself has "broker" in the column "by". Plan again for the repaired copy: damage may have hidden
    more.

    Exit codes: 0 nothing to repair, 1 something to repair.

    With --json: a list of objects with the fields below; keys and values are null without
    --show-values.
    """
    listing = open_logs(paths).listing
    every = repair_rows(plan_repairs(listing), values=show_values)
    found = chosen_rows(every, listing, topics, partitions)
    if as_json:
        print_json([json_of(each) for each in found])
    elif found:
        last = ["key", "value"] if show_values else ["key_size", "value_size"]
        names = ["topic", "partition", "action", "by", "subject", "what", "producer_id",
                 "producer_epoch", *last, "reason"]  # fmt: skip
        titles = ["topic", "partition", "action", "by", "subject", "what", "producer", "epoch",
                  "key" if show_values else "key bytes",
                  "value" if show_values else "value bytes", "reason"]  # fmt: skip
        print_table(
            titles,
            [[each[name] for name in names] for each in map(json_of, found)],
            spare=("reason",),
        )
    else:
        click.echo("nothing to repair")
    return SOMETHING_TO_DO if any(each.by == REPAIR for each in found) else 0
