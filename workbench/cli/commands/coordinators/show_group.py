"""`kafka-workbench group`: everything about one group."""

from collections.abc import Iterable
from typing import Any

import click

from workbench.cli.command import Command, as_json
from workbench.cli.commands.coordinators.list_offsets import print_offsets
from workbench.cli.output import label, note, print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import (
    group_facts,
    load_groups,
    loads_groups,
    report,
)
from workbench.coordinator.groups.rebalance_history import RebalanceHistory
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.loaders.explanations.coordinator_explanation import explained
from workbench.loaders.tables.coordinator_rows import group_row, offset_rows
from workbench.runtime.words import did_you_mean
from workbench.tables.columns import json_of
from workbench.tables.foresight import CoordinatorRuleRow
from workbench.tables.groups import RebalanceRow, ShareRow

NOT_THERE = NOT_EVERYWHERE = 1
_NEWEST = 10  # rebalances in the text
_SHOWN = 10  # groups that a message names
_RULES_OF_NO_GROUP = 3  # where no record mentions it: nothing to show


@click.command(
    "group",
    cls=Command,
    fields={
        "--json, in rules": CoordinatorRuleRow,
        "--json, in share_offsets": ShareRow,
        "--json, in rebalances": RebalanceRow,
    },
)
@click.argument("name")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@loads_groups
@as_json
def command(
    *,
    name: str,
    paths: tuple[str, ...],
    era: CoordinatorEra | None,
    now: int | None,
    retention_minutes: int | None,
    as_json: bool,
) -> int:
    """Show one group: its state, its members, and every committed offset.

    Offsets that a broker would not return are listed with the reason. The newest ten changes of
    its generation, epochs and assignments follow, with who came and went. The rules at the end say
    for each partition whether consumers resume there or start over, and why.

    Exit codes: 0 consumers resume everywhere, as the group left off; 1 there is no such group
    (state Dead), a rule blocks or limits where they resume, or something could not be read.

    With --json: an object as `groups --json` gives; its offsets are a list of objects as
    `offsets --json` gives. Beside them conclusion, rules, share_offsets and rebalances: lists of
    objects with the fields below; rules have where (partition, or null: the whole group) in place
    of topic and partition.
    """
    coordinator = load_groups(paths, era, now, retention_minutes)
    loaded = coordinator.groups.get(name)
    offsets = [*offset_rows(coordinator.offsets(name))]
    facts: dict[str, Any] = {"group": name, "kind": None, "state": "Dead", "members": []}
    if loaded is not None:
        facts = group_facts(group_row(loaded), coordinator)
    facts["offsets"] = [json_of(each) for each in offsets]
    facts["share_offsets"] = [json_of(each) for each in coordinator.share_partitions(name)]
    story = explained(coordinator, name)
    facts |= {"conclusion": story.conclusion, "rules": story.as_dict()["rules"]}
    history = RebalanceHistory(coordinator.logs.topic_names, name)
    coordinator.observe(history, name, each_commit=False)
    facts["rebalances"] = [json_of(each) for each in history.finish()]
    code = report(coordinator.findings())
    if loaded is None:
        note(_absence(name, coordinator.groups))
    if as_json:
        print_json(facts)
    elif loaded is not None or len(story) > _RULES_OF_NO_GROUP:
        tables = {"members", "offsets", "share_offsets", "rules", "rebalances"}
        shown = {"group": name, "conclusion": story.conclusion, **facts}
        shown = {field: value for field, value in shown.items() if field not in tables}
        times = ("state_time", "last_commit_time")
        print_table(
            ["field", "value"],
            [
                [label(field), time_of(value) if field in times else value]
                for field, value in shown.items()
                if value is not None
            ],
        )
        _print_members(facts["members"])
        if offsets:
            click.echo()
            print_offsets(offsets, everything=True)
        _print_shares(facts["share_offsets"])
        _print_rebalances(facts["rebalances"])
        click.echo()
        print_table(["partition", "rule", "verdict", "why"], story.cells())
    if loaded is None:
        return NOT_THERE
    return code or (NOT_EVERYWHERE if story.is_limited else 0)


def _absence(name: str, groups: Iterable[str]) -> str:
    """Return that there is no such group, and which there are."""
    there = sorted(groups)
    shown = ", ".join(there[:_SHOWN]) + (
        f" and {len(there) - _SHOWN:,} more" * (len(there) > _SHOWN)
    )
    return f"no such group: {name}{did_you_mean(name, there)}; groups: {shown or 'none'}"


def _print_shares(shares: list[dict[str, Any]]) -> None:
    if not shares:
        return
    click.echo()
    names = ("start_offset", "log_end_offset", "lag", "in_flight")
    states = ("available", "acknowledged", "archived")
    print_table(
        ["share-partition", *map(label, names), *states],
        [
            [f"{each['topic']}-{each['partition']}", *(each[name] for name in (*names, *states))]
            for each in shares
        ],
    )


def _print_rebalances(rebalances: list[dict[str, Any]]) -> None:
    if not rebalances:
        return
    click.echo()
    names = ("event", "state", "generation", "members", "reason")
    print_table(
        ["time", "event", "state", "generation", "members", "why"],
        [
            [time_of(each["time"]), *(each[name] for name in names)]
            for each in rebalances[-_NEWEST:]
        ],
        spare=("members", "state"),
    )
    if len(rebalances) > _NEWEST:
        click.echo(f"{len(rebalances) - _NEWEST:,} earlier changes; --json has all")


def _print_members(members: list[dict[str, Any]]) -> None:
    if not members:
        return
    click.echo()
    print_table(
        ["member", "instance", "client", "host", "epoch", "assignment"],
        [
            [
                each["member_id"],
                each["group_instance_id"],
                each["client_id"],
                each["client_host"],
                each["epoch"],
                None if each["assignment"] is None else ", ".join(each["assignment"]),
            ]
            for each in members
        ],
        spare=("instance", "host", "epoch"),
    )
